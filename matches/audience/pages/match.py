"""The page of one match: who, what came of it and why; the board move by move; every message on a time line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _

from league_sdk.ledger.kinds import EventKind
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.states import IN_PLAY, MatchState
from league_sdk.rules.registry import games
from matches.audience.pages.draw import draw_of, game_draws
from matches.audience.pages.keys import PageKey, socket_path
from matches.audience.pages.lanes import Row, begin_of, rows_of
from matches.audience.pages.parts import as_staff, league_of, match_dict
from matches.events.history import Outcome
from matches.models import Event, Match
from matches.view import boards, queries
from matches.view.masking import without_addresses
from matches.view.sight import View
from matches.words import match as words_match
from matches.words import states
from matches.words.corrections import corrections_of

FRAGMENTS = ("match_header", "match_draw", "match_board", "match_transcript")
_WRITTEN = ("type", "choice", "problem", "notes", "http_status")
"""What of a row is as an agent or its referee wrote it."""
_EVENTS = (EventKind.MATCH_FINISHED, EventKind.ATTEMPT_LOST, EventKind.MATCH_HELD)


def context(view: View, key: PageKey) -> dict[str, Any] | None:
    """One match as one audience sees it, or None when there is none of this id."""
    match = _match(view, key.item)
    if match is None:
        return None
    outcome = view.outcome(match.match_id)
    events = _events(view, match)
    attempts = _attempts(match, view, events, staff=key.staff)
    if not key.staff:
        _hide_addresses(attempts)
    found = match_dict(match, view)
    for player in (found["a"], found["b"]):
        player["player_url"] = reverse("player", args=[match.league_id, player["player_id"]]) + as_staff(view)
    board = found["board"]
    if board is not None:
        board["steps"] = _steps(match, view)
        boards.time_moves(board["moves"], _answers(attempts[-1]["rows"]) if attempts else [])
    return {
        "league": league_of(view),
        "match": found
        | _verdict(outcome, view, events)
        | {
            "untold": _is_untold(match, outcome),
            "round_number": match.round.number,
            "hidden": _hidden(view.frozen_after) if view.frozen_after is not None and outcome is None else "",
            "corrections": [
                _("%(correction)s Undone: %(reason)s") % {"correction": one["sentence"], "reason": one["undone_reason"]}
                if one["undone"]
                else one["sentence"]
                for one in corrections_of(view, match_id=match.match_id)
            ],
        },
        "draw": draw_of(match, view, events),
        "game_draws": game_draws(view.league.game_type),
        "attempts": attempts,
        "messages_count": sum(row["kind"] == "message" for attempt in attempts for row in attempt["rows"]),
        "as_staff": key.staff,
        "socket_path": socket_path(key),
    }


def messages(view: View, match_id: str, only: str | None, *, staff: bool) -> dict[str, Any] | None:
    """What was sent and received in a match, by attempt and number, such as "1-12".

    Args:
        only: the name of the one message to show; None for all.
        staff: whether addresses are shown, and answers that are none.

    Returns None when there is no such match or message.
    """
    match = _match(view, match_id)
    if match is None:
        return None
    lines = queries.transcript(match, view, staff=staff)
    named = {f"{entry['attempt']}-{entry['n']}": entry.get("body") for entry in lines}
    if only is not None:
        named = {name: body for name, body in named.items() if name == only}
        if not named:
            return None
    return named if staff else dict(without_addresses(named))


def _match(view: View, match_id: str | None) -> Match | None:
    match: Match | None = queries.matches_of(view.league).filter(match_id=match_id).first()
    if match is not None:
        match.league = view.league
    return match


def _events(view: View, match: Match) -> list[Event]:
    """What the league has on record of this match, as far as the view goes."""
    known = view.league.events.filter(kind__in=_EVENTS, seq__lte=view.moment.seq, data__match_id=match.match_id)
    return list(known.order_by("seq"))


# What came of it ----------------------------------------------------------------------------------


def _verdict(outcome: Outcome | None, view: View, events: list[Event]) -> dict[str, Any]:
    """The result in a sentence, and whose fault it is."""
    if outcome is None:
        return {"why": "", "blame": [], "before": ""}
    reported = [event.data for event in events if event.kind == EventKind.MATCH_FINISHED]
    before = ""
    if outcome.correction is not None and reported:
        last = reported[-1]
        summary = states.result_summary(last["status"], last["winner_id"], last["details"])
        before = _("The referee had reported: %(result)s.") % {"result": summary}
    return {
        "why": words_match.why(outcome),
        "blame": [_blame(fault) for fault in outcome.faults] if outcome.correction is None else [],
        "before": before,
    }


def _hidden(after_round: int) -> str:
    """Why a match of a frozen board shows nothing."""
    return _(
        "The board is frozen after round %(round)d: what happens in this match is shown when the board is unveiled."
    ) % {"round": after_round}


def _is_untold(match: Match, outcome: Outcome | None) -> bool:
    """Whether a sealed result counts that its players may not have heard: who was to tell them was lost."""
    by_referee = outcome is not None and outcome.correction is None
    return by_referee and bool((match.seal or {}).get("untold"))


def _blame(fault: Mapping[str, Any]) -> dict[str, Any]:
    cause = str(fault.get("cause") or "")
    return {
        "player_id": fault["player_id"],
        "cause": states.fault_cause(cause),
        "owner": words_match.owner(cause),
        "error_code": fault.get("error_code") or "",
        "tries": words_match.tries(fault["tries"]) if fault.get("tries") else "",
    }


# Attempts -----------------------------------------------------------------------------------------


def _attempts(match: Match, view: View, events: list[Event], *, staff: bool) -> list[dict[str, Any]]:
    """Every attempt at the match with its rows and what became of it, in order."""
    entries: dict[int, list[dict[str, Any]]] = {}
    for entry in queries.transcript(match, view, staff=staff):
        entries.setdefault(entry["attempt"], []).append(entry)
    steps = _steps_by_attempt(queries.lifecycle(match, view))
    outcome = view.outcome(match.match_id)
    lost = {int(event.data["attempt"]): event.data for event in events if event.kind != EventKind.MATCH_FINISHED}
    ended = {int(event.data["attempt"]): event.data for event in events if event.kind == EventKind.MATCH_FINISHED}
    playing = match.attempt if view.now and match.state in IN_PLAY else None
    game = games().get(view.league.game_type)
    numbers = sorted({*entries, *steps, *lost} - {0})
    begun = begin_of(entries.get(numbers[0], []), steps.get(numbers[0], [])) if numbers else None
    found = []
    for number in numbers:
        found.append(
            {
                "number": number,
                "fate": _fate(number, outcome, lost.get(number), ended.get(number), playing),
                "lost": number in lost,
                "rows": rows_of(
                    entries.get(number, []),
                    steps.get(number, []),
                    (match.player_a.code, match.player_b.code),
                    begun=begun,
                    in_play=number == playing,
                    locked_in=match.locked_in,
                    choice_field=game.choice_field if game is not None else "",
                ),
            }
        )
    return found


def _fate(
    number: int,
    outcome: Outcome | None,
    lost: Mapping[str, Any] | None,
    ended: Mapping[str, Any] | None,
    playing: int | None,
) -> str:
    if lost is not None:
        return words_match.lost_attempt(lost)
    if outcome is not None and outcome.attempt == number and outcome.correction is None:
        return _("The result of this attempt counts.")
    if ended is not None:
        summary = states.result_summary(ended["status"], ended["winner_id"], ended["details"])
        return _("It ended (%(result)s), and does not count any more.") % {"result": summary}
    return _("Being played now.") if number == playing else ""


def _steps_by_attempt(lifecycle: Iterable[Mapping[str, str]]) -> dict[int, list[Mapping[str, str]]]:
    """The states of a match by attempt: each begins when the match is handed to a referee."""
    found: dict[int, list[Mapping[str, str]]] = {}
    number = 0
    for step in lifecycle:
        number += step["state"] == MatchState.ASSIGNED
        found.setdefault(max(number, 1), []).append(step)
    return found


def _hide_addresses(attempts: list[dict[str, Any]]) -> None:
    for row in (row for attempt in attempts for row in attempt["rows"] if row["kind"] == "message"):
        row |= {name: without_addresses(row[name]) for name in _WRITTEN if name in row}


# The board ----------------------------------------------------------------------------------------


def _steps(match: Match, view: View) -> str:
    """The board move by move, for the script that replays it; empty when it cannot be replayed."""
    outcome = view.outcome(match.match_id)
    shown = outcome.details if outcome is not None else match.view
    steps = boards.read_steps(shown, (match.player_a.code, match.player_b.code), view.league.game_type)
    return json.dumps(steps, separators=(",", ":"), ensure_ascii=False) if steps else ""


def _answers(rows: list[Row]) -> list[dict[str, Any]]:
    """The answers to calls for a move, in order: who, how long it took, and where it stands."""
    return [
        {"seat": row["lane"], "took": words_match.duration(row["elapsed_ms"]), "key": row["key"]}
        for row in rows
        if "call" in row and row["call"]["type"] == MessageType.GAME_MOVE_CALL and row["elapsed_ms"] is not None
    ]
