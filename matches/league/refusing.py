"""Why a league does not accept a player, and which codes are wrong (ruling, sections 2, 5, 8 and 11)."""

from __future__ import annotations

from collections.abc import Collection

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Q

from agents_registry.models import Agent, Kind, RosterEntry
from agents_registry.requests.reading import Request
from agents_registry.requests.spellings import plays
from agents_registry.rosters import roster
from league_sdk.ledger.kinds import EventKind
from league_sdk.protocol import tokens
from league_sdk.protocol.states import LeagueState, MatchState
from matches.league import leagues, making
from matches.league.effects import changed, record
from matches.models import League, Match

_OVER = (LeagueState.STOPPED, LeagueState.COMPLETED)
MAX_FROM_ONE_ADDRESS = 200
"""A class behind one router has room; the instructor lets a larger one in by one click."""


def refusal(league: League, request: Request, known: Agent | None) -> tuple[str, str] | None:
    """Why a league does not accept a player, with the matching code of 002; None if it accepts the player."""
    if league.demo:
        ours = request.brings(settings.LEAGUE_DEMO_KEY)
        if ours and (known is not None or league.state == LeagueState.REGISTRATION):
            return None
        return "The demo league is never open for registration.", "L001"
    if known is None:
        # A known player proves itself with its token, and may have registered before the league had a code.
        code_refusal = _refusal_for_codes(league, request)
        if code_refusal:
            return code_refusal, "L001"
    if not plays(request.game_types, league.game_type):
        return (
            f"This league plays {league.game_type}; your agent plays {', '.join(request.game_types)}.",
            "L001",
        )
    # A frozen board hides who was taken out meanwhile: only the player itself is told.
    if known is not None and known.code in league.out and (league.frozen_seq is None or _has_token(request, known)):
        return f"{known.code} was {league.out[known.code]['word']} from {league.pk} by the instructor.", "L001"
    # A frozen board hides that the league has ended, so its players are not refused before it is unveiled.
    ended = league.state in _OVER and league.frozen_seq is None
    owner = roster.find_owner(league.pk, request.codes)
    refused_owner = _has_enough_agents(league, owner) if owner and (known is None or known.owner_id is None) else ""
    if refused_owner:
        return refused_owner, "L003"
    if known is not None and (not ended or _still_plays(known)):
        return None
    return no_room(league) or (None if owner else _crowd(league, request.registered_from))


def _has_enough_agents(league: League, owner: RosterEntry) -> str:
    """Why a person may bring no further agent (``agents_per_person``), and what to do; empty if they may.

    All of theirs in the league count, also those that were taken out: a new one would shake that off.
    """
    limit = league.rules.agents_per_person
    agents = roster.agents_of(owner) if limit is not None else []
    if limit is None or len(agents) < limit:
        return ""
    codes = ", ".join(f"{agent.code} ({agent.name})" for agent in agents)
    return (
        f"Your personal code has registered {codes} already; {league.pk} takes {limit} for each person. To bring that "
        "agent back, register it under the same name, with its auth_token if you have it."
    )


def _crowd(league: League, address: str) -> tuple[str, str] | None:
    """Why a league takes no further player without an owner from an address, with the code of 002; None if it does.

    Args:
        address: as ``Agent.registered_from`` has it; empty for all callers whose address nobody knows.
    """
    if not crowded(league, registered_from=address):
        return None
    from_there = f"from your address ({address})" if address else "through proxies that do not say for whom"
    return (
        f"{MAX_FROM_ONE_ADDRESS} players of {league.pk} have registered {from_there}: more are taken once the "
        "instructor lets them in, at the desk of the league.",
        "L002",
    )


def crowded(league: League, **only: str) -> list[str]:
    """The addresses from which as many players have registered as one may bring, unless the instructor let more in.

    Players with an owner do not count, as a person's are bounded by ``agents_per_person``; nor do those added by hand.

    Args:
        only: a condition on players, to look at one address only.
    """
    players = league.agents.filter(kind=Kind.PLAYER, owner=None, by_hand=False, **only)
    counts = players.values("registered_from").annotate(count=Count("pk")).filter(count__gte=MAX_FROM_ONE_ADDRESS)
    full = set(counts.values_list("registered_from", flat=True))
    let_in = league.events.filter(kind=EventKind.CROWD_LET_IN).values_list("data__address", flat=True) if full else ()
    return sorted(full.difference(let_in))


