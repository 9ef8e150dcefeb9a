"""Starts of matches and pings as bytes, in every spelling that is needed. Reads rows; writes and sends nothing."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils import timezone

from agents_registry import credentials, programs
from agents_registry.endpoints import endpoint_policy, ports_of
from agents_registry.models import Agent, Kind
from league_sdk.dialects import shapes, starts
from league_sdk.protocol import rpc
from league_sdk.protocol.envelope import LEAGUE_MANAGER, envelope
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.protocol.messages import START_MATCH, MessageType
from league_sdk.protocol.states import AgentState
from league_sdk.rules.draws import commitment
from league_sdk.transport.policy import EndpointPolicy
from matches.league import play
from matches.models import Match
from matches.observing import telemetry
from matches.view import queries, sight
from storage.prepared import Prepared

_FLAT = ("_timeout_s", "_points", "max_retries", "retry_base_s", "retry_factor")
"""How the settings end that a foreign referee finds flat in its start, too."""


@dataclass(frozen=True, slots=True)
class Try:
    """One spelling of a start; the way's name is empty for a referee of ours."""

    way: str
    body: bytes
    rpc_id: int


@dataclass(frozen=True, slots=True)
class Start:
    """A match to be started at its referee.

    Attributes:
        tries: the spellings, in their order; one for a referee of ours.
        limit_s: seconds for all of them together; for a referee of ours from when the match was given to it.
        lease_s: how long the match was given to it.
        lease_until: when that is over.
        sent_before: an earlier try of it may have arrived.
        announced: the referee has taken the ROUND_ANNOUNCEMENT that names it for this match.
        about: what a log record tells of it.
        shown: what a referee of ours knows us by before it reads the body: the league_token in it; for others empty.
    """

    match_pk: int
    attempt: int
    referee_pk: int
    endpoint: str
    tries: tuple[Try, ...]
    limit_s: float
    lease_s: float
    lease_until: datetime | None = None
    foreign: bool = False
    sent_before: bool = False
    announced: bool = False
    about: Mapping[str, Any] = field(default_factory=dict)
    shown: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Ping:
    """An agent that is to be asked whether it answers."""

    agent_pk: int
    endpoint: str
    body: bytes


# Starts ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Chosen:
    """A match that was given to a referee a moment ago.

    Attributes:
        named: the referee is the one that the round's announcement named.
        sent_before: a start of it may have arrived.
    """

    match: Match
    referee: Agent
    named: bool
    sent_before: bool = False


def starts_of(chosen: Sequence[Chosen]) -> list[Start]:
    """The starts of matches, for ours and for foreign referees."""
    if not chosen:
        return []
    ours = [one.match for one in chosen if one.referee.sends_progress]
    digests = credentials.token_digests([pk for match in ours for pk in (match.player_a_id, match.player_b_id)])
    tables: dict[str, dict[str, dict[str, int]]] = {}
    policy = _policy_for_players().to_params() if ours else {}
    found = []
    for one in chosen:
        match, referee, rules = one.match, one.referee, one.match.league.rules
        if referee.sends_progress:
            if match.league_id not in tables:
                players = [seat.code for other in ours if other.league_id == match.league_id for seat in _seats(other)]
                tables[match.league_id] = queries.own_standings(sight.public(match.league), players)
            message = _start_match(
                match, referee, digests, tables[match.league_id], policy | programs.pins(*_seats(match))
            )
            tries: tuple[Try, ...] = (Try("", rpc.dumps(rpc.call(START_MATCH, message, match.pk)), match.pk),)
        else:
            tries = _foreign_tries(match, referee)
        found.append(
            Start(
                match_pk=match.pk,
                attempt=match.attempt,
                referee_pk=referee.pk,
                endpoint=referee.endpoint,
                tries=tries,
                limit_s=rules.start_limit_s() if referee.sends_progress else rules.generic_timeout_s,
                lease_s=play.lease_s_of(match, referee),
                lease_until=match.lease_until,
                sent_before=one.sent_before,
                foreign=not referee.sends_progress,
                announced=one.named and MessageType.ROUND_ANNOUNCEMENT in referee.spoken,
                about=telemetry.about_match(match)
                | {"message_type": START_MATCH, "peer": f"{referee.kind}:{referee.code}"},
                shown=credentials.league_token(referee) if referee.sends_progress else "",
            )
        )
    return found


