"""READS: the progress of leagues in numbers, for lists of leagues and for the head of a league's pages."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Count

from agents_registry.models import Agent, Kind
from league_sdk.formats.round_robin import matches_of, rounds_of
from league_sdk.ledger.kinds import CORRECTIONS, EventKind
from league_sdk.ledger.standings import Row, champions
from league_sdk.protocol.states import LeagueState, MatchState, RoundState
from matches.models import Event, League, Match, Round
from matches.view.rows import Champion, Champions, FreezeRow, LeagueRow
from matches.view.sight import View


class Tally(NamedTuple):
    """The number of players, and the number of matches by round (primary key) and state."""

    players: int
    matches: Counter[tuple[int, str]]


def tally(league: League | None = None) -> dict[str, Tally]:
    """The counts of one league, or of all, by league id."""
    agents = Agent.objects.filter(kind=Kind.PLAYER, league__isnull=False)
    matches, rounds = Match.objects.all(), Round.objects.all()
    if league is not None:
        agents, rounds = agents.filter(league=league), rounds.filter(league=league)
        matches = matches.filter(round__in=rounds.values("pk"))
    players = dict(agents.order_by().values_list("league_id").annotate(Count("pk")))
    tallies: dict[str, Tally] = defaultdict(lambda: Tally(0, Counter()))
    for league_id, count in players.items():
        tallies[league_id] = Tally(count, Counter())
    # Grouped by exactly the columns of the index match_round, so half a million matches are counted from it alone.
    counts = list(matches.order_by().values_list("round_id", "state").annotate(Count("pk")))
    known = {round_id for round_id, _state, _count in counts}
    league_of_round = dict.fromkeys(known, league.pk) if league else dict(rounds.values_list("pk", "league_id"))
    for round_id, state, count in counts:
        # The demo league may have been replaced between the two queries.
        if round_id in league_of_round:
            tallies[league_of_round[round_id]].matches[round_id, state] = count
    return tallies


class Summary(NamedTuple):
    """The progress of a league, without its table."""

    state: str
    paused: bool
    players: int
    rounds: int
    round_number: int | None
    round_state: str | None
    round_started_at: datetime | None
    round_total: int
    round_done: int
    round_waiting: int
    held: int
    matches: int
    matches_done: int
    started_at: datetime | None
    completed_at: datetime | None
    champion: Champion | None = None
    auto_advance: bool = False
    champions: Sequence[Champion] = ()

    def stored(self) -> dict[str, Any]:
        """The summary as JSON, for the row of a frozen league."""
        return {
            name: value.isoformat() if isinstance(value, datetime) else value for name, value in self._asdict().items()
        }

    @classmethod
    def read(cls, stored: dict[str, Any]) -> Summary:
        """Parse what :meth:`stored` returned."""
        times = {name: datetime.fromisoformat(stored[name]) for name in _TIME_FIELDS if stored[name]}
        return cls(**stored | times)


_TIME_FIELDS = ("round_started_at", "started_at", "completed_at")
_CHAMPION_EVENTS = (EventKind.LEAGUE_COMPLETED, *CORRECTIONS, EventKind.PLAYED_AGAIN)


def summaries(leagues: Iterable[League], *, staff: bool = False) -> dict[str, Summary]:
    """The summary of each league by id, in as many queries as for one league."""
    rounds: dict[str, list[Round]] = defaultdict(list)
    for round_ in Round.objects.order_by("number"):
        rounds[round_.league_id].append(round_)
    ended = Event.objects.filter(kind__in=_CHAMPION_EVENTS, data__champion__isnull=False).order_by("seq")
    # Events of earlier versions have no list of champions.
    champions_by_league: dict[str, Champions] = {
        league_id: {"champion": first, "champions": [first] if everyone is None else everyone}
        for league_id, first, everyone in ended.values_list("league_id", "data__champion", "data__champions")
    }
    tallies = tally()
    return {
        league.pk: Summary.read(league.frozen["summary"])
        if league.frozen_seq is not None and not staff
        else _summary(league, rounds[league.pk], tallies[league.pk], champions_by_league.get(league.pk, NOBODY))
        for league in leagues
    }


def summary(view: View) -> Summary:
    """The summary of one league as a view shows it."""
    league = view.league
    if view.frozen_after is not None:
        return Summary.read(league.frozen["summary"])
    rounds = list(league.rounds.order_by("number"))
    present = _summary(league, rounds, tally(league)[league.pk], NOBODY)
    moment = view.moment
    best = champions_of(view.standings if moment.state == LeagueState.COMPLETED else ())
    if view.is_present:
        return present._replace(**best)
    current = moment.current
    number = current.number if current is not None else None
    return present._replace(
        state=moment.state,
        paused=moment.paused,
        players=len(view.names),
        round_number=number,
        round_state=current.state if current is not None else None,
        round_started_at=current.started_at if current is not None and current.completed_at is None else None,
        round_total=Match.objects.filter(league=league, round__number=number).count() if number else 0,
        round_done=moment.done_in(number) if number else 0,
        round_waiting=0,
        held=0,
        rounds=len(rounds) if moment.state != LeagueState.REGISTRATION else 0,
        matches=present.matches if moment.state != LeagueState.REGISTRATION else 0,
        matches_done=len(moment.outcomes),
        started_at=moment.started_at,
        completed_at=moment.completed_at,
        **best,
        auto_advance=league.frozen["summary"].get("auto_advance", False)
        if view.is_limited_by_freeze
        else league.runs_all,
    )


NOBODY: Champions = {"champion": None, "champions": []}


def champions_of(rows: Sequence[Row]) -> Champions:
    """``champion`` (the first) and ``champions`` as messages and pages name them (ruling, section 14)."""
    named: list[Champion] = [
        {"player_id": row.player_id, "display_name": row.display_name, "points": row.points} for row in champions(rows)
    ]
    return {"champion": named[0] if named else None, "champions": named}


def _summary(league: League, rounds: list[Round], counts: Tally, best: Champions) -> Summary:
    by_state: Counter[str] = Counter()
    in_round: Counter[str] = Counter()
    started = [round_ for round_ in rounds if round_.state != RoundState.PENDING]
    current = started[-1] if started else None
    for (round_id, state), count in counts.matches.items():
        by_state[state] += count
        if current is not None and round_id == current.pk:
            in_round[state] += count
    players = counts.players - len(league.left_out)
    planned_rounds, planned_matches = len(rounds), by_state.total()
    if league.state == LeagueState.REGISTRATION and rounds:
        # The schedule is being made: show its final size, not how much of it exists.
        planned_rounds, planned_matches = rounds_of(players), matches_of(players)
    return Summary(
        state=league.state,
        paused=league.paused,
        players=players,
        rounds=planned_rounds,
        round_number=current.number if current else None,
        round_state=current.state if current else None,
        round_started_at=current.started_at if current and current.state != RoundState.COMPLETED else None,
        round_total=in_round.total(),
        round_done=in_round[MatchState.FINISHED],
        round_waiting=in_round[MatchState.READY],
        held=by_state[MatchState.HELD],
        matches=planned_matches,
        matches_done=by_state[MatchState.FINISHED],
        started_at=league.started_at,
        completed_at=league.completed_at,
        **(best if league.state == LeagueState.COMPLETED else NOBODY),
        auto_advance=league.runs_all,
    )


def league_rows(leagues: Iterable[League], *, staff: bool = False) -> list[LeagueRow]:
    """Leagues as the API shows them, in as many queries as for one league."""
    listed = list(leagues)
    known = summaries(listed, staff=staff)
    return [_row(league, known[league.pk]) for league in listed]


def league_row(view: View) -> LeagueRow:
    """A league as the API shows it: status, round, rounds, matches done, champion."""
    row = _row(view.league, summary(view))
    if view.frozen_after is not None:
        row["frozen_after_round"] = view.frozen_after
    return row


def freeze_row(league: League) -> FreezeRow:
    """The freeze of a league's board."""
    return {
        "league_id": league.pk,
        "from_round": league.freeze_from,
        "frozen_after_round": league.frozen["after"] if league.frozen_seq is not None else None,
        "places_unveiled": league.unveiled,
    }


def _row(league: League, known: Summary) -> LeagueRow:
    return {
        "league_id": league.pk,
        "display_name": league.display_name,
        "game_type": league.game_type,
        "demo": league.demo,
        "status": known.state,
        "paused": known.paused,
        "auto_advance": known.auto_advance,
        "players": known.players,
        "round": known.round_number,
        "rounds": known.rounds,
        "matches": known.matches,
        "matches_done": known.matches_done,
        "champion": known.champion,
        "champions": list(known.champions),
        "created_at": league.created_at,
        "started_at": known.started_at,
        "completed_at": known.completed_at,
    }
