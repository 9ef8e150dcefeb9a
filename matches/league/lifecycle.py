"""A league from its first round to its end, moved by the instructor (ruling, section 8); before, see ``opening``."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from agents_registry import registration
from agents_registry.models import Agent, Kind
from league_sdk.ledger.kinds import EventKind
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.states import LEAGUE_ARROWS, AgentState, LeagueState, MatchState, RoundState
from league_sdk.rules.draws import commitment
from league_sdk.rules.registry import get_game
from matches.formats.round_robin import matches_of
from matches.league import curtain, endings, making, opening, outbox, results, sealing
from matches.league.effects import changed, record
from matches.league.errors import ActionRefused
from matches.league.find import get_league
from matches.league.moves import move, named, refuse_over
from matches.league.play import fresh_seed
from matches.models import League, Match, Round
from storage.prepared import Prepared, swap

_NO_PLAN: dict[str, Any] = {"starts_at": None, "starts_all": False}
"""No start at a time chosen beforehand (``matches.league.planned``)."""


def start_league(*, league_id: str, auto_advance: bool | None = None) -> League:
    """Close registration if it is open, make the schedule, start the next round; all in one.

    Where the schedule is so long that it is made in pieces (``matches.league.making``), the round starts when it is
    made, as a planned start that is due.

    Args:
        auto_advance: when given, becomes the league's setting.

    Raises:
        ActionRefused: with what to do; nothing is changed then.
    """
    with transaction.atomic():
        # On SQLite no referee is heard while we write, and the schedule of a thousand players takes 15 s.
        begun = timezone.now()
        league = get_league(league_id)
        if auto_advance is not None:
            league.settings = league.settings | {"auto_advance": auto_advance}
            League.objects.filter(pk=league.pk).update(settings=league.settings)
        if league.state == LeagueState.REGISTRATION:
            if not making.is_made(league):
                if matches_of(league.agents.filter(kind=Kind.PLAYER).count()) > making.AT_ONCE:
                    # What would refuse the start refuses it now, with nothing changed.
                    _refuse_paused(league)
                    _judges(league, begun)
                league = opening.close_registration(league_id=league_id)
            if making.is_made(league):
                League.objects.filter(pk=league.pk).update(starts_at=begun, starts_all=False)
                changed(league.pk)
                return get_league(league_id)
        start_round(league_id=league_id, alive_at=begun)
        return get_league(league_id)


def run_all(*, league_id: str) -> League:
    """Play to the end: rounds follow each other from here on. Starts the next one if none is running."""
    with transaction.atomic():
        league = get_league(league_id)
        active = league.rounds.filter(state__in=[RoundState.ANNOUNCING, RoundState.RUNNING]).exists()
        if not active or league.paused:
            return start_league(league_id=league_id, auto_advance=True)
        League.objects.filter(pk=league.pk).update(settings=league.settings | {"auto_advance": True})
        record(league.pk, EventKind.AUTO_ADVANCE_ON)
        changed(league.pk)
        return get_league(league_id)


def start_round(*, league_id: str, alive_at: datetime | None = None) -> Round:
    """PENDING to ANNOUNCING: matches get referees, ROUND_ANNOUNCEMENT goes out (ruling, sections 3 and 6).

    Args:
        alive_at: when its referees were to be alive; None for now.

    Raises:
        ActionRefused: with what to do.
    """
    with transaction.atomic():
        league = get_league(league_id)
        _refuse_start(league)
        referees = _judges(league, alive_at)
        coming = league.rounds.filter(state=RoundState.PENDING).order_by("number").first()
        if coming is None:
            raise ActionRefused(_("Every round of %(league)s has been played.") % named(league))
        curtain.fall_before(league, coming.number)
        # Whoever starts it, by hand or by the clock: a plan to start is carried out with this.
        League.objects.filter(pk=league.pk, starts_at__isnull=False).update(**_NO_PLAN)
        now = timezone.now()
        begun = {"state": RoundState.ANNOUNCING, "started_at": now}
        if not swap(Round, begun, pk=coming.pk, state=RoundState.PENDING):
            raise ActionRefused(_("Round %(number)s has just been started.") % {"number": coming.number})
        if league.state == LeagueState.SCHEDULED:
            move(league, LeagueState.SCHEDULED, LeagueState.RUNNING)
            League.objects.filter(pk=league.pk).update(started_at=now)
            if not league.demo:
                for demo in League.objects.filter(demo=True).exclude(state=LeagueState.STOPPED):
                    stop(league_id=demo.pk)
        waiting = league.agents.filter(kind=Kind.PLAYER, state=AgentState.REGISTERED).values_list("pk", flat=True)
        judges = [one.pk for one in referees if one.state == AgentState.REGISTERED]
        registration.activate(agent_ids=[*waiting, *judges])
        announced = _hand_out(league, coming, referees)
        outbox.queue(
            league,
            MessageType.ROUND_ANNOUNCEMENT,
            conversation_id=f"conv-{league.pk}-round-{coming.number}-announce",
            round_number=coming.number,
            referees=referees,
            matches=announced,
        )
        record(league.pk, EventKind.ROUND_STARTED, round_id=coming.number, **_committed(coming))
        # With the event the league's row is ours: whoever stopped or paused it meanwhile has committed by now.
        if not League.objects.filter(pk=league.pk, state=LeagueState.RUNNING, paused=False).exists():
            raise ActionRefused(_("%(league)s has just changed: look again.") % named(league))
        changed(league.pk)
        coming.state, coming.started_at = RoundState.ANNOUNCING, now
        return coming


def _judges(league: League, alive_at: datetime | None) -> list[Agent]:
    referees = outbox.referees_of(league, at=alive_at)
    if not referees:
        raise ActionRefused(
            _(
                "No referee may judge %(game)s now: start one (manage.py referee), "
                "or tick “may judge” at a registered one."
            )
            % {"game": league.game_type}
        )
    return referees


def _refuse_paused(league: League) -> None:
    if league.paused:
        raise ActionRefused(_("%(league)s is paused: resume it first.") % named(league))


def _refuse_start(league: League) -> None:
    _refuse_paused(league)
    making.refuse_while_made(league)
    if league.state == LeagueState.REGISTRATION:
        raise ActionRefused(_("%(league)s has no schedule yet: close registration first.") % named(league))
    refuse_over(league)
    running = league.rounds.filter(state__in=[RoundState.ANNOUNCING, RoundState.RUNNING]).first()
    if running is not None:
        left = running.matches.exclude(state=MatchState.FINISHED).count()
        raise ActionRefused(
            _("Round %(number)s is still running (%(left)s matches open): wait until it has ended.")
            % {"number": running.number, "left": left}
        )


_DRAWN = Prepared(
    lambda *, round_id: Match.objects.filter(round_id=round_id).select_related("player_a", "player_b").order_by("pk"),
    round_id=int,
)


def _hand_out(league: League, coming: Round, referees: list[Agent]) -> list[dict[str, Any]]:
    """Give each match of a round to the referee with the least to do; matches of absent players are decided."""
    load = {referee.pk: 0.0 for referee in referees}
    given: dict[int, list[int]] = {referee.pk: [] for referee in referees}
    announced = []
    for match in _DRAWN.all(round_id=coming.pk):
        # The same for all: each would read its own from the row.
        match.league, match.round = league, coming
        referee = min(referees, key=lambda one: (load[one.pk], one.pk))
        load[referee.pk] += 1 / referee.max_concurrent
        announced.append(
            {
                "match_id": match.match_id,
                "game_type": league.game_type,
                "player_A_id": match.player_a.code,
                "player_B_id": match.player_b.code,
                "referee_endpoint": referee.endpoint,
            }
        )
        if not results.decide_absent(match):
            given[referee.pk].append(match.pk)
    for referee_pk, matches_pk in given.items():
        ready = {"state": MatchState.READY, "referee_id": referee_pk}
        # With the round, or SQLite goes through all matches to come for them.
        swap(Match, ready, pk=matches_pk, round=coming.pk, state=MatchState.PENDING)
        for pk in matches_pk if get_game(league.game_type).draws else ():
            # One that was stopped and begins again keeps nothing of before: its seed may have been seen.
            swap(Match, {"draw_seed": fresh_seed()}, pk=pk, state=MatchState.READY)
    return announced


def _committed(coming: Round) -> dict[str, Any]:
    """The commitments to the draws of a round, by match, as its event tells them."""
    seeds = coming.matches.exclude(draw_seed="").order_by("pk").values_list("match_id", "draw_seed")
    found = {match_id: commitment(bytes.fromhex(seed)) for match_id, seed in seeds}
    return {"draw_commitments": found} if found else {}


def open_round(*, round_pk: int) -> bool:
    """ANNOUNCING to RUNNING: its matches may be played (ruling, section 6); a round with none left closes."""
    with transaction.atomic():
        moved = swap(Round, {"state": RoundState.RUNNING}, pk=round_pk, state=RoundState.ANNOUNCING)
        if moved:
            opened = Round.objects.get(pk=round_pk)
            record(opened.league_id, EventKind.ROUND_OPENED, round_id=opened.number)
            endings.close_round_if_done(opened)
            changed(opened.league_id)
        return bool(moved)


def pause(*, league_id: str) -> League:
    """No round and no match starts from now on, a planned start neither; matches in play finish and count."""
    return _set_paused(league_id, True)


def resume(*, league_id: str) -> League:
    """Go on after a pause."""
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
    """End a league for good without playing it out; open matches are given up by their referees.

    Raises:
        ActionRefused: it is stopped already, its schedule is being made, or a result is being told to its players.
    """
    with transaction.atomic():
        league = get_league(league_id)
        making.refuse_while_made(league)
        # Matches before their league, as every report takes them: the other way round both would wait for ever.
        open_ones = Match.objects.filter(league=league).exclude(state=MatchState.FINISHED)
        for match in open_ones.select_for_update(no_key=True).order_by("pk").only("match_id", "seal"):
            # The demo makes room for a real league at once: nobody's points hang on it.
            sealing.refuse_sealed(match.match_id, sealed=match.seal is not None and not league.demo)
        sources = [state for state, targets in LEAGUE_ARROWS.items() if LeagueState.STOPPED in targets]
        going = League.objects.filter(pk=league_id, state__in=sources)
        ended = league.completed_at or timezone.now()
        if not going.update(state=LeagueState.STOPPED, completed_at=ended, paused=False, **_NO_PLAN):
            raise ActionRefused(_("%(league)s is stopped already.") % named(league))
        open_ones.update(state=MatchState.PENDING, lease_until=None, held_at=None, seal=None)
        Round.objects.filter(league=league, state__in=[RoundState.ANNOUNCING, RoundState.RUNNING]).update(
            state=RoundState.PENDING
        )
        registration.retire(agent_ids=league.agents.filter(kind=Kind.PLAYER).values_list("pk", flat=True))
        outbox.drop_all(league_id)
        record(league_id, EventKind.LEAGUE_STOPPED)
        changed(league_id)
        return get_league(league_id)
