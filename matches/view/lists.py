"""READS: lists that grow with a league, as JSON in parts of at most ``MAX_BYTES``.

A part ends after ``limit`` rows or before it would become too large; its ``next_cursor`` requests the next part. A
cursor is a position in the list: the position of a match never changes, but the table may change between two requests.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder

from league_sdk.protocol.states import LeagueState, MatchState
from matches.models import Match, Round
from matches.view import queries
from matches.view.rows import MatchRow
from matches.view.sight import View

MAX_BYTES = 1024 * 1024 - 16 * 1024
"""Bytes of the rows in one answer; with the message around them it stays within 1 MiB."""
MAX_ROWS = 10_000
"""The largest ``limit`` that is accepted."""
ROUNDS_PER_QUERY = 10
"""Rounds whose matches are read by one query."""
_CURSOR = re.compile(r"(?:([0-9]{1,6})\.)?([0-9]{1,6})")

_dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=DjangoJSONEncoder().default).encode


class NotUsable(ValueError):
    """A ``limit`` or ``cursor`` is malformed.

    Attributes:
        field: which of the two.
        seen: its value.
        expected: the accepted values, in words.
    """

    def __init__(self, field: str, seen: Any, expected: str) -> None:
        super().__init__(f"{field} is not usable: expected {expected}.")
        self.field, self.seen, self.expected = field, seen, expected


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which part of a list is requested.

    Attributes:
        limit: the maximal number of rows; None: as many as fit.
        start: the position of the first row: its round and its index in the round; in a list without rounds 0 and its
            index.
        max_bytes: the maximal number of bytes of all rows.
        given: whether the request had a limit or cursor. Without them the answer has ``next_cursor`` and ``total`` only
            if there are more parts.
    """

    limit: int | None = None
    start: tuple[int, int] = (0, 0)
    max_bytes: int = MAX_BYTES
    given: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a list.

    Attributes:
        rows: a JSON array.
        next_cursor: requests the next part; None: this is the last one.
        total: the number of rows in the whole list; of a schedule, the number of matches. It may be 0 where
            :meth:`more` leaves it out.
    """

    rows: str
    next_cursor: str | None
    total: int

    def more(self, options: Wanted) -> dict[str, Any]:
        """The fields beside the rows; empty when the whole list was requested and this part has all of it."""
        if not options.given and self.next_cursor is None:
            return {}
        return {"next_cursor": self.next_cursor, "total": self.total}


def wanted(limit: Any, cursor: Any, *, max_bytes: int = MAX_BYTES) -> Wanted:
    """Parse which part is requested.

    Args:
        limit: an integer from 1 to ``MAX_ROWS``, also as text; None or empty: no limit.
        cursor: the ``next_cursor`` of an earlier part; None or empty: from the beginning.
        max_bytes: the maximal number of bytes.

    Raises:
        NotUsable: one of them is malformed.
    """
    if limit in (None, "") and cursor in (None, ""):
        return Wanted(max_bytes=max_bytes)
    limit_rows: int | None = None
    if limit not in (None, ""):
        number = int(limit) if isinstance(limit, str) and re.fullmatch(r"[0-9]{1,6}", limit) else limit
        if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= MAX_ROWS:
            raise NotUsable("limit", limit, f"a whole number from 1 to {MAX_ROWS}")
        limit_rows = number
    start = (0, 0)
    if cursor not in (None, ""):
        position = _CURSOR.fullmatch(cursor) if isinstance(cursor, str) else None
        if position is None:
            raise NotUsable("cursor", cursor, "the next_cursor of an earlier answer")
        start = (int(position[1] or 0), int(position[2]))
    return Wanted(limit_rows, start, max_bytes, given=True)


def standings(view: View, want: Wanted) -> Part:
    """The table, as messages carry it."""
    return rows_of(queries.standings_rows(view), want)


def rows_of(rows: Sequence[Mapping[str, Any]], want: Wanted) -> Part:
    """A part of a list that is in memory."""
    texts: list[str] = []
    size, at = 0, want.start[1]
    for row in rows[at : None if want.limit is None else at + want.limit]:
        text = _dumps(row)
        size += len(text.encode()) + 1
        if texts and size > want.max_bytes:
            break
        texts.append(text)
    end = at + len(texts)
    return Part(f"[{','.join(texts)}]", str(end) if end < len(rows) else None, len(rows))


def schedule(view: View, want: Wanted, *, for_messages: bool) -> Part:
    """Every round with its matches; a round that does not fit continues in the next part.

    Args:
        for_messages: whether times are written as in messages; else as in the HTTP API.
    """
    rounds, next_cursor, total = _rounds_that_fit(
        view, want, lambda played: _dumps(queries.round_head(played, view, for_messages=for_messages))
    )
    shown = (f'{head[:-1]},"matches":[{",".join(lines)}]}}' for head, lines in rounds)
    return Part(f"[{','.join(shown)}]", next_cursor, total)


def matches(view: View, want: Wanted) -> Part:
    """Every match, in playing order."""
    rounds, next_cursor, total = _rounds_that_fit(view, want, lambda _played: "")
    return Part(f"[{','.join(line for _head, lines in rounds for line in lines)}]", next_cursor, total)


def _rounds_that_fit(
    view: View, want: Wanted, head: Callable[[Round], str]
) -> tuple[list[tuple[str, list[str]]], str | None, int]:
    """The rounds that fit, each with its head and its matches as JSON; the next cursor; the number of all matches."""
    rounds: list[tuple[str, list[str]]] = []
    next_cursor: str | None = None
    room = _Room(want)
    for played, lines in _by_round(view, want):
        at = want.start[1] if played.number == want.start[0] else 0
        first = head(played)
        fitting: list[str] = []
        for line in lines[at:]:
            if not room.takes(line, "" if fitting else first):
                next_cursor = f"{played.number}.{at + len(fitting)}"
                break
            fitting.append(line)
        if fitting or next_cursor is None:
            rounds.append((first, fitting))
        if next_cursor is not None:
            break
    total = queries.matches_of(view.league).count() if want.given or next_cursor is not None else 0
    return rounds, next_cursor, total


class _Room:
    """How many rows and bytes still fit into a part. The first row always fits."""

    def __init__(self, want: Wanted) -> None:
        self._rows, self._bytes = want.limit, want.max_bytes
        self._any = False

    def takes(self, line: str, head: str) -> bool:
        """Whether a line fits, with a head if it is the first line of its round; if it fits, it is counted."""
        size = len(line.encode()) + len(head.encode()) + 16
        if self._any and (self._rows == 0 or self._bytes < size):
            return False
        self._any = True
        self._bytes -= size
        if self._rows is not None:
            self._rows -= 1
        return True


def _by_round(view: View, want: Wanted) -> Iterator[tuple[Round, list[str]]]:
    """The rounds from the requested one on, each with its matches as JSON; reads only what is consumed.

    No rounds while the schedule is being made: nobody sees half of it (``matches.league.making``).
    """
    if view.league.state == LeagueState.REGISTRATION:
        return
    rounds = list(view.league.rounds.filter(number__gte=want.start[0]).select_related("bye").order_by("number"))
    lines_of = _present_lines if view.is_present else _past_lines
    for at in range(0, len(rounds), ROUNDS_PER_QUERY):
        chunk = rounds[at : at + ROUNDS_PER_QUERY]
        lines: dict[int, list[str]] = {round_.number: [] for round_ in chunk}
        for number, text in lines_of(view, chunk):
            lines[number].append(text)
        for round_ in chunk:
            yield round_, lines[round_.number]


def _past_lines(view: View, rounds: Sequence[Round]) -> Iterator[tuple[int, str]]:
    matches = queries.matches_of(view.league).select_related("league").filter(round__in=rounds)
    for match in matches:
        yield match.round.number, _dumps(queries.match_row(match, view))


def _present_lines(view: View, rounds: Sequence[Round]) -> Iterator[tuple[int, str]]:
    """Like ``queries.match_row``, but from column values: model instances would take ten times as long."""
    matches = Match.objects.filter(round__in=rounds).order_by("round__number", "pk")
    columns = ("match_id", "round__number", "player_a__code", "player_b__code", "referee__code", "state", "attempt")
    outcomes = view.moment.outcomes
    for match_id, number, first, second, referee, state, attempt in matches.values_list(*columns):
        outcome = outcomes.get(match_id)
        line: MatchRow = {
            "match_id": match_id,
            "round_id": number,
            "player_A_id": first,
            "player_B_id": second,
            "referee_id": outcome.referee_id if outcome else referee,
            "state": MatchState.FINISHED if outcome else _running_state(state),
            "attempt": outcome.attempt if outcome else attempt,
            "status": outcome.status if outcome else None,
            "winner": outcome.winner if outcome else None,
        }
        yield number, _dumps(line)


def _running_state(state: str) -> str:
    # The match was finished when its row was read, but a correction has revoked the result since.
    return MatchState.READY if state == MatchState.FINISHED else state
