"""Encode broadcasts, each in the dialect of its receiver. Only reads rows, and sends nothing."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from django.db.models import QuerySet
from django.utils.crypto import salted_hmac

from agents_registry.models import Agent, Kind
from agents_registry.registering import credentials
from league_sdk.dialects import shapes, starts
from league_sdk.dialects.hunt import Hunt
from league_sdk.dialects.memory import Memory, read_own
from league_sdk.dialects.tools import Tool
from league_sdk.dialects.words import LEGACY_SHAPES, LEGACY_SIGNALS
from league_sdk.protocol import rpc
from league_sdk.protocol.envelope import stamp
from league_sdk.protocol.messages import MessageType
from matches.conducting.outgoing import announced_match, told_settings
from matches.league.conductors import WHOLE, Duty
from matches.models import Broadcast, Delivery, DeliveryState, League
from matches.view import referees
from storage.prepared import Prepared

MAX_DELIVERIES_READ = 2000
REFUSES = "refuses "
"""With a message type after it, the field of ``Agent.learned`` that says: the agent is not sent this kind any more."""
MAX_BYTES_AT_ONCE = 16_000_000
"""The table of 2,000 players has 300 kB and goes to each of them: all at once, the event loop would stand still."""
_WITH_TOOLS = ("tools_call", *shapes.OF_TOOLS)
_TOKEN_PLACEHOLDER = secrets.token_hex(16)
_PLAYER_PLACEHOLDER = secrets.token_hex(16)
_ID_PLACEHOLDER = 2**60 + secrets.randbelow(2**60)
"""Placeholders for an agent's own values in a template. They are random, so that no message can contain them."""
_TOKEN, _PLAYER, _ID = _TOKEN_PLACEHOLDER.encode(), _PLAYER_PLACEHOLDER.encode(), str(_ID_PLACEHOLDER).encode()
_PLACEHOLDERS = re.compile(b"(%b|%b|%b)" % (_TOKEN, _PLAYER, _ID))


@dataclass(frozen=True, slots=True)
class Parcel:
    """One broadcast to one agent, ready to send.

    Attributes:
        hunt: for a referee that may start matches on the announcement: the hunt for its dialect.
        about: fields for the log record.
        also: further bodies that the agent expects after this one.
        registration: a player's registration, to which its MCP session and dialect belong; empty for a referee.
        kind: the message type.
        learned: what was found out of the registration so far.
        retold: encodes the broadcast again once its player was found to be an MCP server; returns the body and the new
            ``unfilled``.
        unfilled: the required arguments of the agent's tool that no message has a value for.
        bearer: as in :class:`matches.conducting.outgoing.Start`.
    """

    delivery_pk: int
    endpoint: str
    body: bytes
    limit_s: float
    hunt: Hunt | None = None
    also: tuple[bytes, ...] = ()
    registration: str = ""
    about: Mapping[str, Any] = field(default_factory=dict)
    bearer: str = field(default="", repr=False)
    kind: str = ""
    learned: Mapping[str, Any] = field(default_factory=dict)
    retold: Callable[[Memory], tuple[bytes, tuple[str, ...]]] | None = None
    unfilled: tuple[str, ...] = ()

    @property
    def rpc_id(self) -> int:
        """The JSON-RPC id of its request."""
        return rpc_id_of(self.delivery_pk)


def rpc_id_of(delivery_pk: int) -> int:
    """The JSON-RPC id of a delivery's request, the same whenever it is sent again; the next 99 ids are its own, too.

    It does not follow the number of the delivery: the ids of two broadcasts would tell how many players got the first,
    and so whether somebody was taken out of the league behind a freeze. It fits into 32 bits, as some agents expect.
    """
    digest = salted_hmac("matches.conducting.parcels", str(delivery_pk)).digest()
    return 100 * (1 + int.from_bytes(digest[:3], "big"))


class Template:
    """One broadcast in one dialect, encoded once; each agent's own values are inserted as bytes.

    Args:
        message: the broadcast, with its timestamp.
        shape: the name of the dialect's shape.
        tool: the agent's own tool for this broadcast; None for the shape's own name.
        to_player: whether to add the receiver's player_id.

    Attributes:
        unfilled: the required arguments of the tool that are not among our fields.
    """

    def __init__(self, message: Mapping[str, Any], shape: str, tool: Tool | None = None, *, to_player: bool) -> None:
        whole = {**message, "auth_token": _TOKEN_PLACEHOLDER}
        if to_player:
            whole["player_id"] = _PLAYER_PLACEHOLDER
        # Split at the placeholders once, not once for each of a thousand receivers.
        if tool is None:
            body, unfilled = shapes.SHAPES[shape].wrap(whole, _ID_PLACEHOLDER), tuple[str, ...]()
        else:
            body, unfilled = tool.call(shape, whole, _ID_PLACEHOLDER)
        self.unfilled = unfilled
        self._pieces = _PLACEHOLDERS.split(rpc.dumps(body))

    def fill(self, *, token: str, code: str, rpc_id: int) -> bytes:
        """Insert an agent's league_token, its id and the id of the request. None of them needs escaping."""
        own = {_TOKEN: token.encode(), _PLAYER: code.encode(), _ID: str(rpc_id).encode()}
        # Every second piece is a placeholder.
        return b"".join([own[piece] if n % 2 else piece for n, piece in enumerate(self._pieces)])


