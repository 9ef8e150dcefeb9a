"""Broadcasts as bytes: each in the way of speaking of its receiver. Reads rows; writes and sends nothing."""

from __future__ import annotations

import re
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from agents_registry import credentials
from agents_registry.models import Agent, Kind
from league_sdk.dialects import shapes, starts
from league_sdk.dialects.hunt import Hunt, Memory
from league_sdk.protocol import rpc
from league_sdk.protocol.envelope import stamp
from league_sdk.protocol.messages import MessageType
from matches.conducting.outgoing import judged_line, told_settings
from matches.models import Broadcast, Delivery, DeliveryState, League
from matches.view import referees
from storage.prepared import Prepared

MOST_PARCELS = 2000
_TOKEN_MARK = secrets.token_hex(16)
_PLAYER_MARK = secrets.token_hex(16)
_ID_MARK = 2**60 + secrets.randbelow(2**60)
"""What stands in a stencil where an agent's own values go; nobody outside can know them."""
_TOKEN, _PLAYER, _ID = _TOKEN_MARK.encode(), _PLAYER_MARK.encode(), str(_ID_MARK).encode()
_MARKS = re.compile(b"(%b|%b|%b)" % (_TOKEN, _PLAYER, _ID))


@dataclass(frozen=True, slots=True)
class Parcel:
    """One broadcast to one agent, ready to send.

    Attributes:
        hunt: for a referee that may begin with the announcement: the search for what it understands.
        about: what a log record tells of it.
        shown: as of :class:`matches.conducting.outgoing.Start`.
    """

    delivery_pk: int
    endpoint: str
    body: bytes
    limit_s: float
    hunt: Hunt | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    shown: str = field(default="", repr=False)


class Stencil:
    """One broadcast in one way of speaking, encoded once; each agent's own values are put in as bytes.

    Args:
        message: the broadcast with its time.
        shape: the way of speaking.
        to_player: players are told their id in it.
    """

    def __init__(self, message: Mapping[str, Any], shape: str, *, to_player: bool) -> None:
        whole = {**message, "auth_token": _TOKEN_MARK}
        if to_player:
            whole["player_id"] = _PLAYER_MARK
        # Cut at the marks: a table of a thousand rows is not searched for them a thousand times.
        self._pieces = _MARKS.split(rpc.dumps(shapes.SHAPES[shape].wrap(whole, _ID_MARK)))

    def fill(self, *, token: str, code: str, rpc_id: int) -> bytes:
        """The body for one agent: its league_token, its id, the request's id. None of them needs escaping."""
        own = {_TOKEN: token.encode(), _PLAYER: code.encode(), _ID: str(rpc_id).encode()}
        # Every second piece is a mark.
        return b"".join([own[piece] if n % 2 else piece for n, piece in enumerate(self._pieces)])


@dataclass(slots=True)
class _Encoder:
    """The broadcasts of one look; what is asked for twice is made once."""

    broadcasts: Mapping[int, Broadcast]
    moment: str
    stencils: dict[tuple[int, str, bool], Stencil] = field(default_factory=dict)
    limits: dict[str, float] = field(default_factory=dict)

    def limit_s(self, league: League) -> float:
        if league.pk not in self.limits:
            self.limits[league.pk] = league.rules.generic_timeout_s
        return self.limits[league.pk]

    def parcel(self, delivery: Delivery) -> Parcel:
        agent, broadcast = delivery.agent, self.broadcasts[delivery.broadcast_id]
        limit = self.limit_s(broadcast.league)
        kind = broadcast.message_type
        announces = kind == MessageType.ROUND_ANNOUNCEMENT
        if agent.kind == Kind.REFEREE and not agent.sends_progress and announces:
            return self._to_foreign_referee(delivery, broadcast, limit)
        shape = shapes.order(agent.dialect, agent.spoken, kind)[0]
        to_player = agent.kind == Kind.PLAYER
        key = (broadcast.pk, shape, to_player)
        if key not in self.stencils:
            message = broadcast.payload | {"timestamp": self.moment}
            self.stencils[key] = Stencil(message, shape, to_player=to_player)
        token = credentials.league_token(agent)
        body = self.stencils[key].fill(token=token, code=agent.code, rpc_id=delivery.pk)
        shown = token if agent.kind == Kind.REFEREE and agent.sends_progress else ""
        return Parcel(delivery.pk, agent.endpoint, body, limit, about=_about(agent, broadcast), shown=shown)

    def _to_foreign_referee(self, delivery: Delivery, broadcast: Broadcast, limit: float) -> Parcel:
        """The announcement may be what it begins with: the addresses of its players are in it."""
        referee = delivery.agent
        theirs = {match.match_id: judged_line(match, referee) for match in referees.judged_by(referee, broadcast)}
        lines = [line | theirs.get(line["match_id"], {}) for line in broadcast.payload["matches"]]
        message = broadcast.payload | {
            "timestamp": self.moment,
            "auth_token": credentials.league_token(referee),
            "matches": lines,
            **told_settings(broadcast.league.rules),
        }
        known = {starts.KIND, MessageType.ROUND_ANNOUNCEMENT}.intersection(referee.spoken)
        memory = Memory(dialect=referee.dialect, spoken=dict(referee.spoken))
        hunt = Hunt(message, url=referee.endpoint, memory=memory, patient=not known)
        return Parcel(delivery.pk, referee.endpoint, b"", limit, hunt, _about(referee, broadcast))


