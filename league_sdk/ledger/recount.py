"""Compute the table again from the public parts of events, and check draws and seals (ruling, section 12). Pure.

Fields that older events do not have are tolerated and counted, so that the reader learns what is not proven.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from league_sdk.ledger.canonical import sha256_of
from league_sdk.ledger.chain import Broken, describe, is_hash
from league_sdk.ledger.kinds import CORRECTIONS, EventKind
from league_sdk.ledger.standings import Result, Row, Scoring, table
from league_sdk.rules import draws, even_odd
from league_sdk.rules.even_odd import parity

SCORING = ("win", "draw", "loss", "technical_loss")
DRAWING_GAMES = ("even_odd", "even_odd_numbers")
"""Games whose number is drawn from a committed seed; the draws of other games are not checked."""
COMMITTING = (EventKind.ROUND_STARTED, EventKind.DRAW_COMMITTED)
"""Events that commit to draws and undo no result; a correction that reopens a match carries a commitment, too."""
PLAYED = ("WIN", "DRAW")
"""The statuses of a match that was played to its end."""


class Recount:
    """The state of a league, computed from its public events in order.

    Attributes:
        counted: how many draws, seals and so on were checked or could not be checked, by name.
        scoring: the points in force according to the events; None when no event has them (older events).
        names: display names by player id according to the schedule and the renamings since; None when it has none.
        frozen_after: the last round that the public sees, while the board is frozen.
        out: who is out of the league, by player: ``withdrawn`` or ``disqualified``.
        results: the results that count, by match.
    """

    def __init__(self, game_type: str) -> None:
        """
        Args:
            game_type: the game named by the export; every event that names a game must name the same.
        """
        self.game_type = game_type
        self.counted: Counter[str] = Counter()
        self.scoring: Scoring | None = None
        self.names: dict[str, str] | None = None
        self.frozen_after: int | None = None
        self._begun = False
        self.results: dict[str, Result] = {}
        self._points: dict[str, int] = {}
        self.out: dict[str, str] = {}
        self._commitments: dict[str, str] = {}
        self._plays: dict[str, int] = {}
        """By match: 1, and one more for each replay by the instructor. All attempts of one play have the same seed."""
        self._late: set[str] = set()
        """Matches whose commitment was made after the start of their round."""

    def add(self, public: Mapping[str, Any]) -> None:
        """Add one event.

        Raises:
            Broken: it contradicts itself or an earlier event: a seed does not fit its commitment, for example, or a
                number its seed, or a result its number or its seal.
        """
        data, kind = public["data"], public["kind"]
        if kind == EventKind.DEMO_AFRESH and self._begun:
            raise _broken(public, "a league begins once, with its first event.", kind, "nothing that undoes results")
        self._begun = True
        try:
            self._add(public, kind, data)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise _broken(
                public, f"it cannot be read: {type(error).__name__}.", error, "the fields of its kind"
            ) from None

    @property
    def players(self) -> set[str]:
        """Everyone who has a result, was given or lost points, or was withdrawn or disqualified."""
        played = {player for result in self.results.values() for player in (result.player_a, result.player_b)}
        return {*played, *self._points, *self.out}

    def rows(self, names: Mapping[str, str], scoring: Scoring) -> list[Row]:
        """The table.

        Args:
            names: display names of everyone who is in it.
            scoring: the points of the league.
        """
        results = sorted(self.results.values(), key=lambda result: result.round_number)
        return table(names, results, scoring, points=self._points, out=self.out)

    def _add(self, public: Mapping[str, Any], kind: str, data: Mapping[str, Any]) -> None:
        if "scoring" in data:
            self.scoring = Scoring(*(_integer(data["scoring"][name]) for name in SCORING))
        if "game_type" in data and data["game_type"] != self.game_type:
            raise _broken(public, "it names another game than the export.", data["game_type"], self.game_type)
        if "names" in data:
            self.names = {str(code): str(name) for code, name in data["names"].items()}
        if kind == EventKind.PLAYER_RENAMED and data["player_id"] in (self.names or {}):
            self.names = {**(self.names or {}), data["player_id"]: str(data["name"])}
        if kind in (EventKind.FROZEN, EventKind.UNVEILED):
            self.frozen_after = data.get("after_round")
        self._commit(public, data)
        if kind == EventKind.MATCH_FINISHED:
            self._finish(public, data)
        elif kind in CORRECTIONS:
            self._correct(data)

    def _commit(self, public: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        plays = {match_id: _integer(play) for match_id, play in (data.get("plays") or {}).items()}
        for match_id, commitment in (data.get("draw_commitments") or {}).items():
            if not is_hash(commitment):
                raise _broken(public, "a commitment is no SHA-256.", commitment, "64 hex digits")
            known_play, play = self._plays.get(match_id, 1), plays.get(match_id, 1)
            if public["kind"] in COMMITTING and match_id in self._commitments and play <= known_play:
                # With the choices known, a seed could be chosen that gives the wanted number.
                raise _broken(public, "a second commitment for one play of the match.", commitment, "the first")
            self._commitments[match_id] = commitment
            self._late.discard(match_id)
            if public["kind"] == EventKind.DRAW_COMMITTED:
                self._late.add(match_id)
        self._plays |= plays

    def _finish(self, public: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        match_id = data["match_id"]
        if match_id in self.results:
            raise _broken(
                public, "the match has a result already, and no correction stands between.", "a second one", "one"
            )
        self._check_seal(public, data)
        self._check_draw(public, data)
        self._set_result(match_id, data)
        self.counted["results"] += 1

    def _correct(self, data: Mapping[str, Any]) -> None:
        self.counted["corrections"] += 1
        for match_id, result in data.get("results", {}).items():
            if result is None:
                self.results.pop(match_id, None)
            else:
                self._set_result(match_id, result)
        for player_id, points in data.get("points", {}).items():
            self._points[player_id] = self._points.get(player_id, 0) + _integer(points)
        for player_id, reason in data.get("out", {}).items():
            if reason is None:
                self.out.pop(player_id, None)
            else:
                self.out[player_id] = str(reason)

    def _set_result(self, match_id: str, data: Mapping[str, Any]) -> None:
        first, second = data["players"]
        # A corrected result moves to the end, as on the site: within a round, a player's form follows this order.
        self.results.pop(match_id, None)
        self.results[match_id] = Result(
            _integer(data["round_id"]), str(first), str(second), str(data["status"]), data["winner_id"]
        )

    def _check_seal(self, public: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        seal = data.get("seal_sha256")
        if not seal:
            self.counted["unsealed"] += 1
            return
        verdict = {
            "attempt": data.get("sealed_attempt", data.get("attempt")),
            "status": data["status"],
            "winner_player_id": data["winner_id"],
            "draw": data.get("drawn_number"),
        }
        computed = sha256_of(verdict)
        if seal != computed:
            raise _broken(public, "the result is not the verdict that was sealed.", computed, seal)
        self.counted["sealed"] += 1

    def _check_draw(self, public: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        """Compare the seed with its commitment, the number with the seed, and the result with the number."""
        match_id, seed, number = data["match_id"], data.get("draw_seed"), data.get("drawn_number")
        # The result reveals the seed, so the same seed proves nothing for a second result.
        committed = self._commitments.pop(match_id, None)
        if not seed:
            if committed and number is not None and data.get("seal_sha256"):
                raise _broken(
                    public, "a number was drawn, and the seed that was committed to is not shown.", "no seed", "a seed"
                )
            self.counted["unproven draws"] += self._has_draw(data)
            return
        computed = draws.commitment(bytes.fromhex(seed))
        if committed and computed != committed:
            raise _broken(public, "the seed is not the one that was committed to.", computed, committed)
        if not committed:
            self.counted["unproven draws"] += self._has_draw(data)
        play, planned = data.get("play"), self._plays.get(match_id, 1)
        if committed and play is not None and play != planned:
            raise _broken(public, "it is not that play of the match which the seed was made for.", play, planned)
        if self.game_type not in DRAWING_GAMES:
            return
        if committed and data.get("seal_sha256") and (number is not None) != self._is_played(data):
            # Else any result could be claimed without a number, or with a number that it does not follow from.
            raise _broken(
                public,
                "a number is drawn if, and only if, a match ends in a win or a draw.",
                f"{_verdict(data['status'], data['winner_id'])}, number {number}",
                "a number with a win or a draw, and none without",
            )
        if number is None:
            self.counted["unproven draws"] += committed is not None and self._has_draw(data)
            return
        self._check_number(public, data, bytes.fromhex(seed))
        self.counted["draws"] += committed is not None
        self.counted["late draws"] += committed is not None and match_id in self._late

    def _has_draw(self, data: Mapping[str, Any]) -> bool:
        """Whether a drawn number decided a result, also if the number is not shown."""
        drawn: bool = data.get("drawn_number") is not None
        return drawn or (self.game_type in DRAWING_GAMES and self._is_played(data))

    @staticmethod
    def _is_played(data: Mapping[str, Any]) -> bool:
        return data["status"] in PLAYED

    def _check_number(self, public: Mapping[str, Any], data: Mapping[str, Any], seed: bytes) -> None:
        first, second = data["players"]
        choices = data["choices"]
        pair = (str(choices[first]), str(choices[second]))
        number = even_odd.draw_number(
            draws.CommittedDraw(seed, public["league_id"], data["match_id"], _integer(data["play"]), pair)
        )
        if data["drawn_number"] != number:
            raise _broken(
                public, "the number does not follow from the seed and the choices.", data["drawn_number"], number
            )
        if not self._is_played(data):
            return
        if self.game_type == "even_odd":
            winner = even_odd.determine_winner({first: choices[first], second: choices[second]}, number)
        else:
            total = _integer(choices[first]) + _integer(choices[second]) + number
            winner = first if parity(total) == "even" else second
        verdict = ("WIN" if winner else "DRAW", winner)
        if (data["status"], data["winner_id"]) != verdict:
            raise _broken(
                public,
                "the result does not follow from the number and the choices.",
                _verdict(data["status"], data["winner_id"]),
                _verdict(*verdict),
            )


def _verdict(status: str, winner: str | None) -> str:
    return f"{status} of {winner}" if winner else status


def _integer(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{value!r:.40} is not an integer")
    return value


def _broken(public: Mapping[str, Any], problem: str, seen: object, expected: object) -> Broken:
    return Broken(describe(public), seq=public.get("seq"), problem=problem, seen=seen, expected=expected)