def let_crowd_in(*, league_id: str, address: str) -> None:
    """WRITES: take any number of players that register from an address, also before many have come from there.

    Changes: an event, which the public does not see.

    Args:
        address: as ``Agent.registered_from`` has it.

    Raises:
        NotFound: there is no such league.
    """
    with transaction.atomic():
        record(leagues.get_league(league_id).pk, EventKind.CROWD_LET_IN, address=address)
        changed(league_id)


def _has_token(request: Request, known: Agent) -> bool:
    return bool(request.token) and known.tokens.filter(sha256=tokens.digest(request.token)).exists()


def _still_plays(agent: Agent) -> bool:
    """Whether a match with this player is replayed in a league that is over."""
    of_agent = Match.objects.filter(Q(player_a=agent) | Q(player_b=agent), league__state=LeagueState.COMPLETED)
    return of_agent.exclude(state=MatchState.FINISHED).exists()


def _refusal_for_codes(league: League, request: Request) -> str | None:
    """Why a league refuses these codes (ruling, sections 5 and 11), and where to put one; None if it accepts them."""
    code = league.rules.registration_code
    rostered = roster.exists(league.pk)
    if not code and not rostered:
        return None
    # Otherwise one person would bring more agents with the code of the class, which nobody owns.
    only_personal = rostered and league.rules.agents_per_person is not None
    if (request.brings(code) and not only_personal) or roster.find_owner(league.pk, request.codes) is not None:
        return None
    where = (
        f"player_meta.registration_code, in the message itself, or in the address (/leagues/{league.pk}/mcp?code=...)"
    )
    if rostered:
        seen = "the code that came is nobody's" if request.codes else "no personal code came"
        seen += ", and the code of the class lets nobody in, as each person has a number of agents" * only_personal
        return f"Not on the roster of this league: {seen}. Put your personal code in {where}."
    seen = "The code that came is not it." if request.codes else "None came."
    return f"This league asks for its registration code. {seen} Put it in {where}."


def wrong_codes(league_id: str | None, codes: Collection[str]) -> list[str]:
    """The codes that are neither the league's own nor the personal code of somebody on its roster.

    A league that asks for no code has no wrong ones. The code of another league is not a guess: it is not wrong either.
    """
    league = League.objects.filter(pk=league_id).first() if codes else None
    if league is None or not (league.rules.registration_code or roster.exists(league.pk)):
        return []
    class_code = league.rules.registration_code
    return [
        code
        for code in codes
        if not (class_code and tokens.same(code, class_code))
        and roster.find_owner(league.pk, [code]) is None
        and not is_code_of_any_league(code)
    ]


def is_code_of_any_league(code: str) -> bool:
    """Whether a text is the registration code of any league that is not over, or somebody's personal code there.

    Codes are blocked after too many wrong tries. A valid code that is sent to the wrong league, by mistake or on
    purpose, must not be blocked where it is valid. Those of a league that is over are no shield for guesses: a student
    may have written the file of an imported one, with every short code on its roster.

    Args:
        code: as it was sent.
    """
    class_codes = (
        league.rules.registration_code for league in League.objects.only("settings").exclude(state__in=_OVER)
    )
    return any(
        class_code is not None and tokens.same(code, class_code) for class_code in class_codes
    ) or roster.is_a_code(code)


def no_room(league: League) -> tuple[str, str] | None:
    """Why a league accepts no further player, with the matching code of 002; None if it accepts another one."""
    if not making.is_open(league):
        return f"Registration for {league.pk} is closed.", "L001"
    max_players = league.rules.max_players
    if league.agents.filter(kind=Kind.PLAYER).count() >= max_players:
        return f"{league.pk} is full ({max_players} players).", "L002"
    return None
