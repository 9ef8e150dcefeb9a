"""WRITES: requests for practice matches: an agent plays a house agent, outside any league and with no effect on one.

A practice match is a row in the queue of checks (``matches.models.Check``): it is claimed, runs and gives way as they
do, behind all of them. Only a person who has shown that an agent is theirs may have it play: the moves of an agent are
its secret, and a student who could name a rival's address would see them all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from agents_registry.addresses.callers import Caller
from agents_registry.isolating import isolated
from agents_registry.models import Agent, Kind
from league_sdk.rules.registry import games
from matches.checks import runs, ways
from matches.checks.asking import NotAllowed, TooManyChecks, token_of
from matches.checks.turns import place_of
from matches.league.errors import Invalid
from matches.models import Check, CheckRole, CheckState, Opponent
from matches.words import states
from storage import clock

MAX_PER_WINDOW, WINDOW_S = 10, 600.0
"""How many practice matches one person may have in this time: all agents of an owner, or one agent without owner."""
MAX_PER_ADDRESS = 100
"""Practice matches that are asked for from one address within that time, for agents without an owner. A class may have
one address, and so an agent that has played none in this time may have one even then."""
MAX_WAITING, MAX_WAITING_PER_PLACE = 200, 100
"""How many practice matches may wait in all, and for agents at one place (``turns.place_of``: an IP address, an IPv6
network or a domain), because the agents of a class may share one address."""
_OPEN = (CheckState.WANTED, CheckState.RUNNING)


def ask_with_token(
    *, token: str, caller: Caller, opponent: str, game_type: str = "", second: bool = False, now: datetime | None = None
) -> Check:
    """Queue a practice match of the agent that owns a token; raises as :func:`ask`, and as :func:`token_of`."""
    token_row = token_of(token, caller)
    return ask(
        agent=token_row.agent,
        proven=token_row.proven,
        asked_by=caller.ip,
        opponent=opponent,
        game_type=game_type,
        second=second,
        now=now,
    )


def ask(  # noqa: PLR0913 - what is played, by whom, who asks, and when
    *,
    agent: Agent,
    proven: bool,
    asked_by: str,
    opponent: str = Opponent.MEDIUM.value,
    game_type: str = "",
    second: bool = False,
    now: datetime | None = None,
) -> Check:
    """Queue a practice match, or return an equal one of the agent that waits or is played already.

    Changes: a row of the queue, and nothing else, now or later. Nothing is sent before it is taken from there.

    Args:
        agent: a player.
        proven: whether the person who asks has shown that it is theirs.
        asked_by: their IP address.
        opponent: how strong the house agent is.
        game_type: one that the agent plays; empty for that of its league.
        second: the house agent is PLAYER_A, who begins in games with turns.

    Raises:
        Invalid: 422, a strength, game or role that is not usable.
        NotAllowed: 403.
        TooManyChecks: 429, the sentence says when it may be asked for.
    """
    now = now or clock.now()
    game_type = _allowed(agent, proven=proven, opponent=opponent, game_type=game_type)
    practice = Check(role=CheckRole.PLAYER, agent=agent, opponent=opponent, second=second, game_types=[game_type])
    practice.asked_by, practice.due_at, practice.created_at = asked_by[:64], now, now
    target = ways.queued_as(practice, ways.registered(agent))
    practice.endpoint, practice.endpoint_key, practice.address = target.endpoint, target.key, target.address
    try:
        with transaction.atomic():
            known = open_of(agent)
            if known is None:
                _enforce_limits(agent, practice, now)
                practice.save(force_insert=True)
                runs.changed(practice)
                return practice
    except IntegrityError:
        # Somebody else has just asked for one.
        known = open_of(agent)
    if known is None or (known.opponent, known.second, known.game_types) != (opponent, second, [game_type]):
        raise TooManyChecks(_("One practice match at a time: ask for the next one when the one before is over."), 5)
    return known


def _allowed(agent: Agent, *, proven: bool, opponent: str, game_type: str) -> str:
    """The game that is played; raises as :func:`ask`."""
    if agent.kind != Kind.PLAYER:
        raise Invalid(
            _("%(agent)s is not a player: only players practise.") % {"agent": agent.code}, field="auth_token"
        )
    if not proven:
        raise NotAllowed(states.not_shown_to_be_yours())
    if opponent not in Opponent.values:
        raise Invalid(_("There is no strength %(strength)s.") % {"strength": isolated(opponent[:40])}, field="opponent")
    known = games_of(agent)
    if not known:
        raise Invalid(_("No game that %(agent)s plays is installed here.") % {"agent": agent.code}, field="game_type")
    if game_type and game_type not in known:
        sentence = _("%(agent)s does not play %(game)s.")
        raise Invalid(sentence % {"agent": agent.code, "game": isolated(game_type[:40])}, field="game_type")
    return game_type or known[0]


def open_of(agent: Agent) -> Check | None:
    """READ: the practice match of an agent that waits or is played; None if there is none."""
    return Check.practices.filter(agent=agent, state__in=_OPEN).first()


def games_of(agent: Agent) -> list[str]:
    """READ: the games that an agent can practise, that of its league first."""
    own = [agent.league.game_type] if agent.league is not None else []
    return [game for game in dict.fromkeys([*own, *agent.game_types]) if game in games()]


def next_at(agent: Agent, now: datetime) -> datetime | None:
    """READ: from when on a person's agents may practise again; None: now."""
    practices = Check.practices.filter(agent=agent)
    if agent.owner is not None:
        # The same person in another league, too.
        practices = Check.practices.filter(agent__owner__email=agent.owner.email)
    return _free_at(practices, MAX_PER_WINDOW, now)


