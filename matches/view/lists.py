"""READS: the lists of a league that grow with it, as JSON, in parts: none is larger than ``MOST_BYTES``.

A part ends after ``limit`` rows, or where it would become too large; its ``next_cursor`` asks for what follows. A
cursor names a place in the list: matches keep theirs, a table is the one of the moment in which it is asked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder

from league_sdk.protocol.states import MatchState
from matches.models import Match, Round
from matches.view import queries
from matches.view.sight import View

MOST_BYTES = 1024 * 1024 - 16 * 1024
"""Of the rows of one answer: with what stands around them it has at most 1 MiB."""
MOST_ROWS = 10_000
"""The largest ``limit``."""
ROUNDS_AT_ONCE = 10
"""So many rounds' matches are read by one statement."""
_CURSOR = re.compile(r"(?:([0-9]{1,6})\.)?([0-9]{1,6})")

_dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=DjangoJSONEncoder().default).encode


class NotWanted(ValueError):
    """A ``limit`` or a ``cursor`` cannot be used.

    Attributes:
        field: which of them.
        seen: what it was.
        expected: what it may be.
    """

    def __init__(self, field: str, seen: Any, expected: str) -> None:
        super().__init__(f"{field} is not usable: expected {expected}.")
        self.field, self.seen, self.expected = field, seen, expected


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which part of a list is asked for.

    Attributes:
        limit: the most rows; None: as many as there is room for.
        start: the place of the first row: round and place in it, or 0 and place in a list without rounds.
        most: the most bytes of all rows.
        given: whether a part was asked for at all; who did not is told of parts only where there is another one.
    """

    limit: int | None = None
    start: tuple[int, int] = (0, 0)
    most: int = MOST_BYTES
    given: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a list.

    Attributes:
        rows: a JSON array.
        next_cursor: what asks for the next part; None: there is none.
        total: how many rows the whole list has; of a schedule, matches.
    """

    rows: str
    next_cursor: str | None
    total: int

    def more(self, wanted: Wanted) -> dict[str, Any]:
        """What is said beside the rows; nothing when the whole list was asked for and is here."""
        if not wanted.given and self.next_cursor is None:
            return {}
        return {"next_cursor": self.next_cursor, "total": self.total}


def wanted(limit: Any, cursor: Any, *, most: int = MOST_BYTES) -> Wanted:
    """Read what part is asked for.

    Args:
        limit: a whole number from 1 to ``MOST_ROWS``, also as text; None or empty: no limit.
        cursor: a ``next_cursor`` of an earlier part; None or empty: from the beginning.
        most: bytes.

    Raises:
        NotWanted: it is something else.
    """
    if limit in (None, "") and cursor in (None, ""):
        return Wanted(most=most)
    rows: int | None = None
    if limit not in (None, ""):
        number = int(limit) if isinstance(limit, str) and re.fullmatch(r"[0-9]{1,6}", limit) else limit
        if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= MOST_ROWS:
            raise NotWanted("limit", limit, f"a whole number from 1 to {MOST_ROWS}")
        rows = number
    start = (0, 0)
    if cursor not in (None, ""):
        found = _CURSOR.fullmatch(cursor) if isinstance(cursor, str) else None
        if found is None:
            raise NotWanted("cursor", cursor, "the next_cursor of an earlier answer")
        start = (int(found[1] or 0), int(found[2]))
    return Wanted(rows, start, most, given=True)


def standings(view: View, want: Wanted) -> Part:
    """The table, as messages carry it."""
    return rows_of(queries.standings_rows(view), want)


def rows_of(rows: Sequence[dict[str, Any]], want: Wanted) -> Part:
    """A list that is there as a whole."""
    found: list[str] = []
    size, at = 0, want.start[1]
    for row in rows[at : None if want.limit is None else at + want.limit]:
        text = _dumps(row)
        size += len(text.encode()) + 1
        if found and size > want.most:
            break
        found.append(text)
    end = at + len(found)
    return Part(f"[{','.join(found)}]", str(end) if end < len(rows) else None, len(rows))


