"""A player's place in a league: a new one, one added by hand, those of the lobby when a league opens.

Places that nobody has given are bounded: in the lobby, and for referees that no instructor has let judge.
"""

from __future__ import annotations

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from agents_registry import ids, lookalikes
from agents_registry.attempts import network_of
from agents_registry.endpoints import read_endpoint
from agents_registry.models import Agent, Kind
from agents_registry.requests import Request, clean_name
from agents_registry.spellings import plays, read_id
from league_sdk.protocol.errors import InvalidFormat, MissingField

MOST_IN_LOBBY, LOBBY_OF_ONE = 1000, 800
MOST_UNTRUSTED, UNTRUSTED_OF_ONE = 500, 250
"""In all, and from one address: a class of two hundred behind one has room, and beside a stranger's crowd still has."""


class NameTaken(Exception):
    """A player of the league has this name and address already."""

    def __init__(self, agent: Agent) -> None:
        super().__init__(agent.code)
        self.agent = agent


def crowd(request: Request, league_id: str | None) -> str:
    """READ: why there is no room for one that is not known, and what to do; empty when there is.

    In the lobby, and among the referees that may not judge yet, so many of a kind are taken in (L002).
    """
    if request.kind == Kind.REFEREE:
        others = Agent.objects.filter(kind=Kind.REFEREE, league_id=league_id, trusted=False)
        most, of_one = MOST_UNTRUSTED, UNTRUSTED_OF_ONE
        what = "referees wait for the instructor's tick"
    elif league_id is None:
        others = Agent.objects.filter(kind=Kind.PLAYER, league__isnull=True)
        most, of_one, what = MOST_IN_LOBBY, LOBBY_OF_ONE, "players wait in the lobby"
    else:
        return ""
    ask = "Ask the instructor to remove those that nobody needs."
    caller = network_of(request.caller)
    if caller and others.filter(registered_from=caller).count() >= of_one:
        return f"{of_one} {what} already that registered from your address ({request.caller}). {ask}"
    return f"{most} {what} already. {ask}" if others.count() >= most else ""


def new_agent(*, kind: Kind, name: str, league_id: str | None, wanted: str, promised: str = "") -> Agent:
    """A row for an agent that is not known yet, with an id of its own; not saved."""
    return Agent(
        kind=kind,
        league_id=league_id,
        promised_league_id=promised,
        code=ids.choose(kind, league_id, wanted),
        name=name,
        display_name=shown_name(name, Agent.objects.filter(kind=kind, league_id=league_id)),
        registered_at=timezone.now(),
    )


def shown_name(name: str, peers: QuerySet[Agent]) -> str:
    """The name as people see it: a second "Alpha" is "Alpha (2)" (004 6.4.2 asks for four copies)."""
    taken = set(peers.filter(display_name__startswith=name).values_list("display_name", flat=True))
    number = peers.filter(name=name).count() + 1
    shown = name if number == 1 else f"{name} ({number})"
    while shown in taken:
        number += 1
        shown = f"{name} ({number})"
    return shown


def add_by_hand(*, league_id: str, name: object, endpoint: object, wanted_id: object = "") -> Agent:
    """Make a player that never registers by itself, as the instructor gives it; called as any other.

    Changes: a row. It has no token until it registers.

    Raises:
        MissingField, InvalidFormat: a name, an address or an id that cannot be used; ``context`` says why.
        NameTaken: a player of this league has this name and address.
    """
    kept = clean_name(name)
    if not kept:
        raise MissingField("The name is missing.", field="name", seen=name, expected="a name to show")
    address = read_endpoint(endpoint, caller="", field="endpoint")
    wanted = read_id(wanted_id, Kind.PLAYER) if wanted_id else ""
    if wanted is None:
        expected = "at most 32 letters, digits, - and _, such as P07; or nothing"
        raise InvalidFormat("This cannot be an id.", field="wanted_id", seen=wanted_id, expected=expected)
    try:
        with transaction.atomic():
            there = Agent.objects.filter(kind=Kind.PLAYER, league_id=league_id, name=kept, endpoint_key=address.key)
            if there.exists():
                raise NameTaken(there[0])
            agent = new_agent(kind=Kind.PLAYER, name=kept, league_id=league_id, wanted=wanted)
            if wanted and agent.code != wanted:
                raise InvalidFormat(
                    "This id is taken.", field="wanted_id", seen=wanted, expected="a free id, or nothing"
                )
            agent.endpoint, agent.endpoint_key = address.url, address.key
            agent.notes = [*address.notes]
            agent.by_hand = True
            agent.save()
            lookalikes.remember([agent], new=True)
            return agent
    except IntegrityError:
        # Somebody registered between the look and the row (PostgreSQL only).
        raise InvalidFormat(
            "This name and address, or this id, was taken a moment ago.",
            field="name",
            seen=kept,
            expected="to be sent again",
        ) from None


def move(agent: Agent, league_id: str) -> None:
    """Put a player of the lobby into a league with its id, or with another if that one is taken; not saved."""
    there = Agent.objects.filter(kind=Kind.PLAYER, league_id=league_id)
    if not ids.is_free(agent.code, ids.taken(Kind.PLAYER, league_id, lobby=False)):
        agent.code = ids.choose(Kind.PLAYER, league_id, "")
    if there.filter(display_name=agent.display_name).exists():
        agent.display_name = shown_name(agent.name, there)
    agent.league_id = league_id


def join_league(*, league_id: str, game_type: str, room: int, only: int | None = None) -> int:
    """Take the players of the lobby into a league that opens, ids kept; how many came.

    One whose id, or whose name and address, is taken there stays in the lobby, and its notes say so (our choice: it
    was told that id and does not hear of another). It may register for the league itself, and is told its new id.
    So does one whose name looks like that of a player there, until the instructor lets it in.

    Args:
        room: how many players the league takes, those that are there included.
        only: the primary key of one of them, if the others are not meant.
    """
    there = Agent.objects.filter(kind=Kind.PLAYER, league_id=league_id)
    used = ids.taken(Kind.PLAYER, league_id, lobby=False)
    present = set(there.values_list("name", "endpoint_key"))
    looked = lookalikes.Present(league_id)
    room -= there.count()
    came: list[Agent] = []
    lobby = Agent.objects.filter(kind=Kind.PLAYER, league__isnull=True)
    for agent in (lobby if only is None else lobby.filter(pk=only)).order_by("pk"):
        if len(came) >= room:
            break
        if not plays(agent.game_types, game_type):
            continue
        if not ids.is_free(agent.code, used) or (agent.name, agent.endpoint_key) in present:
            _stays(agent, f"{league_id} has an agent of this id or name already")
            continue
        resembled = looked.refuses(agent)
        if resembled is not None:
            lookalikes.note_refused(
                league_id=league_id,
                agent=agent,
                endpoint=agent.endpoint,
                key=agent.endpoint_key,
                resembled=resembled,
            )
            _stays(agent, f"in {league_id}, {lookalikes.sentence(agent.name, resembled)}")
            continue
        move(agent, league_id)
        agent.save(update_fields=["league", "code", "display_name"])
        looked.came(agent)
        came.append(agent)
    lookalikes.remember(came)
    return len(came)


def _stays(agent: Agent, why: str) -> None:
    note = f"stayed in the lobby: {why}"
    if note not in agent.notes:
        agent.notes = [*agent.notes, note]
        agent.save(update_fields=["notes"])
