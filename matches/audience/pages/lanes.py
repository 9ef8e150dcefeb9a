"""A match's messages on a time line with four lanes, each answer against its deadline. Pure.

The lanes are PLAYER_A, the referee, the league manager and PLAYER_B. A row is a message between two of them or a step
of the match at one of them. The referee may be a student's, so a transcript may contain anything.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

from django.utils.translation import gettext as _

from league_sdk.dialects import answers
from league_sdk.protocol import notes
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.own_words import clean_words
from league_sdk.protocol.states import MatchState
from matches.view.rows import Step as StepRow
from matches.words import match, states
from matches.words.notes import sentence_of

SEATS = ("a", "b")
GAPS_MS = (300, 1_000, 3_000, 10_000, 30_000)
"""A silence is drawn one size larger for each of these times that it reaches, so that 30 s still fits the page."""
SILENCE_MS = 2_000
"""A silence at least this long is labelled with its length."""
MAX_MS = 10**9
MAX_NAME_CHARS, MAX_CHOICE_CHARS, MAX_COMPLAINT_CHARS = 80, 20, 300

_MOVE_CALLS = (MessageType.CHOOSE_PARITY_CALL, MessageType.GAME_MOVE_CALL)
_MOVES = (MessageType.CHOOSE_PARITY_RESPONSE, MessageType.GAME_MOVE_RESPONSE)
_LANES = {
    MatchState.READY: "l",
    MatchState.HELD: "l",
    MatchState.PENDING: "l",
    MatchState.ASSIGNED: "given",
    MatchState.FINISHED: "reported",
}
"""Where a step is drawn: at the league manager (l), or on the way to or from the referee. The steps of all other states
are drawn at the referee (r)."""


@dataclass(slots=True, kw_only=True)
class Row:
    """A row of the time line.

    Attributes:
        lane: a or b for a player, l for the league manager, r for the referee; ``given`` and ``reported`` for a step
            between the last two.
        gap: the size of the silence before the row, from 0 to the number of :data:`GAPS_MS`.
        waits, after: CSS classes that mark for whom the referee waits beside and after this row.
    """

    kind: ClassVar[str]
    lane: str = ""
    gap: int = 0
    offset: str = ""
    waits: str = ""
    after: list[str] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Silence(Row):
    """A long time without a message or step."""

    kind: ClassVar[str] = "silence"
    label: str


@dataclass(slots=True, kw_only=True)
class Step(Row):
    """A change of the match's state."""

    kind: ClassVar[str] = "step"
    at: datetime
    state: MatchState

    @property
    def label(self) -> str:
        return states.match_state(self.state)


@dataclass(slots=True, kw_only=True, eq=False)
class Message(Row):
    """A message between the referee and a player or the league manager.

    Attributes:
        key: attempt and number, as in the address of a message's JSON.
        incoming: whether the player, or the league manager in its own lane, sent it.
        hunt: a sentence on each request of the hunt for the agent's dialect that came before it.
        own_words: what the agent said itself in place of an answer; for the staff only.
        has_response: whether there was any response.
        deadline: milliseconds that the message allows for its answer.
        complaint: the text of a GAME_ERROR.
        verdict: for an answer: ok, wrong, late, never, or aside if it answers nothing; for an unanswered call: open or
            locked.
        timing: the verdict in words.
        used: the share of its time that the answer took, in percent.
        call, answer: the message that this one answers, and the message that answers this one.
    """

    kind: ClassVar[str] = "message"
    at: datetime
    key: str
    incoming: bool
    sender: str
    recipient: str
    type: str
    elapsed_ms: int | None
    limit_ms: int | None
    http_status: Any
    problem: str
    notes: list[str]
    hunt: list[str]
    own_words: str
    has_response: bool
    deadline: int | None
    complaint: str
    verdict: str = ""
    timing: str = ""
    limit: str = ""
    choice: str = ""
    used: int | None = None
    call: Message | None = None
    answer: Message | None = None


def rows_of(  # noqa: PLR0913 - what a page shows of an attempt
    entries: Sequence[Mapping[str, Any]],
    steps: Iterable[StepRow],
    players: tuple[str, str],
    *,
    begun: datetime | None,
    in_play: bool,
    locked_in: Sequence[str] = (),
    choice_field: str = "",
) -> list[Row]:
    """The rows of one attempt, ordered by time.

    Seven arguments: they come from a match, its transcript and its view, which have no type in common.

    Args:
        entries: its transcript, numbered by its referee.
        steps: its states with their times.
        players: the ids of PLAYER_A and PLAYER_B.
        begun: the time that offsets count from; None: that of the first row.
        in_play: whether a call without an answer may still get one.
        locked_in: players who have answered, although the answer is still secret.
        choice_field: the field with the move in an answer; the move is shown beside it.
    """
    messages = [_message(entry, players) for entry in entries]
    waiting = _pair(messages)
    for message, entry in zip(messages, entries, strict=True):
        if message.incoming and _is_move(message):
            message.choice = _choice(entry.get("body"), choice_field)
    if in_play:
        _mark_unanswered(waiting, {seat for player, seat in zip(players, SEATS, strict=True) if player in locked_in})
    rows = _merge(messages, [_step(step, bool(messages)) for step in steps])
    _mark_waiting(rows)
    return list(_with_silences(rows, begun))