def _about(agent: Agent, broadcast: Broadcast) -> dict[str, Any]:
    payload = broadcast.payload
    return {
        "league_id": broadcast.league_id,
        "round_id": payload.get("round_id"),
        "match_id": payload.get("match_id"),
        "conversation_id": payload.get("conversation_id"),
        "message_type": broadcast.message_type,
        "peer": f"{agent.kind}:{agent.code}",
    }


def _pending() -> QuerySet[Delivery]:
    return Delivery.objects.filter(state=DeliveryState.PENDING).order_by("pk").only("broadcast_id", "agent_id")


_PENDING = Prepared(lambda: _pending()[:MOST_PARCELS])
_TOLD = Prepared(
    lambda: Agent.objects.filter(pk__in=_waiting("agent_id")).only(
        "code", "kind", "endpoint", "dialect", "spoken", "sends_progress", "token_epoch"
    )
)
_BROADCASTS = Prepared(
    lambda: Broadcast.objects.filter(pk__in=_waiting("broadcast_id")).select_related("league"),
)


def _waiting(field: str) -> QuerySet[Delivery, dict[str, Any]]:
    return Delivery.objects.filter(state=DeliveryState.PENDING).values(field)


def parcels_of(busy_agents: Collection[int], now: datetime) -> dict[int, list[Parcel]]:
    """Undelivered broadcasts by agent, in their order; token, id, time and dialect are put in here."""
    due = _PENDING.all()
    if len(due) == MOST_PARCELS and busy_agents:
        # Those that something is on its way to must not keep the others out.
        due = list(_pending().exclude(agent_id__in=list(busy_agents))[:MOST_PARCELS])
    due = [delivery for delivery in due if delivery.agent_id not in busy_agents]
    if not due:
        return {}
    # Not by select_related: each payload would be read from its JSON once for every agent, and each agent three times.
    agents = {agent.pk: agent for agent in _TOLD.all()}
    broadcasts = {broadcast.pk: broadcast for broadcast in _BROADCASTS.all()}
    # What was overtaken a moment ago waits no longer.
    due = [one for one in due if one.agent_id in agents and one.broadcast_id in broadcasts]
    for delivery in due:
        delivery.agent = agents[delivery.agent_id]
    encoder = _Encoder(broadcasts, stamp(now))
    later = _to_tell_last(due)
    found: dict[int, list[Parcel]] = {}
    for delivery in due:
        if delivery.agent_id in later:
            continue
        found.setdefault(delivery.agent_id, []).append(encoder.parcel(delivery))
    return found


def _to_tell_last(due: Sequence[Delivery]) -> set[int]:
    """Foreign referees whose next message is a round that some of its players have not been told of yet.

    One that begins with the announcement would invite a player to a match that it knows nothing of.
    """
    later = set()
    for delivery in due:
        agent, broadcast = delivery.agent, delivery.broadcast_id
        if agent.kind == Kind.REFEREE and not agent.sends_progress and referees.waits_for_players(broadcast):
            later.add(agent.pk)
    return later
