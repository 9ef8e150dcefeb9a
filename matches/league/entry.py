"""Which league a registration belongs to, and whether it is let in (ruling, sections 2 and 8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from agents_registry import lookalikes, places, registration
from agents_registry.deciding import Refused, Why
from agents_registry.models import Agent, Kind
from agents_registry.requests import Request
from agents_registry.spellings import LEAGUE_FIELDS, Facts
from league_sdk.ledger.kinds import EventKind
from league_sdk.protocol.errors import LeagueError, UnknownLeague
from league_sdk.protocol.states import LeagueState
from matches.league import losses, making, opening, refusing
from matches.league.effects import changed, record
from matches.league.errors import ActionRefused, Invalid, NotFound
from matches.models import League


@dataclass(frozen=True, slots=True)
class Entry:
    """The answer to a registration: accepted with a token, or rejected with a reason."""

    league_id: str
    agent: Agent | None = None
    auth_token: str = ""
    reason: str | None = None
    legacy_code: str | None = None


def next_league_id() -> str:
    """The id that the next league will have, as the lobby is told: the default, else the default and a number."""
    taken = set(League.objects.values_list("pk", flat=True))
    if settings.LEAGUE_DEFAULT_ID not in taken:
        return str(settings.LEAGUE_DEFAULT_ID)
    number = 2
    while f"{settings.LEAGUE_DEFAULT_ID}_{number}" in taken:
        number += 1
    return f"{settings.LEAGUE_DEFAULT_ID}_{number}"


def named_league(params: dict[str, Any], meta: Any, address_league: str | None) -> str | None:
    """The league that a registration names: by the address it came to, in the envelope, or in its meta.

    Args:
        params: the message.
        meta: what the documents call its meta, if it has one; other places are looked at after it.
        address_league: the league in the address, for ``/leagues/{id}/mcp``.
    """
    given = [address_league, params.get("league_id"), meta.get("league_id") if isinstance(meta, dict) else None]
    given += [found.value for found in Facts(params, Kind.PLAYER).envelope(*LEAGUE_FIELDS)]
    for value in given:
        if isinstance(value, str) and value:
            # No id holds a NUL, and PostgreSQL would not even look for one.
            return value.replace("\x00", "\ufffd")
    return None


def _is_open(league: League) -> bool:
    return not league.demo and making.is_open(league)


def choose_league(named: str | None) -> League | None:
    """The league for a player's registration; None is the lobby. A named one is returned open or not.

    Raises:
        UnknownLeague: E014, it was named and is neither there nor the one that comes next.
    """
    if named is not None:
        league = League.objects.filter(pk=named).first()
        if league is None and named not in (settings.LEAGUE_DEFAULT_ID, next_league_id()):
            raise UnknownLeague(
                f"There is no league {named!r}.", field="league_id", seen=named, expected="the id of a league"
            )
        return league
    default = League.objects.filter(pk=settings.LEAGUE_DEFAULT_ID).first()
    if default is not None and _is_open(default):
        return default
    candidates = [league for league in League.objects.filter(state=LeagueState.REGISTRATION) if _is_open(league)]
    return candidates[0] if len(candidates) == 1 else None


def _held(league: League | None) -> League | None:
    """The league as it is now; while it is open nobody makes its schedule, or takes a place, until this one is in."""
    if league is None or league.state != LeagueState.REGISTRATION:
        return league
    return League.objects.select_for_update(no_key=True).get(pk=league.pk)


def register_player(*, request: Request, named: str | None) -> Entry:
    """Take a player into the league it belongs to, or into the lobby.

    Changes: the agent, its token, an event.
    """
    try:
        return _register_player(request, named)
    except registration.Moved:
        # A league has been opened in this very moment, and took it out of the lobby.
        return _register_player(request, named)


def _register_player(request: Request, named: str | None) -> Entry:
    with transaction.atomic():
        league = _held(choose_league(named))
        known = registration.find_known(request, league.pk if league is not None else None)
        if league is None and known is None:
            known = _in_mid_league(request)
            league = known.league if known is not None else None
        home = league.pk if league is not None else None
        promised = next_league_id() if league is None else ""
        if league is not None:
            refusal = refusing.refusal(league, request, known)
            if refusal:
                return Entry(league_id=league.pk, reason=refusal[0], legacy_code=refusal[1])
        try:
            done = registration.register(request=request, league_id=home, promised=promised)
        except registration.NotTaken as error:
            return _rejected(error.refusal, request, home, league_id=home or promised)
        if league is None and not done.again:
            transaction.on_commit(lambda: _follow(done.agent, named), robust=True)
        if league is not None:
            if not done.again:
                record(league.pk, EventKind.PLAYER_REGISTERED, player_id=done.agent.code, name=done.agent.display_name)
            changed(league.pk)
        return Entry(league_id=home or promised, agent=done.agent, auth_token=done.auth_token)


def _follow(agent: Agent, named: str | None) -> None:
    """Into the league that was opened while this one came to the lobby, if it is the one that was meant."""
    league = choose_league(named)
    if league is not None:
        opening.take_in(league_id=league.pk, only=agent.pk)


def _in_mid_league(request: Request) -> Agent | None:
    """One that comes back and names no league, or came through the lobby, is by now a player of a league."""
    return (
        Agent.objects.filter(kind=Kind.PLAYER, name=request.name, endpoint_key=request.address.key)
        .filter(league__isnull=False, league__demo=False)
        .exclude(league__state=LeagueState.STOPPED)
        .exclude(league__state=LeagueState.COMPLETED, league__frozen_seq__isnull=True)
        .select_related("league")
        .order_by("-pk")
        .first()
    )


def _rejected(refusal: Refused, request: Request, home: str | None, *, league_id: str) -> Entry:
    """The answer to a registration that is not taken; the instructor sees a name that was refused on the desk.

    Args:
        home: the league that it came to; None for the lobby and the site.
        league_id: the league that the answer names.
    """
    if refusal.agent is None:
        return Entry(league_id=league_id, reason=refusal.text, legacy_code="L002")
    if refusal.why is Why.LOOKS_LIKE:
        at = request.address
        lookalikes.note_refused(league_id=home, agent=request, endpoint=at.url, key=at.key, resembled=refusal.agent)
        reason = lookalikes.sentence(request.name, refusal.agent)
    else:
        reason = _not_the_same(refusal.agent)
    return Entry(league_id=league_id, reason=reason, legacy_code="L003")


def _not_the_same(agent: Agent) -> str:
    if agent.kind == Kind.REFEREE:
        return f"{agent.code} is registered under this name and port by another machine."
    code = ", or its owner's personal code" if agent.owner_id is not None else ""
    return (
        f"{agent.code} is registered under this name and address. To register it again, send its "
        f"auth_token{code}, or register from its own machine, or ask the instructor to let it in."
    )


def add_by_hand(*, league_id: str, name: object, endpoint: object, wanted_id: object = "") -> Agent:
    """Add a player that never registers by itself (our choice: the instructor gives its name and address).

    It is played like any other. When that very agent registers later (same name and address) and shows to be it,
    it is this player; neither a registration code nor a personal code is asked of it.

    Changes: the agent, an event.

    Args:
        league_id: a league that takes players.
        name, endpoint, wanted_id: as an agent would send them; the address is taken as it is.

    Raises:
        NotFound: there is no such league.
        ActionRefused: the league takes no players, or has this one.
        Invalid: a name, an address or an id that cannot be used.
    """
    with transaction.atomic():
        league = _held(League.objects.filter(pk=league_id).first())
        if league is None:
            raise NotFound(_("There is no league %(id)s.") % {"id": league_id})
        if league.demo:
            raise ActionRefused(_("The demo league has players of its own: choose another league."))
        if not making.is_open(league):
            raise ActionRefused(
                _("The schedule of %(league)s is made: it takes no further players.") % {"league": league.display_name}
            )
        refusal = refusing.no_room(league)
        if refusal:
            raise ActionRefused(_("%(league)s is full.") % {"league": league.display_name})
        try:
            agent = places.add_by_hand(league_id=league.pk, name=name, endpoint=endpoint, wanted_id=wanted_id)
        except LeagueError as error:
            field = str(error.context["field"])
            raise Invalid(f"{error.message} {_('Expected:')} {error.context['expected']}", field=field) from None
        except places.NameTaken as same:
            raise ActionRefused(
                _("%(player)s has this name and this address already.") % {"player": same.agent.code}
            ) from None
        record(league.pk, EventKind.PLAYER_ADDED, player_id=agent.code, name=agent.display_name)
        changed(league.pk)
        return agent


TOO_OLD = (
    "This referee is too old: with the site's key it must have verdicts sealed before it tells them "
    "(referee_meta.seals is true). Start the one that came with this site."
)


def register_referee(*, request: Request, named: str | None, own_address: bool) -> Entry:
    """Take a referee in: for the site, or for one league when it came to that league's own address.

    A referee that registers again has lost all that it was playing (ruling, section 10). One that shows the site's key
    and does not seal its verdicts is refused (section 12).

    Raises:
        UnknownLeague: E014, it came to the address of a league that is not there.
    """
    if request.brings(settings.LEAGUE_REFEREE_KEY) and not request.seals:
        return Entry(league_id=settings.LEAGUE_DEFAULT_ID, reason=TOO_OLD)
    with transaction.atomic():
        league = choose_league(named) if own_address else None
        home = league.pk if league is not None else None
        try:
            done = registration.register(request=request, league_id=home)
        except registration.NotTaken as error:
            told = home if error.refusal.why is Why.LOOKS_LIKE else None
            return _rejected(error.refusal, request, home, league_id=told or settings.LEAGUE_DEFAULT_ID)
        if done.again:
            losses.lose_all_of(referee_id=done.agent.pk)
        return Entry(league_id=home or settings.LEAGUE_DEFAULT_ID, agent=done.agent, auth_token=done.auth_token)
