"""A league pauses by itself when its class has gone: the setting ``pause_if_absent`` (ruling, section 8)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from agents_registry.models import Agent, Kind
from league_sdk.ledger.kinds import EventKind
from league_sdk.protocol.states import LeagueState
from matches.league.effects import record
from matches.league.fault_reports import SILENT
from matches.models import Event, League, Round
from matches.view import sight

MIN_ABSENT_PEOPLE = 3
"""Fewer people pause no league: then their own laptops have gone, not the class."""
MAX_OWN_PAUSES = 3
"""How often a league pauses by itself: half a class that goes and comes back at will must not stop it for ever."""


def pause_if_absent(league: League, played: Round) -> None:
    """Pause a league after a round in which many players did not answer any more; what was played stands.

    Absent is who was called in this round, lost without an answer, and had answered in an earlier round, also in its
    last match: so nobody counts twice for going once. A referee without the site's key is not believed that a player
    was silent. The league's share of the players that were called has to be absent, and as large a share of the people
    behind them, of whom none has a player that answered. A planned start stays. A league pauses at most three
    times. Call in the transaction that ends the round.
    """
    share = league.rules.pause_if_absent
    newly = set(Agent.objects.filter(league=league, kind=Kind.PLAYER, silences=1).values_list("code", flat=True))
    if not share or league.demo or len(newly) < MIN_ABSENT_PEOPLE:
        return
    newly &= {
        code
        for outcome in sight.everything(league).moment.outcomes.values()
        if outcome.round_number < played.number and outcome.attempt
        for code in {*outcome.players} - _silent(outcome.faults)
    }
    called: dict[str, Agent] = {}
    absent: set[str] = set()
    for match in played.matches.filter(attempt__gt=0).select_related("player_a", "player_b", "referee"):
        called |= {match.player_a.code: match.player_a, match.player_b.code: match.player_b}
        absent |= newly & _silent(match.faults) if match.referee is not None and match.referee.site_key else set()
    people = _people(called)
    gone = {people[code] for code in absent} - {people[code] for code in called.keys() - absent}
    if len(gone) < max(MIN_ABSENT_PEOPLE, share * len(set(people.values()))) or len(absent) < share * len(called):
        return
    if Event.objects.filter(league=league, kind=EventKind.PAUSED_AS_ABSENT).count() >= MAX_OWN_PAUSES:
        return
    if League.objects.filter(pk=league.pk, state=LeagueState.RUNNING, paused=False).update(paused=True):
        record(
            league.pk,
            EventKind.PAUSED_AS_ABSENT,
            round_id=played.number,
            absent=len(absent),
            called=len(called),
        )


def own_pause(league: League) -> Event | None:
    """The event by which a league that is paused has paused itself; None if it is not paused, or by the instructor."""
    pauses = Event.objects.filter(league=league, kind__in=(EventKind.PAUSED, EventKind.PAUSED_AS_ABSENT))
    last = pauses.order_by("-seq").first() if league.paused else None
    return last if last is not None and last.kind == EventKind.PAUSED_AS_ABSENT else None


def _silent(faults: Iterable[Mapping[str, Any]]) -> set[str]:
    return {str(fault["player_id"]) for fault in faults if fault.get("error_code") in SILENT}


def _people(players: Mapping[str, Agent]) -> dict[str, object]:
    """Who is behind each player, by its id: its owner, or else whoever registers from its address.

    So many players of one laptop are one person. If all came from one address, as those of a class behind one router
    do, the address tells nobody apart, and each player counts.
    """
    people: dict[str, object] = {
        code: player.owner_id or player.registered_from or code for code, player in players.items()
    }
    return people if len(set(people.values())) > 1 else {code: code for code in players}