def begin_of(entries: Sequence[Mapping[str, Any]], steps: Iterable[StepRow]) -> datetime | None:
    """The time that a match's offsets count from: when it was assigned to its first referee, or its
    first message if the referee's clock says that it was earlier."""
    assigned = [step["at"] for step in steps if step["state"] == MatchState.ASSIGNED]
    logged = [entry["at"] for entry in entries]
    return min((datetime.fromisoformat(first[0]) for first in (assigned, logged) if first), default=None)


# One row ------------------------------------------------------------------------------------------


def _message(entry: Mapping[str, Any], players: tuple[str, str]) -> Message:
    sender, recipient = (str(entry.get(name) or "")[:MAX_NAME_CHARS] for name in ("sender", "recipient"))
    by_code = dict(zip(players, SEATS, strict=True))
    from_seat, to_seat = (by_code.get(_id_of(name)) for name in (sender, recipient))
    seat = from_seat or to_seat
    body = entry.get("body")
    params = body.get("params", body) if isinstance(body, Mapping) else None
    params = params if isinstance(params, Mapping) else {}
    of_answer, of_hunt = notes.apart(entry.get("notes") or [])
    own_words = entry.get("said")
    return Message(
        at=datetime.fromisoformat(entry["at"]),
        key=f"{entry['attempt']}-{entry['n']}",
        lane=seat or "l",
        incoming=from_seat is not None if seat else sender.startswith("league"),
        sender=_id_of(sender),
        recipient=_id_of(recipient),
        type=str(entry.get("message_type") or "")[:MAX_NAME_CHARS],
        elapsed_ms=_milliseconds(entry.get("elapsed_ms")),
        limit_ms=_milliseconds(entry.get("limit_ms")) or None,
        http_status=entry.get("http_status"),
        problem=sentence_of(entry.get("problem")),
        notes=[sentence_of(note) for note in of_answer],
        hunt=[sentence_of(note) for note in of_hunt],
        own_words=clean_words(own_words) if isinstance(own_words, str) else "",
        has_response=entry.get("http_status") is not None or body not in (None, "", {}),
        deadline=_deadline(params.get("deadline"), entry["at"]) if to_seat else None,
        complaint=str(params.get("message") or "")[:MAX_COMPLAINT_CHARS],
    )


def _id_of(name: str) -> str:
    """The id in a name such as ``player:P01``."""
    return name.partition(":")[2] or name


