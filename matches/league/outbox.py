"""The outbox: broadcasts, one row per agent, and answers of players that are passed on to their referee.

The conductor delivers them, to each agent in order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet

from agents_registry.models import Agent, Kind
from league_sdk.dialects.words import ANSWERS, CONTAINERS
from league_sdk.protocol import rpc
from league_sdk.protocol.envelope import LEAGUE_MANAGER, envelope
from league_sdk.protocol.errors import InvalidFormat, OutOfTime, RuleError
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.states import IN_PLAY, AgentState
from league_sdk.protocol.transcript import clean
from matches.models import Broadcast, Delivery, DeliveryState, League, Match
from matches.push.nudge import nudge
from storage import clock
from storage.prepared import Prepared, insert, swap

MIN_ALIVE_WINDOW_S = 10.0
"""A referee that sends heartbeats counts as alive for at least this long after its last one."""
MAX_LOST_MATCHES = 3
"""A student's referee that lost so many matches is given one only if there is no other referee."""
MAX_STUDENTS_ROOM = 32
"""The room of a student's referee that counts if none of the site's may judge: as much as one of those has."""
MAX_RELAYED_ANSWERS = 4
"""How many answers of one player may wait to be passed on to its referee."""
MAX_RELAYED_BYTES = 16 * 1024
_NOT_RELAYED = ("auth_token", "league_token", "envelope", *CONTAINERS)
"""Fields that are removed from an answer: secrets, and containers, whose fields would override those that we set."""
_RECEIVING = (AgentState.REGISTERED, AgentState.ACTIVE, AgentState.SUSPENDED)


_REFEREES = Prepared(
    lambda *, league_id: Agent.objects.filter(
        Q(league__isnull=True) | Q(league_id=league_id),
        kind=Kind.REFEREE,
        trusted=True,
        state__in=[AgentState.REGISTERED, AgentState.ACTIVE],
    ).order_by("pk"),
    league_id=str,
)


