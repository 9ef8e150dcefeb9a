"""WRITES: a known player that registers at another address (ruling, section 8, identity).

It is the same player. Its move counts once an answer from the new address proves it; until then it is called at the
address before, as it was. What it said of itself at the new one waits in ``Agent.moving``:

- ``row``: the fields of its row that change;
- ``shows_new``: as in :class:`agents_registry.registering.deciding.Taken`;
- ``token``: the SHA-256 of the token that this registration got;
- ``at_home``: when it last registered there from the machine of that address, in seconds since the epoch; else 0;
- ``since``, ``next_at``: when it first registered there, and when it is next called there or looked at, likewise;
- ``proven``: an answer came, or it is its own inbox, which nobody else can name: the move counts after its match;
- ``taken``: another player of its league is there: it does not count as long as that is so.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from agents_registry.addresses import programs
from agents_registry.addresses.reading import inbox_key, inbox_url
from agents_registry.models import Agent, Kind
from agents_registry.rate_limits.attempts import attempts
from agents_registry.registering import seats
from agents_registry.registering.deciding import Taken
from agents_registry.requests.reading import MAX_NOTES, Request
from league_sdk.dialects.words import READY
from league_sdk.protocol import tokens
from league_sdk.protocol.notes import Code, note
from league_sdk.protocol.states import AgentState
from storage import clock

MIN_INTERVAL_S, MAX_INTERVAL_S = 1.0, 30.0
"""Between two calls at a new address: the interval grows with the time for which no answer has come."""
MAX_TRIED_S = 600.0
"""So long an address that does not answer is called; a player that registers there after that is called anew."""


def begin(agent: Agent, request: Request, decision: Taken, token: str) -> None:
    """Note that a player has registered at another address; an earlier move that waits is replaced. Not saved."""
    now, before, row = clock.now().timestamp(), agent.moving, said(agent, request)
    # One that registers again and again has no address called more often: neither the same one nor another one.
    since, next_at = before.get("since", 0.0), before.get("next_at", now)
    if not before or before["row"]["endpoint"] != row["endpoint"] or now - since >= MAX_TRIED_S:
        wait = attempts.count_move(agent.pk)
        since, next_at = now, min(next_at, now + MIN_INTERVAL_S) if wait is None else now + wait.seconds
    agent.moving = {
        "row": row,
        "shows_new": decision.shows_new,
        "at_home": now if decision.at_home else 0,
        "token": tokens.digest(token),
        "since": since,
        "next_at": next_at,
        "proven": request.has_inbox_only,
    }
    # A name is looked up only when the move is about to count.
    agent.moving["taken"] = _is_taken(agent, programs.program(row["endpoint"], (), programs.gateways()).keys)


def said(agent: Agent, request: Request) -> dict[str, Any]:
    """What an agent says of itself, as columns of its row; as JSON, as it may have to wait."""
    inbox = request.has_inbox_only
    return {
        # The address of an inbox contains the primary key: of a new agent it is put in when there is one.
        "endpoint": inbox_url(agent.pk) if inbox else request.endpoint,
        # Its token may show that it is this agent although it sends another name.
        "endpoint_key": inbox_key(agent.league_id, agent.name) if inbox else request.endpoint_key,
        "sender_name": request.sender_name,
        "wanted_id": request.wanted_id,
        "version": request.version,
        "game_types": list(request.game_types),
        "max_concurrent": request.max_concurrent,
        "sends_progress": request.sends_progress,
        "dialect": request.shape,
    }


def settle(agent: Agent, row: dict[str, Any]) -> None:
    """From now on an agent is what it says (:func:`said`), and is called at this address. Not saved."""
    for name, value in row.items():
        setattr(agent, name, value)
    agent.moving, agent.problem, agent.call_found = {}, "", ""
    agent.registrations += 1


def note_call(*, agent_id: int, endpoint: str, answered: bool) -> None:
    """A new address was called: if an answer came, the move is proven, and counts as soon as it may."""
    agent = Agent.objects.select_for_update(no_key=True).filter(pk=agent_id, moving__row__endpoint=endpoint).first()
    if agent is not None:
        now = clock.now().timestamp()
        wait_s = min(MAX_INTERVAL_S, max(MIN_INTERVAL_S, now - agent.moving["since"]))
        agent.moving["proven"] = answered
        look_later(agent, 0.0 if answered else wait_s)


def look_later(agent: Agent, wait_s: float, **also: object) -> None:
    """The move of a player, whose row is locked, is looked at again in so many seconds; ``also`` changes in it."""
    agent.moving |= {"next_at": clock.now().timestamp() + wait_s, **also}
    agent.save(update_fields=["moving"])


def complete(agent: Agent, tell: Callable[[], None]) -> bool:
    """The move of a player, whose row is locked, counts: from now on it is called at its new address.

    Changes: the agent's row and its tokens. Nothing that was learned of the program before is kept.

    Args:
        tell: called in another thread when the name in its new address has been looked up.

    Returns False if it does not count yet: the name is being looked up; another player of the league is at the address;
    or one was, and the address has to answer once more.
    """
    move, before = agent.moving, agent.endpoint
    program = programs.find(move["row"]["endpoint"], programs.gateways(), tell)
    if program is None:
        look_later(agent, MIN_INTERVAL_S)
        return False
    if _is_taken(agent, program.keys):
        # What answered may have been the other one's program.
        look_later(agent, MAX_INTERVAL_S, taken=True, proven=move["row"]["endpoint"] == inbox_url(agent.pk))
        return False
    if not move["proven"]:
        look_later(agent, 0.0, taken=False, since=clock.now().timestamp())
        return False
    settle(agent, move["row"])
    agent.program, agent.addresses, agent.by_hand = "", "", False
    # Whoever answers a ping has understood its shape. It also shows others that somebody has proved this address.
    agent.spoken, agent.learned = {} if agent.is_inbox_only else {"PING": agent.dialect}, {}
    agent.shown_at = _shown_at(move)
    agent.notes = [*agent.notes, str(note(Code.MOVED, address=before))][-MAX_NOTES:]
    agent.save()
    # They were proven at the address before; at this one they are when an answer from there has one of them in it.
    agent.tokens.update(proven=False)
    agent.tokens.filter(sha256=move["token"]).update(proven=move["shows_new"])
    return True


def _shown_at(move: dict[str, Any]) -> datetime | None:
    return datetime.fromtimestamp(move["at_home"], UTC) if move["at_home"] else None


def _is_taken(agent: Agent, keys: frozenset[str]) -> bool:
    """Whether somebody keeps a player from its new address, at which the program with these keys is."""
    row, gateways = agent.moving["row"], programs.gateways()
    peers = Agent.objects.filter(kind=Kind.PLAYER, league_id=agent.league_id, name=agent.name).exclude(pk=agent.pk)
    if peers.filter(endpoint_key=row["endpoint_key"]).exists():
        return True
    if row["endpoint"] == inbox_url(agent.pk):
        return False
    others = (one for one in seats.others_at(agent, keys, gateways) if one.league_id == agent.league_id)
    referees = Agent.objects.filter(kind=Kind.REFEREE, site_key=True)
    return any(_keeps_out(one, agent.moving) for one in others) or any(
        programs.known(one, gateways) & keys for one in referees
    )


def _keeps_out(one: Agent, move: dict[str, Any]) -> bool:
    """Whether a player at an address keeps a player out that moves there: it has proved the address and has not left.

    An answer may be that of the program of who moves there, so who registers from the machine of the address gives way
    only to the instructor, and to who registered from that machine after it.
    """
    is_out = one.state == AgentState.SHUTDOWN or (one.league is not None and one.code in one.league.out)
    if is_out or one.moving.get("at_home"):
        return False
    shown_at = _shown_at(move)
    if one.by_hand or shown_at is not None:
        return one.by_hand or (one.shown_at is not None and shown_at is not None and one.shown_at > shown_at)
    was_heard = one.shown_at is not None or bool(one.spoken.keys() - {READY})
    return was_heard or one.tokens.filter(proven=True).exists()
