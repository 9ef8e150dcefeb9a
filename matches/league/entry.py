"""Which league a registration belongs to, and whether it is let in (ruling, sections 2 and 8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import transaction

from agents_registry import registration
from agents_registry.models import Agent, Kind
from agents_registry.requests import Request
from league_sdk.protocol import tokens
from league_sdk.protocol.errors import UnknownLeague
from league_sdk.protocol.states import LeagueState
from matches.league import play
from matches.league.effects import changed, record
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
    """The league that a registration names: by the address it came to, in the envelope, or in its meta."""
    for value in (
        address_league,
        params.get("league_id"),
        meta.get("league_id") if isinstance(meta, dict) else None,
    ):
        if isinstance(value, str) and value:
            # No id holds a NUL, and PostgreSQL would not even look for one.
            return value.replace("\x00", "\ufffd")
    return None


def _is_open(league: League) -> bool:
    return league.state == LeagueState.REGISTRATION and not league.demo


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


def _refusal(league: League, request: Request, known: bool) -> tuple[str, str | None] | None:
    """Why a league does not take a player, with 002's code where one corresponds; None when it does."""
    rules = league.rules
    if league.demo:
        ours = tokens.same(request.code, settings.LEAGUE_DEMO_KEY)
        if ours and (known or league.state == LeagueState.REGISTRATION):
            return None
        return "The demo league is never open for registration.", "L001"
    if rules.registration_code and not tokens.same(request.code, rules.registration_code):
        return "This league asks for its registration code in player_meta.registration_code.", "L001"
    if request.game_types and league.game_type not in request.game_types:
        return (
            f"This league plays {league.game_type}; your agent plays {', '.join(request.game_types)}.",
            "L001",
        )
    if known and league.state not in (LeagueState.COMPLETED, LeagueState.STOPPED):
        return None
    if league.state != LeagueState.REGISTRATION:
        return f"Registration for {league.pk} is closed.", "L001"
    if league.agents.filter(kind=Kind.PLAYER).count() >= rules.max_players:
        return f"{league.pk} is full ({rules.max_players} players).", "L002"
    return None


def register_player(*, request: Request, named: str | None) -> Entry:
    """Take a player into the league it belongs to, or into the lobby.

    Changes: the agent, its token, an event.
    """
    with transaction.atomic():
        league = choose_league(named)
        home = league.pk if league is not None else None
        known = Agent.objects.filter(
            kind=Kind.PLAYER, league_id=home, name=request.name, endpoint_key=request.address.key
        ).first()
        if league is None and known is None:
            # One that comes back in mid-league, or came through the lobby, is by now a player of a league.
            known = (
                Agent.objects.filter(kind=Kind.PLAYER, name=request.name, endpoint_key=request.address.key)
                .filter(league__isnull=False, league__demo=False)
                .exclude(league__state__in=[LeagueState.COMPLETED, LeagueState.STOPPED])
                .order_by("-pk")
                .first()
            )
            if known is not None:
                league, home = known.league, known.league_id
        promised = next_league_id() if league is None else ""
        if league is not None:
            refusal = _refusal(league, request, known is not None)
            if refusal:
                return Entry(league_id=league.pk, reason=refusal[0], legacy_code=refusal[1])
        try:
            done = registration.register(request=request, league_id=home, promised=promised)
        except registration.NotTheSame as same:
            return Entry(
                league_id=home or promised,
                reason=(
                    f"{same.agent.code} is registered under this name and address. To register it again, send its "
                    "auth_token, or register from its own machine, or ask the instructor to let it in."
                ),
                legacy_code="L003",
            )
        if league is not None:
            if not done.again:
                record(league.pk, "player_registered", player_id=done.agent.code, name=done.agent.display_name)
            changed(league.pk)
        return Entry(league_id=home or promised, agent=done.agent, auth_token=done.auth_token)


def register_referee(*, request: Request, named: str | None, own_address: bool) -> Entry:
    """Take a referee in: for the site, or for one league when it came to that league's own address.

    A referee that registers again has lost all that it was playing (ruling, section 10).

    Raises:
        UnknownLeague: E014, it came to the address of a league that is not there.
    """
    with transaction.atomic():
        league = choose_league(named) if own_address else None
        home = league.pk if league is not None else None
        try:
            done = registration.register(request=request, league_id=home)
        except registration.NotTheSame as same:
            return Entry(
                league_id=settings.LEAGUE_DEFAULT_ID,
                reason=f"{same.agent.code} is registered under this name and port by another machine.",
                legacy_code="L003",
            )
        if done.again:
            play.lose_all_of(referee_id=done.agent.pk)
        return Entry(league_id=home or settings.LEAGUE_DEFAULT_ID, agent=done.agent, auth_token=done.auth_token)