def _next_from(agent: Agent, asked_by: str, now: datetime) -> datetime | None:
    """From when on an agent without an owner may practise again from an address; None: now."""
    lately = Check.practices.filter(created_at__gt=now - timedelta(seconds=WINDOW_S))
    if not asked_by or agent.owner_id is not None or not lately.filter(agent=agent).exists():
        return None
    return _free_at(lately.filter(asked_by=asked_by, agent__owner__isnull=True), MAX_PER_ADDRESS, now)


def _free_at(practices: QuerySet[Check], limit: int, now: datetime) -> datetime | None:
    """The time from which fewer than ``limit`` practice matches are in the window; None if that is now."""
    lately = practices.filter(created_at__gt=now - timedelta(seconds=WINDOW_S)).order_by("-created_at")
    last = lately.values_list("created_at", flat=True)[limit - 1 : limit]
    return next((first + timedelta(seconds=WINDOW_S) for first in last), None)


def too_many(at: datetime) -> str:
    """Says when the next practice match may be asked for."""
    sentence = _(
        "%(count)d practice matches in %(minutes)d minutes are the most: ask for the next one at %(time)s UTC."
    )
    return sentence % {"count": MAX_PER_WINDOW, "minutes": WINDOW_S // 60, "time": f"{at:%H:%M:%S}"}


def _too_many_from_there(at: datetime) -> str:
    sentence = _("Many practice matches were asked for from your network: ask for the next one at %(time)s UTC.")
    return sentence % {"time": f"{at:%H:%M:%S}"}


def _enforce_limits(agent: Agent, practice: Check, now: datetime) -> None:
    at = next_at(agent, now)
    if at is not None:
        raise TooManyChecks(too_many(at), math.ceil((at - now).total_seconds()))
    at = _next_from(agent, practice.asked_by, now)
    if at is not None:
        raise TooManyChecks(_too_many_from_there(at), math.ceil((at - now).total_seconds()))
    waiting = list(Check.practices.filter(state=CheckState.WANTED).values_list("address", flat=True))
    of_place = sum(place_of(one) == place_of(practice.address) for one in waiting)
    if len(waiting) >= MAX_WAITING or of_place >= MAX_WAITING_PER_PLACE:
        raise TooManyChecks(_("Too many practice matches are waiting already: ask again in a minute."))


def is_proven(agent: Agent) -> bool:
    """READ: whether a token of an agent has been shown to be in its own hands."""
    return agent.tokens.filter(proven=True).exists()


def playable(due: QuerySet[Check], now: datetime) -> Iterator[Check]:
    """The due checks and practice matches, first due first; :mod:`matches.checks.taking` decides which runs next.

    Changes: practice matches that may not be played any more become FAILED. An agent may have registered another
    address since its student asked, and that may be a rival's.
    """
    for check in due.order_by("due_at", "created_at"):
        if check.is_practice:
            agent, target = check.agent, ways.of_check(check)
            is_same_target = ways.is_line(target.way) or target.key == check.endpoint_key
            if agent is None or not (is_same_target and is_proven(agent)):
                runs.refuse(check=check, problem=_("The agent has registered anew since: ask again."), now=now)
                continue
        yield check
