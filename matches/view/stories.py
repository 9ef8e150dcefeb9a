"""What people would say of a result: at most one story each, from the table before it and after it. Pure.

Results are told in the order of their rounds, as they stand now: when the instructor corrects one, the stories are made
again. The winner of a match that was lost for not answering has not beaten anybody: the match makes a story only if it
gives somebody the lead or makes the first place certain. It leaves the winner's run of wins as it is, and ends the
loser's.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from league_sdk.ledger.standings import DISQUALIFIED, Result, Row, Scoring, count
from matches.events.history import Moment, Outcome

MIN_RUN = 3
"""How many wins in a row are a run."""
MIN_DROUGHT = 3
"""A first win makes a story only after at least this many matches without a win."""
MIN_TABLE = 4
"""In a table of fewer players the places are not worth a story."""
TOP = 3
"""How many places at the top people look at."""


class Tale(StrEnum):
    """Kinds of stories, the most interesting first."""

    CERTAIN = "certain"
    TAKES_LEAD = "takes_lead"
    BEATS_LEADER = "beats_leader"
    LAST_UNBEATEN = "last_unbeaten"
    ENDS_RUN = "ends_run"
    UPSET = "upset"
    HOLDS_LEADER = "holds_leader"
    RUN = "run"
    CLIMBS = "climbs"
    FIRST_WIN = "first_win"


_INTEREST = {tale: place for place, tale in enumerate(reversed(Tale))}


class Story(NamedTuple):
    """A story about one result.

    Attributes:
        seq, at, match_id, round_number: of the result.
        hero: the player it is about.
        other: the opponent; empty if the story names none.
        number: what the kind counts: wins, places or matches. For TAKES_LEAD, 1 if the opponent led before. Else 0.
        run: the hero's wins in a row with this one, if they are a run; else 0.
    """

    seq: int
    at: datetime
    match_id: str
    round_number: int
    tale: Tale
    hero: str
    other: str
    number: int = 0
    run: int = 0

    @property
    def interest(self) -> tuple[int, int]:
        """A sort key: the most interesting story has the largest one."""
        return _INTEREST[self.tale], max(self.number, self.run)


Merit = tuple[bool, int, int, int]
"""What orders the table, as :func:`league_sdk.ledger.standings.merit` computes it."""


def merit_of(row: Row) -> Merit:
    """What orders the row in the table."""
    return (row.out == DISQUALIFIED, -row.points, -row.wins, -row.draws)


class Gap(NamedTuple):
    """A win of a player over a better placed one.

    Attributes:
        outcome: the result.
        places: how many places were between them before.
    """

    outcome: Outcome
    places: int


class Run(NamedTuple):
    """Wins of a player in a row; a win that was given without play neither lengthens a run nor ends it.

    Attributes:
        wins: how many.
        first, last: the rounds of the first and the last of them.
    """

    player_id: str
    wins: int
    first: int
    last: int


class Ahead(NamedTuple):
    """How far the first of a table is ahead of the second: if in neither of these, the number of draws decided."""

    points: int
    wins: int


def ahead(first: Merit, second: Merit) -> Ahead | None:
    """How far a player is ahead of the next one; None if that one stands behind because it is disqualified."""
    if first[0] != second[0]:
        return None
    return Ahead(second[1] - first[1], second[2] - first[2])


class Lead(NamedTuple):
    """The sole leader after a round, its points, and its lead over the next player (:func:`ahead`)."""

    player_id: str
    points: int
    ahead: Ahead | None


@dataclass(slots=True)
class Teller:
    """Tells results one by one, and remembers the table between them.

    Args:
        players: ids of all who are in the table.
        scoring: the league's points.
        rounds: how many matches each player plays at most.
        out: the players that are out of the league, as in :class:`~matches.events.history.Moment`.
        corrected: returns the points that corrections had given by the end of a round, whose number it gets.
    """

    players: Iterable[str]
    scoring: Scoring
    rounds: int
    out: Mapping[str, str] = field(default_factory=dict)
    corrected: Callable[[int], Mapping[str, int]] = field(default=lambda number: {})
    stories: list[Story] = field(default_factory=list)
    upsets: list[Gap] = field(default_factory=list)
    runs: dict[str, Run] = field(default_factory=dict)
    best_runs: dict[str, Run] = field(default_factory=dict)
    round_number: int = 0
    leads: dict[int, Lead] = field(default_factory=dict)
    certain: bool = False
    first: str | None = None
    rows: dict[str, Row] = field(init=False)
    order: list[Merit] = field(init=False)
    unbeaten: set[str] = field(init=False)

    def __post_init__(self) -> None:
        self.rows = {player_id: Row(player_id, "", out=self.out.get(player_id)) for player_id in self.players}
        self.order = sorted(merit_of(row) for row in self.rows.values())
        self.unbeaten = set(self.rows)

    def place(self, player_id: str) -> int:
        """The place of a player now; tied players share a place."""
        return bisect_left(self.order, merit_of(self.rows[player_id])) + 1

    def leader(self) -> str | None:
        """The sole player in first place, if it has points; else None."""
        if len(self.order) < 2 or self.order[0] == self.order[1] or self.order[0][1] >= 0:
            return None
        if self.first is None or merit_of(self.rows[self.first]) != self.order[0]:
            self.first = next(player_id for player_id, row in self.rows.items() if merit_of(row) == self.order[0])
        return self.first

    def tell(self, outcome: Outcome) -> None:
        """Count a result, and add its story, if it has one."""
        if outcome.round_number != self.round_number:
            self._begin(outcome.round_number)
        if outcome.status == "CANCELLED" or not all(player in self.rows for player in outcome.players):
            return
        leader = self.leader()
        before = {player: self.place(player) for player in outcome.players}
        unbeaten = set(self.unbeaten) if len(self.unbeaten) <= 2 else None
        self._count(outcome.result)
        happened = _Happening(self, outcome, leader, before, unbeaten)
        self._note_lead()
        ended = self._lengthen(outcome)
        if happened.places_above > 0 and happened.settled:
            self.upsets.append(Gap(outcome, happened.places_above))
        story = next(happened.tales(ended), None)
        if story is not None and outcome.correction is None:
            # A correction has its own sentence, and came later than the match.
            self.stories.append(story)

    def _note_lead(self) -> None:
        leader = self.leader()
        if leader is None:
            self.leads.pop(self.round_number, None)
        else:
            self.leads[self.round_number] = Lead(leader, self.rows[leader].points, ahead(*self.order[:2]))

    def _begin(self, number: int) -> None:
        self.round_number = number
        points = self.corrected(number)
        for player_id, row in self.rows.items():
            row.points += points.get(player_id, 0) - row.corrected
            row.corrected = points.get(player_id, 0)
        self.order = sorted(merit_of(row) for row in self.rows.values())

    def _count(self, result: Result) -> None:
        for player in (result.player_a, result.player_b):
            self.order.pop(bisect_left(self.order, merit_of(self.rows[player])))
        count(self.rows, result, self.scoring)
        for player in (result.player_a, result.player_b):
            row = self.rows[player]
            insort(self.order, merit_of(row))
            # No story needs the form, which would grow with every match.
            row.form.clear()
            if row.losses:
                self.unbeaten.discard(player)

    def _lengthen(self, outcome: Outcome) -> dict[str, Run]:
        """Lengthen the winner's run; returns the runs that this result has ended."""
        ended = {}
        for player in outcome.players:
            won = outcome.winner == player
            if won and outcome.status == "WIN":
                run = self.runs.get(player, Run(player, 0, outcome.round_number, 0))
                self.runs[player] = run = run._replace(wins=run.wins + 1, last=outcome.round_number)
                if run.wins > self.best_runs.get(player, Run(player, 0, 0, 0)).wins:
                    self.best_runs[player] = run
            elif not won and player in self.runs:
                ended[player] = self.runs.pop(player)
        return ended

    def sure_of_first_place(self) -> str | None:
        """The player whose points no other can reach any more; None if there is none yet."""
        leader = self.leader()
        if leader is None or self.rows[leader].out is not None:
            return None
        best, worst = max(self.scoring), min(0, *self.scoring)
        own = self.rows[leader]
        min_final = own.points + worst * max(0, self.rounds - own.played)
        if -self.order[1][1] + best * (self.rounds - self.round_number) >= min_final:
            return None
        rivals = (row for row in self.rows.values() if row is not own and row.out != DISQUALIFIED)
        max_final = max((row.points + best * max(0, self.rounds - row.played) for row in rivals), default=0)
        return leader if max_final < min_final else None


