"""A league from its creation to its end, as the instructor moves it (004 2.5)."""

from __future__ import annotations

from typing import Any

from django.conf import settings as site
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from pydantic import ValidationError as SettingsError

from agents_registry import places, registration
from agents_registry.models import Agent, Kind
from agents_registry.prepared import Prepared, insert, swap
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.states import LEAGUE_ARROWS, AgentState, LeagueState, MatchState, RoundState
from league_sdk.rules.registry import games
from matches import readiness
from matches.league import curtain, endings, outbox, results
from matches.league.effects import changed, record
from matches.league.errors import ActionRefused, Invalid, NotFound
from matches.league.find import get_league
from matches.models import League, Match, Round
from matches.schedule import round_robin
from matches.standings import natural

_NO_PLAN: dict[str, Any] = {"starts_at": None, "starts_all": False}
"""No start at a time chosen beforehand (``matches.league.planned``)."""


def check_settings(values: Any) -> dict[str, Any]:
    """Settings as they are stored: only what was given, each name and range checked.

    Raises:
        Invalid: 422, naming the first setting that is wrong.
    """
    if not isinstance(values, dict):
        raise Invalid(_("Settings must be an object of names and values."), field="settings")
    try:
        _refuse_unstorable(values.get("registration_code"), "registration_code")
        # "true" or 1 for true is taken, and stored as what it means: the database is asked for the value too.
        return LeagueSettings.model_validate(values).model_dump(exclude_unset=True)
    except SettingsError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"]) or "settings"
        raise Invalid(
            _("Setting %(name)s: %(why)s (seen: %(seen)s).")
            % {"name": name, "why": first["msg"], "seen": str(first["input"])[:80]},
            field=name,
        ) from None


def _refuse_unstorable(text: object, field: str) -> None:
    """NUL characters and lone surrogates, which no database takes."""
    if isinstance(text, str) and ("\x00" in text or any("\ud800" <= letter <= "\udfff" for letter in text)):
        raise Invalid(_("%(field)s holds a character that cannot be stored.") % {"field": field}, field=field)


def create_league(
    *,
    league_id: str,
    display_name: str,
    game_type: str = "even_odd",
    settings: dict[str, Any] | None = None,
    demo: bool = False,
) -> League:
    """Open a league for registration; the players of the lobby come in.

    Raises:
        Invalid: an id, game or setting that is not usable.
        ActionRefused: the id is taken.
    """
    checked = check_settings(settings or {})
    if league_id == site.LEAGUE_DEMO_ID and not demo:
        raise Invalid(
            _("The id %(id)s is kept for the demo league: choose another.") % {"id": league_id}, field="league_id"
        )
    _refuse_unstorable(display_name, "display_name")
    if game_type not in games():
        raise Invalid(
            _("There is no game %(game)s. Games: %(games)s.")
            % {"game": game_type, "games": ", ".join(sorted(games()))},
            field="game_type",
        )
    league = League(
        league_id=league_id,
        display_name=display_name or league_id,
        game_type=game_type,
        settings=checked,
        demo=demo,
        created_at=timezone.now(),
    )
    try:
        league.clean_fields(exclude=["created_at"])
    except ValidationError as error:
        field, messages = next(iter(error.message_dict.items()))
        raise Invalid(f"{field}: {messages[0]}", field=field) from None
    with transaction.atomic():
        try:
            with transaction.atomic():
                league.save(force_insert=True)
        except IntegrityError:
            raise ActionRefused(
                _("A league with the id %(id)s exists already: choose another id.") % {"id": league_id}
            ) from None
        record(league.pk, "league_created")
        if not demo and not league.rules.registration_code:
            # Nobody in the lobby has been asked for a code.
            came = places.join_league(league_id=league.pk, game_type=game_type, room=league.rules.max_players)
            if came:
                record(league.pk, "lobby_joined", players=came)
        changed(league.pk)
    return league


def edit_league(*, league_id: str, display_name: str, settings: dict[str, Any]) -> League:
    """Change a league's name and settings; they hold from the next match on."""
    checked = check_settings(settings)
    with transaction.atomic():
        if not League.objects.filter(pk=league_id).update(display_name=display_name, settings=checked):
            raise NotFound(_("There is no league %(id)s.") % {"id": league_id})
        record(league_id, "settings_changed")
        changed(league_id)
    return get_league(league_id)


