"""Reading report_progress (ruling, section 10). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from league_sdk.protocol.errors import InvalidFormat, MissingField
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.limits import MAX_TURNS
from league_sdk.protocol.masking import without_addresses
from league_sdk.protocol.states import HANDED_BACK
from league_sdk.protocol.tokens import redact
from league_sdk.protocol.transcript import clean, storable
from matches.league.play import PROGRESS_STATES
from matches.league.reports import read_entries, text, whole_number

MAX_MATCHES, MAX_EXCUSED = 1000, 10
_EXCUSED_FIELDS = ("player_id", "message_type", "evidence", "at", "counted")


@dataclass(frozen=True, slots=True)
class MatchProgress:
    """What a referee reports of one match.

    Attributes:
        state: one of ``PROGRESS_STATES``, or ``HANDED_BACK``.
        joined, locked_in: ids of players; not checked against the match.
        view: what everybody may see of the game.
        cause, why: of a match that is handed back: whose side failed, REFEREE or LEAGUE, and a sentence about it.
        seal: the verdict to be sealed, as it was sent; None if there is none.
        unreached: the player that the referee could not reach, for which it hands the match back; empty if none.
        end_told: whether the players have heard the sealed verdict.
        moves: pairs of player and move, in order; None if they were not sent.
        excused: the tries that the referee's own failure spoilt; one that counted all the same says so.
    """

    league_id: str
    match_id: str
    attempt: int
    state: str
    joined: list[str] = field(default_factory=list)
    locked_in: list[str] = field(default_factory=list)
    view: dict[str, Any] = field(default_factory=dict)
    cause: Cause = Cause.REFEREE
    why: str = ""
    seal: dict[str, Any] | None = None
    unreached: str = ""
    end_told: bool = False
    moves: list[list[Any]] | None = None
    excused: list[dict[str, str]] = field(default_factory=list)
    transcript: list[dict[str, Any]] = field(default_factory=list)


def read_progress(params: Mapping[str, Any]) -> list[MatchProgress]:
    """Read a report_progress (ruling, section 10).

    Raises:
        MissingField: no matches.
        InvalidFormat: an item is malformed, or there are too many.
    """
    matches = params.get("matches")
    if matches is None:
        raise MissingField("matches is missing.", field="matches", expected="an array of matches")
    if not isinstance(matches, list):
        raise InvalidFormat("matches must be an array.", field="matches", seen=matches, expected="an array of matches")
    if len(matches) > MAX_MATCHES:
        expected = f"at most {MAX_MATCHES} matches"
        raise InvalidFormat("matches has too many items.", field="matches", seen=len(matches), expected=expected)
    return [_read_item(item, f"matches[{position}]") for position, item in enumerate(matches)]


def _read_item(item: object, where: str) -> MatchProgress:
    if not isinstance(item, Mapping):
        raise InvalidFormat(f"{where} must be an object.", field=where, seen=item, expected="an object")
    state = text(item.get("state"), field=f"{where}.state", expected="a match state")
    if state not in PROGRESS_STATES and state != HANDED_BACK:
        expected = ", ".join(sorted([*PROGRESS_STATES, HANDED_BACK]))
        raise InvalidFormat(
            f"{where}.state is not a state that a report may have.",
            field=f"{where}.state",
            seen=state,
            expected=expected,
        )
    view, seal, why = item.get("view"), item.get("seal"), item.get("why")
    return MatchProgress(
        league_id=text(item.get("league_id"), field=f"{where}.league_id", expected="a league id"),
        match_id=text(item.get("match_id"), field=f"{where}.match_id", expected="a match id"),
        attempt=whole_number(item.get("attempt"), field=f"{where}.attempt"),
        state=state,
        joined=_ids(item.get("joined")),
        locked_in=_ids(item.get("locked_in")),
        # A student's referee may put anything into it, and everybody sees it.
        view=without_addresses(clean(view)) if isinstance(view, Mapping) else {},
        cause=Cause.LEAGUE if item.get("cause") == Cause.LEAGUE else Cause.REFEREE,
        seal=dict(seal) if isinstance(seal, Mapping) else None,
        unreached=storable(item["unreached"])[:40] if isinstance(item.get("unreached"), str) else "",
        end_told=item.get("end_told") is True,
        moves=_moves(item.get("moves")),
        excused=_excused(item.get("excused")),
        why=redact(why)[:200] if isinstance(why, str) else "",
        transcript=read_entries(item.get("transcript")),
    )


def _moves(value: object) -> list[list[Any]] | None:
    """Pairs of player and move, in order; None if they were not sent."""
    if not isinstance(value, list):
        return None
    pairs = [
        pair for pair in value[:MAX_TURNS] if isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str)
    ]
    return [[player, clean(move)] for player, move in pairs]


def _excused(value: object) -> list[dict[str, str]]:
    """The tries that do not count; malformed ones are left out."""
    tries = value if isinstance(value, list) else []
    return [
        {name: storable(excused[name])[:200] for name in _EXCUSED_FIELDS if isinstance(excused.get(name), str)}
        for excused in tries[:MAX_EXCUSED]
        if isinstance(excused, Mapping)
    ]


def _ids(value: object) -> list[str]:
    return [player_id for player_id in value if isinstance(player_id, str)] if isinstance(value, list) else []
