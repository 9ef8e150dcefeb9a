"""report_progress: how far a referee's matches have come, and what it has us keep of them (ruling, 10 and 12)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from agents_registry import registration
from agents_registry.models import Agent
from league_sdk.protocol.states import HANDED_BACK, IN_PLAY, PROGRESS_ORDER, MatchState
from league_sdk.rules.registry import get_game
from matches.league import losses, sealing
from matches.league.effects import shown
from matches.league.play import add_entries, hear, insert_entries, lease_s_of, lifecycle_step, rows_of
from matches.league.progress_reading import Told
from matches.models import Match
from storage.prepared import Prepared, listed, swap

_JUDGED = Prepared(
    lambda *, referee_id, match_ids: (
        Match.objects.filter(referee_id=referee_id, match_id__among=match_ids, state__in=IN_PLAY)
        .select_for_update(no_key=True, of=("self",))
        .order_by("pk")
        .select_related("league", "player_a", "player_b")
        .only(
            *("match_id", "attempt", "state", "lease_until", "joined", "locked_in", "view", "lifecycle"),
            *("seal", "moves", "excused", "conversation_id"),
            *("league__game_type", "league__settings", "player_a__code", "player_b__code"),
        )
    ),
    referee_id=int,
    match_ids=str,
)
"""Matches of a referee by their ids; only what a report is compared with, as that is done ten times a second.