def close_registration(*, league_id: str) -> League:
    """REGISTRATION to SCHEDULED: every pair once, by the circle method.

    With ``require_check``, players whose check has not passed are left out: they are shown as such and not called.

    Raises:
        ActionRefused: not open, or too few players.
    """
    with transaction.atomic():
        # Whoever is registering at this moment is in the schedule, or is told that it is too late.
        league = League.objects.select_for_update(no_key=True).get(pk=get_league(league_id).pk)
        players = sorted(league.agents.filter(kind=Kind.PLAYER), key=lambda player: natural(player.code))
        left_out = readiness.not_ready(league, players)
        absent = [player.pk for player in players if player.code in left_out]
        players = [player for player in players if player.code not in left_out]
        least = league.rules.min_players
        _refuse_over(league)
        if league.state != LeagueState.REGISTRATION:
            raise ActionRefused(_("The schedule of %(league)s is made already: start the next round.") % _named(league))
        if len(players) < least and left_out:
            raise ActionRefused(
                _(
                    "%(league)s has %(count)s of at least %(least)s players that passed the check; "
                    "not ready: %(names)s. Wait until more have passed, or turn require_check off."
                )
                % {**_named(league), "count": len(players), "least": least, "names": ", ".join(left_out)}
            )
        if len(players) < least:
            raise ActionRefused(
                _("%(league)s has %(count)s of at least %(least)s players: wait until more have registered.")
                % {**_named(league), "count": len(players), "least": least}
            )
        _move(league, LeagueState.REGISTRATION, LeagueState.SCHEDULED)
        _make_schedule(league, players)
        if left_out:
            league.left_out = left_out
            League.objects.filter(pk=league.pk).update(left_out=left_out)
            registration.retire(agent_ids=absent)
            record(league.pk, "left_out", players=", ".join(left_out))
        record(league.pk, "schedule_made", players=len(players), rounds=league.rounds.count())
        changed(league.pk)
        return league


def _make_schedule(league: League, players: list[Agent]) -> None:
    plan = round_robin(len(players))
    rounds = Round.objects.bulk_create(
        Round(league=league, number=one.number, bye=players[one.bye] if one.bye is not None else None) for one in plan
    )
    by_number = {one.number: one.pk for one in rounds}
    names = [field.attname for field in Match._meta.concrete_fields if not field.primary_key]
    blank = Match(league=league)
    same = {name: getattr(blank, name) for name in names}
    for one in plan:
        # Round by round: a thousand players have half a million matches, too many to hold at once.
        same["round_id"] = by_number[one.number]
        rows = [
            same
            | {
                "match_id": pairing.match_id,
                "player_a_id": players[pairing.a].pk,
                "player_b_id": players[pairing.b].pk,
            }
            for pairing in one.pairings
        ]
        insert(Match, names, [list(row.values()) for row in rows])


def start_league(*, league_id: str, auto_advance: bool | None = None) -> League:
    """Close registration if it is open, make the schedule, start the next round; all in one.

    Args:
        auto_advance: when given, becomes the league's setting.

    Raises:
        ActionRefused: with what to do; nothing is changed then.
    """
    with transaction.atomic():
        league = get_league(league_id)
        if auto_advance is not None:
            league.settings = league.settings | {"auto_advance": auto_advance}
            League.objects.filter(pk=league.pk).update(settings=league.settings)
        if league.state == LeagueState.REGISTRATION:
            close_registration(league_id=league_id)
        start_round(league_id=league_id)
        return get_league(league_id)


def run_all(*, league_id: str) -> League:
    """Play to the end: rounds follow each other from here on. Starts the next one if none is running."""
    with transaction.atomic():
        league = get_league(league_id)
        active = league.rounds.filter(state__in=[RoundState.ANNOUNCING, RoundState.RUNNING]).exists()
        if not active or league.paused:
            return start_league(league_id=league_id, auto_advance=True)
        League.objects.filter(pk=league.pk).update(settings=league.settings | {"auto_advance": True})
        record(league.pk, "auto_advance_on")
        changed(league.pk)
        return get_league(league_id)


def start_round(*, league_id: str) -> Round:
    """PENDING to ANNOUNCING: matches get referees, ROUND_ANNOUNCEMENT goes out (004 4.3.1, 8.6).

    Raises:
        ActionRefused: with what to do.
    """
    with transaction.atomic():
        league = get_league(league_id)
        _refuse_start(league)
        referees = outbox.referees_of(league)
        if not referees:
            raise ActionRefused(
                _(
                    "No referee may judge %(game)s now: start one (manage.py referee), "
                    "or tick “may judge” at a registered one."
                )
                % {"game": league.game_type}
            )
        coming = _COMING.one(league_id=league.pk)
        if coming is None:
            raise ActionRefused(_("Every round of %(league)s has been played.") % _named(league))
        curtain.fall_before(league, coming.number)
        # Whoever starts it, by hand or by the clock: a plan to start is carried out with this.
        League.objects.filter(pk=league.pk, starts_at__isnull=False).update(**_NO_PLAN)
        now = timezone.now()
        begun = {"state": RoundState.ANNOUNCING, "started_at": now}
        if not swap(Round, begun, pk=coming.pk, state=RoundState.PENDING):
            raise ActionRefused(_("Round %(number)s has just been started.") % {"number": coming.number})
        if league.state == LeagueState.SCHEDULED:
            _move(league, LeagueState.SCHEDULED, LeagueState.RUNNING)
            League.objects.filter(pk=league.pk).update(started_at=now)
            if not league.demo:
                for demo in League.objects.filter(demo=True).exclude(state=LeagueState.STOPPED):
                    stop(league_id=demo.pk)
        waiting = [*_NOT_YET_ACTIVE.all(league_id=league.pk), *referees]
        registration.activate(agent_ids=[one.pk for one in waiting if one.state == AgentState.REGISTERED])
        announced = _hand_out(league, coming, referees)
        outbox.queue(
            league,
            MessageType.ROUND_ANNOUNCEMENT,
            conversation_id=f"conv-{league.pk}-round-{coming.number}-announce",
            round_number=coming.number,
            to_referees=True,
            matches=announced,
        )
        record(league.pk, "round_started", round_id=coming.number)
        changed(league.pk)
        coming.state, coming.started_at = RoundState.ANNOUNCING, now
        return coming


