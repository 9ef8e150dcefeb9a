"""READ: why a league does not accept a player, and which codes are wrong (ruling, sections 2, 5, 8 and 11)."""

from __future__ import annotations

from collections.abc import Collection

from django.conf import settings
from django.db.models import Q

from agents_registry.models import Agent, Kind
from agents_registry.requests.reading import Request
from agents_registry.requests.spellings import plays
from agents_registry.rosters import roster
from league_sdk.protocol import tokens
from league_sdk.protocol.states import LeagueState, MatchState
from matches.league import making
from matches.models import League, Match


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
    ended = league.state in (LeagueState.STOPPED, LeagueState.COMPLETED) and league.frozen_seq is None
    if known is not None and (not ended or _still_plays(known)):
        return None
    return no_room(league)


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
    if request.brings(code) or roster.find_owner(league.pk, request.codes) is not None:
        return None
    where = (
        f"player_meta.registration_code, in the message itself, or in the address (/leagues/{league.pk}/mcp?code=...)"
    )
    if rostered:
        seen = "the code that came is nobody's" if request.codes else "no personal code came"
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
    """Whether a text is the registration code of any league, or anybody's personal code.

    Codes are blocked after too many wrong tries. A valid code that is sent to the wrong league, by mistake or on
    purpose, must not be blocked where it is valid.

    Args:
        code: as it was sent.
    """
    class_codes = (league.rules.registration_code for league in League.objects.only("settings"))
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
