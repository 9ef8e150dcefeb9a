"""READS: which players a referee does not reach that another one reached (ruling, section 12; decision 41)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import timedelta
from urllib.parse import urlsplit

from agents_registry.models import Agent
from league_sdk.protocol.faults import UNREACHED
from league_sdk.protocol.inbox import SCHEME
from league_sdk.protocol.states import ResultStatus
from matches.models import Match
from storage import clock

REMEMBERED = timedelta(minutes=2)
"""How long a referee is given no match with a player that it did not reach and another one did; then it may try."""


def place_of(referee: Agent) -> str:
    """Where a referee calls from, as far as can be told: the host of its address, or where it dials from."""
    parts = urlsplit(referee.endpoint)
    return referee.registered_from if parts.scheme == SCHEME else parts.hostname or ""


def elsewhere(referee: Agent, candidates: Iterable[Agent]) -> list[Agent]:
    """The site's referees that call from another place than this one; a student's is no second witness."""
    place = place_of(referee)
    return [one for one in candidates if one.site_key and place_of(one) != place]


def not_reached() -> dict[int, set[int]]:
    """By referee the players that it did not reach in the last two minutes and that another one then reached.

    A player that refuses one referee on purpose is in it for that referee only: all it gains is not to be judged by it.
    """
    found: dict[int, set[int]] = defaultdict(set)
    handed_on = Match.objects.filter(unreached__isnull=False, finished_at__gt=clock.now() - REMEMBERED)
    columns = ("unreached", "attempt", "status", "faults", "referee_id", "player_a__code", "player_b__code")
    for match in handed_on.select_related("player_a", "player_b").only(*columns):
        first = match.unreached or {}
        unreached = {fault.get("player_id") for fault in match.faults if fault.get("cause") in UNREACHED}
        played = match.status != ResultStatus.CANCELLED and match.attempt > first.get("attempt", 0)
        if played and match.referee_id != first.get("referee_pk") and first.get("player") not in unreached:
            seats = (match.player_a, match.player_b)
            found[first["referee_pk"]] |= {seat.pk for seat in seats if seat.code == first["player"]}
    return found
