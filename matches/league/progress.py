"""Take report_progress: the states, seals, moves and transcripts of a referee's matches (ruling, sections 10, 12)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from agents_registry.models import Agent
from agents_registry.registering import registration
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.notes import Code, note
from league_sdk.protocol.states import HANDED_BACK, IN_PLAY, MatchState
from league_sdk.rules.registry import get_game
from matches.league import losses, sealing
from matches.league.effects import shown
from matches.league.play import (
    add_entries,
    entry_rows,
    insert_entries,
    lease_s_of,
    left_s,
    lifecycle_step,
    note_heartbeat,
)
from matches.league.progress_reading import MatchProgress
from matches.models import Match
from storage import clock
from storage.prepared import Prepared, listed, swap

_JUDGED = Prepared(
    lambda *, referee_id, match_ids: (
        Match.objects.filter(referee_id=referee_id, match_id__among=match_ids, state__in=IN_PLAY)
        .select_for_update(no_key=True, of=("self",))
        .order_by("pk")
        .select_related("league", "player_a", "player_b")
        .only(
            *("match_id", "attempt", "state", "lease_until", "joined", "locked_in", "view", "lifecycle"),
            *("seal", "moves", "excused", "unreached", "conversation_id", "referee_id"),
            *("league__game_type", "league__settings", "player_a__code", "player_b__code"),
        )
    ),
    referee_id=int,
    match_ids=str,
)
"""Matches of a referee by their ids, with only the columns that a report is compared with: ten reports come a second.

