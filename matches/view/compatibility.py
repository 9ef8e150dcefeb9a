"""READS: which agent understood which message in which way, over all leagues.

No transcript is read, only what is stored about each registration: the shapes that the agent understood
(``Agent.spoken``), the faults of its matches, and the deliveries of broadcasts. The shapes are those of
``league_sdk.dialects.shapes``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from django.db.models import Q, QuerySet

from agents_registry.models import Agent, Kind
from league_sdk.dialects import shapes
from league_sdk.dialects.memory import read_own
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.messages import MessageType
from matches.models import Delivery, DeliveryState, League, Match
from matches.view.kept import Kept

MESSAGES = (
    MessageType.ROUND_ANNOUNCEMENT,
    MessageType.GAME_INVITATION,
    MessageType.CHOOSE_PARITY_CALL,
    MessageType.GAME_MOVE_CALL,
    MessageType.GAME_OVER,
    MessageType.LEAGUE_STANDINGS_UPDATE,
    MessageType.ROUND_COMPLETED,
    MessageType.LEAGUE_COMPLETED,
)
"""The messages to players that are compared, in the order of a league."""
MIN_PEOPLE, MIN_TOGETHER = 5, 3
"""The public sees a message only if the agents of at least MIN_PEOPLE people understood it, and a shape only if
those of at least MIN_TOGETHER did: figures about one or two people would identify them."""
ROUNDED_TO = 10
"""Per cent to which the public's shares are rounded, so that they say little about one agent."""
KEPT_S = 60.0
"""How long the public's figures are reused: computing them reads every agent of the site."""
_NOT_UNDERSTOOD = frozenset({Cause.WRONG_MESSAGE, Cause.NOT_JSON, Cause.HTTP_STATUS})
_NO_ANSWER = frozenset({Cause.DEADLINE, Cause.CONNECT, Cause.NAME_LOOKUP})


class How(StrEnum):
    """How one agent took one message."""

    FIRST = "first"
    """The agent understood the message in the first dialect that was tried: that of its registration."""
    OTHER = "other"
    """The agent understood the message in another dialect."""
    NOT = "not"
    """The agent answered, but never as if it had understood."""
    SILENT = "silent"
    """The agent never answered."""
    SENT = "sent"
    """The message was sent, but nothing shows whether the agent understood it."""
    NEVER = "never"
    """The message was never sent."""


class Cell(NamedTuple):
    """How one agent took one message, in which shape, and by which tool or method of its own; empty for none."""

    how: How
    shape: str = ""
    own: str = ""


class Ways(NamedTuple):
    """One agent with its cells, in the order of the messages."""

    agent: Agent
    cells: tuple[Cell, ...]


def players(leagues: QuerySet[League] | Iterable[str]) -> QuerySet[Agent]:
    """The players of some leagues, those of the newest one first."""
    rows = Agent.objects.filter(kind=Kind.PLAYER, league__in=leagues).select_related("league")
    return rows.order_by("-league__created_at", "league_id", "pk")


def ways(agents: Sequence[Agent]) -> list[Ways]:
    """How these players took each message, by four queries for any number of them."""
    pks = {agent.pk for agent in agents}
    failed = _faults(agents)
    outcomes: dict[int, dict[str, How]] = defaultdict(dict)
    sent = Delivery.objects.filter(agent__in=pks, state__in=(DeliveryState.SETTLED, DeliveryState.FAILED))
    for agent_id, kind, state in sent.values_list("agent_id", "broadcast__message_type", "state").distinct():
        how = How.SENT if state == DeliveryState.SETTLED else How.SILENT
        # A message that arrived says more than one that did not arrive.
        outcomes[agent_id][kind] = How.SENT if outcomes[agent_id].get(kind) == How.SENT else how
    for seat in ("player_a", "player_b"):
        begun = Match.objects.filter(**{f"{seat}__in": pks}, attempt__gt=0).order_by()
        for agent_id in begun.values_list(seat, flat=True).distinct():
            outcomes[agent_id].setdefault(MessageType.GAME_INVITATION, How.SENT)
    return [Ways(agent, tuple(_cell(agent, kind, failed, outcomes[agent.pk]) for kind in MESSAGES)) for agent in agents]


