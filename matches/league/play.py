"""One match between the league and its referee: READY, ASSIGNED, progress, lost, held (ruling, section 10).

Every move is a compare-and-swap on state, referee and attempt: whoever comes second changes nothing.
"""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from agents_registry import registration
from agents_registry.models import Agent
from league_sdk.ledger.kinds import CORRECTIONS, EventKind
from league_sdk.protocol.limits import MAX_TRANSCRIPT_BODY_BYTES
from league_sdk.protocol.states import IN_PLAY, PROGRESS_ORDER, AgentState, MatchState
from league_sdk.protocol.transcript import clean_json
from league_sdk.rules.draws import SEED_BYTES, commitment
from league_sdk.rules.registry import get_game
from matches.league.effects import changed, record, shown
from matches.league.errors import ActionRefused
from matches.models import Match, Message
from matches.observing import telemetry
from storage.prepared import JsonText, insert, swap

MAX_LOST_ATTEMPTS = 3
MAX_ENTRIES = 500
PROGRESS_STATES = frozenset(PROGRESS_ORDER[1:])


def lifecycle_step(state: str, at: datetime) -> dict[str, str]:
    """One line of a match's lifecycle (004 9.4.3)."""
    return {"state": state, "at": at.isoformat()}


def fresh_seed() -> str:
    """32 random bytes that a match's number will be drawn from, in hex (ruling, section 12)."""
    return secrets.token_hex(SEED_BYTES)


def assign(*, match: Match, referee: Agent, lease_s: float) -> Match | None:
    """Give a READY match to a referee as its next attempt, with a new conversation_id.

    Returns the match as it is now, or None when someone else was quicker.
    """
    now = timezone.now()
    attempt = match.attempt + 1
    news: dict[str, Any] = {
        "state": MatchState.ASSIGNED,
        "attempt": attempt,
        "referee_id": referee.pk,
        "conversation_id": f"conv-{match.match_id.lower()}-{attempt:03d}-{uuid.uuid4().hex[:8]}",
        "lease_until": now + timedelta(seconds=lease_s),
        "joined": match.joined,
        "locked_in": [],
        "view": {},
        "lifecycle": [*match.lifecycle, lifecycle_step(MatchState.ASSIGNED, now)],
    }
    # A look gives out many in one transaction: a savepoint around each would be two statements more.
    with transaction.atomic(savepoint=False):
        if not match.draw_seed and get_game(match.league.game_type).draws:
            news |= _late_seed(match)
        if not swap(Match, news, pk=match.pk, state=MatchState.READY, attempt=match.attempt):
            return None
        if "play" in news:
            committed = {match.match_id: commitment(bytes.fromhex(news["draw_seed"]))}
            plays = {match.match_id: news["play"]}
            kind = EventKind.DRAW_COMMITTED
            record(match.league_id, kind, match_id=match.match_id, draw_commitments=committed, plays=plays)
        shown(match.league_id, match.match_id)
    # Not refresh_from_db, which would forget the players and the league that came with the match.
    for name, value in news.items():
        setattr(match, name, value)
    match.referee = referee
    telemetry.assigned(match)
    return match


_COMMIT = (EventKind.ROUND_STARTED, EventKind.DRAW_COMMITTED, *CORRECTIONS)
"""Events that commit to draws."""


def _late_seed(match: Match) -> dict[str, Any]:
    """A seed for a match that has none: its round began on an older site, or it comes out of a backup.

    Where a seed was committed to before, this one counts as that of the next play: nobody may choose between two. A
    backup has neither seed nor play: what was told of both is in the events.
    """
    told = match.league.events.filter(kind__in=_COMMIT, data__draw_commitments__has_key=match.match_id)
    plays = [data.get("plays", {}).get(match.match_id, 1) for data in told.values_list("data", flat=True)]
    # An imported event may hold anything.
    later = [play + 1 for play in plays if isinstance(play, int)]
    return {"draw_seed": fresh_seed(), "play": max([match.play, *later])}


