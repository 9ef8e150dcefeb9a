"""The table of the board, and the decisions of the instructor under it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any, NamedTuple

from django.template.loader import render_to_string
from django.utils.translation import get_language

from agents_registry.models import Kind
from league_sdk.ledger.standings import Row
from league_sdk.protocol.states import AgentState, LeagueState
from matches.audience.pages import luck, parts
from matches.audience.pages.luck import TableLuck
from matches.models import Delivery, DeliveryState
from matches.view import readiness
from matches.view.rank_history import RankHistory, places_gained
from matches.view.readiness import Readiness, Ready
from matches.view.recent import Recent
from matches.view.sight import View

MAX_KEPT_LINES = 1000


class Decision(NamedTuple):
    """A valid correction about a player rather than a match: points, or removal from the league."""

    player_id: str
    points: str
    out: str | None
    reason: str


class Columns(NamedTuple):
    """The columns that a table may have in addition to the usual ones.

    Attributes:
        luck: whether there is a column with the places between which everybody would be if the matches were played
            again.
        expected: whether there is a column of expected points, as in a game of chance.
        spark_box: the ``viewBox`` of all sparklines; empty without them.
    """

    luck: bool
    expected: bool
    spark_box: str


@dataclass(frozen=True, slots=True)
class BoardRow:
    """A line of the table.

    Attributes:
        delta: places gained since the previous round.
        agent_state: the state of its agent; empty where that says nothing about the player.
        behind: whether the agent has not received a message that others have received.
        given: points from corrections, with a sign; empty for none.
        why: the reasons of these corrections.
        unveiled: whether this is the final place, shown although the board is frozen.
        spark: the points by round, as the ``points`` of an SVG polyline.
        luck: between which places it would be if its matches were played again; None while that is not known.
        columns: the columns of the table that it is in.
    """

    row: Row
    url: str
    delta: int
    agent_state: str
    ready: Readiness | None
    behind: bool
    given: str
    why: str
    unveiled: bool
    spark: str
    luck: luck.Bar | None
    columns: Columns

    @property
    def tagged(self) -> bool:
        """Whether a tag follows the name."""
        away = self.row.out is not None or self.agent_state in (AgentState.SUSPENDED, AgentState.SHUTDOWN)
        return away or self.unveiled or self.behind or self.ready is not None

    @property
    def html(self) -> str:
        """The line as HTML; cached under everything that it shows, as one result changes two lines of many."""
        figures = (tuple(value) if isinstance(value, list) else value for value in _figures(self.row))
        shown = (*figures, *_other_values(self), get_language())
        html = _lines.get(shown)
        if html is None:
            html = render_to_string("leagues/standings_row.html", {"line": self, "row": self.row})
            _lines[shown] = html
        return html


_figures = attrgetter(*(field.name for field in fields(Row)))
_other_values = attrgetter(*(field.name for field in fields(BoardRow) if field.name != "row"))
_lines: Recent[tuple[Any, ...], str] = Recent(MAX_KEPT_LINES)


def columns(lucky: TableLuck | None, history: RankHistory, planned: int) -> Columns:
    """The columns of the table of a league with ``planned`` rounds."""
    return Columns(lucky is not None, lucky is not None and lucky.is_game_of_chance, _spark_box(history, planned))


def rows(
    view: View, decisions: list[Decision], history: RankHistory, lucky: TableLuck | None, columns: Columns
) -> list[BoardRow]:
    """The lines of the table in the order of the pages."""
    bars: Mapping[str, luck.Bar] = lucky.bars if lucky is not None else {}
    gained, states, ready, behind = places_gained(view), _states(view), _ready(view), _behind(view)
    sparks, unveiled = _sparks(history), view.unveiled
    return [
        BoardRow(
            row,
            parts.player_url(view, row.player_id),
            gained.get(row.player_id, 0),
            states.get(row.player_id, ""),
            ready.get(row.player_id),
            row.player_id in behind,
            _with_sign(row.corrected),
            "; ".join(decision.reason for decision in decisions if decision.player_id == row.player_id),
            row.player_id in unveiled,
            # An unveiled final place does not follow from the rounds that are shown.
            sparks.get(row.player_id, "") if row.player_id not in unveiled else "",
            bars.get(row.player_id),
            columns,
        )
        for row in view.listed
    ]


def _states(view: View) -> dict[str, str]:
    if view.frozen_after is not None:
        return dict(view.league.frozen["states"])
    if not view.is_present or view.over:
        # When a league is over, every player is shut down, which says nothing about the player.
        return {}
    return dict(view.league.agents.filter(kind=Kind.PLAYER).values_list("code", "state"))


def _ready(view: View) -> dict[str, Readiness]:
    """Readiness by player id during registration. "Not checked" is shown only if the league demands a check."""
    league = view.league
    if not view.is_present or league.state != LeagueState.REGISTRATION:
        return {}
    players = list(league.agents.filter(kind=Kind.PLAYER))
    known = readiness.readiness(players)
    return {
        player.code: known[player.pk]
        for player in players
        if league.rules.require_check or known[player.pk].word != Ready.NOT_CHECKED
    }


def _behind(view: View) -> set[str]:
    """Ids of the players that have not received a broadcast although a later one has reached somebody."""
    if not view.is_present or view.moment.state != LeagueState.RUNNING:
        return set()
    rows = Delivery.objects.filter(broadcast__league=view.league, agent__kind=Kind.PLAYER)
    waiting = list(rows.filter(state=DeliveryState.PENDING).values_list("agent__code", "broadcast_id"))
    if not waiting:
        return set()
    delivered = (
        rows.filter(state=DeliveryState.SETTLED).order_by("-broadcast_id").values_list("broadcast_id", flat=True)
    )
    newest = delivered.first()
    return {code for code, broadcast in waiting if newest is not None and broadcast < newest}


def decisions(view: View) -> list[Decision]:
    """The valid corrections about players, the oldest first."""
    return [
        Decision(player_id, _with_sign(points), correction.get("out", {}).get(player_id), correction["reason"])
        for _number, correction in sorted(view.moment.corrections.items())
        for player_id, points in _players_of(correction).items()
        if not correction["undone"]
    ]


def _players_of(correction: Mapping[str, Any]) -> dict[str, int]:
    return {**dict.fromkeys(correction.get("out", {}), 0), **correction.get("points", {})}


def _with_sign(points: int) -> str:
    return f"{points:+d}".replace("-", "\N{MINUS SIGN}") if points else ""


def _sparks(history: RankHistory) -> dict[str, str]:
    rounds = [0, *history.rounds]
    return {
        player_id: " ".join(f"{x},{-y}" for x, y in zip(rounds, [0, *points], strict=True))
        for player_id, points in history.points.items()
    }


def _spark_box(history: RankHistory, planned: int) -> str:
    """The ``viewBox`` of all sparklines, as wide as rounds are planned; empty before the first result."""
    if not history.rounds:
        return ""
    values = [value for points in history.points.values() for value in points]
    low, high = min(0, *values), max(1, *values)
    return f"0 {-high} {max(planned, history.rounds[-1])} {high - low}"