def _cell(agent: Agent, kind: str, failed: Mapping[tuple[str, str, str], How], outcomes: Mapping[str, How]) -> Cell:
    shape = agent.spoken.get(kind)
    if isinstance(shape, str):
        tool = read_own(agent.learned).get(kind) if shape in shapes.OF_TOOLS else None
        first = shapes.order(agent.dialect, {}, kind)[0]
        return Cell(How.FIRST if shape == first else How.OTHER, shape, tool.name if tool is not None else "")
    how = failed.get((str(agent.league_id), agent.code, kind))
    return Cell(how or outcomes.get(kind, How.NEVER))


def _faults(agents: Sequence[Agent]) -> dict[tuple[str, str, str], How]:
    """How agents failed to take messages, from the faults of their matches: by league, player and message.

    What students' referees said is left out. An imported league does not know whose referees it had: those, which never
    registered here, count.
    """
    found: dict[tuple[str, str, str], How] = {}
    pks = {agent.pk for agent in agents}
    lost = Match.objects.filter(Q(player_a__in=pks) | Q(player_b__in=pks)).exclude(faults=[]).order_by()
    lost = lost.exclude(referee__site_key=False, referee__registrations__gt=0)
    for league_id, faults in lost.values_list("league_id", "faults").iterator(chunk_size=500):
        for fault in faults:
            cause = fault.get("cause")
            how = How.NOT if cause in _NOT_UNDERSTOOD else How.SILENT if cause in _NO_ANSWER else None
            key = (league_id, str(fault.get("player_id")), str(fault.get("message_type")))
            if how is not None and found.get(key) != How.NOT:
                found[key] = how
    return found


# What most do -----------------------------------------------------------------------------------


class Share(NamedTuple):
    """How many people's agents understood a message in one shape, in per cent, and by which method it is called."""

    shape: str
    method: str
    percent: int


class Most(NamedTuple):
    """What most agents do with one message."""

    message: str
    shares: tuple[Share, ...]


def most(spoken: Iterable[tuple[Mapping[str, str], object]]) -> list[Most]:
    """What most agents do; nobody can be identified by it.

    Args:
        spoken: for each agent, the shapes that it understood, and its owner: several agents of one person that do the
            same count once.
    """
    people: dict[str, dict[str, set[object]]] = defaultdict(lambda: defaultdict(set))
    for shapes_by_kind, person in spoken:
        for kind, shape in shapes_by_kind.items():
            if kind in MESSAGES and shape in shapes.SHAPES:
                people[kind][shape].add(person)
    return [row for kind in MESSAGES if (row := _most(kind, people[kind])) is not None]


def _most(kind: MessageType, people: Mapping[str, set[object]]) -> Most | None:
    if len(set().union(*people.values())) < MIN_PEOPLE:
        return None
    counts = Counter({shape: len(persons) for shape, persons in people.items()})
    total = counts.total()
    shares = tuple(
        Share(shape, shapes.SHAPES[shape].method(kind), percent)
        for shape, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        if count >= MIN_TOGETHER and (percent := ROUNDED_TO * round(100 * count / total / ROUNDED_TO))
    )
    return Most(kind, shares) if shares else None


def site_most() -> list[Most]:
    """What most agents of this site do; at most one query, and mostly none."""
    return kept_most.get((), (), _read_most)


def _read_most() -> tuple[list[Most], int, bool]:
    agents = Agent.objects.filter(kind=Kind.PLAYER, league__demo=False, league__remove_at=None).exclude(spoken={})
    rows = agents.order_by().values_list("spoken", "owner_id", "endpoint_key").iterator(chunk_size=500)
    return most((spoken, owner or key) for spoken, owner, key in rows), 1, True


kept_most: Kept[list[Most]] = Kept(1, min_s=KEPT_S)
"""What :func:`site_most` answers."""