def referees_of(league: League, *, at: datetime | None = None) -> list[Agent]:
    """The referees that may judge a league's matches: trusted, alive, of the site or of the league.

    The ``max_concurrent`` of a student's referee is what counts of the room that it declared (ruling, section 9): no
    more than that of one of the site's, which those that registered from one place share. One that lost several matches
    is left out while there are others.

    Args:
        at: when they must have been alive; None for now.
    """
    # Our program sends a heartbeat every two seconds, even when idle. A referee that never sends any counts as alive.
    alive_since = (at or clock.now()) - timedelta(seconds=max(2 * league.rules.referee_lease_s, MIN_ALIVE_WINDOW_S))
    trusted = _REFEREES.all(league_id=league.pk)
    alive = [
        referee
        for referee in trusted
        if not referee.sends_progress or (referee.heard_at is not None and referee.heard_at >= alive_since)
    ]
    # Filter in Python: SQLite has no lookup in JSON lists, and referees are few. A referee without games judges any.
    able = [referee for referee in alive if not referee.game_types or league.game_type in referee.game_types]
    able = [referee for referee in able if referee.silences < MAX_LOST_MATCHES] or able
    ours = max((referee.max_concurrent for referee in able if referee.site_key), default=MAX_STUDENTS_ROOM)
    students = [referee for referee in able if not referee.site_key]
    places = Counter((referee.owner_id, referee.registered_from) for referee in students)
    for referee in students:
        share = max(1, ours // places[referee.owner_id, referee.registered_from])
        referee.max_concurrent = min(referee.max_concurrent, share)
    return able


def _players(*, league_id: str, states: Sequence[AgentState] = _RECEIVING) -> QuerySet[Agent]:
    players = Agent.objects.filter(league_id=league_id, kind=Kind.PLAYER, state__in=states)
    return players.order_by("pk").only("code", "state")


_PLAYERS = Prepared(_players, league_id=str)


def queue(  # noqa: PLR0913 - a message has a type, a conversation and a round; who gets it besides the players that play
    league: League,
    message_type: MessageType,
    *,
    conversation_id: str,
    round_number: int | None = None,
    referees: Sequence[Agent] = (),
    to_retired: bool = False,
    to_out: Collection[str] = (),
    **fields: Any,
) -> None:
    """Queue one broadcast to all players of a league (ruling, sections 3 and 4), and to ``referees``.

    With ``to_retired`` also to players that are SHUTDOWN, as all are after the end of the league. Players that were
    left out of the schedule get nothing, and of those that were taken out of the league only those in ``to_out``.

    An undelivered older table or end of the league, and an undelivered announcement of a round that has ended, are
    dropped.
    """
    now = clock.now()
    payload = envelope(
        message_type,
        sender=LEAGUE_MANAGER,
        conversation_id=conversation_id,
        now=now,
        league_id=league.pk,
        round_id=round_number,
        **fields,
    )
    if message_type in (MessageType.LEAGUE_STANDINGS_UPDATE, MessageType.LEAGUE_COMPLETED):
        _overtake(league, message_type)
    elif message_type == MessageType.ROUND_COMPLETED:
        _overtake(league, MessageType.ROUND_ANNOUNCEMENT, broadcast__round_number__lte=round_number)
    broadcast = Broadcast.objects.create(
        league=league, message_type=message_type, round_number=round_number, payload=payload, created_at=now
    )
    # Who is taken out of the league is SHUTDOWN.
    retired = _players(league_id=league.pk, states=(*_RECEIVING, AgentState.SHUTDOWN)) if to_retired or to_out else None
    players = _PLAYERS.all(league_id=league.pk) if retired is None else retired
    not_playing = {*league.out, *league.left_out}
    receivers = [
        player.pk
        for player in players
        if player.code in to_out or (player.code not in not_playing and (to_retired or player.state in _RECEIVING))
    ]
    receivers += [referee.pk for referee in referees]
    rows = [(broadcast.pk, pk, DeliveryState.PENDING, "") for pk in receivers]
    insert(Delivery, ("broadcast_id", "agent_id", "state", "problem"), rows)


def _overtake(league: League, message_type: MessageType, **conditions: Any) -> None:
    """Drop the undelivered messages of a type, as the message that is queued now takes their place."""
    older = Delivery.objects.filter(broadcast__league=league, broadcast__message_type=message_type, **conditions)
    _drop(older, "overtaken")


def announced(league_id: str, round_number: int) -> bool:
    """Whether no announcement of a round waits for delivery any more."""
    announcements = Broadcast.objects.filter(
        league_id=league_id, message_type=MessageType.ROUND_ANNOUNCEMENT, round_number=round_number
    )
    return not Delivery.objects.filter(broadcast__in=announcements, state=DeliveryState.PENDING).exists()


def settle(outcomes: Sequence[tuple[int, str]]) -> None:
    """Store the outcomes of deliveries: pairs of delivery id and problem; an empty problem means delivered."""
    now = clock.now()
    delivered = [pk for pk, problem in outcomes if not problem]
    pending = Delivery.objects.filter(state=DeliveryState.PENDING)
    if delivered:
        settled = {"state": DeliveryState.SETTLED, "settled_at": now}
        swap(Delivery, settled, pk=delivered, state=DeliveryState.PENDING)
    for pk, problem in outcomes:
        if problem:
            pending.filter(pk=pk).update(state=DeliveryState.FAILED, settled_at=now, problem=problem[:200])


def drop_all(league_id: str) -> None:
    """Drop all undelivered messages of a league that was stopped."""
    _drop(Delivery.objects.filter(broadcast__league_id=league_id), "league stopped")


def _drop(deliveries: QuerySet[Delivery], problem: str) -> None:
    dropped = {"state": DeliveryState.DROPPED, "settled_at": clock.now(), "problem": problem}
    deliveries.filter(state=DeliveryState.PENDING).update(**dropped)


def relay_answer(*, player: Agent, message_type: str, match_id: str | None, message: Mapping[str, Any]) -> str:
    """Queue an answer that a player sent to the league manager for the referee of its match (ruling, section 9).

    Changes: a row of the outbox; this player's earlier answers that no longer wait for delivery are deleted. The answer
    will be sent to the referee of the current attempt, without the player's token.

    Args:
        player: the sender, proven by its auth_token.
        message_type: GAME_JOIN_ACK, CHOOSE_PARITY_RESPONSE or GAME_MOVE_RESPONSE.
        match_id: the id of the match, if the answer names one; an agent is never in two matches at once.
        message: the answer as it was sent.

    Returns the id of the match.

    Raises:
        OutOfTime: E001, no match of this player is being played.
        RuleError: E002, ``MAX_RELAYED_ANSWERS`` answers of this player are on their way already.
        InvalidFormat: E002, the answer is too long to be passed on.
    """
    playing = Match.objects.filter(Q(player_a=player) | Q(player_b=player), state__in=IN_PLAY, referee__isnull=False)
    match = playing.select_related("league", "round").filter(**({"match_id": match_id} if match_id else {})).first()
    if match is None or match.referee_id is None:
        raise OutOfTime(
            "No match of yours is waiting for this answer; it changes nothing.", field="match_id", seen=match_id
        )
    payload = relayed(
        message,
        message_type=message_type,
        league_id=match.league_id,
        match_id=match.match_id,
        relayed_for=player.code,
    )
    with transaction.atomic():
        _make_room(match.league, player)
        broadcast = Broadcast.objects.create(
            league=match.league,
            message_type=message_type,
            round_number=match.round.number,
            payload=payload,
            created_at=clock.now(),
        )
        Delivery.objects.create(broadcast=broadcast, agent_id=match.referee_id)
        transaction.on_commit(nudge)
    return match.match_id


def relayed(message: Mapping[str, Any], **fields: str) -> dict[str, Any]:
    """A player's answer as it is passed on: without secrets, and with ``fields`` in place of its own.

    Raises:
        InvalidFormat: E002, it is too long.
    """
    payload: dict[str, Any] = clean({name: value for name, value in message.items() if name not in _NOT_RELAYED})
    payload |= fields
    size = len(rpc.dumps(payload))
    if size > MAX_RELAYED_BYTES:
        expected = f"at most {MAX_RELAYED_BYTES} bytes"
        raise InvalidFormat("The answer is too long to be passed on.", field="body", seen=size, expected=expected)
    return payload


def _make_room(league: League, player: Agent) -> None:
    """Delete a player's answers that no longer wait for delivery, and refuse another one if too many still wait.

    So a player that posts without end fills neither the outbox nor its referee's queue.
    """
    relayed = Broadcast.objects.filter(league=league, message_type__in=ANSWERS, payload__relayed_for=player.code)
    relayed.exclude(deliveries__state=DeliveryState.PENDING).delete()
    if relayed.count() >= MAX_RELAYED_ANSWERS:
        raise RuleError("Answers of yours are on their way to the referee already; the first valid one stands.")