The rows stay locked until the commit, so that the answer is what is on record, even if another call ends an attempt
or repeats the report at the same time. All lock them by primary key (PostgreSQL; on SQLite only one transaction
writes).
"""


def progress(*, referee: Agent, items: Sequence[MatchProgress], leaving: bool = False) -> list[dict[str, Any]]:
    """Take a referee's progress report, which is its heartbeat too.

    States move forward only. Who has joined, the moves and the transcript only grow. Who has locked in, and the public
    view, are stored as reported; in a game with hidden choices there is no view before the draw.

    Args:
        leaving: whether the referee is leaving: it gets no new match until it registers again, or reports without this.

    Returns for each match ``ok``, or ``lost`` if the attempt is not this referee's any more. For an item with a
    verdict: ``sealed``, or ``refused`` if the verdict is not valid.
    """
    with transaction.atomic():
        if leaving:
            registration.suspend_referee(agent_id=referee.pk, problem="leaving")
        else:
            note_heartbeat(referee)
        rows = _JUDGED.all(referee_id=referee.pk, match_ids=listed([item.match_id for item in items]))
        report = _Report(referee, clock.now(), {(match.league_id, match.match_id): match for match in rows})
        answers = [report.take(item) for item in items]
        report.write()
    return answers


@dataclass(slots=True)
class _Report:
    """One progress report. Lease renewals and transcript entries of all its matches are written together at the end."""

    referee: Agent
    now: datetime
    judged: dict[tuple[str, str], Match]
    leases: dict[str, float] = field(default_factory=dict)
    renewed: dict[tuple[float, int, str], list[int]] = field(default_factory=dict)
    """The matches of which only the lease is renewed, by its seconds, their attempt and their state."""
    entries: list[tuple[Any, ...]] = field(default_factory=list)

    def take(self, item: MatchProgress) -> dict[str, Any]:
        """Take what is reported of one match; returns the answer for it."""
        match, status = self.judged.get((item.league_id, item.match_id)), "lost"
        if match is not None and match.attempt == item.attempt:
            answer, seal = sealing.decide(match, self.referee, item)
            status = answer or "ok"
            if item.state == HANDED_BACK:
                _take_back(match, item, seal, believed=self.referee.site_key)
                # The report may name it once more.
                del self.judged[item.league_id, item.match_id]
            elif not self._take_progress(match, item, seal):
                status = "lost"
        return {name: getattr(item, name) for name in ("league_id", "match_id", "attempt")} | {"status": status}

    def _take_progress(self, match: Match, item: MatchProgress, seal: dict[str, Any] | None) -> bool:
        """Take the progress of a match that its referee goes on playing; false if the attempt is over."""
        if match.league_id not in self.leases:
            self.leases[match.league_id] = lease_s_of(match, self.referee)
        lease_s = self.leases[match.league_id]
        if not self.referee.site_key:
            lease_s = min(lease_s, left_s(match, self.now))
        changes = _changes_of(match, item, self.now, believed=self.referee.site_key)
        to_be_shown = bool(changes or item.transcript)
        if seal is not None:
            changes["seal"] = seal
        lease = timedelta(seconds=lease_s)
        if changes:
            # One statement for progress, seal and lease.
            if not _write(match, {"lease_until": self.now + lease, **changes}):
                return False
        elif match.lease_until is None or match.lease_until - self.now < lease * 0.9:
            self.renewed.setdefault((lease_s, match.attempt, match.state), []).append(match.pk)
        if to_be_shown:
            shown(match.league_id, match.match_id)
        self.entries += entry_rows(match, item.transcript)
        return True

    def write(self) -> None:
        """Write the lease renewals and the transcript entries."""
        for (lease_s, attempt, state), match_pks in self.renewed.items():
            later = {"lease_until": self.now + timedelta(seconds=lease_s)}
            swap(Match, later, pk=tuple(match_pks), attempt=attempt, state=state)
        insert_entries(self.entries)


def _take_back(match: Match, item: MatchProgress, seal: dict[str, Any] | None, *, believed: bool) -> None:
    """Take a match back from its referee. A new seal in the same item is stored before that: it counts all the same.

    Args:
        believed: whether the referee has the site's key. What another one says of causes and spoilt tries is dropped.
    """
    if seal is not None:
        swap(Match, {"seal": seal}, pk=match.pk, attempt=match.attempt, state=IN_PLAY, **_unsealed(match))
        match.seal = seal
    sealing.keep_excused(match, item.excused if believed else ())
    add_entries(match, item.transcript)
    handed_on = believed and match.unreached is None and item.unreached in match.player_ids
    if handed_on:
        unreached = {"player": item.unreached, "referee_pk": match.referee_id, "attempt": match.attempt}
        Match.objects.filter(pk=match.pk, attempt=match.attempt).update(unreached=unreached)
    losses.lose_attempt(
        matches=Match.objects.filter(pk=match.pk, attempt=match.attempt),
        why=item.why or note(Code.REFEREE_LEAVING),
        # A referee that gives a reason has failed, and might fail again and again; one that leaves gives none. Whether
        # one that did not reach a player has failed is what the next one finds out, once in a match.
        counts=bool(item.why) and not handed_on,
        cause=item.cause if believed else Cause.REFEREE,
    )


def _changes_of(match: Match, item: MatchProgress, now: datetime, *, believed: bool) -> dict[str, Any]:
    """What a report changes of a match, by column, without the seal.

    Args:
        believed: whether the referee has the site's key. Only then it was given the recorded moves in start_match, and
            may add to them; and only then some of a match's tries may be excused for it.
    """
    old, new = MatchState(match.state), MatchState(item.state)
    state = new if IN_PLAY.index(new) > IN_PLAY.index(old) else old
    hidden = get_game(match.league.game_type).hidden
    players = set(match.player_ids)
    # A student's referee may put choices into the view: in a game with hidden choices show nothing before the draw.
    may_be_seen = state == MatchState.DRAWING_NUMBER or not hidden
    fields: dict[str, Any] = {
        "joined": sorted(players.intersection(item.joined) | set(match.joined)),
        "locked_in": sorted(players.intersection(item.locked_in)),
        # A referee that only tells a sealed end sends no view: keep the last one.
        "view": (item.view or match.view) if may_be_seen else {},
    }
    # Moves are never removed: a report that arrives late has fewer of them.
    if believed and not hidden and len(item.moves or ()) > len(match.moves):
        fields["moves"] = item.moves
    if believed and item.excused:
        fields["excused"] = sealing.with_excused(match, item.excused)
    changes = {name: value for name, value in fields.items() if getattr(match, name) != value}
    if state != old:
        changes |= {"state": state, "lifecycle": [*match.lifecycle, lifecycle_step(state, now)]}
    return changes


def _write(match: Match, changes: dict[str, Any]) -> bool:
    """Write these changes of a match if its attempt is as it was read; returns whether they were written."""
    if not swap(Match, changes, pk=match.pk, attempt=match.attempt, state=match.state, **_unsealed(match)):
        # Cannot happen while the row is locked. If it does, nothing was written, and the answer must say so.
        return False
    # A report may contain one match more than once.
    for name, value in changes.items():
        setattr(match, name, value)
    return True


def _unsealed(match: Match) -> dict[str, None]:
    """The condition that a match read without a seal still has none: the first seal is never overwritten."""
    return {"seal": None} if match.seal is None else {}
