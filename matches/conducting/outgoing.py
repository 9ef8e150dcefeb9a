"""Make starts of matches and pings, encoded in every spelling that is needed. Only reads rows, and sends nothing."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from agents_registry.addresses import programs
from agents_registry.addresses.endpoints import endpoint_policy, ports_of
from agents_registry.models import Agent, Kind
from agents_registry.registering import credentials
from league_sdk.dialects import shapes, starts
from league_sdk.protocol import rpc
from league_sdk.protocol.envelope import LEAGUE_MANAGER, envelope
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.protocol.limits import MAX_BODY_BYTES
from league_sdk.protocol.messages import START_MATCH, MessageType
from league_sdk.protocol.states import AgentState
from league_sdk.rules.draws import commitment
from league_sdk.transport.policy import EndpointPolicy
from matches.inbox import keys
from matches.inbox.hub import hub
from matches.league import outbox, play
from matches.league.conductors import SITE, WHOLE, Duty
from matches.models import Match
from matches.observing import telemetry
from matches.view import queries, reach, sight
from storage import clock
from storage.prepared import Prepared

MAX_STARTS_BYTES = MAX_BODY_BYTES - 4096
"""The limit for the starts in one call; the rest of its body is for the message around them."""
_FLAT = ("_timeout_s", "_points", "max_retries", "retry_base_s", "retry_factor")
"""Endings of the settings that a start for a student's referee also contains outside ``settings``."""


@dataclass(frozen=True, slots=True)
class Try:
    """One spelling of a start for a student's referee; ``way`` is its name."""

    way: str
    body: bytes
    rpc_id: int


@dataclass(frozen=True, slots=True)
class Start:
    """A match to be started at its referee.

    Attributes:
        message: for a referee that calls ``report_progress``, what ``start_match`` says, encoded.
        tries: for other referees, the spellings in the order to try them.
        limit_s: seconds for all tries together; for a referee that calls ``report_progress``, from the assignment on.
        lease_s: seconds of the match's lease.
        lease_until: the end of the lease.
        sends_progress: the referee calls ``report_progress``.
        takes_several: the referee takes several starts in one call: it has the site's key and calls
            ``report_progress``.
        sent_before: an earlier start of this attempt may have arrived.
        announced: the ROUND_ANNOUNCEMENT names the referee for this match, and it is known to understand such messages.
        about: fields for the log record.
        bearer: the league_token for the Authorization header, for a referee that calls ``report_progress``; else empty.
    """

    match_pk: int
    attempt: int
    referee_pk: int
    endpoint: str
    limit_s: float
    lease_s: float
    message: bytes = field(default=b"", repr=False)
    tries: tuple[Try, ...] = ()
    lease_until: datetime | None = None
    sends_progress: bool = True
    takes_several: bool = False
    sent_before: bool = False
    announced: bool = False
    about: Mapping[str, Any] = field(default_factory=dict)
    bearer: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Ping:
    """A ping to one agent; ``proves``: at an address to which it moves, which its answer would prove."""

    agent_pk: int
    endpoint: str
    body: bytes
    proves: bool = False


# Starts ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Chosen:
    """A match that is assigned to a referee, whose start is to be sent.

    Attributes:
        named: the round's announcement names this referee for the match.
        sent_before: an earlier start of this attempt may have arrived.
    """

    match: Match
    referee: Agent
    named: bool
    sent_before: bool = False


def starts_of(chosen: Sequence[Chosen]) -> list[Start]:
    """Make the starts of matches, for referees that call ``report_progress`` and for others."""
    if not chosen:
        return []
    with_progress = [one.match for one in chosen if one.referee.sends_progress]
    digests = credentials.token_digests(
        [pk for match in with_progress for pk in (match.player_a_id, match.player_b_id)]
    )
    tables: dict[str, dict[str, dict[str, int]]] = {}
    judges: dict[str, list[Agent]] = {}
    policy = _policy_for_players().to_params() if with_progress else {}
    result = []
    for one in chosen:
        match, referee, rules = one.match, one.referee, one.match.league.rules
        if referee.sends_progress:
            if match.league_id not in tables:
                judges[match.league_id] = outbox.referees_of(match.league)
                of_league = [other for other in with_progress if other.league_id == match.league_id]
                players = [seat.code for other in of_league for seat in _seats(other)]
                tables[match.league_id] = queries.own_standings(sight.public(match.league), players)
            message = _start_match(
                match, referee, digests, tables[match.league_id], policy | programs.pins(*_seats(match))
            )
            if referee.site_key and match.unreached is None and reach.elsewhere(referee, judges[match.league_id]):
                message["second_look"] = True
            encoded, tries = rpc.dumps(message), tuple[Try, ...]()
        else:
            encoded, tries = b"", _tries(match, referee)
        result.append(
            Start(
                match_pk=match.pk,
                attempt=match.attempt,
                referee_pk=referee.pk,
                endpoint=referee.endpoint,
                message=encoded,
                tries=tries,
                limit_s=rules.start_limit_s() if referee.sends_progress else rules.generic_timeout_s,
                lease_s=play.lease_s_of(match, referee),
                lease_until=match.lease_until,
                sent_before=one.sent_before,
                sends_progress=referee.sends_progress,
                takes_several=referee.site_key and referee.sends_progress,
                announced=one.named and MessageType.ROUND_ANNOUNCEMENT in referee.spoken,
                about=telemetry.about_match(match)
                | {"message_type": START_MATCH, "peer": f"{referee.kind}:{referee.code}"},
                bearer=credentials.league_token(referee) if referee.sends_progress else "",
            )
        )
    return result


