"""The committed draw of a match: its commitment, and after the end of the match the seed (ruling, section 12).

Everything here comes from the league's events up to the moment of the view. The seed of a running match is in a column
of the match that no page shows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from league_sdk.ledger.kinds import EventKind
from league_sdk.rules.registry import games
from matches.events.history import Outcome
from matches.models import Event, Match
from matches.view.sight import View

SHORT_CHARS = 12
"""How many characters of a commitment are shown before the details are opened."""


def game_draws(game_type: str) -> bool:
    """Whether the game draws a number; False if the game is not installed any more."""
    game = games().get(game_type)
    return game is not None and game.draws


@dataclass(frozen=True, slots=True)
class Draw:
    """What the match page says about the draw.

    Attributes:
        commitment: the SHA-256 of the seed of the play that counts, hex.
        play: the number of that play, from 1; a replay has the next number.
        state: ``waiting`` for the end of the match; ``checkable``; ``unsealed``, as the referee drew the number itself;
            ``unrevealed``, as the instructor set the result.
        seed: hex; empty until it is revealed.
        check: the input of the check in the browser, as JSON.
    """

    commitment: str
    play: int
    state: str
    seed: str = ""
    check: str = ""

    @property
    def short(self) -> str:
        """The first characters of the commitment."""
        return self.commitment[:SHORT_CHARS]


def draw_of(match: Match, view: View, events: Iterable[Event]) -> Draw | None:
    """What the match page says about the draw; None when there is no commitment.

    Args:
        match: a match of the view's league.
        view: what the audience may see.
        events: the events of the match in the view, in order.
    """
    committed = view.moment.commitments.get(match.match_id)
    if not committed or not game_draws(view.league.game_type):
        return None
    outcome = view.outcome(match.match_id)
    if outcome is None:
        return Draw(committed[-1], len(committed), "waiting")
    judged = _judged(outcome, events)
    seed = str(judged.get("draw_seed") or "")
    play = int(judged.get("play") or 1)
    commitment = committed[play - 1] if 1 <= play <= len(committed) else committed[-1]
    if not seed:
        return Draw(commitment, play, "unsealed" if outcome.correction is None else "unrevealed")
    players = (match.player_a.code, match.player_b.code)
    check = _facts(judged, players) | {
        "commitment": commitment,
        "seed": seed,
        "league_id": match.league_id,
        "match_id": match.match_id,
        "play": play,
        "game": view.league.game_type,
    }
    return Draw(commitment, play, "checkable", seed, json.dumps(check, separators=(",", ":"), ensure_ascii=False))


def _judged(outcome: Outcome, events: Iterable[Event]) -> Mapping[str, Any]:
    """The referee's report of the attempt that counts, as a correction does not change the draw; else the result."""
    ends = (event.data for event in events if event.kind == EventKind.MATCH_FINISHED)
    reported: dict[int, Mapping[str, Any]] = {int(data["attempt"]): data for data in ends}
    known = reported.get(outcome.attempt)
    if known is not None:
        return known
    return {
        "status": outcome.status,
        "winner_id": outcome.winner,
        "details": outcome.details,
        "draw_seed": outcome.draw_seed,
        "play": outcome.play,
    }


def _facts(judged: Mapping[str, Any], players: tuple[str, str]) -> dict[str, Any]:
    """The reported draw and its outcome; choices are in the order of the seats."""
    details = judged.get("details") or {}
    choices = details.get("choices") or {}
    by_seat = [choices.get(player) for player in players]
    return {
        "players": list(players),
        "choices": ["" if choice is None else str(choice) for choice in by_seat],
        "number": details.get("drawn_number"),
        "parity": details.get("number_parity"),
        "winner": judged.get("winner_id"),
    }
