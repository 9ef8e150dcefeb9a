"""Choose referees: for matches that are READY, and for sealed matches whose end is still to be told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import timedelta
from itertools import islice

from django.db import transaction
from django.db.models import Q, QuerySet

from agents_registry.addresses import programs
from agents_registry.addresses.programs import Program
from agents_registry.models import Agent, Kind
from agents_registry.registering import seats as registered_seats
from league_sdk.protocol.states import IN_PLAY, AgentState, LeagueState, MatchState, RoundState
from matches.checks import taking
from matches.conducting import outgoing
from matches.conducting.outgoing import Chosen, Start
from matches.inbox import calling
from matches.league import endings, outbox, play, results
from matches.models import Match
from matches.push import nudge
from matches.view import reach
from matches.view import referees as referee_queries
from storage import clock
from storage.prepared import Prepared

MAX_MATCHES_READ = 64
"""How many READY matches a look reads at first: hundreds may wait for referees, too many to read in every look.

No transaction gives out more: whoever writes to one of their players would wait for a whole round of thousands.
"""


def _ready() -> QuerySet[Match]:
    return (
        Match.objects.filter(
            # A READY match of a COMPLETED round is a replay; it may be in a COMPLETED league, which is never paused.
            Q(league__state=LeagueState.RUNNING, league__paused=False) | Q(league__state=LeagueState.COMPLETED),
            state=MatchState.READY,
            round__state__in=[RoundState.RUNNING, RoundState.COMPLETED],
        )
        .select_related("league", "round", "referee", "player_a", "player_b")
        .order_by("league__demo", "pk")
    )


_READY = Prepared(lambda: _ready()[:MAX_MATCHES_READ])
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
    """Assign READY matches to referees that have room; those of the demo come last.

    Returns the starts to be sent, and whether READY matches may be left.
    """
    ready = _READY.all()
    if not ready:
        return [], False
    load: Counter[int] = Counter()
    # A program is never in two matches at once, even in two leagues or under two addresses.
    playing = taking.occupied()
    gateways = programs.gateways()
    for match in _IN_PLAY.all():
        if match.referee_id is not None:
            load[match.referee_id] += 1
        for seat in (match.player_a, match.player_b):
            programs_in_play = programs.in_play(seat, gateways, _wake_conductor)
            if programs_in_play is None:
                # The player's host name is being looked up: it may be any program. Assign nothing until it is known.
                return [], True
            playing |= programs_in_play
    chosen = _choose(ready, load, playing, gateways)
    judging = Agent.objects.filter(
        kind=Kind.REFEREE, trusted=True, state__in=[AgentState.REGISTERED, AgentState.ACTIVE]
    ).values_list("pk", "max_concurrent", "site_key")
    # If a referee still has room, matches beyond the first ones must not wait behind matches that cannot start.
    if len(ready) == MAX_MATCHES_READ and any(
        load[pk] < (room if ours else min(room, outbox.MAX_STUDENTS_ROOM)) for pk, room, ours in judging
    ):
        waiting = iter(_ready())
        while some := list(islice(waiting, MAX_MATCHES_READ)):
            chosen += _choose(some, load, playing, gateways)
    return outgoing.starts_of(chosen), len(chosen) < len(ready) or len(ready) == MAX_MATCHES_READ


def assign_tellers() -> list[Start]:
    """Give sealed matches that lost their referee to another one, which tells the players the end.

    This is done in a paused league, too.
    """
    untold = [(match, match.seal) for match in _UNTOLD.all() if match.seal is not None]
    if not untold:
        return []
    load = Counter[int](one.referee_id for one in _IN_PLAY.all() if one.referee_id is not None)
    chosen = []
    for match, seal in untold:
        # Only referees with the site's key may know a verdict before it counts.
        referees = [one for one in outbox.referees_of(match.league) if one.site_key]
        # Prefer another referee: the one that sealed it could not tell it (no sockets left, say) and may fail again.
        referees = [one for one in referees if one.pk != seal.get("referee_pk")] or referees
        referee = _least_loaded([one for one in referees if load[one.pk] < one.max_concurrent], load)
        if referee is None:
            continue
        assigned = play.assign_teller(match=match, referee=referee, lease_s=play.lease_s_of(match, referee))
        if assigned is not None:
            load[referee.pk] += 1
            chosen.append(Chosen(assigned, referee, named=False))
    return outgoing.starts_of(chosen)


def _least_loaded(candidates: Sequence[Agent], load: Counter[int]) -> Agent | None:
    return min(candidates, key=lambda one: load[one.pk] / one.max_concurrent, default=None)


def assigned_before() -> list[Start]:
    """Starts of matches ASSIGNED to referees that report progress, and have not reported any; renews their leases."""
    assigned = Match.objects.filter(state=MatchState.ASSIGNED, referee__sends_progress=True)
    chosen = []
    for match in assigned.select_related("league", "round", "referee", "player_a", "player_b").order_by("pk"):
        referee = match.referee
        if referee is None:
            continue
        lease_s = play.lease_s_of(match, referee)
        match.lease_until = play.renew_lease(match_pk=match.pk, attempt=match.attempt, lease_s=lease_s)
        if match.lease_until is not None:
            chosen.append(Chosen(match, referee, named=False, sent_before=True))
    return outgoing.starts_of(chosen)


def _choose(ready: Iterable[Match], load: Counter[int], playing: set[str], gateways: frozenset[str]) -> list[Chosen]:
    """Assign matches in their order to referees that have room; updates ``load`` and ``playing``."""
    referees: dict[str, list[Agent]] = {}
    not_reached = reach.not_reached()
    chosen: list[Chosen] = []
    found: list[tuple[Agent, Program]] = []
    with transaction.atomic():
        for match in ready:
            seats = (match.player_a, match.player_b)
            if (behind := _free_programs(seats, playing, gateways)) is None:
                continue
            if results.decide_absent(match):
                endings.after_result(match)
                continue
            if match.league_id not in referees:
                referees[match.league_id] = outbox.referees_of(match.league)
            candidates = referees[match.league_id]
            players = {seat.pk for seat in seats}
            if match.referee_id is not None and not_reached[match.referee_id] & players:
                # One of the site's, or a player that refuses these on purpose would be judged by its owner's referee.
                others = [one for one in candidates if one.site_key and not not_reached[one.pk] & players]
                candidates = others or candidates
            referee = _referee_for(match, candidates, load)
            if referee is None or (referee_queries.untold_referee(referee, match) and not _waits_too_long(match)):
                continue
            if (
                not referee.sends_progress
                and (behind := _free_programs(seats, playing, gateways, by_line=False)) is None
            ):
                continue
            named = match.referee_id == referee.pk and match.attempt == 0
            lease = play.lease_s_of(match, referee)
            assigned = play.assign(match=match, referee=referee, lease_s=lease)
            if assigned is not None:
                load[referee.pk] += 1
                for seat, program in zip((assigned.player_a, assigned.player_b), behind, strict=True):
                    found.append((seat, program))
                    playing |= programs.taken(seat, program.keys)
                chosen.append(Chosen(assigned, referee, named))
        # By primary key, as whoever else locks several players, or the two could deadlock.
        for seat, program in sorted(found, key=lambda one: one[0].pk):
            programs.note(seat, program)
    return chosen


def _free_programs(
    seats: Sequence[Agent], playing: set[str], gateways: frozenset[str], *, by_line: bool = True
) -> list[Program] | None:
    """The programs of two players; None if one of them is in a match or under check, or its host name is looked up.

    Args:
        by_line: the referee reaches players over their lines; students' referees call addresses only.
    """
    found = []
    for seat in seats:
        only_line = by_line and calling.has_line_only(seat)
        program = programs.line_of(seat) if only_line else programs.find(seat.endpoint, gateways, _wake_conductor)
        calls_address = by_line and not only_line
        if program is not None and calls_address and registered_seats.only_names(seat, program.keys, gateways):
            program = programs.line_of(seat)
        if program is None or not playing.isdisjoint(programs.needed(seat, program.keys)):
            return None
        found.append(program)
    return found


def _wake_conductor() -> None:
    """Wake the conductor after the lookup of a host name, to assign the matches that waited for it."""
    nudge.wake(urgent=True)


def _referee_for(match: Match, candidates: Sequence[Agent], load: Counter[int]) -> Agent | None:
    """The announced referee, if it has room; if it is gone, the least loaded one; None to wait.

    After a lost attempt, and when the instructor has the match played again, another referee is preferred, one of the
    site if there is one: the one that lost or judged it might do the same again. No match waits for a student's referee
    longer after the start of its round than a match takes.
    """
    first_pk = (match.unreached or {}).get("referee_pk")
    first = next((one for one in candidates if one.pk == first_pk), match.referee)
    if match.unreached is not None and first is not None:
        # A referee on the machine that did not reach the player would be no second look, also after a lost attempt.
        candidates = reach.elsewhere(first, candidates) or candidates
    if match.moves:
        # A student's referee does not get the recorded moves, and would start the game again.
        candidates = [one for one in candidates if one.site_key]
    if match.lost_attempts or match.play > 1:
        others = [one for one in candidates if one.pk != match.referee_id]
        candidates = [one for one in others if one.site_key] or others or candidates
    free = [one for one in candidates if load[one.pk] < one.max_concurrent]
    announced = next((one for one in candidates if one.pk == match.referee_id), None)
    if announced is not None and (announced in free or announced.site_key or not _waits_too_long(match)):
        return announced if announced in free else None
    return _least_loaded(free, load)


def _waits_too_long(match: Match) -> bool:
    started_at = match.round.started_at
    return started_at is None or clock.now() - started_at > timedelta(seconds=play.longest_s(match))
