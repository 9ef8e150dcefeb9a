"""READS: the common table of a series (decision 32).

Each league counts with the table that the reader may see of it. Players whose owners have the same e-mail address on
the rosters are one person, and so are players without an owner that have the same name. Of several agents of one person
in one league the best one counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

from typing_extensions import TypedDict

from agents_registry.models import Agent, Kind
from league_sdk.protocol.schemas.parts import says
from league_sdk.protocol.transcript import storable
from matches.models import League, Series
from matches.view import kept, sight
from matches.view.kept import Kept
from matches.view.queries import standings_rows
from matches.view.rows import StandingsRow
from matches.view.sight import View

MAX_KEPT = 20
"""How many series' tables are kept."""


class SeriesEveningRow(TypedDict):
    """A league of a series."""

    league_id: Annotated[str, says("Its id.")]
    display_name: Annotated[str, says("Its name.")]
    status: Annotated[str, says("Its state.")]
    frozen_after_round: Annotated[
        int | None, says("The last round that counts here while its board is frozen; or null.")
    ]


class SeriesCellRow(TypedDict):
    """A person's result in one league."""

    player_id: Annotated[str, says("The player there.")]
    points: Annotated[int, says("Its points there.")]
    wins: Annotated[int, says("Matches won there.")]
    played: Annotated[int, says("Matches there that count.")]
    tied_rank: Annotated[int, says("Its place there.")]


class SeriesPersonRow(TypedDict):
    """A row of the common table."""

    rank: Annotated[int, says("The place; people with the same points and wins share it.")]
    display_name: Annotated[str, says("The name of the player in the last of its leagues.")]
    points: Annotated[int, says("The points of all leagues together.")]
    wins: Annotated[int, says("The matches won in all of them.")]
    played: Annotated[int, says("The matches that count.")]
    evenings: Annotated[
        list[SeriesCellRow | None],
        says("For each league of the series, its result there; null: it did not play there."),
    ]


class SeriesRow(TypedDict):
    """A series with its common table."""

    series_id: Annotated[str, says("Its id.")]
    display_name: Annotated[str, says("Its name.")]
    evenings: Annotated[list[SeriesEveningRow], says("Its leagues, in order.")]
    standings: Annotated[list[SeriesPersonRow], says("The common table.")]


class SeriesLine(TypedDict):
    """A series in a list."""

    series_id: Annotated[str, says("Its id.")]
    display_name: Annotated[str, says("Its name.")]
    leagues: Annotated[int, says("How many leagues it has.")]


_public_rows: Kept[SeriesRow] = Kept(MAX_KEPT)


@dataclass
class _Person:
    name: str
    cells: list[StandingsRow | None] = field(default_factory=list)

    def total(self, column: Literal["points", "wins", "played"]) -> int:
        return sum(cell[column] for cell in self.cells if cell is not None)

    @property
    def order(self) -> tuple[int, int]:
        return -self.total("points"), -self.total("wins")


def find(series_id: str) -> Series | None:
    """The series of this id; None when there is none."""
    return Series.objects.filter(pk=storable(series_id)).first()


def leagues_of(series: Series) -> list[League]:
    """The leagues of a series, in order, including those in the archive."""
    return list(series.leagues.order_by("series_place", "created_at"))


def lines() -> list[SeriesLine]:
    """Every series that has a league outside of the archive, by name."""
    counted: dict[str, int] = {}
    shown: set[str] = set()
    for series_id, archived_at in League.objects.filter(series__isnull=False).values_list("series_id", "archived_at"):
        counted[series_id] = counted.get(series_id, 0) + 1
        if archived_at is None:
            shown.add(series_id)
    rows = Series.objects.filter(pk__in=shown).order_by("display_name", "pk")
    return [{"series_id": row.pk, "display_name": row.display_name, "leagues": counted[row.pk]} for row in rows]


def public_series_row(series: Series) -> SeriesRow:
    """A series as the public sees it; cached, how long is said in ``matches.view.kept``."""
    leagues = leagues_of(series)
    league_marks = tuple((league.pk, league.created_at, league.display_name, kept.mark(league)) for league in leagues)
    mark = (series.display_name, league_marks)

    def make() -> tuple[SeriesRow, int, bool]:
        made = series_row(series, kept.public_view)
        return made, 1, len(made["standings"]) * len(leagues) > kept.LARGE_OUTCOMES

    return _public_rows.get(series.pk, mark, make)


def series_row(series: Series, see: Callable[[League], View] = sight.public) -> SeriesRow:
    """A series with its common table.

    Args:
        see: what the reader may see of a league.
    """
    leagues = leagues_of(series)
    views = [see(league) for league in leagues]
    people = _people(views)
    ranked = sorted(people, key=lambda person: (person.order, person.name.casefold()))
    rows: list[SeriesPersonRow] = []
    for place, person in enumerate(ranked, start=1):
        shares = bool(rows) and (-rows[-1]["points"], -rows[-1]["wins"]) == person.order
        rows.append(
            {
                "rank": rows[-1]["rank"] if shares else place,
                "display_name": person.name,
                "points": person.total("points"),
                "wins": person.total("wins"),
                "played": person.total("played"),
                "evenings": [_cell(cell) for cell in person.cells],
            }
        )
    return {
        "series_id": series.pk,
        "display_name": series.display_name,
        "evenings": [_evening(view) for view in views],
        "standings": rows,
    }


def _people(views: Sequence[View]) -> list[_Person]:
    """The people of all leagues, each with a cell for each league."""
    owners = _owners([view.league for view in views])
    people: dict[tuple[str, str], _Person] = {}
    for number, view in enumerate(views):
        for row in standings_rows(view):
            email = owners.get((view.league.pk, row["player_id"]), "")
            key = ("email", email) if email else ("name", " ".join(row["display_name"].casefold().split()))
            person = people.setdefault(key, _Person(row["display_name"], [None] * len(views)))
            cell = person.cells[number]
            if cell is None:
                person.name = row["display_name"]
            if cell is None or (row["points"], row["wins"]) > (cell["points"], cell["wins"]):
                person.cells[number] = row
    return list(people.values())


def _owners(leagues: Sequence[League]) -> dict[tuple[str, str], str]:
    """The e-mail addresses of players' owners, by league and player."""
    players = Agent.objects.filter(league__in=leagues, kind=Kind.PLAYER, owner__isnull=False)
    return {(league, code): email for league, code, email in players.values_list("league_id", "code", "owner__email")}


def _cell(row: StandingsRow | None) -> SeriesCellRow | None:
    if row is None:
        return None
    return {
        "player_id": row["player_id"],
        "points": row["points"],
        "wins": row["wins"],
        "played": row["played"],
        "tied_rank": row["tied_rank"],
    }


def _evening(view: View) -> SeriesEveningRow:
    league = view.league
    return {
        "league_id": league.pk,
        "display_name": league.display_name,
        "status": view.moment.state,
        "frozen_after_round": view.frozen_after,
    }