def schedule(view: View, want: Wanted, *, wire: bool) -> Part:
    """Every round with its matches; a round that is cut goes on in the next part.

    Args:
        wire: times as messages carry them, else as the HTTP API does.
    """
    rounds, ends, total = _cut(view, want, lambda played: _dumps(queries.round_line(played, view, wire=wire)))
    shown = (f'{head[:-1]},"matches":[{",".join(lines)}]}}' for head, lines in rounds)
    return Part(f"[{','.join(shown)}]", ends, total)


def matches(view: View, want: Wanted) -> Part:
    """Every match as a line, in playing order."""
    rounds, ends, total = _cut(view, want, lambda _played: "")
    return Part(f"[{','.join(line for _head, lines in rounds for line in lines)}]", ends, total)


def _cut(view: View, want: Wanted, head: Callable[[Round], str]) -> tuple[list[tuple[str, list[str]]], str | None, int]:
    """The rounds that there is room for, each with its head and the lines of its matches; what follows; how many."""
    rounds: list[tuple[str, list[str]]] = []
    ends: str | None = None
    room = _Room(want)
    for played, lines in _by_round(view, want):
        at = want.start[1] if played.number == want.start[0] else 0
        first, taken = head(played), []
        for line in lines[at:]:
            if not room.takes(line, "" if taken else first):
                ends = f"{played.number}.{at + len(taken)}"
                break
            taken.append(line)
        if taken or ends is None:
            rounds.append((first, taken))
        if ends is not None:
            break
    total = Match.objects.filter(league=view.league).count() if want.given or ends is not None else 0
    return rounds, ends, total


class _Room:
    """What a part still has room for; one row always."""

    def __init__(self, want: Wanted) -> None:
        self._rows, self._bytes = want.limit, want.most
        self._any = False

    def takes(self, line: str, head: str) -> bool:
        size = len(line.encode()) + len(head.encode()) + 16
        if self._any and (self._rows == 0 or self._bytes < size):
            return False
        self._any = True
        self._bytes -= size
        if self._rows is not None:
            self._rows -= 1
        return True


def _by_round(view: View, want: Wanted) -> Iterator[tuple[Round, list[str]]]:
    """The rounds from the first that is wanted on, each with its matches as JSON; read as far as they are taken."""
    rounds = list(view.league.rounds.filter(number__gte=want.start[0]).select_related("bye").order_by("number"))
    line = _present_lines if view.now else _past_lines
    for at in range(0, len(rounds), ROUNDS_AT_ONCE):
        some = rounds[at : at + ROUNDS_AT_ONCE]
        lines: dict[int, list[str]] = {one.number: [] for one in some}
        for number, text in line(view, some):
            lines[number].append(text)
        for one in some:
            yield one, lines[one.number]


def _past_lines(view: View, rounds: Sequence[Round]) -> Iterator[tuple[int, str]]:
    found = queries.matches_of(view.league).select_related("league").filter(round__in=rounds)
    for match in found:
        yield match.round.number, _dumps(queries.match_line(match, view))


def _present_lines(view: View, rounds: Sequence[Round]) -> Iterator[tuple[int, str]]:
    """The same as ``queries.match_line``, straight from the columns: instances take ten times as long."""
    found = Match.objects.filter(round__in=rounds).order_by("round__number", "pk")
    columns = ("match_id", "round__number", "player_a__code", "player_b__code", "referee__code", "state", "attempt")
    outcomes = view.moment.outcomes
    for match_id, number, first, second, referee, state, attempt in found.values_list(*columns):
        outcome = outcomes.get(match_id)
        line = {
            "match_id": match_id,
            "round_id": number,
            "player_A_id": first,
            "player_B_id": second,
            "referee_id": outcome.referee_id if outcome else referee,
            "state": MatchState.FINISHED if outcome else _going(state),
            "attempt": outcome.attempt if outcome else attempt,
            "status": outcome.status if outcome else None,
            "winner": outcome.winner if outcome else None,
        }
        yield number, _dumps(line)


def _going(state: str) -> str:
    # The row is older than the history by a moment: the result was taken back in between.
    return MatchState.READY if state == MatchState.FINISHED else state