def _milliseconds(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= MAX_MS:
        return None
    return round(value)


def _deadline(until: object, at: str) -> int | None:
    """Milliseconds from a time to a deadline, rounded up to whole seconds, as deadlines have no fractions."""
    try:
        end = datetime.fromisoformat(until) if isinstance(until, str) else None
        left = (end - datetime.fromisoformat(at)).total_seconds() if end is not None else 0
    except (ValueError, TypeError):
        return None
    return math.ceil(left) * 1000 if 0 < left < MAX_MS / 1000 else None


def _step(step: StepRow, played: bool) -> Step:
    state = MatchState(step["state"])
    lane = _LANES.get(state, "r")
    # A match that ended without a message was ended by the league manager, not by a report.
    lane = "l" if lane == "reported" and not played else lane
    return Step(at=datetime.fromisoformat(step["at"]), state=state, lane=lane)


# What belongs together ----------------------------------------------------------------------------


def _pair(messages: list[Message]) -> dict[str, Message]:
    """Pair every message to a player with its answer, and set the answer's verdict.

    Returns the last unanswered message to each player, by lane.
    """
    open_: dict[str, Message] = {}
    answered: dict[str, Message] = {}
    for message in messages:
        lane = message.lane
        if lane not in SEATS:
            continue
        if not message.incoming:
            open_[lane] = message
            _mark_refused(answered.pop(lane, None), message)
            continue
        aside = message.elapsed_ms is None and message.notes
        call = None if aside else open_.pop(lane, None)
        if call is not None:
            message.call, call.answer = call, message
            answered[lane] = message
        _set_verdict(message)
    return open_


def _is_move(message: Message) -> bool:
    return message.type in _MOVES or (message.call is not None and message.call.type in _MOVE_CALLS)


def _choice(body: object, name: str) -> str:
    """The move in an answer, whatever field it is in; empty if there is none."""
    move = answers.choice(answers.read_answer(body, rpc_id=0).message, name)
    return str(move)[:MAX_CHOICE_CHARS] if isinstance(move, (str, int)) and not isinstance(move, bool) else ""


def _mark_unanswered(waiting: Mapping[str, Message], locked_in: set[str]) -> None:
    """Mark messages whose answers are still to come, or have come but are secret until the draw."""
    for lane, message in waiting.items():
        if lane in locked_in:
            message.verdict, message.timing = "locked", _("has locked in")
        else:
            message.verdict = "open"
            if message.deadline:
                message.limit = _("of %(limit)s") % {"limit": match.duration(message.deadline)}


def _mark_refused(answer: Message | None, following: Message) -> None:
    """Mark an answer as wrong if the referee's next message is a GAME_ERROR."""
    if answer is not None and answer.verdict == "ok" and following.type == MessageType.GAME_ERROR:
        answer.verdict, answer.problem = "wrong", answer.problem or following.complaint


def _set_verdict(message: Message) -> None:
    call = message.call
    if call is not None and message.limit_ms is None:
        # The player answered by a POST of its own, which the referee does not time.
        message.elapsed_ms = max(0, round((message.at - call.at).total_seconds() * 1000))
        message.limit_ms = call.deadline
    elapsed, limit = message.elapsed_ms, message.limit_ms
    if call is None or elapsed is None:
        message.verdict = "aside"
        return
    if not message.has_response and message.problem:
        message.verdict, message.timing = "never", match.no_answer(elapsed, limit)
        if limit is not None and elapsed >= limit:
            # The verdict already says that time ran out.
            message.problem = ""
    elif limit is not None and elapsed > limit:
        message.verdict, message.timing = "late", match.too_late(elapsed, limit)
    else:
        message.verdict = "wrong" if message.problem else "ok"
        message.timing = match.took(elapsed, limit)
    if limit:
        message.used = max(1, min(100, round(100 * elapsed / limit)))


def _merge(messages: list[Message], steps: list[Step]) -> list[Message | Step]:
    """Merge messages and steps by time; messages keep the order of their numbers even if clocks differ."""
    first = [step for step in steps if step.lane == "given"]
    last = [step for step in steps if step.state in (MatchState.FINISHED, MatchState.READY, MatchState.HELD)]
    between = [step for step in steps if step not in first and step not in last]
    # Steps of the league manager before the first assignment come before it.
    if first:
        early = [step for step in last if step.at <= first[0].at]
        first, last = [*early, *first], [step for step in last if step not in early]
    rows: list[Message | Step] = [*first]
    for message in messages:
        while between and between[0].at <= message.at:
            rows.append(between.pop(0))
        rows.append(message)
    return [*rows, *between, *last]


def _with_silences(rows: list[Message | Step], begun: datetime | None) -> Iterator[Row]:
    """Set each row's offset and gap, and insert a row for each long silence."""
    before: datetime | None = None
    waited: list[str] = []
    for row in rows:
        begun = begun or row.at
        row.offset = f"{(row.at - begun).total_seconds():+.3f}"
        passed = round((row.at - before).total_seconds() * 1000) if before is not None else 0
        row.gap = sum(passed >= size for size in GAPS_MS)
        if passed >= SILENCE_MS:
            label = _("%(time)s pass") % {"time": match.duration(round(passed, -2))}
            yield Silence(label=label, gap=row.gap, waits=" ".join(waited))
            row.gap = 0
        yield row
        before = max(before, row.at) if before is not None else row.at
        waited = row.after


def _mark_waiting(rows: list[Message | Step]) -> None:
    """Mark on each row for whom the referee is waiting: from a call to its answer.

    CSS classes: ``was`` starts the wait for PLAYER_A, ``wam`` goes on with it, ``wae`` ends it; ``wax`` is added if no
    answer ever came.
    """
    waiting: dict[str, str] = {}
    for row in rows:
        marks = {seat: f"w{seat}m{unanswered}" for seat, unanswered in waiting.items()}
        lane = row.lane
        if isinstance(row, Message) and lane in SEATS:
            if not row.incoming and (row.answer is not None or row.verdict == "open"):
                waiting[lane] = f" w{lane}x" if row.answer is not None and row.answer.verdict == "never" else ""
                marks[lane] = f"w{lane}s{waiting[lane]}"
            elif row.call is not None:
                marks[lane] = f"w{lane}e{waiting.pop(lane, '')}"
        row.waits = " ".join(marks.values())
        row.after = [f"w{seat}m{unanswered}" for seat, unanswered in waiting.items()]
