"""Which referee judges which match: one that waits, one whose end is still to be told, one that was given before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from django.db import transaction
from django.db.models import Q, QuerySet

from agents_registry import programs
from agents_registry.models import Agent, Kind
from league_sdk.protocol.states import IN_PLAY, AgentState, LeagueState, MatchState, RoundState
from matches.checks import taking
from matches.conducting import outgoing
from matches.conducting.outgoing import Chosen, Start
from matches.league import endings, outbox, play, results
from matches.models import Match
from matches.push import nudge
from matches.view import referees as referee_queries
from storage.prepared import Prepared

MOST_READY = 64
"""Matches that a look reads at first: a round of hundreds waits for referees, and is read again by every look."""


def _ready() -> QuerySet[Match]:
    return (
        Match.objects.filter(
            # A match of a round that is over is played again; it may be the league that is over, which is never paused.
            Q(league__state=LeagueState.RUNNING, league__paused=False) | Q(league__state=LeagueState.COMPLETED),
            state=MatchState.READY,
            round__state__in=[RoundState.RUNNING, RoundState.COMPLETED],
        )
        .select_related("league", "round", "referee", "player_a", "player_b")
        .order_by("league__demo", "pk")
    )


_READY = Prepared(lambda: _ready()[:MOST_READY])
_IN_PLAY = Prepared(
    lambda: (
        Match.objects.filter(state__in=IN_PLAY)
        .select_related("player_a", "player_b")
        .only("referee_id", "player_a__program", "player_a__endpoint", "player_b__program", "player_b__endpoint")
    )
)
_UNTOLD = Prepared(
    lambda: (
        Match.objects.filter(state__in=IN_PLAY, referee__isnull=True, seal__isnull=False)
        .select_related("league", "round", "player_a", "player_b")
        .order_by("pk")
    )
)


def dispatch() -> tuple[list[Start], bool]:
    """READY matches to their referees, as far as these have room; the demo comes last. And whether any is left."""
    ready = _READY.all()
    if not ready:
        return [], False
    load: Counter[int] = Counter()
    # A program is never in two matches at once, also where it plays in two leagues, or under two addresses.
    playing = taking.occupied()
    gateways = programs.gateways()
    for one in _IN_PLAY.all():
        load[one.referee_id] += 1
        for seat in (one.player_a, one.player_b):
            kept = programs.in_play(seat, gateways, _look_again)
            if kept is None:
                # It may be any program that plays there.
                return [], True
            playing |= kept
    chosen = _choose(ready, load, playing, gateways)
    judging = Agent.objects.filter(
        kind=Kind.REFEREE, trusted=True, state__in=[AgentState.REGISTERED, AgentState.ACTIVE]
    )
    # While anybody has room, the others must not wait behind matches that cannot begin.
    if len(ready) == MOST_READY and any(load[pk] < room for pk, room in judging.values_list("pk", "max_concurrent")):
        chosen += _choose(_ready(), load, playing, gateways)
    return outgoing.starts_of(chosen), len(chosen) < len(ready) or len(ready) == MOST_READY


def tell_sealed() -> list[Start]:
    """Matches whose verdict is sealed and whose referee was lost, to one that tells the end; a pause stops none."""
    untold = _UNTOLD.all()
    if not untold:
        return []
    load = Counter[int](one.referee_id for one in _IN_PLAY.all() if one.referee_id is not None)
    chosen = []
    for match in untold:
        # A student's referee is never told a verdict before it counts.
        able = [one for one in outbox.referees_of(match.league) if one.site_key]
        # Whoever sealed it and could not tell it (no sockets left, say) would fail again: another one's turn, if any.
        able = [one for one in able if one.code != match.seal["referee_id"]] or able
        referee = _least_loaded([one for one in able if load[one.pk] < one.max_concurrent], load)
        if referee is None:
            continue
        taken = play.assign_teller(match=match, referee=referee, lease_s=play.lease_s_of(match, referee))
        if taken is not None:
            load[referee.pk] += 1
            chosen.append(Chosen(taken, referee, named=False))
    return outgoing.starts_of(chosen)


def _least_loaded(candidates: Sequence[Agent], load: Counter[int]) -> Agent | None:
    return min(candidates, key=lambda one: load[one.pk] / one.max_concurrent, default=None)


def given_before() -> list[Start]:
    """Matches that a referee of ours was given, and has not begun as far as we know; their leases begin anew."""
    given = Match.objects.filter(state=MatchState.ASSIGNED, referee__sends_progress=True)
    whole = given.select_related("league", "round", "referee", "player_a", "player_b").order_by("pk")
    chosen = []
    for match in whole:
        lease_s = play.lease_s_of(match, match.referee)
        match.lease_until = play.renew_lease(match_pk=match.pk, attempt=match.attempt, lease_s=lease_s)
        if match.lease_until is not None:
            chosen.append(Chosen(match, match.referee, named=False, sent_before=True))
    return outgoing.starts_of(chosen)


def _choose(ready: Iterable[Match], load: Counter[int], playing: set[str], gateways: frozenset[str]) -> list[Chosen]:
    """Assign matches in their order to referees that have room; load and who is playing are kept up."""
    referees: dict[str, list[Agent]] = {}
    chosen: list[Chosen] = []
    with transaction.atomic():
        for match in ready:
            seats = (match.player_a, match.player_b)
            found = [programs.found(seat, gateways, _look_again) for seat in seats]
            behind = [one for one in found if one is not None]
            if len(behind) < len(seats):
                continue
            pairs = list(zip(seats, behind, strict=True))
            if any(not playing.isdisjoint(programs.needed(seat, one.keys)) for seat, one in pairs):
                continue
            if results.decide_absent(match):
                endings.after_result(match)
                continue
            if match.league_id not in referees:
                referees[match.league_id] = outbox.referees_of(match.league)
            referee = _referee_for(match, referees[match.league_id], load)
            if referee is None or referee_queries.untold_referee(referee, match):
                continue
            named = match.referee_id == referee.pk and match.attempt == 0
            lease = play.lease_s_of(match, referee)
            taken = play.assign(match=match, referee=referee, lease_s=lease)
            if taken is not None:
                load[referee.pk] += 1
                for seat, one in zip((taken.player_a, taken.player_b), behind, strict=True):
                    programs.note(seat, one)
                    playing |= programs.taken(seat, one.keys)
                chosen.append(Chosen(taken, referee, named))
    return chosen


def _look_again() -> None:
    """A name was looked up: the matches that waited for it are given out in the next look."""
    nudge.wake(urgent=True)


def _referee_for(match: Match, candidates: Sequence[Agent], load: Counter[int]) -> Agent | None:
    """The referee that was announced, if it has room; else, if it is gone, the one with the least to do.

    Whoever lost the match might lose it again: then it is another one's turn, where there is another.
    """
    if match.moves:
        # A student's referee is not told the moves on record, and would begin the game anew.
        candidates = [one for one in candidates if one.site_key]
    if match.lost_attempts:
        candidates = [one for one in candidates if one.pk != match.referee_id] or candidates
    free = [one for one in candidates if load[one.pk] < one.max_concurrent]
    if any(one.pk == match.referee_id for one in candidates):
        return next((one for one in free if one.pk == match.referee_id), None)
    return _least_loaded(free, load)
