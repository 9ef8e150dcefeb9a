"""A league from its first round to its end, moved by the instructor (ruling, section 8); before, see ``opening``."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents_registry.isolating import isolated
from agents_registry.models import Agent, Kind
from agents_registry.registering import registration
from league_sdk.formats.round_robin import matches_of
from league_sdk.ledger.kinds import EventKind
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.states import LEAGUE_ARROWS, OPEN, AgentState, LeagueState, MatchState, RoundState
from league_sdk.rules.draws import commitment
from league_sdk.rules.registry import get_game
from matches.league import absence, endings, freeze, making, opening, outbox, results, sealing
from matches.league.effects import changed, record
from matches.league.errors import ActionRefused
from matches.league.leagues import get_league, move, named, refuse_over, refuse_paused
from matches.league.play import fresh_seed
from matches.models import League, Match, Round
from storage import clock
from storage.prepared import Prepared, swap

_NO_PLAN: dict[str, Any] = {"starts_at": None, "starts_all": False}
"""The columns of a league without a planned start (``matches.league.planned``)."""


def start_league(*, league_id: str, auto_advance: bool | None = None) -> League:
    """Close registration if it is open, make the schedule, and start the next round, in one transaction.

    A schedule that is so long that it is written in pieces (``matches.league.making``) gets a planned start that is
    due at once: the round starts when the last piece is written.

    Args:
        auto_advance: when given, whether the rounds follow each other from now on, whatever the setting says.

    Raises:
        ActionRefused: with what to do; nothing is changed then.
    """
    with transaction.atomic():
        # On SQLite no heartbeat is stored while this transaction writes: compare heartbeats with its beginning.
        begun = clock.now()
        league = get_league(league_id)
        advances = {} if auto_advance is None else {"advances": auto_advance}
        if league.state == LeagueState.REGISTRATION:
            if not making.is_being_made(league):
                if matches_of(league.agents.filter(kind=Kind.PLAYER).count()) > making.MAX_MATCHES_AT_ONCE:
                    # Refuse now what would be refused when the schedule is complete.
                    refuse_paused(league)
                    _referees_or_refuse(league, begun)
                league = opening.close_registration(league_id=league_id)
            if making.is_being_made(league):
                League.objects.filter(pk=league.pk).update(starts_at=begun, starts_all=False, **advances)
                changed(league.pk)
                return get_league(league_id)
        start_round(league_id=league_id, alive_at=begun)
        if advances:
            # Lock the round before its league, as when a round follows by itself: the two could deadlock.
            League.objects.filter(pk=league.pk).update(**advances)
        return get_league(league_id)


def run_all(*, league_id: str, on: bool = True) -> League:
    """Let the rounds of this league follow each other from now on, and start the next one if none is running.

    This is a state of the league, not its setting ``auto_advance``: no clone, season or export carries it.

    Args:
        on: False for the opposite, whatever the setting says: no further round follows; one that is on goes on.

    Raises:
        ActionRefused: it is over, or nothing can be started now.
    """
    with transaction.atomic():
        league = get_league(league_id)
        active = league.rounds.filter(state__in=[RoundState.ANNOUNCING, RoundState.RUNNING]).exists()
        if on and (not active or league.paused):
            return start_league(league_id=league_id, auto_advance=True)
        refuse_over(league)
        League.objects.filter(pk=league.pk).update(advances=on)
        record(league.pk, EventKind.AUTO_ADVANCE_ON if on else EventKind.AUTO_ADVANCE_OFF)
        changed(league.pk)
        return get_league(league_id)


def start_round(*, league_id: str, alive_at: datetime | None = None, by_itself: bool = False) -> Round:
    """PENDING to ANNOUNCING: matches get referees, ROUND_ANNOUNCEMENT goes out (ruling, sections 3 and 6).

    Args:
        alive_at: when the referees must have been alive; None for now.
        by_itself: it follows the round before; else the start ends a pause of the league's own (``absence``).

    Raises:
        ActionRefused: with what to do.
    """
    with transaction.atomic():
        league = get_league(league_id)
        if not by_itself and absence.own_pause(league) is not None:
            league = resume(league_id=league_id)
        refuse_paused(league)
        _refuse_start(league)
        referees = _referees_or_refuse(league, alive_at)
        next_round = _next_round(league)
        freeze.begin_before(league, next_round.number)
        # Any start, by hand or by the clock, carries out a planned start.
        League.objects.filter(pk=league.pk, starts_at__isnull=False).update(**_NO_PLAN)
        now = clock.now()
        begun = {"state": RoundState.ANNOUNCING, "started_at": now}
        if not swap(Round, begun, pk=next_round.pk, state=RoundState.PENDING):
            raise ActionRefused(_("Round %(number)s has just been started.") % {"number": next_round.number})
        if league.state == LeagueState.SCHEDULED:
            move(league, LeagueState.SCHEDULED, LeagueState.RUNNING)
            League.objects.filter(pk=league.pk).update(started_at=now)
            if not league.demo:
                for demo in League.objects.filter(demo=True).exclude(state=LeagueState.STOPPED):
                    stop(league_id=demo.pk)
        waiting = league.agents.filter(kind=Kind.PLAYER, state=AgentState.REGISTERED).values_list("pk", flat=True)
        new_referees = [referee.pk for referee in referees if referee.state == AgentState.REGISTERED]
        registration.activate(agent_ids=[*waiting, *new_referees])
        announced = _assign_referees(league, next_round, referees)
        outbox.queue(
            league,
            MessageType.ROUND_ANNOUNCEMENT,
            conversation_id=f"conv-{league.pk}-round-{next_round.number}-announce",
            round_number=next_round.number,
            referees=referees,
            matches=announced,
        )
        record(league.pk, EventKind.ROUND_STARTED, round_id=next_round.number, **_commitments(next_round))
        # Recording the event locked the league's row: a stop or pause that came meanwhile has committed by now.
        if not League.objects.filter(pk=league.pk, state=LeagueState.RUNNING, paused=False).exists():
            raise ActionRefused(_("%(league)s has just changed: look again.") % named(league))
        changed(league.pk)
        next_round.state, next_round.started_at = RoundState.ANNOUNCING, now
        return next_round


def refuse_start(league: League) -> None:
    """Refuse what :func:`start_league` would refuse now, without changing anything: the desk shows it beforehand.

    Raises:
        ActionRefused: with what to do.
    """
    is_open = league.state == LeagueState.REGISTRATION
    if is_open:
        if making.is_being_made(league):
            return
        opening.refuse_close(league)
    if absence.own_pause(league) is None:
        refuse_paused(league)
    if not is_open:
        _refuse_start(league)
        _next_round(league)
    _referees_or_refuse(league, None)


def _next_round(league: League) -> Round:
    next_round = league.rounds.filter(state=RoundState.PENDING).order_by("number").first()
    if next_round is None:
        raise ActionRefused(_("Every round of %(league)s has been played.") % named(league))
    return next_round


def _referees_or_refuse(league: League, alive_at: datetime | None) -> list[Agent]:
    referees = outbox.referees_of(league, at=alive_at)
    if not referees:
        raise ActionRefused(
            _(
                "No referee may judge %(game)s now: start one (manage.py referee), "
                "or tick “may judge” at a registered one."
            )
            % {"game": isolated(league.game_type)}
        )
    return referees


def _refuse_start(league: League) -> None:
    making.refuse_while_being_made(league)
    if league.state == LeagueState.REGISTRATION:
        raise ActionRefused(_("%(league)s has no schedule yet: close registration first.") % named(league))
    refuse_over(league)
    running = league.rounds.filter(state__in=[RoundState.ANNOUNCING, RoundState.RUNNING]).first()
    if running is not None:
        left = running.matches.exclude(state=MatchState.FINISHED).count()
        raise ActionRefused(
            ngettext(
                "Round %(number)s is still running (%(left)s match open): wait until it has ended.",
                "Round %(number)s is still running (%(left)s matches open): wait until it has ended.",
                left,
            )
            % {"number": running.number, "left": left}
        )


_MATCHES_OF_ROUND = Prepared(
    lambda *, round_id: Match.objects.filter(round_id=round_id).select_related("player_a", "player_b").order_by("pk"),
    round_id=int,
)


def _assign_referees(league: League, next_round: Round, referees: list[Agent]) -> list[dict[str, Any]]:
    """Give each match of a round to the least loaded referee, and decide the matches of absent players.

    Returns the lines of ROUND_ANNOUNCEMENT.
    """
    load = {referee.pk: 0.0 for referee in referees}
    matches_of_referee: dict[int, list[int]] = {referee.pk: [] for referee in referees}
    announced = []
    for match in _MATCHES_OF_ROUND.all(round_id=next_round.pk):
        # Set both by hand, or each match would load its league and its round from the database.
        match.league, match.round = league, next_round
        referee = min(referees, key=lambda candidate: (load[candidate.pk], candidate.pk))
        load[referee.pk] += 1 / referee.max_concurrent
        announced.append(
            {
                "match_id": match.match_id,
                "game_type": league.game_type,
                "player_A_id": match.player_a.code,
                "player_B_id": match.player_b.code,
                "referee_endpoint": referee.told_endpoint,
            }
        )
        if not results.decide_absent(match):
            matches_of_referee[referee.pk].append(match.pk)
    for referee_pk, matches_pk in matches_of_referee.items():
        ready = {"state": MatchState.READY, "referee_id": referee_pk}
        # Filter by round too, or SQLite scans every PENDING match.
        swap(Match, ready, pk=matches_pk, round=next_round.pk, state=MatchState.PENDING)
        for pk in matches_pk if get_game(league.game_type).draws else ():
            # Its commitment is part of the event that starts the round.
            swap(Match, {"draw_seed": fresh_seed()}, pk=pk, state=MatchState.READY)
    return announced


def _commitments(next_round: Round) -> dict[str, Any]:
    """The commitments to the draws of a round, by match, as fields of its event."""
    seeds = next_round.matches.exclude(draw_seed="").order_by("pk").values_list("match_id", "draw_seed")
    commitments = {match_id: commitment(bytes.fromhex(seed)) for match_id, seed in seeds}
    return {"draw_commitments": commitments} if commitments else {}


def open_round(*, round_pk: int) -> bool:
    """ANNOUNCING to RUNNING: its matches may be played (ruling, section 6). A round without open matches closes."""
    with transaction.atomic():
        moved = swap(Round, {"state": RoundState.RUNNING}, pk=round_pk, state=RoundState.ANNOUNCING)
        if moved:
            opened = Round.objects.get(pk=round_pk)
            record(opened.league_id, EventKind.ROUND_OPENED, round_id=opened.number)
            endings.close_round_if_done(opened)
            changed(opened.league_id)
        return bool(moved)


def pause(*, league_id: str) -> League:
    """Start no round and no match from now on, and cancel a planned start; matches in play finish and count."""
    return _set_paused(league_id, True)


def resume(*, league_id: str) -> League:
    """End a pause."""
    return _set_paused(league_id, False)


def _set_paused(league_id: str, paused: bool) -> League:
    with transaction.atomic():
        league = get_league(league_id)
        if league.state in (LeagueState.COMPLETED, LeagueState.STOPPED) and not league.paused:
            raise ActionRefused(_("%(league)s is over: there is nothing to pause or resume.") % named(league))
        plan = _NO_PLAN if paused else {}
        if not League.objects.filter(pk=league_id, paused=not paused).update(paused=paused, **plan):
            sentence = _("%(league)s is paused already.") if paused else _("%(league)s is not paused.")
            raise ActionRefused(sentence % named(league))
        record(league_id, EventKind.PAUSED if paused else EventKind.RESUMED)
        changed(league_id)
        return get_league(league_id)


def stop(*, league_id: str) -> League:
    """End a league for good; open matches are not played, and their referees are told so.

    Raises:
        ActionRefused: it is stopped already, its schedule is being made, a result is being told to its players, or
            matches have just become due.
    """
    with transaction.atomic():
        league = get_league(league_id)
        making.refuse_while_being_made(league)
        # The demo stops at once for a real league, even while a result is being told.
        give_up_matches(league, even_sealed=league.demo)
        sources = [state for state, targets in LEAGUE_ARROWS.items() if LeagueState.STOPPED in targets]
        unfinished = League.objects.filter(pk=league_id, state__in=sources)
        ended = league.completed_at or clock.now()
        if not unfinished.update(state=LeagueState.STOPPED, completed_at=ended, paused=False, **_NO_PLAN):
            raise ActionRefused(_("%(league)s is stopped already.") % named(league))
        # This has locked the league's row: a start or a replay that came meanwhile (PostgreSQL) has committed by now.
        if Match.objects.filter(round__league=league, state__in=OPEN).exists():
            raise ActionRefused(_("%(league)s has just changed: look again.") % named(league))
        registration.retire(agent_ids=league.agents.filter(kind=Kind.PLAYER).values_list("pk", flat=True))
        outbox.drop_all(league_id)
        record(league_id, EventKind.LEAGUE_STOPPED)
        changed(league_id)
        return get_league(league_id)


def give_up_matches(league: League, *, even_sealed: bool) -> None:
    """No match that was due or in play is played any more, and no round is on. Call inside a transaction.

    Matches of rounds to come stay as they are: nobody plays them in a league that is over, and in a large league they
    are millions.

    Args:
        even_sealed: also matches whose result is being told to their players.

    Raises:
        ActionRefused: a result is being told.
    """
    # Lock matches before their league, as every report does: the other order would deadlock. By their rounds, as the
    # index of rounds has the states, too: by league, the database would look at every match to come.
    open_ones = Match.objects.filter(round__league=league, state__in=OPEN).order_by("pk")
    locked = open_ones.select_for_update(no_key=True, of=("self",)).only("match_id", "state", "seal")
    for match in locked:
        if not even_sealed:
            sealing.refuse_sealed(match)
    given_up = {"state": MatchState.PENDING, "lease_until": None, "held_at": None, "seal": None}
    swap(Match, given_up, pk=[match.pk for match in locked])
    Round.objects.filter(league=league, state__in=[RoundState.ANNOUNCING, RoundState.RUNNING]).update(
        state=RoundState.PENDING
    )
