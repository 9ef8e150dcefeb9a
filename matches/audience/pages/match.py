"""The page of one match: players, result and reason; the board move by move; every message on a time line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from django.utils.translation import gettext as _

from agents_registry.isolating import isolated
from league_sdk.ledger.kinds import EventKind
from league_sdk.protocol.masking import without_addresses
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.states import IN_PLAY, MatchState
from league_sdk.rules.registry import games
from matches.audience.pages import parts
from matches.audience.pages.draw import draw_of, game_draws
from matches.audience.pages.drawings import with_drawing
from matches.audience.pages.keys import PageKey, socket_path
from matches.audience.pages.lanes import Message, Row, begin_of, rows_of
from matches.events.history import Outcome
from matches.models import Event, Match
from matches.view import boards, queries
from matches.view.boards import Answer, Board
from matches.view.rows import Step
from matches.view.sight import View
from matches.words import match as words_match
from matches.words import states
from matches.words.corrections import corrections_of, fault_cause

FRAGMENTS = ("match_header", "match_draw", "match_board", "match_transcript")
_FOREIGN_TEXTS = ("type", "choice", "problem", "notes", "hunt", "http_status")
"""Fields of a message that the page shows and whose text comes from an agent or a referee."""
_FOREIGN_NAMES = ("sender", "recipient")
"""Fields of a transcript entry in which a referee names who sent a message and to whom."""
_EVENTS = (EventKind.MATCH_FINISHED, EventKind.ATTEMPT_LOST, EventKind.MATCH_HELD)


def context(view: View, key: PageKey) -> dict[str, Any] | None:
    """One match as one audience sees it; None if there is no such match."""
    match = _match(view, key.item)
    if match is None:
        return None
    outcome = view.outcome(match.match_id)
    events = _events(view, match)
    attempts = _attempts(match, view, events, staff=key.staff)
    if not key.staff:
        _hide_addresses(attempts)
    row = parts.match_row(match, view)
    if row.board is not None:
        row = replace(row, board=_replayable(row.board, match, view, attempts))
    if row.board is not None or _has_drawing_without_board(view.league.game_type, row):
        row = with_drawing(row, view, match.view)
    return {
        "league": parts.league_of(view),
        "match": row,
        "verdict": _verdict(match, outcome, events, staff=key.staff),
        "in_turns": row.board is not None or _is_in_turns(view.league.game_type),
        "next_move": _next_move(match, row, view),
        "round_number": match.round.number,
        "hidden": _hidden_reason(view.frozen_after) if view.frozen_after is not None and outcome is None else "",
        "corrections": [
            _("%(correction)s Undone: %(reason)s")
            % {"correction": correction["sentence"], "reason": isolated(correction["undone_reason"])}
            if correction["undone"]
            else correction["sentence"]
            for correction in corrections_of(view, match_id=match.match_id)
        ],
        "draw": draw_of(match, view, events),
        "game_draws": game_draws(view.league.game_type),
        "attempts": attempts,
        "messages_count": sum(row.kind == "message" for attempt in attempts for row in attempt.rows),
        "as_staff": key.staff,
        "socket_path": socket_path(key),
    }


def messages(view: View, match_id: str, only: str | None, *, staff: bool) -> dict[str, Any] | None:
    """The bodies of a match's messages by attempt and number, such as "1-12"; None without such a match or message.

    Args:
        only: the key of the one message to return; None: all.
        staff: whether addresses, and answers that are not league messages, are shown.
    """
    match = _match(view, match_id)
    if match is None:
        return None
    lines = queries.transcript(match, view, staff=staff)
    bodies = {f"{entry['attempt']}-{entry['n']}": entry.get("body") for entry in lines}
    if only is not None:
        bodies = {key: body for key, body in bodies.items() if key == only}
        if not bodies:
            return None
    return bodies if staff else dict(without_addresses(bodies))


def _has_drawing_without_board(game_type: str, row: parts.MatchRow) -> bool:
    """Whether a match has a drawing although it has no board: it has begun, and its game hides the choices."""
    game = games().get(game_type)
    return game is not None and game.hidden and (row.result is not None or row.state in IN_PLAY)


def _is_in_turns(game_type: str) -> bool:
    """Whether the players of a game move one after the other; False if the game is not installed."""
    game = games().get(game_type)
    return game is not None and not game.hidden


def _next_move(match: Match, row: parts.MatchRow, view: View) -> int | None:
    """The number of the move that a match in turns waits for; None behind a freeze, which must not tell it."""
    if not view.is_present:
        return None
    # A referee that does not seal reports no moves, and a game need not show any: the longer list is right.
    return max(len(match.moves), 0 if row.board is None else len(row.board.moves)) + 1


def _match(view: View, match_id: str | None) -> Match | None:
    match: Match | None = queries.matches_of(view.league).filter(match_id=match_id).first()
    if match is not None:
        match.league = view.league
    return match


def _events(view: View, match: Match) -> list[Event]:
    """The league's events about this match, up to the moment of the view."""
    known = view.league.events.filter(kind__in=_EVENTS, seq__lte=view.moment.seq, data__match_id=match.match_id)
    return list(known.order_by("seq"))


# What came of it ----------------------------------------------------------------------------------