_COMING = Prepared(
    lambda *, league_id: Round.objects.filter(league_id=league_id, state=RoundState.PENDING).order_by("number")[:1],
    league_id=str,
)
_NOT_YET_ACTIVE = Prepared(
    lambda *, league_id: Agent.objects.filter(league_id=league_id, kind=Kind.PLAYER, state=AgentState.REGISTERED).only(
        "state"
    ),
    league_id=str,
)
_ON = Prepared(
    lambda *, league_id: Round.objects.filter(
        league_id=league_id, state__in=[RoundState.ANNOUNCING, RoundState.RUNNING]
    )[:1],
    league_id=str,
)


def _refuse_start(league: League) -> None:
    if league.paused:
        raise ActionRefused(_("%(league)s is paused: resume it first.") % _named(league))
    if league.state == LeagueState.REGISTRATION:
        raise ActionRefused(_("%(league)s has no schedule yet: close registration first.") % _named(league))
    _refuse_over(league)
    running = _ON.one(league_id=league.pk)
    if running is not None:
        left = running.matches.exclude(state=MatchState.FINISHED).count()
        raise ActionRefused(
            _("Round %(number)s is still running (%(left)s matches open): wait until it has ended.")
            % {"number": running.number, "left": left}
        )


def _refuse_over(league: League) -> None:
    if league.state in (LeagueState.COMPLETED, LeagueState.STOPPED):
        raise ActionRefused(_("%(league)s is over: create a new league to play again.") % _named(league))


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
        swap(Match, ready, pk=tuple(matches_pk), state=MatchState.PENDING)
    return announced


def open_round(*, round_pk: int) -> bool:
    """ANNOUNCING to RUNNING: its matches may be played (004 8.6); a round with none left closes."""
    with transaction.atomic():
        moved = swap(Round, {"state": RoundState.RUNNING}, pk=round_pk, state=RoundState.ANNOUNCING)
        if moved:
            opened = Round.objects.get(pk=round_pk)
            record(opened.league_id, "round_opened", round_id=opened.number)
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
            raise ActionRefused(_("%(league)s is over: there is nothing to pause or resume.") % _named(league))
        plan = _NO_PLAN if paused else {}
        if not League.objects.filter(pk=league_id, paused=not paused).update(paused=paused, **plan):
            sentence = _("%(league)s is paused already.") if paused else _("%(league)s is not paused.")
            raise ActionRefused(sentence % _named(league))
        record(league_id, "paused" if paused else "resumed")
        changed(league_id)
        return get_league(league_id)


def stop(*, league_id: str) -> League:
    """End a league for good without playing it out; open matches are given up by their referees."""
    with transaction.atomic():
        league = get_league(league_id)
        # Matches before their league, as every report takes them: the other way round both would wait for ever.
        open_ones = Match.objects.filter(league=league).exclude(state=MatchState.FINISHED)
        list(open_ones.select_for_update(no_key=True).order_by("pk").values_list("pk"))
        sources = [state for state, targets in LEAGUE_ARROWS.items() if LeagueState.STOPPED in targets]
        going = League.objects.filter(pk=league_id, state__in=sources)
        ended = league.completed_at or timezone.now()
        if not going.update(state=LeagueState.STOPPED, completed_at=ended, paused=False, **_NO_PLAN):
            raise ActionRefused(_("%(league)s is stopped already.") % _named(league))
        open_ones.update(state=MatchState.PENDING, lease_until=None, held_at=None)
        Round.objects.filter(league=league, state__in=[RoundState.ANNOUNCING, RoundState.RUNNING]).update(
            state=RoundState.PENDING
        )
        registration.retire(agent_ids=league.agents.filter(kind=Kind.PLAYER).values_list("pk", flat=True))
        outbox.drop_all(league_id)
        record(league_id, "league_stopped")
        changed(league_id)
        return get_league(league_id)


def _move(league: League, old: LeagueState, new: LeagueState) -> None:
    """Compare-and-swap of the league's state.

    Raises:
        ActionRefused: someone else moved it first.
    """
    if not League.objects.filter(pk=league.pk, state=old).update(state=new):
        raise ActionRefused(_("%(league)s has just changed: look again.") % _named(league))
    league.state = new


def _named(league: League) -> dict[str, str]:
    return {"league": league.display_name}
