"""READS: a match's messages as lanes on a time line, each answer against its deadline. Pure.

Four lines run down the page: PLAYER_A, the referee, the league manager, PLAYER_B. A row is a message between two of
them or a step of the match at one of them. Not every referee is ours: a transcript may hold anything.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from league_sdk.dialects import answers
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.notes import in_words
from league_sdk.protocol.states import MatchState
from matches.words import match, states

SEATS = ("a", "b")
GAPS_MS = (300, 1_000, 3_000, 10_000, 30_000)
"""Silences at least so long are drawn one size larger each: 30 s is seen to be long, and fits the page."""
SILENCE_MS = 2_000
"""From here on a silence says how long it was."""
LONGEST_MS = 10**9

MOST_CHOICE_CHARS = 20

_MOVE_CALLS = (MessageType.CHOOSE_PARITY_CALL, MessageType.GAME_MOVE_CALL)
_MOVES = (MessageType.CHOOSE_PARITY_RESPONSE, MessageType.GAME_MOVE_RESPONSE)
_AT_THE_LEAGUE = {MatchState.READY: "l", MatchState.HELD: "l", MatchState.PENDING: "l"}
_BETWEEN = {MatchState.ASSIGNED: "given", MatchState.FINISHED: "reported"}

Row = dict[str, Any]


def rows_of(  # noqa: PLR0913 - what a page shows of an attempt
    entries: Sequence[Mapping[str, Any]],
    steps: Iterable[Mapping[str, str]],
    players: tuple[str, str],
    *,
    begun: datetime | None,
    in_play: bool,
    locked_in: Sequence[str] = (),
    choice_field: str = "",
) -> list[Row]:
    """One attempt, in the order of time.

    Seven arguments: the page takes them from a row or from a frozen view, which have no type in common.

    Args:
        entries: its transcript, in the order its referee counted them.
        steps: the states it went through, with their times.
        players: the ids of PLAYER_A and PLAYER_B.
        begun: from when the page counts; None: from its first row.
        in_play: whether a message without an answer may still get one.
        locked_in: players whose answer is in, though nobody may see it yet.
        choice_field: the game's name for a move, which is shown beside the answer that made it.
    """
    messages = [_message(entry, players) for entry in entries]
    waiting = _pair(messages)
    for row, entry in zip(messages, entries, strict=True):
        if row["incoming"] and _for_a_move(row):
            row["choice"] = _choice(entry.get("body"), choice_field)
    if in_play:
        _wait(waiting, {seat for player, seat in zip(players, SEATS, strict=True) if player in locked_in})
    rows = _merge(messages, [_step(step, bool(messages)) for step in steps])
    _mark_waiting(rows)
    return list(_timed(rows, begun))


def begin_of(entries: Sequence[Mapping[str, Any]], steps: Iterable[Mapping[str, str]]) -> datetime | None:
    """From when the times of a match are counted: when it was handed to its first referee."""
    given = [step["at"] for step in steps if step["state"] == MatchState.ASSIGNED]
    told = [entry["at"] for entry in entries]
    return min((datetime.fromisoformat(first[0]) for first in (given, told) if first), default=None)


# One row ------------------------------------------------------------------------------------------


def _message(entry: Mapping[str, Any], players: tuple[str, str]) -> Row:
    sender, recipient = (str(entry.get(name) or "")[:80] for name in ("sender", "recipient"))
    by_code = dict(zip(players, SEATS, strict=True))
    from_seat, to_seat = (by_code.get(_code(name)) for name in (sender, recipient))
    known = from_seat or to_seat
    incoming = from_seat is not None if known else sender.startswith("league")
    return {
        "kind": "message",
        "key": f"{entry['attempt']}-{entry['n']}",
        "at": datetime.fromisoformat(entry["at"]),
        "lane": known or "l",
        "incoming": incoming,
        "sender": _code(sender),
        "recipient": _code(recipient),
        "type": str(entry.get("message_type") or "")[:80],
        "elapsed_ms": _milliseconds(entry.get("elapsed_ms")),
        "limit_ms": _milliseconds(entry.get("limit_ms")) or None,
        "http_status": entry.get("http_status"),
        "problem": in_words(entry.get("problem"), _),
        "notes": [in_words(note, _) for note in entry.get("notes") or []],
        "came": entry.get("http_status") is not None or entry.get("body") not in (None, "", {}),
        "deadline": _deadline(entry) if to_seat else None,
        "complaint": _complaint(entry),
        "verdict": "",
        "said": "",
    }


def _code(name: str) -> str:
    """P01 of player:P01."""
    return name.partition(":")[2] or name


def _milliseconds(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= LONGEST_MS:
        return None
    return round(value)


def _deadline(entry: Mapping[str, Any]) -> int | None:
    """The milliseconds that a message gives for its answer, in whole seconds as stamps have them."""
    body = entry.get("body")
    params = body.get("params", body) if isinstance(body, Mapping) else None
    until = params.get("deadline") if isinstance(params, Mapping) else None
    try:
        end = datetime.fromisoformat(until) if isinstance(until, str) else None
        left = (end - datetime.fromisoformat(entry["at"])).total_seconds() if end is not None else 0
    except (ValueError, TypeError):
        return None
    return math.ceil(left) * 1000 if 0 < left < LONGEST_MS / 1000 else None


def _complaint(entry: Mapping[str, Any]) -> str:
    """What a GAME_ERROR says, for people."""
    body = entry.get("body")
    params = body.get("params", body) if isinstance(body, Mapping) else None
    return str(params.get("message") or "")[:300] if isinstance(params, Mapping) else ""


def _step(step: Mapping[str, str], played: bool) -> Row:
    state = MatchState(step["state"])
    lane = _BETWEEN.get(state) or _AT_THE_LEAGUE.get(state, "r")
    return {
        "kind": "step",
        "state": state.value,
        # Without a message the league has decided it by itself.
        "lane": "l" if lane == "reported" and not played else lane,
        "label": states.match_state(state),
        "at": datetime.fromisoformat(step["at"]),
    }


# What belongs together ----------------------------------------------------------------------------


def _pair(messages: list[Row]) -> dict[str, Row]:
    """Find the answer of every message to a player, and say how it was: in time, wrong, late, or none.

    Returns the last message to each player that has no answer.
    """
    open_: dict[str, Row] = {}
    answered: dict[str, Row] = {}
    for row in messages:
        lane = row["lane"]
        if lane not in SEATS:
            continue
        if not row["incoming"]:
            open_[lane] = row
            _refused(answered.pop(lane, None), row)
            continue
        aside = row["elapsed_ms"] is None and row["notes"]
        call = None if aside else open_.pop(lane, None)
        if call is not None:
            row["call"], call["answer"] = call, row
            answered[lane] = row
        _judge(row, call)
    return open_


def _for_a_move(row: Row) -> bool:
    return bool(row["type"] in _MOVES or ("call" in row and row["call"]["type"] in _MOVE_CALLS))


def _choice(body: object, field: str) -> str:
    """The move in an answer, wherever it stands; empty when there is none that could be shown."""
    found = answers.choice(answers.read_answer(body, rpc_id=0).message, field)
    return str(found)[:MOST_CHOICE_CHARS] if isinstance(found, (str, int)) and not isinstance(found, bool) else ""


def _wait(waiting: Mapping[str, Row], locked_in: set[str]) -> None:
    """Mark the messages whose answers are still to come, or have come and are kept until the draw."""
    for lane, row in waiting.items():
        if lane in locked_in:
            row["verdict"], row["said"] = "locked", _("has locked in")
        else:
            row["verdict"] = "open"
            row["limit"] = _("of %(limit)s") % {"limit": match.duration(row["deadline"])} if row["deadline"] else ""


def _refused(answer: Row | None, following: Row) -> None:
    """An answer that is followed by a GAME_ERROR was none, whatever it looked like."""
    if answer is not None and answer["verdict"] == "ok" and following["type"] == MessageType.GAME_ERROR:
        answer["verdict"], answer["problem"] = "wrong", answer["problem"] or following["complaint"]


def _judge(row: Row, call: Row | None) -> None:
    elapsed, limit = row["elapsed_ms"], row["limit_ms"]
    if call is not None and limit is None:
        # It came by a POST of the player's own.
        elapsed = max(0, round((row["at"] - call["at"]).total_seconds() * 1000))
        limit = row["limit_ms"] = call["deadline"]
        row["elapsed_ms"] = elapsed
    if call is None or elapsed is None:
        row["verdict"] = "aside"
    elif not row["came"] and row["problem"]:
        row["verdict"], row["said"] = "never", match.never(elapsed, limit)
        if limit is not None and elapsed >= limit:
            # That is the whole problem, and is said already.
            row["problem"] = ""
    elif limit is not None and elapsed > limit:
        row["verdict"], row["said"] = "late", match.too_late(elapsed, limit)
    else:
        row["verdict"] = "wrong" if row["problem"] else "ok"
        row["said"] = match.took(elapsed, limit)
    if limit and elapsed is not None and call is not None:
        row["used"] = max(1, min(100, round(100 * elapsed / limit)))


def _merge(messages: list[Row], steps: list[Row]) -> list[Row]:
    """Both in the order of time; the messages stay in the order of their numbers, whatever clock timed them."""
    first = [step for step in steps if step["lane"] == "given"]
    last = [step for step in steps if step["state"] in (MatchState.FINISHED, MatchState.READY, MatchState.HELD)]
    between = [step for step in steps if step not in first and step not in last]
    # What the league did before it handed the match out stands before that.
    if first:
        early = [step for step in last if step["at"] <= first[0]["at"]]
        first, last = [*early, *first], [step for step in last if step not in early]
    rows: list[Row] = [*first]
    for row in messages:
        while between and between[0]["at"] <= row["at"]:
            rows.append(between.pop(0))
        rows.append(row)
    return [*rows, *between, *last]


def _timed(rows: list[Row], begun: datetime | None) -> Iterator[Row]:
    """Each row with its time, and before it the silence, drawn as large as it was long, within reason."""
    before: datetime | None = None
    waited: list[str] = []
    for row in rows:
        begun = begun or row["at"]
        row["offset"] = f"{(row['at'] - begun).total_seconds():+.3f}"
        passed = round((row["at"] - before).total_seconds() * 1000) if before is not None else 0
        row["gap"] = sum(passed >= size for size in GAPS_MS)
        if passed >= SILENCE_MS:
            label = _("%(time)s pass") % {"time": match.duration(round(passed, -2))}
            yield {"kind": "silence", "gap": row["gap"], "waits": " ".join(waited), "label": label}
            row["gap"] = 0
        yield row
        before = max(before, row["at"]) if before is not None else row["at"]
        waited = row["after"]


def _mark_waiting(rows: list[Row]) -> None:
    """On each row, for whom the referee is waiting: from a message that is answered to its answer."""
    waiting: dict[str, str] = {}
    for row in rows:
        marks = {seat: f"w{seat}m{hollow}" for seat, hollow in waiting.items()}
        lane = row["lane"]
        if row["kind"] == "message" and lane in SEATS:
            answer = row.get("answer")
            if not row["incoming"] and (answer is not None or row["verdict"] == "open"):
                waiting[lane] = f" w{lane}x" if answer is not None and answer["verdict"] == "never" else ""
                marks[lane] = f"w{lane}s{waiting[lane]}"
            elif "call" in row:
                marks[lane] = f"w{lane}e{waiting.pop(lane, '')}"
        row["waits"] = " ".join(marks.values())
        row["after"] = [f"w{seat}m{hollow}" for seat, hollow in waiting.items()]