They are held until the end, in the order in which everybody takes them: what is answered is what is on record,
whoever ends an attempt, or tells of it once more, at the same time (PostgreSQL; SQLite lets only one write).
"""


def progress(*, referee: Agent, items: Sequence[Told], leaving: bool = False) -> list[dict[str, Any]]:
    """Take a referee's progress report; it is its heartbeat too.

    States move forward only; who has joined and locked in and the public view are kept as told;
    transcript entries are added.

    Args:
        leaving: the referee takes no new match: none is offered to it until it registers again.

    Returns per match ``ok``, or ``lost`` when the attempt is no longer this referee's; where a verdict came with it
    ``sealed``, or ``refused`` when it is none that we keep.
    """
    news = _News(referee, timezone.now())
    with transaction.atomic():
        if leaving:
            registration.suspend_referee(agent_id=referee.pk, problem="leaving")
        else:
            hear(referee)
        known = _JUDGED.all(referee_id=referee.pk, match_ids=listed([item.match_id for item in items]))
        mine = {(match.league_id, match.match_id): match for match in known}
        answers = [news.take(mine.get((item.league_id, item.match_id)), item) for item in items]
        news.write()
    return answers


@dataclass(slots=True)
class _News:
    """One report of progress; what it tells of most matches, and all it adds to transcripts, is written together."""

    referee: Agent
    now: datetime
    leases: dict[str, float] = field(default_factory=dict)
    renewed: dict[tuple[float, int, str], list[int]] = field(default_factory=dict)
    """Matches of which only the lease is renewed, by its seconds, their attempt and state."""
    entries: list[tuple[Any, ...]] = field(default_factory=list)

    def take(self, match: Match | None, item: Told) -> dict[str, Any]:
        """What is told of one match; the answer to it."""
        status = "lost"
        if match is not None and match.attempt == item.attempt:
            answer, seal = sealing.decide(match, self.referee, item)
            status = answer or "ok"
            if item.state == HANDED_BACK:
                _take_back(match, item, seal)
            elif not self._go_on(match, item, seal):
                status = "lost"
        return {name: getattr(item, name) for name in ("league_id", "match_id", "attempt")} | {"status": status}

    def _go_on(self, match: Match, item: Told, seal: dict[str, Any] | None) -> bool:
        """Its referee goes on with it; false when the attempt is over."""
        if match.league_id not in self.leases:
            self.leases[match.league_id] = lease_s_of(match, self.referee)
        lease_s = self.leases[match.league_id]
        news = _news_of(match, item, self.now, keeps_moves=self.referee.site_key)
        to_be_shown = bool(news or item.transcript)
        if seal is not None:
            news["seal"] = seal
        done = _advance(match, news, lease_s, self.now)
        if done is None:
            return False
        if to_be_shown:
            shown(match.league_id, match.match_id)
        self.entries += rows_of(match, item.transcript)
        if not done:
            self.renewed.setdefault((lease_s, match.attempt, match.state), []).append(match.pk)
        return True

    def write(self) -> None:
        """Write what was kept for the end."""
        for (lease_s, attempt, state), found in self.renewed.items():
            later = {"lease_until": self.now + timedelta(seconds=lease_s)}
            swap(Match, later, pk=tuple(found), attempt=attempt, state=state)
        insert_entries(self.entries)


def _take_back(match: Match, item: Told, seal: dict[str, Any] | None) -> None:
    """Its referee gives it back, with a new seal perhaps, which counts whoever tells of it."""
    if seal is not None:
        swap(Match, {"seal": seal}, pk=match.pk, attempt=match.attempt, state=IN_PLAY, **_unsealed(match))
        match.seal = seal
    sealing.keep_excused(match, item.excused)
    add_entries(match, item.transcript)
    losses.lose_attempt(
        matches=Match.objects.filter(pk=match.pk, attempt=match.attempt),
        why=item.why or "the referee is leaving",
        # With a reason it has failed there, and might fail for ever.
        counts=bool(item.why),
        cause=item.cause,
    )


def _news_of(match: Match, item: Told, now: datetime, *, keeps_moves: bool) -> dict[str, Any]:
    """What a report says of a match that is not on record yet, by field, without its seal.

    Args:
        keeps_moves: whether the referee is told the moves on record, and so may add to them.
    """
    old, new = MatchState(match.state), MatchState(item.state)
    state = new if PROGRESS_ORDER.index(new) > PROGRESS_ORDER.index(old) else old
    hidden = get_game(match.league.game_type).hidden
    players = {match.player_a.code, match.player_b.code}
    # Whatever a foreign referee tells: before the draw nobody sees anything of a game with hidden choices.
    may_be_seen = state == MatchState.DRAWING_NUMBER or not hidden
    told: dict[str, Any] = {
        "joined": sorted(players.intersection(item.joined) | set(match.joined)),
        "locked_in": sorted(players.intersection(item.locked_in)),
        # Who only tells a sealed end knows no board: what everybody has seen of the game stays.
        "view": (item.view or match.view) if may_be_seen else {},
    }
    # Moves are never taken back: a report that comes late has less of them.
    if keeps_moves and not hidden and len(item.moves or ()) > len(match.moves):
        told["moves"] = item.moves
    if item.excused:
        told["excused"] = sealing.with_excused(match, item.excused)
    news = {name: value for name, value in told.items() if getattr(match, name) != value}
    if state != old:
        news |= {"state": state, "lifecycle": [*match.lifecycle, lifecycle_step(state, now)]}
    return news


def _advance(match: Match, news: dict[str, Any], lease_s: float, now: datetime) -> bool | None:
    """Write the news of one match, if there are any, in one statement with its seal and its lease.

    Returns whether that is all; false when its lease is still to be renewed, None when the attempt is over.
    """
    lease = timedelta(seconds=lease_s)
    if not news:
        return match.lease_until is not None and match.lease_until - now >= lease * 0.9
    later = {"lease_until": now + lease, **news}
    if not swap(Match, later, pk=match.pk, attempt=match.attempt, state=match.state, **_unsealed(match)):
        # The row is held, and this cannot be; were it so, nothing of this would be on record.
        return None
    # A report may tell of one match more than once.
    for name, value in later.items():
        setattr(match, name, value)
    return True


def _unsealed(match: Match) -> dict[str, None]:
    """The condition that a match that was read without a seal has none still: a first seal is never written over."""
    return {"seal": None} if match.seal is None else {}
