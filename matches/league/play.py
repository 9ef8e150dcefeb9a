"""One match between the league and its referee: assigning it, its lease, its transcript (ruling, section 10).

Every change of a match is a compare-and-swap on its state and attempt: of two changes at once the second one does
nothing.
"""

from __future__ import annotations

import logging
import secrets
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from agents_registry.models import Agent
from agents_registry.registering import registration
from league_sdk.ledger.kinds import CORRECTIONS, EventKind
from league_sdk.protocol.limits import MAX_TRANSCRIPT_BODY_BYTES
from league_sdk.protocol.states import IN_PLAY, AgentState, MatchState
from league_sdk.protocol.transcript import clean_json
from league_sdk.rules.draws import SEED_BYTES, commitment
from league_sdk.rules.game import said_by_game
from league_sdk.rules.registry import games, get_game
from matches.league.effects import changed, record, shown
from matches.league.errors import ActionRefused
from matches.models import Match, Message
from matches.observing import telemetry
from storage import clock
from storage.prepared import JsonText, insert, swap

logger = logging.getLogger(__name__)
MAX_LOST_ATTEMPTS = 3
MAX_TRANSCRIPT_ENTRIES = 500
PROGRESS_STATES = frozenset(IN_PLAY[1:])
"""The states of a match that its referee may report."""


def lifecycle_step(state: str, at: datetime) -> dict[str, str]:
    """One line of a match's lifecycle (004 9.4.3)."""
    return {"state": state, "at": at.isoformat()}


def fresh_seed() -> str:
    """Make 32 random bytes that the number of a match will be drawn from, in hex (ruling, section 12)."""
    return secrets.token_hex(SEED_BYTES)


