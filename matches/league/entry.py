"""Which league a registration belongs to, and whether it is let in (ruling, sections 2 and 8)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q
from django.utils.text import slugify
from django.utils.translation import gettext as _

from agents_registry.isolating import without_controls
from agents_registry.models import Agent, Kind
from agents_registry.names import lookalikes
from agents_registry.registering import places, registration
from agents_registry.registering.deciding import Refused, Why
from agents_registry.requests.reading import Request
from agents_registry.requests.spellings import LEAGUE_FIELDS, Facts
from agents_registry.words import sentence_of
from league_sdk.ledger.kinds import EventKind
from league_sdk.protocol import tokens
from league_sdk.protocol.errors import LeagueError, UnknownLeague
from league_sdk.protocol.limits import MAX_ID_CHARS
from league_sdk.protocol.states import LeagueState
from matches.league import leagues, losses, making, opening, refusing
from matches.league.effects import changed, record
from matches.league.errors import ActionRefused, Invalid
from matches.models import League

# A frozen board hides that its league has ended.
_OVER = Q(league__state__in=(LeagueState.STOPPED, LeagueState.COMPLETED), league__frozen_seq__isnull=True)


@dataclass(frozen=True, slots=True)
class Entry:
    """The answer to a registration: accepted with a token, or rejected with a reason.

    ``proven``: it came from the agent's own address, or with its token or its owner's personal code.
    """

    league_id: str
    agent: Agent | None = None
    auth_token: str = ""
    proven: bool = False
    reason: str | None = None
    legacy_code: str | None = None


def next_league_id() -> str:
    """The id that players in the lobby are told for the next league: the default id, or the default id and a number."""
    return _free_id(str(settings.LEAGUE_DEFAULT_ID))


def id_from_name(name: str) -> str:
    """An id for a new league, made from its name: "Autumn 2026!" gives ``autumn_2026``.

    A name without a Latin letter or digit gives :func:`next_league_id`; an id that is taken, or is kept for the demo
    league, gets a number.
    """
    # Room is left for the number.
    slug = slugify(name).replace("-", "_").strip("_")[: MAX_ID_CHARS - 6]
    return _free_id(slug) if slug else next_league_id()


def id_for_new_name(name: str) -> str:
    """As :func:`id_from_name`, for a form that was sent without an id.

    Raises:
        ValidationError: a league has this very name. A second click on the button of the form would open it twice.
    """
    if League.objects.filter(display_name=without_controls(name)).exists():
        raise ValidationError(_("There is a league of this name already: choose another name, or an id for this one."))
    return id_from_name(name)


def is_promised() -> bool:
    """Whether a player waits in the lobby, where it was told the id of the next league."""
    return Agent.objects.filter(kind=Kind.PLAYER, league=None).exists()


def _free_id(wanted_id: str) -> str:
    used = {settings.LEAGUE_DEMO_ID, *League.with_hidden.values_list("pk", flat=True)}
    if wanted_id not in used:
        return wanted_id
    return next(free for number in count(2) if (free := f"{wanted_id}_{number}") not in used)


def named_league(params: dict[str, Any], meta: Any, address_league: str | None) -> str | None:
    """The league that a registration names: in the address it was sent to, in its envelope, or in its meta.

    Args:
        params: the message.
        meta: the value of player_meta or referee_meta, if there is one.
        address_league: the league in the address, for ``/leagues/{id}/mcp``.
    """
    candidates = [address_league, params.get("league_id"), meta.get("league_id") if isinstance(meta, dict) else None]
    candidates += [named.value for named in Facts(params, Kind.PLAYER).envelope(*LEAGUE_FIELDS)]
    for value in candidates:
        if isinstance(value, str) and value:
            # No id contains NUL, and PostgreSQL refuses a parameter that does.
            return value.replace("\x00", "\ufffd")
    return None


def _is_open(league: League) -> bool:
    return not league.demo and making.is_open(league)


def choose_league(named: str | None) -> League | None:
    """The league for a player's registration; None for the lobby. A named league is returned even if it is closed.

    Raises:
        UnknownLeague: E014, the named league does not exist and is not the next one.
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


def _locked(league: League) -> League:
    """Lock an open league and read it again: until the commit nobody else takes a place in it or makes its schedule."""
    if league.state != LeagueState.REGISTRATION:
        return league
    return League.objects.select_for_update(no_key=True).get(pk=league.pk)


def register_player(*, request: Request, named: str | None) -> Entry:
    """Register a player in the league it belongs to, or in the lobby.

    Changes: the agent, its token, an event.
    """
    try:
        return _register_player(request, named)
    except registration.Moved:
        # A league was opened at this moment and took the player out of the lobby.
        return _register_player(request, named)


def _register_player(request: Request, named: str | None) -> Entry:
    with transaction.atomic():
        chosen, own = choose_league(named), _league_of_token(request)
        if own is not None and chosen != own:
            if named is not None and chosen is not None and _is_open(chosen):
                return Entry(league_id=own.pk, reason=_REGISTERS_THERE_ONLY % {"league": own.pk}, legacy_code="L003")
            chosen = own
        league = _locked(chosen) if chosen is not None else None
        known = registration.find_known(request, league.pk if league is not None else None)
        if league is None and known is None:
            known = _find_in_a_league(request)
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
        return Entry(home or promised, agent=done.agent, auth_token=done.auth_token, proven=done.proven)