@dataclass(frozen=True, slots=True)
class _Happening:
    """One result between the table before and the table after it."""

    teller: Teller
    outcome: Outcome
    leader: str | None
    before: Mapping[str, int]
    unbeaten: set[str] | None

    @property
    def is_win(self) -> bool:
        """Whether one player beat the other by playing."""
        return self.outcome.status == "WIN" and self.outcome.winner in self.outcome.players

    @property
    def settled(self) -> bool:
        """Whether the table says who is better: it has enough players, and at least two rounds were played before."""
        return self.outcome.round_number > 2 and len(self.teller.rows) >= MIN_TABLE

    @property
    def places_above(self) -> int:
        """How many places the loser stood above the winner."""
        if not self.is_win:
            return 0
        winner, loser = self._pair()
        return self.before[winner] - self.before[loser]

    def _pair(self) -> tuple[str, str]:
        """The winner and the loser; without a winner PLAYER_A and PLAYER_B."""
        first, second = self.outcome.players
        return (second, first) if self.outcome.winner == second else (first, second)

    def _story(self, tale: Tale, hero: str, number: int = 0) -> Story:
        outcome = self.outcome
        other = outcome.players[outcome.players[0] == hero]
        run = self.teller.runs.get(hero)
        wins = run.wins if run is not None and self.is_win and run.wins >= MIN_RUN else 0
        return Story(outcome.seq, outcome.at, outcome.match_id, outcome.round_number, tale, hero, other, number, wins)

    def tales(self, ended: Mapping[str, Run]) -> Iterator[Story]:
        """Everything that can be told of the result, the most interesting first."""
        yield from self._of_the_table()
        if self.is_win:
            yield from self._of_the_winner(ended)
        elif self.outcome.status == "DRAW" and self.leader in self.outcome.players and self.settled:
            first, second = self.outcome.players
            yield self._story(Tale.HOLDS_LEADER, second if self.leader == first else first)

    def _of_the_table(self) -> Iterator[Story]:
        teller = self.teller
        if not teller.certain and (sure := teller.sure_of_first_place()) is not None:
            teller.certain = True
            # The match of somebody else may have decided it.
            story = self._story(Tale.CERTAIN, sure)
            yield story if sure in self.outcome.players else story._replace(other="", run=0)
        leader = teller.leader()
        if leader not in (None, self.leader) and leader == self.outcome.winner and self.outcome.round_number > 1:
            story = self._story(Tale.TAKES_LEAD, leader, int(self.leader in self.outcome.players))
            yield story if self.is_win else story._replace(other="")

    def _of_the_winner(self, ended: Mapping[str, Run]) -> Iterator[Story]:
        winner, loser = self._pair()
        if loser == self.leader and self.outcome.round_number > 1:
            yield self._story(Tale.BEATS_LEADER, winner)
        if self.unbeaten == {loser} and self.settled:
            yield self._story(Tale.LAST_UNBEATEN, winner)
        if loser in ended and ended[loser].wins >= MIN_RUN:
            yield self._story(Tale.ENDS_RUN, winner, ended[loser].wins)
        if self.settled and self.places_above >= max(TOP, len(self.teller.rows) // 2):
            yield self._story(Tale.UPSET, winner, self.places_above)
        run = self.teller.runs[winner].wins
        if run >= MIN_RUN:
            yield self._story(Tale.RUN, winner, run)
        place, row = self.teller.place(winner), self.teller.rows[winner]
        if self.settled and len(self.teller.rows) > 2 * TOP and place <= TOP < self.before[winner]:
            yield self._story(Tale.CLIMBS, winner, place)
        if row.wins == 1 and row.played > MIN_DROUGHT:
            yield self._story(Tale.FIRST_WIN, winner, row.played)


def in_order(moment: Moment) -> list[Outcome]:
    """The results that count, by round, and within a round in the order in which they came in."""
    return sorted(moment.outcomes.values(), key=lambda outcome: (outcome.round_number, outcome.seq))


def corrected_points(moment: Moment, number: int) -> dict[str, int]:
    """The points that corrections had given or taken before the round after ``number`` started, by player."""
    later = min((row.started_at for other, row in moment.rounds.items() if other > number), default=None)
    corrected: dict[str, int] = {}
    for correction in moment.corrections.values():
        if not correction["undone"] and (later is None or correction["at"] < later):
            for player_id, points in correction.get("points", {}).items():
                corrected[player_id] = corrected.get(player_id, 0) + int(points)
    return corrected
