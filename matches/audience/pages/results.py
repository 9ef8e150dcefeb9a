"""The latest results, as lines of the board."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from django.template.loader import render_to_string
from django.utils.translation import get_language

from matches.audience.pages.parts import Player, Result
from matches.view.sight import View

MAX_RESULTS = 60


class ResultLine(NamedTuple):
    """Everything that the line of a result shows."""

    seq: int
    match_id: str
    url: str
    a: Player
    b: Player
    status: str
    winner: str | None
    summary: str
    at: datetime
    corrected: str

    @property
    def html(self) -> str:
        """The line as HTML."""
        return _html(self, get_language())


@lru_cache(maxsize=1000)
def _html(line: ResultLine, _language: str | None) -> str:
    # Cached, as a result is shown in many pushes before it has left the list.
    return render_to_string("leagues/result_line.html", {"line": line})


def recent_results(view: View, at_least: int) -> list[ResultLine]:
    """The results of the last two rounds, the newest first; at most :data:`MAX_RESULTS`.

    A round of agents that answer at once may begin and end between two pushes: with two rounds in the list, every
    result comes to every browser.

    Args:
        at_least: show this many results, if there are, whatever their rounds.
    """
    newest = list(view.moment.outcomes.values())[: -MAX_RESULTS - 1 : -1]
    since = max(view.moment.rounds, default=0) - 1
    older = [outcome for outcome in newest[at_least:] if outcome.round_number >= since]
    return [_line(Result(outcome, view)) for outcome in [*newest[:at_least], *older]]


def _line(result: Result) -> ResultLine:
    outcome = result.outcome
    return ResultLine(
        outcome.seq,
        outcome.match_id,
        result.url,
        result.a,
        result.b,
        outcome.status,
        outcome.winner,
        result.summary,
        outcome.at,
        result.corrected,
    )