def assign_teller(*, match: Match, referee: Agent, lease_s: float) -> Match | None:
    """Have a referee tell the end of a match whose verdict is sealed, as its next attempt (ruling, section 12).

    Returns the match as it is now, or None when someone else was quicker.
    """
    news: dict[str, Any] = {
        "state": MatchState.ASSIGNED,
        "attempt": match.attempt + 1,
        "referee": referee,
        "lease_until": timezone.now() + timedelta(seconds=lease_s),
    }
    waits = Match.objects.filter(pk=match.pk, attempt=match.attempt, referee__isnull=True, seal__isnull=False)
    if not waits.filter(state__in=IN_PLAY).update(**news):
        return None
    for name, value in news.items():
        setattr(match, name, value)
    telemetry.assigned(match)
    return match


def renew_lease(*, match_pk: int, attempt: int, lease_s: float) -> datetime | None:
    """The start of an ASSIGNED match is sent once more: a referee counts its own time from when it gets one.

    Returns how long the match is given to that referee now; None when it is not any more.
    """
    until = timezone.now() + timedelta(seconds=lease_s)
    renewed = swap(Match, {"lease_until": until}, pk=match_pk, attempt=attempt, state=MatchState.ASSIGNED)
    return until if renewed else None


def extend_leases(*, seconds: float) -> None:
    """We were asleep ourselves for that long: nobody's lease may run out through it.

    Args:
        seconds: below 0 when the clock was set back: no lease may hold that much longer.
    """
    for match in Match.objects.filter(state__in=IN_PLAY, lease_until__isnull=False):
        Match.objects.filter(pk=match.pk, attempt=match.attempt, state__in=IN_PLAY).update(
            lease_until=match.lease_until + timedelta(seconds=seconds)
        )


def hear(referee: Agent) -> None:
    """A referee gave a sign of life; written down once a second, or at once when it changes something."""
    fresh = referee.heard_at is not None and timezone.now() - referee.heard_at < timedelta(seconds=1)
    if not fresh or referee.problem or referee.state == AgentState.SUSPENDED:
        registration.heard_from_referee(agent_id=referee.pk)


def lease_s_of(match: Match, referee: Agent) -> float:
    """How long a match may go without a sign of life: the lease, or the longest match for a foreign referee."""
    rules, game = match.league.rules, get_game(match.league.game_type)
    if referee.sends_progress:
        return rules.referee_lease_s
    # With hidden choices everybody moves once; else there are as many turns as the game itself allows for.
    return rules.longest_match_s() if game.hidden else max(rules.longest_match_s(), game.max_round_time_sec)


def add_entries(match: Match, entries: Iterable[Mapping[str, Any]]) -> None:
    """Add transcript entries of the current attempt; ones that are there already are left alone.

    What a referee sends is cleaned of tokens once more: not every referee is ours.
    """
    insert_entries(rows_of(match, entries))


def rows_of(match: Match, entries: Iterable[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
    return [
        (match.pk, match.attempt, entry["n"], JsonText(text))
        for entry in entries
        if entry["n"] < MAX_ENTRIES and len(text := clean_json(entry)) < 2 * MAX_TRANSCRIPT_BODY_BYTES
    ]


def insert_entries(rows: Sequence[tuple[Any, ...]]) -> None:
    if rows:
        insert(Message, ("match_id", "attempt", "n", "entry"), rows, once=True)


def release(*, league_id: str, match_id: str) -> None:
    """The instructor lets a HELD match be played again, with a clean count of lost attempts."""
    with transaction.atomic():
        match = Match.objects.filter(league_id=league_id, match_id=match_id).first()
        if match is None or not let_go(match, now=timezone.now(), lost_attempts=0):
            raise ActionRefused(_("%(match)s is not held: there is nothing to release.") % {"match": match_id})


def let_go(match: Match, *, now: datetime, **news: Any) -> bool:
    """HELD to READY, with other news of its row; false when it is not held any more. Call in a transaction."""
    lifecycle = [*match.lifecycle, lifecycle_step(MatchState.READY, now)]
    held = Match.objects.filter(pk=match.pk, state=MatchState.HELD, attempt=match.attempt)
    if not held.update(state=MatchState.READY, held_at=None, lifecycle=lifecycle, **news):
        return False
    record(match.league_id, EventKind.MATCH_RELEASED, match_id=match.match_id)
    changed(match.league_id, match.match_id)
    return True