class Blame(NamedTuple):
    """Says in words whose fault a lost point is."""

    player_id: str
    cause: str
    owner: str
    error_code: str
    tries: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a match ended as it did.

    Attributes:
        before: what the referee had reported, if the instructor has corrected the result.
        untold: whether the players may not know the result, as the referee was lost before it could tell them.
        own_words: for the staff, what the players said themselves in place of an answer.
    """

    why: str = ""
    blame: list[Blame] | None = None
    before: str = ""
    untold: bool = False
    own_words: Sequence[str] = ()


def _verdict(match: Match, outcome: Outcome | None, events: list[Event], *, staff: bool) -> Verdict:
    if outcome is None:
        return Verdict()
    if outcome.correction is None:
        untold = bool((match.seal or {}).get("untold"))
        blame = [_blame(fault) for fault in outcome.faults]
        own_words = words_match.own_words(outcome, match.said) if staff else []
        return Verdict(words_match.why(outcome), blame, untold=untold, own_words=own_words)
    reported = [event.data for event in events if event.kind == EventKind.MATCH_FINISHED]
    before = _("The referee had reported: %(result)s.") % {"result": _summary(reported[-1])} if reported else ""
    return Verdict(words_match.why(outcome), before=before)


def _summary(reported: Mapping[str, Any]) -> str:
    return states.result_summary(reported["status"], reported["winner_id"], reported["details"], reported["faults"])


def _hidden_reason(after_round: int) -> str:
    return _(
        "The board is frozen after round %(round)d: what happens in this match is shown when the board is unveiled."
    ) % {"round": after_round}


def _blame(fault: Mapping[str, Any]) -> Blame:
    cause = str(fault.get("cause") or "")
    return Blame(
        fault["player_id"],
        fault_cause(cause),
        words_match.owner(cause),
        fault.get("error_code") or "",
        words_match.tries(fault["tries"]) if fault.get("tries") else "",
    )


# Attempts -----------------------------------------------------------------------------------------


class Attempt(NamedTuple):
    """An attempt at the match; ``fate`` says what became of it, ``lost`` whether it was lost."""

    number: int
    fate: str
    lost: bool
    rows: list[Row]


def _attempts(match: Match, view: View, events: list[Event], *, staff: bool) -> list[Attempt]:
    entries: dict[int, list[dict[str, Any]]] = {}
    for entry in queries.transcript(match, view, staff=staff):
        entries.setdefault(entry["attempt"], []).append(entry if staff else _without_addresses_as_names(entry))
    steps = _steps_by_attempt(queries.lifecycle(match, view))
    outcome = view.outcome(match.match_id)
    lost = {int(event.data["attempt"]): event.data for event in events if event.kind != EventKind.MATCH_FINISHED}
    ended = {int(event.data["attempt"]): event.data for event in events if event.kind == EventKind.MATCH_FINISHED}
    playing = match.attempt if view.is_present and match.state in IN_PLAY else None
    numbers = sorted({*entries, *steps, *lost} - {0})
    begun = begin_of(entries.get(numbers[0], []), steps.get(numbers[0], [])) if numbers else None

    def fate(number: int) -> str:
        if number in lost:
            return words_match.lost_attempt(lost[number])
        if outcome is not None and outcome.attempt == number and outcome.correction is None:
            return _("The result of this attempt counts.")
        if number in ended:
            return _("It ended (%(result)s), and does not count any more.") % {"result": _summary(ended[number])}
        return _("Being played now.") if number == playing else ""

    def rows(number: int) -> list[Row]:
        return rows_of(
            entries.get(number, []),
            steps.get(number, []),
            (match.player_a.code, match.player_b.code),
            begun=begun,
            in_play=number == playing,
            locked_in=match.locked_in,
            choice_field=queries.choice_field(view.league.game_type),
        )

    return [Attempt(number, fate(number), number in lost, rows(number)) for number in numbers]


def _steps_by_attempt(lifecycle: Iterable[Step]) -> dict[int, list[Step]]:
    """Group the steps of a match by attempt; an attempt begins when the match is assigned to a referee."""
    steps: dict[int, list[Step]] = {}
    number = 0
    for step in lifecycle:
        number += step["state"] == MatchState.ASSIGNED
        steps.setdefault(max(number, 1), []).append(step)
    return steps


def _without_addresses_as_names(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry whose names are masked before they are read: of an address in one, only a part would be left."""
    return entry | {name: without_addresses(entry.get(name)) for name in _FOREIGN_NAMES}


def _hide_addresses(attempts: list[Attempt]) -> None:
    for message in (row for attempt in attempts for row in attempt.rows if isinstance(row, Message)):
        for name in _FOREIGN_TEXTS:
            setattr(message, name, without_addresses(getattr(message, name)))


# The board ----------------------------------------------------------------------------------------


def _replayable(board: Board, match: Match, view: View, attempts: list[Attempt]) -> Board:
    """Add to the board the steps for the script that replays it, and how long each move took."""
    outcome = view.outcome(match.match_id)
    shown = outcome.details if outcome is not None else match.view
    steps = boards.read_steps(shown, (match.player_a.code, match.player_b.code), view.league.game_type)
    answers = [
        Answer(row.lane, words_match.duration(row.elapsed_ms), row.key)
        for row in (attempts[-1].rows if attempts else [])
        if isinstance(row, Message)
        and row.call is not None
        and row.call.type == MessageType.GAME_MOVE_CALL
        and row.elapsed_ms is not None
    ]
    return replace(
        board,
        steps=json.dumps(steps, separators=(",", ":"), ensure_ascii=False) if steps else "",
        moves=boards.time_moves(board.moves, answers),
    )
