"""A league from its creation to its schedule, as the instructor moves it (ruling, section 8)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.conf import settings as site
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from pydantic import ValidationError as SettingsError

from agents_registry.isolating import isolated, without_controls
from agents_registry.models import Agent, Kind, RosterEntry
from agents_registry.registering import places, registration
from agents_registry.rosters import roster
from agents_registry.words import in_other_words
from league_sdk.formats.round_robin import matches_of, rounds_of
from league_sdk.ledger.kinds import EventKind
from league_sdk.ledger.standings import natural
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.protocol.states import LeagueState
from league_sdk.protocol.transcript import is_storable
from matches.league import endings, making
from matches.league.effects import changed, record
from matches.league.errors import ActionRefused, Invalid
from matches.league.leagues import get_league, move, named, refuse_over, refuse_taken
from matches.models import League
from matches.view import readiness
from matches.view.offered import offered_games
from storage import clock


def check_settings(values: Any) -> dict[str, Any]:
    """Check the names and ranges of settings, and return those that were given, as they are stored.

    Raises:
        Invalid: 422, naming the first setting that is wrong.
    """
    if not isinstance(values, dict):
        raise Invalid(_("Settings must be an object of names and values."), field="settings")
    try:
        _refuse_unstorable(values.get("registration_code"), "registration_code")
        # Store "true" or 1 as the boolean that it means: database queries compare the stored value.
        return LeagueSettings.model_validate(values).model_dump(exclude_unset=True)
    except SettingsError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"]) or "settings"
        raise Invalid(
            _("Setting %(name)s: %(why)s (seen: %(seen)s).")
            % {"name": isolated(name), "why": in_other_words(first["msg"]), "seen": isolated(str(first["input"])[:80])},
            field=name,
        ) from None


def _refuse_unstorable(text: object, field: str) -> None:
    if isinstance(text, str) and not is_storable(text):
        raise Invalid(_("%(field)s holds a character that cannot be stored.") % {"field": field}, field=field)


def create_league(
    *,
    league_id: str,
    display_name: str,
    game_type: str = "even_odd",
    settings: dict[str, Any] | None = None,
    demo: bool = False,
    people: Iterable[RosterEntry] = (),
) -> League:
    """Open a league for registration; unless it is a demo, or has a roster or class code, the lobby's players join it.

    Args:
        people: the people on its roster, as entries that are not stored yet.

    Raises:
        Invalid: an id, game or setting that is not usable.
        ActionRefused: the id is taken.
    """
    checked = check_settings(_with_usual(settings, {} if demo else site.LEAGUE_NEW_LEAGUES))
    if league_id == site.LEAGUE_DEMO_ID and not demo:
        raise Invalid(
            _("The id %(id)s is kept for the demo league: choose another.") % {"id": isolated(league_id)},
            field="league_id",
        )
    _refuse_unstorable(display_name, "display_name")
    offered = offered_games()
    if game_type not in offered:
        raise Invalid(
            _("There is no game %(game)s. Games: %(games)s.")
            % {"game": isolated(game_type), "games": isolated(", ".join(sorted(offered)))},
            field="game_type",
        )
    league = League(
        league_id=league_id,
        display_name=without_controls(display_name) or league_id,
        game_type=game_type,
        settings=checked,
        demo=demo,
        created_at=clock.now(),
    )
    with transaction.atomic():
        _insert(league)
        for person in people:
            person.league = league
            person.save(force_insert=True)
        record(league.pk, EventKind.LEAGUE_CREATED, **making.terms(league))
        _take_in(league)
        changed(league.pk)
        transaction.on_commit(lambda: take_in(league_id=league.pk), robust=True)
    return league


def _with_usual(own: Any, usual: dict[str, Any]) -> Any:
    """The settings of a new league: those that were given, and for the others the usual values of this site."""
    return {**usual, **own} if isinstance(own, dict) else own or dict(usual)


def _check_fields(league: League) -> None:
    try:
        league.clean_fields(exclude=["created_at"])
    except ValidationError as error:
        field, messages = next(iter(error.message_dict.items()))
        raise Invalid(f"{field}: {messages[0]}", field=field) from None


def _insert(league: League) -> None:
    _check_fields(league)
    try:
        with transaction.atomic():
            league.save(force_insert=True)
    except IntegrityError:
        refuse_taken(league.pk)
        raise


def _take_in(league: League, only: int | None = None, after: int = 0) -> int | None:
    """Take some players in; returns after which primary key the next ones are, None if there are none."""
    # Players in the lobby have shown no code.
    if league.demo or league.rules.registration_code or roster.exists(league.pk):
        return None
    room = league.rules.max_players
    joined, last = places.join_league(
        league_id=league.pk, game_type=league.game_type, room=room, only=only, after=after
    )
    if joined:
        record(league.pk, EventKind.LOBBY_JOINED, players=joined)
        changed(league.pk)
    return last


def take_in(*, league_id: str, only: int | None = None) -> None:
    """Move the players of the lobby into a league, if it is still open.

    Called again after the commit of a new league, and of a new player in the lobby: two such transactions do not see
    each other's rows, but after both commits the later call does.

    Args:
        only: the primary key of the one player to move; None for all.
    """
    last: int | None = 0
    while last is not None:
        with transaction.atomic():
            league = League.objects.select_for_update(no_key=True).filter(pk=league_id).first()
            last = _take_in(league, only, last) if league is not None and making.is_open(league) else None


def edit_league(*, league_id: str, display_name: str | None = None, settings: dict[str, Any] | None = None) -> League:
    """Change a league's name and settings.

    The new settings apply at once; a match in play keeps its time limits and retries. Points apply to matches that are
    over, too: the players are told the new table, and another champion (ruling, section 14).

    Args:
        display_name: the name; None: it stays as it is.
        settings: all settings that differ from the defaults; None: they stay as they are.

    Raises:
        NotFound: no such league.
        Invalid: a name or a setting that is not usable.
    """
    _refuse_unstorable(display_name, "display_name")
    with transaction.atomic():
        league = get_league(league_id)
        before = making.terms(league)
        new: dict[str, Any] = {} if settings is None else {"settings": check_settings(settings)}
        if display_name is not None:
            new["display_name"] = without_controls(display_name)
        for name, value in new.items():
            setattr(league, name, value)
        _check_fields(league)
        # Only what was asked for: somebody else may be changing the rest.
        League.objects.filter(pk=league.pk).update(**new)
        edited = get_league(league_id)
        record(league_id, EventKind.SETTINGS_CHANGED, **making.terms(edited))
        if making.terms(edited) != before:
            endings.after_settings(get_league(league_id))
        changed(league_id)
    return league


def close_registration(*, league_id: str) -> League:
    """REGISTRATION to SCHEDULED: every pair once, by the circle method.

    With ``require_check``, players whose check has not passed are left out: they are shown as such and not called.
    Of a schedule with more than ``making.MAX_MATCHES_AT_ONCE`` matches only the first round is written here. The
    league stays in REGISTRATION, without taking players, until the conductor has written the rest (``making``).

    Raises:
        ActionRefused: not open, too few players, or its schedule is being made already.
    """
    with transaction.atomic():
        # The lock lets a registration that is under way either finish first or be refused.
        league = League.objects.select_for_update(no_key=True).get(pk=get_league(league_id).pk)
        players, absent, left_out = _entering(league)
        refuse_over(league)
        if league.state != LeagueState.REGISTRATION:
            raise ActionRefused(_("The schedule of %(league)s is made already: start the next round.") % named(league))
        _refuse_too_few(league, len(players), left_out)
        making.refuse_while_being_made(league)
        whole = matches_of(len(players)) <= making.MAX_MATCHES_AT_ONCE
        if whole:
            move(league, LeagueState.REGISTRATION, LeagueState.SCHEDULED)
        last = rounds_of(len(players)) if whole else 1
        # Round by round: a thousand players have half a million matches, too many for the memory.
        for number in range(1, last + 1):
            making.write_round(league, [player.pk for player in players], number)
        if left_out:
            league.left_out = left_out
            League.objects.filter(pk=league.pk).update(left_out=left_out)
            registration.retire(agent_ids=[player.pk for player in absent])
            record(league.pk, EventKind.LEFT_OUT, players=", ".join(left_out))
        if whole:
            making.record_schedule(league, players)
        changed(league.pk)
        return league


def refuse_close(league: League) -> None:
    """Refuse an open league that cannot get a schedule yet; nothing is changed.

    Raises:
        ActionRefused: too few players.
    """
    players, _absent, left_out = _entering(league)
    _refuse_too_few(league, len(players), left_out)


def _entering(league: League) -> tuple[list[Agent], list[Agent], dict[str, Any]]:
    """The players that get matches if registration is closed now, those that are left out, and by their ids why."""
    players = sorted(league.agents.filter(kind=Kind.PLAYER), key=lambda player: natural(player.code))
    left_out = readiness.not_ready(league, players)
    absent = [player for player in players if player.code in left_out]
    return [player for player in players if player.code not in left_out], absent, left_out


def _refuse_too_few(league: League, count: int, left_out: dict[str, Any]) -> None:
    min_players = league.rules.min_players
    if count >= min_players:
        return
    if left_out:
        sentence = _(
            "%(league)s has %(count)s of at least %(min)s players that passed the check; "
            "not ready: %(names)s. Wait until more have passed, or turn require_check off."
        )
    else:
        sentence = _("%(league)s has %(count)s of at least %(min)s players: wait until more have registered.")
    raise ActionRefused(sentence % {**named(league), "count": count, "min": min_players, "names": ", ".join(left_out)})