def in_calls(starts: Iterable[Start]) -> list[list[Start]]:
    """Divide starts into calls.

    Those of one referee that takes several, with the same limit, travel together, as many as fit into one body.
    """
    calls: list[list[Start]] = []
    open_calls: dict[tuple[int, float], tuple[list[Start], int]] = {}
    for start in starts:
        key = start.referee_pk, start.limit_s
        together, size = open_calls.get(key, ([], 0))
        size += len(start.message)
        if not start.takes_several or not together or size > MAX_STARTS_BYTES:
            together, size = [], len(start.message)
            calls.append(together)
        together.append(start)
        open_calls[key] = together, size
    return calls


def _policy_for_players() -> EndpointPolicy:
    """The league manager's endpoint policy, without the ports of the site's own referees."""
    listening = Agent.objects.filter(kind=Kind.REFEREE, site_key=True).values_list("endpoint", flat=True)
    return endpoint_policy(ports_of(listening))


def _seats(match: Match) -> tuple[Agent, Agent]:
    return match.player_a, match.player_b


def _start_match(
    match: Match,
    referee: Agent,
    digests: Mapping[int, Mapping[str, bool]],
    table: dict[str, dict[str, int]],
    policy: dict[str, Any],
) -> dict[str, Any]:
    """Make ``start_match`` for a referee that calls ``report_progress`` (ruling, section 10)."""
    seats = {}
    excused = Counter(one.get("player_id") for one in match.excused)
    for side, player in (("A", match.player_a), ("B", match.player_b)):
        known = digests.get(player.pk, {})
        # Which broadcasts it refuses is nothing to a referee.
        learned = {name: value for name, value in player.learned.items() if " " not in name}
        unproven = [digest for digest, proven in known.items() if not proven]
        # Behind a gateway another path is another program: the referee tries no other path.
        behind_gateway = programs.is_behind_gateway(player.program.split())
        seats[f"player_{side}"] = {
            "id": player.code,
            "endpoint": programs.called_endpoint(player),
            "dialect": player.dialect,
            "spoken": player.spoken,
            **({"learned": learned} if learned else {}),
            "registration": player.registration,
            "league_token": credentials.token_from(referee, player),
            "auth_token_sha256": list(known),
            **({"unproven_sha256": unproven} if unproven else {}),
            "your_standings": table[player.code],
            "joined_before": player.code in match.joined,
            "suspended": player.state == AgentState.SUSPENDED,
            **({"stays": True} if behind_gateway else {}),
            **({"excused": excused[player.code]} if player.code in excused else {}),
            "inbox_key": keys.SeatKey(match.pk, match.attempt, player.pk).text(),
            "connect_grace_s": match.league.rules.connect_grace_s,
            **({"dials_out": True} if hub.dials_out(player.pk) else {}),
        }
    return _start_envelope(
        match,
        referee,
        settings=match.league.rules.for_referee(),
        endpoint_policy=policy,
        **_fields_for_site_referee(match, referee),
        **seats,
        **_flat_seats(match),
    )


def _fields_for_site_referee(match: Match, referee: Agent) -> dict[str, Any]:
    """The fields about the draw and earlier attempts, for a referee with the site's key (ruling, section 12)."""
    if not referee.site_key:
        return {}
    fields: dict[str, Any] = {"seals": True, "play": match.play}
    if match.draw_seed:
        fields |= {"draw_seed": match.draw_seed, "draw_commitment": commitment(bytes.fromhex(match.draw_seed))}
    if match.moves:
        fields["moves"] = match.moves
    if match.seal is not None:
        names = ("attempt", "conversation_id", "status", "winner_player_id", "reason", "details", "faults")
        fields["sealed"] = {name: match.seal[name] for name in names}
    return fields


