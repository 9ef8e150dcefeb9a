"""WRITES: a player's place in a league: a new player, one added by hand, those of the lobby when a league opens.

The number of agents that nobody has admitted is limited: players in the lobby, and referees that may not judge yet.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection

from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from agents_registry.addresses.endpoints import read_endpoint
from agents_registry.addresses.reading import inbox_key
from agents_registry.models import Agent, Kind
from agents_registry.names import lookalikes
from agents_registry.registering import ids, seats
from agents_registry.requests.reading import Request, clean_name
from agents_registry.requests.spellings import plays, read_id
from league_sdk.protocol.errors import InvalidFormat, MissingField
from league_sdk.protocol.notes import Code, Note, note
from storage import clock

MAX_IN_LOBBY, MAX_IN_LOBBY_PER_ADDRESS = 1000, 200
MAX_UNTRUSTED, MAX_UNTRUSTED_PER_ADDRESS = 500, 250
"""A class of two hundred behind one address has room, even if a stranger has used up the limit of another address."""
MAX_JOINING = 50
"""How many players of the lobby are looked at in one transaction: nobody waits long for it."""


class NameTaken(Exception):
    """A player of the league has this name and address already; the text is its id."""


def crowd(request: Request, league_id: str | None) -> str:
    """READ: why there is no room for a new agent, and what to do (L002); empty if there is room.

    Only the number of players in the lobby and that of referees that may not judge yet are limited.
    """
    others = Agent.objects.filter(kind=request.kind, league_id=league_id, trusted=False)
    if request.kind == Kind.REFEREE:
        limit, limit_per_address = MAX_UNTRUSTED, MAX_UNTRUSTED_PER_ADDRESS
        what = "referees wait for the instructor's tick"
    elif league_id is None:
        limit, limit_per_address, what = MAX_IN_LOBBY, MAX_IN_LOBBY_PER_ADDRESS, "players wait in the lobby"
    else:
        return ""
    ask = "Ask the instructor to remove those that nobody needs."
    caller = request.registered_from
    if caller and others.filter(registered_from=caller).count() >= limit_per_address:
        return f"{limit_per_address} {what} already that registered from your address ({request.caller}). {ask}"
    return f"{limit} {what} already. {ask}" if others.count() >= limit else ""


def new_agent(*, kind: Kind, name: str, league_id: str | None, wanted_id: str, promised: str = "") -> Agent:
    """A row with an id for an agent that is not known yet; not saved."""
    return Agent(
        kind=kind,
        league_id=league_id,
        promised_league_id=promised,
        code=ids.choose(kind, league_id, wanted_id),
        name=name,
        display_name=shown_name(name, Agent.objects.filter(kind=kind, league_id=league_id)),
        registered_at=clock.now(),
        # After a restore, a primary key that somebody else had since the backup is given out again.
        token_epoch=secrets.randbelow(2**30),
    )


def shown_name(name: str, peers: QuerySet[Agent]) -> str:
    """The name as people see it: the second "Alpha" is "Alpha (2)" (004 6.4.2 asks for four copies)."""
    used = set(peers.filter(display_name__startswith=name).values_list("display_name", flat=True))
    number = peers.filter(name=name).count() + 1
    shown = name if number == 1 else f"{name} ({number})"
    while shown in used:
        number += 1
        shown = f"{name} ({number})"
    return shown


def add_by_hand(*, league_id: str, name: object, endpoint: object, wanted_id: object = "") -> Agent:
    """Add a player that does not register by itself; it is called like any other.

    Changes: makes a row. The player has no token until it registers.

    Raises:
        MissingField, InvalidFormat: a name, an address or an id that cannot be used; ``context`` says why.
        NameTaken: a player of this league has this name and address.
    """
    shown = clean_name(name)
    if not shown:
        raise MissingField("The name is missing.", field="name", seen=name, expected="a name to show")
    address = read_endpoint(endpoint, caller="", field="endpoint")
    wanted_code = read_id(wanted_id, Kind.PLAYER) if wanted_id else ""
    if wanted_code is None:
        expected = "at most 32 letters, digits, - and _, such as P07; or nothing"
        raise InvalidFormat("This cannot be an id.", field="wanted_id", seen=wanted_id, expected=expected)
    try:
        with transaction.atomic():
            peers = Agent.objects.filter(kind=Kind.PLAYER, league_id=league_id, name=shown)
            if same := peers.filter(endpoint_key=address.key).first():
                raise NameTaken(same.code)
            agent = new_agent(kind=Kind.PLAYER, name=shown, league_id=league_id, wanted_id=wanted_code)
            if wanted_code and agent.code != wanted_code:
                raise InvalidFormat(
                    "This id is taken.", field="wanted_id", seen=wanted_code, expected="a free id, or nothing"
                )
            agent.endpoint, agent.endpoint_key = address.url, address.key
            agent.notes = [*address.notes]
            agent.by_hand = True
            agent.save()
            lookalikes.remember([agent], new=True)
            return agent
    except IntegrityError:
        # Somebody registered in between (PostgreSQL only).
        raise InvalidFormat(
            "This name and address, or this id, was taken a moment ago.",
            field="name",
            seen=shown,
            expected="to be sent again",
        ) from None


def move(agent: Agent, league_id: str, used: Collection[str]) -> None:
    """Move a player of the lobby into a league; it gets another id if its own is taken. Not saved.

    Args:
        used: the keys of the ids that are taken there (:func:`ids.taken`), without those of the lobby.
    """
    peers = Agent.objects.filter(kind=Kind.PLAYER, league_id=league_id)
    if not ids.is_free(agent.code, used):
        agent.code = ids.choose(Kind.PLAYER, league_id, "")
    if peers.filter(display_name=agent.display_name).exists():
        agent.display_name = shown_name(agent.name, peers)
    agent.league_id, agent.endpoint_key = league_id, _key_in(agent, league_id)


def _key_in(agent: Agent, league_id: str) -> str:
    """The key under which an agent of the lobby is known in a league."""
    return inbox_key(league_id, agent.name) if agent.is_inbox_only else agent.endpoint_key


def join_league(
    *, league_id: str, game_type: str, room: int, only: int | None = None, after: int = 0
) -> tuple[int, int | None]:
    """Move players of the lobby into a league that opens, at most ``MAX_JOINING`` of them; they keep their ids.

    A player whose id, or whose name and address, is taken there stays in the lobby, and its notes say so (our choice:
    it was told that id and cannot be told another). It may register for the league itself. A player whose name looks
    like that of a player there stays, too, until the instructor lets it in. A player at whose address another player is
    now also stays (:mod:`agents_registry.registering.seats`).

    Args:
        room: how many players the league takes in all.
        only: the primary key of the only player to move; None for all.
        after: the primary key of the last player that was looked at in an earlier call.

    Returns:
        How many moved; and the primary key of the last player looked at, None if there are no more to look at.
    """
    peers = Agent.objects.filter(kind=Kind.PLAYER, league_id=league_id)
    used = ids.taken(Kind.PLAYER, league_id, lobby=False)
    identities = set(peers.values_list("name", "endpoint_key"))
    room -= peers.count()
    moved = 0
    replaced = seats.replaced_in_lobby(league_id)
    lobby = Agent.objects.filter(kind=Kind.PLAYER, league__isnull=True)
    piece = (lobby if only is None else lobby.filter(pk=only)).filter(pk__gt=after).order_by("pk")[:MAX_JOINING]
    for agent in piece:
        if moved >= room:
            return moved, None
        if not plays(agent.game_types, game_type):
            continue
        if not ids.is_free(agent.code, used) or (agent.name, _key_in(agent, league_id)) in identities:
            _note_why_it_stays(agent, note(Code.STAYED_AS_TAKEN, league=league_id))
            continue
        if agent.pk in replaced:
            _note_why_it_stays(agent, seats.why_not(agent, replaced[agent.pk]))
            continue
        resembled = lookalikes.resembled(agent, league_id=league_id)
        if resembled is not None:
            lookalikes.note_refused(league_id=league_id, agent=agent, resembled=resembled)
            like = {"name": resembled.display_name, "id": resembled.code}
            _note_why_it_stays(agent, note(Code.STAYED_AS_LIKE, league=league_id, **like))
            continue
        name_before = agent.display_name
        move(agent, league_id, used)
        agent.save(update_fields=["league", "code", "display_name", "endpoint_key"])
        if agent.display_name != name_before:
            lookalikes.remember([agent])
        moved += 1
    return moved, piece[MAX_JOINING - 1].pk if len(piece) == MAX_JOINING else None


def _note_why_it_stays(agent: Agent, why: Note) -> None:
    if str(why) not in agent.notes:
        agent.notes = [*agent.notes, str(why)]
        agent.save(update_fields=["notes"])