_REGISTERS_THERE_ONLY = (
    "This auth_token is that of a player of %(league)s, which is not over: it registers there only, at "
    "/leagues/%(league)s/mcp. To bring another agent to this league, register it without an auth_token."
)


def _league_of_token(request: Request) -> League | None:
    """The league, not over, of the player whose auth_token the request has (ruling, sections 2 and 8)."""
    if not request.token:
        return None
    player = Agent.objects.filter(kind=Kind.PLAYER, tokens__sha256=tokens.digest(request.token), league__isnull=False)
    found = player.exclude(_OVER).select_related("league").first()
    return found.league if found is not None else None


def _follow(agent: Agent, named: str | None) -> None:
    """Move a player out of the lobby if its league was opened while it registered."""
    league = choose_league(named)
    if league is not None:
        opening.take_in(league_id=league.pk, only=agent.pk)


def _find_in_a_league(request: Request) -> Agent | None:
    """The player of a league that registers again without naming it, as one that came into it from the lobby does."""
    return (
        Agent.objects.filter(kind=Kind.PLAYER, name=request.name, endpoint_key=request.endpoint_key)
        .filter(league__isnull=False, league__demo=False)
        .exclude(_OVER)
        .select_related("league")
        .order_by("-pk")
        .first()
    )


def _rejected(refusal: Refused, request: Request, home: str | None, *, league_id: str) -> Entry:
    """The answer to a registration that is refused; a refused name is also shown on the desk.

    Args:
        home: the league that it was sent to; None for the lobby and the site.
        league_id: the league that the answer names.
    """
    if refusal.agent is None:
        return Entry(league_id=league_id, reason=refusal.text, legacy_code="L002")
    if refusal.why is Why.LOOKS_LIKE:
        lookalikes.note_refused(league_id=home, agent=request, resembled=refusal.agent)
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

    It plays like any other. An agent that registers later with the same name and address, and proves that it is the
    same agent, becomes this player; it needs neither a registration code nor a personal code.

    Changes: the agent, an event.

    Args:
        league_id: a league that takes players.
        name, endpoint, wanted_id: as an agent would send them.

    Raises:
        NotFound: there is no such league.
        ActionRefused: the league takes no players, or has this player already.
        Invalid: the name, the address or the id cannot be used.
    """
    with transaction.atomic():
        league = _locked(leagues.get_league(league_id))
        if league.demo:
            raise ActionRefused(_("The demo league has players of its own: choose another league."))
        if not making.is_open(league):
            raise ActionRefused(
                _("The schedule of %(league)s is made: it takes no further players.") % leagues.named(league)
            )
        refusal = refusing.no_room(league)
        if refusal:
            raise ActionRefused(_("%(league)s is full.") % leagues.named(league))
        try:
            agent = places.add_by_hand(league_id=league.pk, name=name, endpoint=endpoint, wanted_id=wanted_id)
        except LeagueError as error:
            field = str(error.context["field"])
            wrong, expected = sentence_of(error.message.rstrip(".")), sentence_of(error.context["expected"])
            raise Invalid(f"{wrong}. {_('Expected:')} {expected}", field=field) from None
        except places.NameTaken as player:
            raise ActionRefused(_("%(player)s has this name and this address already.") % {"player": player}) from None
        record(league.pk, EventKind.PLAYER_ADDED, player_id=agent.code, name=agent.display_name)
        changed(league.pk)
        return agent


TOO_OLD = (
    "This referee is too old: a referee with the site's key must seal a verdict before it tells the players "
    "(referee_meta.seals is true). Start the referee that came with this site."
)


def register_referee(*, request: Request, named: str | None, own_address: bool) -> Entry:
    """Register a referee: for the site, or for one league if it was sent to that league's own address.

    A referee that registers again loses all its matches (ruling, section 10). One with the site's key that does not
    seal its verdicts is refused (section 12).

    Raises:
        UnknownLeague: E014, it was sent to the address of a league that does not exist.
    """
    if request.brings(settings.LEAGUE_REFEREE_KEY) and not request.seals:
        return Entry(league_id=settings.LEAGUE_DEFAULT_ID, reason=TOO_OLD)
    with transaction.atomic():
        league = choose_league(named) if own_address else None
        home = league.pk if league is not None else None
        try:
            done = registration.register(request=request, league_id=home)
        except registration.NotTaken as error:
            answered_id = home if error.refusal.why is Why.LOOKS_LIKE else None
            return _rejected(error.refusal, request, home, league_id=answered_id or settings.LEAGUE_DEFAULT_ID)
        if done.again:
            losses.lose_all_of(referee_id=done.agent.pk)
        return Entry(league_id=home or settings.LEAGUE_DEFAULT_ID, agent=done.agent, auth_token=done.auth_token)