def assign(*, match: Match, referee: Agent, lease_s: float) -> Match | None:
    """Give a READY match to a referee as its next attempt, with a new conversation_id.

    Returns the match as it is now, or None if another transaction changed it first.
    """
    now = clock.now()
    attempt = match.attempt + 1
    values: dict[str, Any] = {
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
    # A look assigns many matches in one transaction: a savepoint for each would cost two more statements.
    with transaction.atomic(savepoint=False):
        if not match.draw_seed and get_game(match.league.game_type).draws:
            values |= _late_seed(match)
        if not swap(Match, values, pk=match.pk, state=MatchState.READY, attempt=match.attempt):
            return None
        if "play" in values:
            committed = {match.match_id: commitment(bytes.fromhex(values["draw_seed"]))}
            plays = {match.match_id: values["play"]}
            kind = EventKind.DRAW_COMMITTED
            record(match.league_id, kind, match_id=match.match_id, draw_commitments=committed, plays=plays)
        shown(match.league_id, match.match_id)
    # Not refresh_from_db, which would drop the loaded players and league.
    for name, value in values.items():
        setattr(match, name, value)
    match.referee = referee
    telemetry.assigned(match)
    return match


_COMMITTING = (EventKind.ROUND_STARTED, EventKind.DRAW_COMMITTED, *CORRECTIONS)
"""Kinds of events that hold commitments to draws."""


def _late_seed(match: Match) -> dict[str, Any]:
    """Make a seed for a match that has none: an older version started its round, or a backup was restored.

    If the events hold a commitment to an earlier seed, this one belongs to the next play: nobody may choose between
    two seeds of one play. Which plays have a commitment is read from the events: a backup of an open match has no seed.
    """
    events = match.league.events.filter(kind__in=_COMMITTING, data__draw_commitments__has_key=match.match_id)
    plays = [data.get("plays", {}).get(match.match_id, 1) for data in events.values_list("data", flat=True)]
    # The data of imported events is not checked in every field.
    later = [play + 1 for play in plays if isinstance(play, int)]
    return {"draw_seed": fresh_seed(), "play": max([match.play, *later])}


def assign_teller(*, match: Match, referee: Agent, lease_s: float) -> Match | None:
    """Have a referee tell the end of a match whose verdict is sealed, as its next attempt (ruling, section 12).

    Returns the match as it is now, or None if another transaction changed it first.
    """
    values: dict[str, Any] = {
        "state": MatchState.ASSIGNED,
        "attempt": match.attempt + 1,
        "referee": referee,
        "lease_until": clock.now() + timedelta(seconds=lease_s),
    }
    waits = Match.objects.filter(pk=match.pk, attempt=match.attempt, referee__isnull=True, seal__isnull=False)
    if not waits.filter(state__in=IN_PLAY).update(**values):
        return None
    for name, value in values.items():
        setattr(match, name, value)
    telemetry.assigned(match)
    return match


def renew_lease(*, match_pk: int, attempt: int, lease_s: float) -> datetime | None:
    """Renew the lease of an ASSIGNED match whose start_match is sent again.

    The referee counts the lease from when it receives a start_match.

    Returns the end of the new lease; None if the match is no longer ASSIGNED in this attempt.
    """
    until = clock.now() + timedelta(seconds=lease_s)
    renewed = swap(Match, {"lease_until": until}, pk=match_pk, attempt=attempt, state=MatchState.ASSIGNED)
    return until if renewed else None


def extend_leases(*, seconds: float) -> None:
    """Move the end of all leases after this machine was suspended, so that none runs out because of that.

    Args:
        seconds: how long it was suspended; if its clock was set back, by how much, as a number below 0.
    """
    # One by one: a single statement would lock the rows in any order, and could deadlock with a progress report.
    for match in Match.objects.filter(state__in=IN_PLAY):
        if match.lease_until is not None:
            later = match.lease_until + timedelta(seconds=seconds)
            Match.objects.filter(pk=match.pk, attempt=match.attempt, state__in=IN_PLAY).update(lease_until=later)


def note_heartbeat(referee: Agent) -> None:
    """Note a heartbeat of a referee: at most once a second, but at once if it was suspended or had a problem.

    One of a student's is always noted: that locks its row before its matches, as losing an attempt does.
    """
    fresh = referee.heard_at is not None and clock.now() - referee.heard_at < timedelta(seconds=1)
    if not (fresh and referee.site_key) or referee.problem or referee.state == AgentState.SUSPENDED:
        registration.heard_from_referee(agent_id=referee.pk)


def unplayed(match: Match) -> dict[str, Any]:
    """The details in the result of a match that was not played; without the game's if that fails, or is gone."""
    try:
        game = get_game(match.league.game_type)
        return dict(said_by_game(game.unfinished(game.new_state(match.player_ids))))
    except Exception:
        # The game may be a package's. An error here would end every look of the conductor, at all leagues.
        logger.exception("the game of %s cannot say how a match stood that was not played", match.league_id)
        return {"choices": dict.fromkeys(match.player_ids)}


def lease_s_of(match: Match, referee: Agent) -> float:
    """Seconds that a match may go without a heartbeat: the lease, or the longest match if the referee sends none."""
    return match.league.rules.referee_lease_s if referee.sends_progress else longest_s(match)


def longest_s(match: Match) -> float:
    """Seconds that the longest match takes."""
    rules, game = match.league.rules, games().get(match.league.game_type)
    # With hidden choices each player moves once; in other games the number of turns is bounded by the game.
    return (
        rules.longest_match_s()
        if game is None or game.hidden
        else max(rules.longest_match_s(), game.max_round_time_sec)
    )


def left_s(match: Match, now: datetime) -> float:
    """Seconds until an attempt of a student's referee ends, whatever it reports (ruling, section 9); may be below 0."""
    begun = next(step["at"] for step in reversed(match.lifecycle) if step["state"] == MatchState.ASSIGNED)
    return longest_s(match) - (now - datetime.fromisoformat(begun)).total_seconds()


def add_entries(match: Match, entries: Iterable[Mapping[str, Any]]) -> None:
    """Add transcript entries of the current attempt; entries that are stored already stay as they are.

    Tokens are removed from the entries here too: a student's referee may not have done so.
    """
    insert_entries(entry_rows(match, entries))


def entry_rows(match: Match, entries: Iterable[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
    """The rows for :func:`insert_entries`, without tokens; entries that are too many or too long are left out."""
    return [
        (match.pk, match.attempt, entry["n"], JsonText(text))
        for entry in entries
        if entry["n"] < MAX_TRANSCRIPT_ENTRIES and len(text := clean_json(entry)) < 2 * MAX_TRANSCRIPT_BODY_BYTES
    ]


def insert_entries(rows: Sequence[tuple[Any, ...]]) -> None:
    if rows:
        insert(Message, ("match_id", "attempt", "n", "entry"), rows, once=True)


@transaction.atomic
def release(*, league_id: str, match_id: str) -> None:
    """Release a HELD match at the instructor's order, and reset its count of lost attempts."""
    match = Match.objects.filter(league_id=league_id, match_id=match_id).first()
    if match is None or not release_held(match, now=clock.now(), lost_attempts=0):
        raise ActionRefused(_("%(match)s is not held: there is nothing to release.") % {"match": match_id})


def release_held(match: Match, *, now: datetime, **columns: Any) -> bool:
    """Move a match from HELD to READY; false if it is not held any more. Call inside a transaction.

    Args:
        columns: other columns to set.
    """
    lifecycle = [*match.lifecycle, lifecycle_step(MatchState.READY, now)]
    held = Match.objects.filter(pk=match.pk, state=MatchState.HELD, attempt=match.attempt)
    if not held.update(state=MatchState.READY, held_at=None, lifecycle=lifecycle, **columns):
        return False
    record(match.league_id, EventKind.MATCH_RELEASED, match_id=match.match_id)
    changed(match.league_id, match.match_id)
    return True
