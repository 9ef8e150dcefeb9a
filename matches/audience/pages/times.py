"""How fast players answer, drawn on a logarithmic scale: of all players of a league, and of one player."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from agents_registry.models import Agent
from league_sdk.ledger.standings import natural
from league_sdk.protocol.messages import MessageType
from matches.models import Message
from matches.view.sight import View

LANES: dict[str, str] = {
    MessageType.GAME_JOIN_ACK: "join",
    MessageType.CHOOSE_PARITY_RESPONSE: "choice",
    MessageType.GAME_MOVE_RESPONSE: "choice",
}
"""The types of answers whose times are shown, with the lane that they are drawn on."""
MAX_ANSWERS = 20_000
"""How many answers are read: ten times as many as a class of thirty gives. The oldest ones are read, so that newer
answers, which a freeze may hide, do not displace those that are shown."""
MAX_DOTS = 400
TICKS_MS = (1, 10, 100, 1000, 10_000, 100_000)
LAST_TICK = 85.0
"""Percent of a player's scale; no tick is drawn beyond it, as the label of the deadline is there."""
MAX_MS = 86_400_000
_FIELDS = ("match__match_id", "attempt", "entry__sender", "entry__message_type", "entry__elapsed_ms", "entry__limit_ms")


class Answer(NamedTuple):
    """An answer with its time and its time limit in milliseconds."""

    player_id: str
    lane: str
    elapsed: int
    limit: int

    @property
    def late(self) -> bool:
        return self.elapsed >= self.limit


class Tick(NamedTuple):
    """A mark of the scale, in percent of its length."""

    x: str
    label: str


class Dot(NamedTuple):
    """An answer, in percent of the length of the scale."""

    x: str
    late: bool


@dataclass(frozen=True, slots=True)
class Timed:
    """Some answers, drawn on a scale that ends at ``limit`` milliseconds.

    Attributes:
        name, label: of the player or the lane that they belong to.
    """

    name: str
    label: str
    answers: list[Answer]
    limit: int

    @property
    def in_time(self) -> list[int]:
        """The milliseconds of the answers that were not late, ascending."""
        return sorted(answer.elapsed for answer in self.answers if not answer.late)

    @property
    def late(self) -> int:
        return len(self.answers) - len(self.in_time)

    @property
    def median(self) -> str:
        return span(round(median(self.in_time))) if self.in_time else ""

    @property
    def slowest(self) -> str:
        return span(self.in_time[-1]) if self.in_time else ""

    @property
    def limit_label(self) -> str:
        return span(self.limit)

    @property
    def reach(self) -> list[str]:
        """The quickest, median and slowest time in percent of the scale; empty if all were late."""
        times = self.in_time
        if not times:
            return []
        marks = (times[0], median(times), times[-1])
        return [place_of(mark, self.limit) for mark in marks]

    @property
    def dots(self) -> list[Dot]:
        """The newest answers, as dots."""
        latest = self.answers[-MAX_DOTS:]
        return [Dot("100" if answer.late else place_of(answer.elapsed, self.limit), answer.late) for answer in latest]

    @property
    def ticks(self) -> list[Tick]:
        return [tick for tick in ticks_to(self.limit) if float(tick.x) < LAST_TICK]


class LeagueTimes(NamedTuple):
    """One kind of answer: the players by median time, and the marks of the scale.

    Attributes:
        name, label: of the lane.
    """

    name: str
    label: str
    rows: list[Timed]
    ticks: list[Tick]


def of_league(view: View) -> list[LeagueTimes]:
    """The times of all players by kind of answer, read by one query; kinds that nobody has answered are left out."""
    lanes: dict[str, dict[str, list[Answer]]] = {name: defaultdict(list) for name in labels()}
    for answer in _answers(view, Message.objects.filter(match__league=view.league).order_by("pk"), MAX_ANSWERS):
        if answer.player_id in view.names:
            lanes[answer.lane][answer.player_id].append(answer)
    return [_ranked(view, name, lanes[name]) for name in lanes if lanes[name]]


def _ranked(view: View, lane: str, answers: dict[str, list[Answer]]) -> LeagueTimes:
    limit = max(2, *(answer.limit for own in answers.values() for answer in own))
    rows = [Timed(code, view.names[code], own, limit) for code, own in answers.items()]
    rows.sort(key=lambda row: (median(row.in_time) if row.in_time else math.inf, natural(row.name)))
    return LeagueTimes(lane, labels()[lane], rows, ticks_to(limit)[1:])


def labels() -> dict[str, str]:
    """What the lanes are called, in the order in which they are shown."""
    return {"join": _("Answers to invitations"), "choice": _("Choices and moves")}


def of_player(view: View, agent: Agent) -> list[Timed]:
    """The times of one player in two lanes, invitations and choices, read by one query; empty lanes are left out."""
    messages = Message.objects.filter(
        Q(match__player_a=agent) | Q(match__player_b=agent),
        Q(entry__sender=agent.code) | Q(entry__sender=f"player:{agent.code}"),
        match__league=view.league,
    ).order_by("match__round__number", "match_id", "attempt", "n")
    answers = list(_answers(view, messages))
    lanes = []
    for name, label in labels().items():
        on_lane = [answer for answer in answers if answer.lane == name]
        # The last try of a request gets only the remaining time, so the longest limit is the deadline.
        if on_lane:
            lanes.append(Timed(name, label, on_lane, max(2, *(answer.limit for answer in on_lane))))
    return lanes


def _answers(view: View, messages: QuerySet[Message], max_answers: int | None = None) -> Iterator[Answer]:
    """The valid answers among some messages: of matches with a result in the view, and of no later attempt."""
    answers = messages.filter(entry__message_type__in=list(LANES)).values_list(*_FIELDS, "entry__problem")
    for match_id, attempt, sender, kind, elapsed, limit, problem in answers[:max_answers]:
        outcome = view.outcome(match_id)
        # A student's referee may send anything. A refused connection is quick but not an answer.
        if outcome is None or attempt > outcome.attempt or not (is_time(elapsed) and is_time(limit) and limit):
            continue
        player_id = sender.removeprefix("player:") if isinstance(sender, str) else ""
        if player_id in outcome.players and (elapsed >= limit or not problem):
            yield Answer(player_id, LANES[kind], elapsed, limit)


def is_time(value: object) -> bool:
    """Whether a value from a transcript is a plausible number of milliseconds; some referees are students'."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_MS


def place_of(elapsed: float, limit: int) -> str:
    """The place of a time on the scale, in percent of its length."""
    return f"{min(100.0, 100 * math.log(max(elapsed, 1)) / math.log(limit)):.1f}"


def ticks_to(limit: int) -> list[Tick]:
    """The marks of a scale that ends at ``limit`` milliseconds."""
    return [Tick(place_of(tick, limit), span(tick)) for tick in TICKS_MS if tick < limit]


def span(milliseconds: int) -> str:
    """A time in words."""
    if milliseconds < 1000:
        return _("%(ms)d ms") % {"ms": milliseconds}
    return _("%(s)s s") % {"s": f"{milliseconds / 1000:.2f}".rstrip("0").rstrip(".")}
