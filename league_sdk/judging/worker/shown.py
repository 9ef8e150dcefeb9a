"""What a referee shows of its matches: to a player of a match what everybody may see of it while it is played, and
after GAME_OVER what that message told (ruling, sections 3 and 12; 004 5.4.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from league_sdk.judging.match.ended import EndedMatch
from league_sdk.judging.worker.heartbeat import Key, RunningMatch
from league_sdk.protocol.errors import InvalidFormat, LeagueError, TokenInvalid, TokenMissing

MAX_ENDED = 1_000
"""Matches that are over here and whose players may still ask for the steps of the match."""

Question = Mapping[str, Any]
"""The fields of a question: ``match_id``, ``auth_token``, perhaps ``league_id``."""


class MatchesShown:
    """Answers the players who ask for their matches.

    Args:
        running: the matches in play; the referee adds and removes.
    """

    def __init__(self, running: Mapping[Key, RunningMatch]) -> None:
        self._running = running
        self._ended: dict[tuple[str, str], EndedMatch] = {}

    def remember(self, match: EndedMatch) -> None:
        """A match is over here."""
        self._ended.pop((match.league_id, match.match_id), None)
        self._ended[match.league_id, match.match_id] = match
        while len(self._ended) > MAX_ENDED:
            del self._ended[next(iter(self._ended))]

    def forget(self, key: Key) -> None:
        """A match begins again: do not answer with the result of an earlier play of it any more."""
        self._ended.pop(key[:2], None)

    def state(self, question: Question) -> dict[str, Any]:
        """Answer get_match_state: the public view of a match in play, for a player of it.

        Raises:
            TokenMissing: E011, no auth_token.
            InvalidFormat: E002, the asker plays no such match here, whether others play it or not.
        """
        match = self._in_play(question)
        if match is None:
            raise _unknown(question)
        log = match.log
        return {
            "match_id": match.brief.match_id,
            "attempt": match.brief.attempt,
            "state": log.state,
            "joined": log.joined,
            "locked_in": log.locked_in,
            "view": log.view,
        }

    def ended_match(self, question: Question) -> EndedMatch:
        """The match after GAME_OVER, for a player of it; it answers the steps of the match.

        A caller that is no player of the match learns nothing that :meth:`state` does not say as well.

        Raises:
            TokenMissing: E011, no auth_token.
            InvalidFormat: GAME_OVER is not sent to all players yet, or the caller played no such match here.
            TokenInvalid: E012, GAME_OVER is sent and the result not reported yet, and the player has not answered with
                this token.
        """
        match = self._in_play(question)
        if match is None:
            for ended in self._ended.values():
                key = (ended.league_id, ended.match_id, ended.attempt)
                if _is_meant(key, question) and ended.owns(question["auth_token"]):
                    return ended
            raise _unknown(question)
        if match.ended is None:
            raise InvalidFormat(
                "This match is in play: its steps are told after GAME_OVER.",
                field="match_id",
                seen=question.get("match_id"),
                expected="a match whose players were all told its end",
            )
        if not match.ended.owns(question["auth_token"]):
            raise TokenInvalid(
                "Your player has not answered with this token yet.",
                field="auth_token",
                expected="a token that its answers carry",
            )
        return match.ended

    def _in_play(self, question: Question) -> RunningMatch | None:
        """The match in play that a player of it asks for; None if no match of the asker's is meant.

        Raises:
            TokenMissing: E011.
        """
        token = question.get("auth_token")
        if token in (None, ""):
            raise TokenMissing("auth_token is missing.", field="auth_token", expected="your own auth_token")
        # Several leagues have a match R1M1: without league_id, the token shows which one is meant.
        for key, match in self._running.items():
            owned = isinstance(token, str) and any(seat.owns(token) for seat in match.brief.seats)
            if owned and _is_meant(key, question):
                return match
        # Others do not learn whether a match is in play: behind a freeze they would learn how long it takes.
        return None


def _is_meant(key: Key, question: Question) -> bool:
    league_id = question.get("league_id")
    return key[1] == question.get("match_id") and (league_id is None or key[0] == league_id)


def _unknown(question: Question) -> LeagueError:
    return InvalidFormat(
        "This match is not being played here.",
        field="match_id",
        seen=question.get("match_id"),
        expected="a match in play",
        legacy_code="G003",
    )