def _start_envelope(match: Match, referee: Agent, **fields: Any) -> dict[str, Any]:
    return envelope(
        "START_MATCH",
        sender=LEAGUE_MANAGER,
        conversation_id=match.conversation_id,
        now=clock.now(),
        auth_token=credentials.league_token(referee),
        league_id=match.league_id,
        round_id=match.round.number,
        match_id=match.match_id,
        attempt=match.attempt,
        game_type=match.league.game_type,
        **fields,
    )


def _flat_seats(match: Match) -> dict[str, str]:
    return {
        "player_A_id": match.player_a.code,
        "player_B_id": match.player_b.code,
        "player_A_endpoint": match.player_a.endpoint,
        "player_B_endpoint": match.player_b.endpoint,
    }


def told_settings(rules: LeagueSettings) -> dict[str, Any]:
    """The league's timeouts and points, both flat and in ``settings``: students' referees read either."""
    values = rules.for_referee()
    return {name: value for name, value in values.items() if name.endswith(_FLAT)} | {"settings": values}


def _tries(match: Match, referee: Agent) -> tuple[Try, ...]:
    """Every spelling that a student's referee may expect; none contains a token of a player."""
    message = _start_envelope(match, referee, **_flat_seats(match), **told_settings(match.league.rules))
    tries = []
    for number, way in enumerate(starts.ways(referee.dialect, referee.spoken)):
        # Each try has its own id, so that a late answer is not taken for that of the next try.
        rpc_id = match.pk * 100 + number
        if way == starts.ANNOUNCEMENT:
            # For a referee that starts matches on the announcement.
            announcement = _announcement(match, referee)
            shape = shapes.order(referee.dialect, referee.spoken, MessageType.ROUND_ANNOUNCEMENT)[0]
            body = shapes.SHAPES[shape].wrap(announcement, rpc_id)
        else:
            body = starts.wrap(way, message, rpc_id)
        tries.append(Try(way, rpc.dumps(body), rpc_id))
    return tuple(tries)


def _announcement(match: Match, referee: Agent) -> dict[str, Any]:
    """A ROUND_ANNOUNCEMENT of one match, for a referee that the round's announcement did not name."""
    message = _start_envelope(
        match, referee, **told_settings(match.league.rules), matches=[announced_match(match, referee)]
    )
    return message | {"message_type": str(MessageType.ROUND_ANNOUNCEMENT)}


def announced_match(match: Match, referee: Agent) -> dict[str, Any]:
    """A match in an announcement, with the addresses that a referee needs to start it."""
    return {
        "match_id": match.match_id,
        "league_id": match.league_id,
        "round_id": match.round.number,
        "game_type": match.league.game_type,
        "referee_endpoint": referee.told_endpoint,
        **_flat_seats(match),
    }


# Pings ----------------------------------------------------------------------------------------


_WANTED = Prepared(lambda: Agent.objects.filter(ping_wanted=True).order_by("pk"))


def pings(busy_agents: Collection[int], moving: Iterable[Agent] = (), duty: Duty = WHOLE) -> list[Ping]:
    """Make pings for the agents that are to be pinged (``ping``, 004 5.12.2).

    Args:
        busy_agents: agents that a message is being sent to.
        moving: players whose new addresses are to be called.
        duty: whose agents are pinged.
    """
    proofs = [
        Ping(agent.pk, agent.moving["row"]["endpoint"], _ping(agent, agent.moving["row"]["dialect"], {}), proves=True)
        for agent in moving
        if agent.pk not in busy_agents
    ]
    busy = {*busy_agents, *(ping.agent_pk for ping in proofs)}
    wanted = [agent for agent in _WANTED.all() if agent.pk not in busy and duty.has(agent.league_id or SITE)]
    return [*proofs, *(Ping(agent.pk, agent.endpoint, _ping(agent, agent.dialect, agent.spoken)) for agent in wanted)]


def _ping(agent: Agent, dialect: str, spoken: Mapping[str, str]) -> bytes:
    message = envelope(
        "PING",
        sender=LEAGUE_MANAGER,
        conversation_id=f"conv-ping-{uuid.uuid4().hex[:8]}",
        now=clock.now(),
        auth_token=credentials.league_token(agent),
        league_id=agent.league_id,
    )
    return rpc.dumps(starts.wrap_as(shapes.order(dialect, spoken, "PING")[0], "ping", message, agent.pk))