@dataclass(slots=True)
class _Encoder:
    """Encodes the broadcasts of one look; templates and limits are made once and reused."""

    broadcasts: Mapping[int, Broadcast]
    moment: str
    templates: dict[tuple[object, ...], Template] = field(default_factory=dict)
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
        is_player = agent.kind == Kind.PLAYER
        shape = shapes.order(agent.dialect, agent.spoken, kind)[0]
        tool = read_own(agent.learned).get(kind) if shape in _WITH_TOOLS and agent.learned else None
        token = credentials.league_token(agent)
        is_legacy = agent.dialect in LEGACY_SHAPES
        templates = [
            self._template(broadcast, named, shape, tool, to_player=is_player)
            for named in (kind, *(LEGACY_SIGNALS.get(kind, ()) if is_legacy else ()))
        ]
        rpc_id = rpc_id_of(delivery.pk)
        first, *others = [one.fill(token=token, code=agent.code, rpc_id=rpc_id) for one in templates]
        return Parcel(
            delivery.pk,
            agent.endpoint,
            first,
            limit,
            also=tuple(others),
            registration=agent.registration if is_player else "",
            about=_about(agent, broadcast),
            bearer=token if not is_player and agent.sends_progress else "",
            kind=kind,
            learned=agent.learned,
            retold=partial(self._retold, delivery, broadcast, token) if is_player else None,
            unfilled=templates[0].unfilled,
        )

    def _retold(
        self, delivery: Delivery, broadcast: Broadcast, token: str, found: Memory
    ) -> tuple[bytes, tuple[str, ...]]:
        """The broadcast for an MCP server; no rows are read."""
        kind = broadcast.message_type
        template = self._template(broadcast, kind, "tools_list", found.own.get(kind), to_player=True)
        return template.fill(token=token, code=delivery.agent.code, rpc_id=rpc_id_of(delivery.pk)), template.unfilled

    def _template(self, broadcast: Broadcast, kind: str, shape: str, tool: Tool | None, *, to_player: bool) -> Template:
        key = (broadcast.pk, kind, shape, tool, to_player)
        if key not in self.templates:
            message = broadcast.payload | {"timestamp": self.moment, "message_type": kind}
            tool_shape = shape if shape == "tools_methods" else "tools_list"
            self.templates[key] = Template(message, shape if tool is None else tool_shape, tool, to_player=to_player)
        return self.templates[key]

    def _to_foreign_referee(self, delivery: Delivery, broadcast: Broadcast, limit: float) -> Parcel:
        """The announcement with the addresses of the players: a student's referee may start its matches on it."""
        referee = delivery.agent
        theirs = {match.match_id: announced_match(match, referee) for match in referees.judged_by(referee, broadcast)}
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
        return Parcel(delivery.pk, referee.endpoint, b"", limit, hunt, about=_about(referee, broadcast))


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
    return _waiting().order_by("pk").only("broadcast_id", "agent_id")


_PENDING = Prepared(lambda: _pending()[:MAX_DELIVERIES_READ])
_RECEIVERS = Prepared(
    lambda: Agent.objects.filter(pk__in=_waiting().values("agent_id")).only(
        *("code", "kind", "endpoint", "dialect", "spoken", "learned", "registrations", "sends_progress", "token_epoch")
    )
)
_BROADCASTS = Prepared(
    lambda: Broadcast.objects.filter(pk__in=_waiting().values("broadcast_id")).select_related("league"),
)


def _waiting() -> QuerySet[Delivery]:
    return Delivery.objects.filter(state=DeliveryState.PENDING)


def parcels_of(busy_agents: Collection[int], now: datetime, duty: Duty = WHOLE) -> dict[int, list[Parcel]]:
    """Encode the broadcasts of a conductor's leagues that wait, by agent and in order; none for a busy agent.

    At most :data:`MAX_DELIVERIES_READ` of them are read at a time, and of those no more are encoded than
    :data:`MAX_BYTES_AT_ONCE`; the next look takes the others.
    """
    waiting = _PENDING.all()
    is_cut = len(waiting) == MAX_DELIVERIES_READ
    due = [delivery for delivery in waiting if delivery.agent_id not in busy_agents]
    if not due and not is_cut:
        return {}
    broadcasts = {broadcast.pk: broadcast for broadcast in _BROADCASTS.all() if duty.has(broadcast.league_id)}
    if is_cut and (busy_agents or not duty.is_whole):
        # Read past the deliveries of busy agents and of other conductors, or they would keep the others out.
        own = _pending().filter(broadcast_id__in=list(broadcasts)).exclude(agent_id__in=list(busy_agents))
        due = list(own[:MAX_DELIVERIES_READ])
    due = [delivery for delivery in due if delivery.broadcast_id in broadcasts]
    if not due:
        return {}
    # Not with select_related, which would parse the payload once more, and make another agent, for each delivery.
    agents = {agent.pk: agent for agent in _RECEIVERS.all()}
    # A delivery may have been dropped between the queries.
    due = [one for one in due if one.agent_id in agents]
    for delivery in due:
        delivery.agent = agents[delivery.agent_id]
    encoder = _Encoder(broadcasts, stamp(now))
    later = _to_send_last(due)
    parcels: dict[int, list[Parcel]] = {}
    size = 0
    for delivery in due:
        if delivery.agent_id in later:
            continue
        parcels.setdefault(delivery.agent_id, []).append(parcel := encoder.parcel(delivery))
        size += len(parcel.body)
        if size > MAX_BYTES_AT_ONCE:
            break
    return parcels


def _to_send_last(due: Sequence[Delivery]) -> set[int]:
    """Students' referees that are sent nothing yet: they would be told of a round that some players do not know of.

    A referee that starts matches on the announcement would invite a player to a match that it does not know of.
    """
    later = set()
    for delivery in due:
        agent, broadcast = delivery.agent, delivery.broadcast_id
        if agent.kind == Kind.REFEREE and not agent.sends_progress and referees.waits_for_players(broadcast):
            later.add(agent.pk)
    return later
