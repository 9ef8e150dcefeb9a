"""The draw of a match, for those who check it: the commitment, and once the end was told the seed (ruling, section 12).

Everything here is from the league's events, as far as the view goes. The seed that is still secret stands in a column
of the match, which no page reads.
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

SHORT = 12
"""Characters of a commitment that stand on the page before someone opens the line."""


def game_draws(game_type: str) -> bool:
    """Whether a number is drawn in a game; not in one whose package is gone."""
    game = games().get(game_type)
    return game is not None and game.draws


@dataclass(frozen=True, slots=True)
class Draw:
    """What the page of a match says of its draw.

    Attributes:
        commitment: to the seed of the play that counts, hex.
        play: which play of the match that is, from 1.
        told: ``waiting``, ``checkable``, ``unsealed`` or ``unrevealed``.
        seed: hex, once it was revealed.
        check: the JSON with which a browser checks the draw.
    """

    commitment: str
    play: int
    told: str
    seed: str = ""
    check: str = ""

    @property
    def short(self) -> str:
        """The beginning of the commitment."""
        return self.commitment[:SHORT]


def draw_of(match: Match, view: View, events: Iterable[Event]) -> Draw | None:
    """What the page of a match says of its draw; None when nothing was committed to.

    Args:
        match: one match of the view's league.
        view: what the audience may see.
        events: those of the match in the view, in order.
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
    """What the referee reported in the attempt that counts: a correction changes a result, not what was drawn."""
    reported = {int(event.data["attempt"]): event.data for event in events if event.kind == EventKind.MATCH_FINISHED}
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
    """What was drawn and what followed from it, as it was reported; the choices in the order of the seats."""
    details = judged.get("details") or {}
    choices = details.get("choices") or {}
    said = [choices.get(player) for player in players]
    return {
        "players": list(players),
        "choices": ["" if one is None else str(one) for one in said],
        "number": details.get("drawn_number"),
        "parity": details.get("number_parity"),
        "winner": judged.get("winner_id"),
    }