def _policy_for_players() -> EndpointPolicy:
    """What the league manager calls, without the ports at which the site's own referees listen."""
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
    """``start_match`` as a referee of ours gets it (ruling, section 10)."""
    seats = {}
    for side, player in (("A", match.player_a), ("B", match.player_b)):
        known = digests.get(player.pk, {})
        unproven = [digest for digest, proven in known.items() if not proven]
        seats[f"player_{side}"] = {
            "id": player.code,
            "endpoint": player.endpoint,
            "dialect": player.dialect,
            "spoken": player.spoken,
            "league_token": credentials.token_from(referee, player),
            "auth_token_sha256": list(known),
            **({"unproven_sha256": unproven} if unproven else {}),
            "your_standings": table[player.code],
            "joined_before": player.code in match.joined,
            "suspended": player.state == AgentState.SUSPENDED,
            **({"stays": True} if programs.is_behind_gateway(player.program.split()) else {}),
        }
    return _start_envelope(
        match,
        referee,
        settings=match.league.rules.for_referee(),
        endpoint_policy=policy,
        **_safe_keeping(match, referee),
        **seats,
        **_flat_seats(match),
    )


def _safe_keeping(match: Match, referee: Agent) -> dict[str, Any]:
    """What a referee with the site's key has of a match's draw, and of its earlier attempts (ruling, section 12)."""
    if not referee.site_key:
        return {}
    found: dict[str, Any] = {"seals": True, "play": match.play}
    if match.draw_seed:
        found |= {"draw_seed": match.draw_seed, "draw_commitment": commitment(bytes.fromhex(match.draw_seed))}
    if match.moves:
        found["moves"] = match.moves
    if match.excused:
        found["excused"] = len(match.excused)
    if match.seal is not None:
        names = ("attempt", "conversation_id", "status", "winner_player_id", "reason", "details", "faults")
        found["sealed"] = {name: match.seal[name] for name in names}
    return found


def _start_envelope(match: Match, referee: Agent, **fields: Any) -> dict[str, Any]:
    return envelope(
        "START_MATCH",
        sender=LEAGUE_MANAGER,
        conversation_id=match.conversation_id,
        now=timezone.now(),
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
    """The league's timeouts and points, flat and nested: real referees look in either place."""
    values = rules.for_referee()
    return {name: value for name, value in values.items() if name.endswith(_FLAT)} | {"settings": values}


def _foreign_tries(match: Match, referee: Agent) -> tuple[Try, ...]:
    """Every spelling that a student's referee may wait for; no token of a player is in any of them."""
    message = _start_envelope(match, referee, **_flat_seats(match), **told_settings(match.league.rules))
    found = []
    for number, way in enumerate(starts.ways(referee.dialect, referee.spoken)):
        # Ids of their own, so that an answer that comes late is not taken for that of the next try.
        rpc_id = match.pk * 100 + number
        if way == starts.ANNOUNCEMENT:
            # What only a referee that takes announcements as starts understands.
            alone = _announcement(match, referee)
            shape = shapes.order(referee.dialect, referee.spoken, MessageType.ROUND_ANNOUNCEMENT)[0]
            body = shapes.SHAPES[shape].wrap(alone, rpc_id)
        else:
            body = starts.wrap(way, message, rpc_id)
        found.append(Try(way, rpc.dumps(body), rpc_id))
    return tuple(found)


def _announcement(match: Match, referee: Agent) -> dict[str, Any]:
    """ROUND_ANNOUNCEMENT of one match, for a referee that the round's own did not name."""
    message = _start_envelope(
        match, referee, **told_settings(match.league.rules), matches=[judged_line(match, referee)]
    )
    return message | {"message_type": str(MessageType.ROUND_ANNOUNCEMENT)}


def judged_line(match: Match, referee: Agent) -> dict[str, Any]:
    """A match in an announcement, with the addresses without which a referee could not begin."""
    return {
        "match_id": match.match_id,
        "league_id": match.league_id,
        "round_id": match.round.number,
        "game_type": match.league.game_type,
        "referee_endpoint": referee.endpoint,
        **_flat_seats(match),
    }


# Pings ----------------------------------------------------------------------------------------


_WANTED = Prepared(lambda: Agent.objects.filter(check_wanted=True).order_by("pk"))


def pings(busy_agents: Collection[int]) -> list[Ping]:
    """Agents to ask whether they answer (``ping``, 004 5.12.2)."""
    return [Ping(agent.pk, agent.endpoint, _ping(agent)) for agent in _WANTED.all() if agent.pk not in busy_agents]


def _ping(agent: Agent) -> bytes:
    message = envelope(
        "PING",
        sender=LEAGUE_MANAGER,
        conversation_id=f"conv-ping-{uuid.uuid4().hex[:8]}",
        now=timezone.now(),
        auth_token=credentials.league_token(agent),
        league_id=agent.league_id,
    )
    shape = shapes.order(agent.dialect, agent.spoken, "PING")[0]
    return rpc.dumps(starts.wrap_as(shape, "ping", message, agent.pk))
