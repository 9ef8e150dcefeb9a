"""Verbs for the table of actions that combine or adapt those of ``matches.league``; sentences that confirm actions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents_registry.isolating import isolated
from agents_registry.models import Agent, Kind
from agents_registry.registering import registration
from agents_registry.rosters import roster
from league_sdk.protocol.notes import Code, note
from matches.checks import asking
from matches.desk.facts import agents
from matches.league import gateways, opening, planned, results
from matches.league.leagues import get_league
from matches.models import League, Notice, Role, Series
from matches.papers import importing
from matches.push.nudge import nudge
from storage import clock


def ask(*, agent_ids: Iterable[int]) -> None:
    """Have agents asked at once whether they answer; wakes the conductor."""
    registration.want_ping(agent_ids=agent_ids)
    transaction.on_commit(nudge)


def ask_all(*, league_id: str) -> None:
    """Have the players and referees of a league asked whether they answer."""
    ask(agent_ids=[agent.pk for agent in agents(get_league(league_id))])


def check_players(*, league_id: str) -> None:
    """Have every player of a league checked."""
    players = get_league(league_id).agents.filter(kind=Kind.PLAYER)
    asking.ask_for_agents(agent_ids=players.values_list("pk", flat=True))


def cancel(*, league_id: str, match_id: str) -> None:
    """End an open match so that it counts nowhere."""
    results.cancel(league_id=league_id, match_id=match_id, why=str(note(Code.CANCELLED_BY_HAND)))


@transaction.atomic
def mark(*, hosts: Iterable[str], by: Any, gateway: bool = True, league_id: str | None = None) -> list[str]:
    """Mark hosts as gateways, or take the marks back; all of them or none."""
    return [gateways.mark(host=host, gateway=gateway, league_id=league_id, by=by) for host in hosts]


@transaction.atomic
def import_roster(*, league_id: str, text: str, agents_per_person: int | None = None) -> roster.Counts:
    """Import a roster (:func:`roster.import_csv`), and set how many agents each person may bring, if that is said."""
    if agents_per_person is not None:
        settings = get_league(league_id).settings | {"agents_per_person": agents_per_person}
        opening.edit_league(league_id=league_id, settings=settings)
    return roster.import_csv(league_id=league_id, text=text)


def plan_start(*, league_id: str, at: datetime, all_rounds: bool, **_form: Any) -> None:
    """Plan a start, with the fields of the form as arguments."""
    planned.plan_start(league_id=league_id, at=at, all_rounds=all_rounds, now=clock.now())


# Sentences that confirm an action


def admission_sentence(let_in_now: bool, named: Mapping[str, Any]) -> str:
    """Says whether a name was let in now, or will be when it registers again."""
    if let_in_now:
        return _("“%(name)s” is in.") % named
    return _("“%(name)s” is let in when it registers again from the same address.") % named


def notice_sentence(notice: Notice, _named: Mapping[str, Any]) -> str:
    """Says who sees the notice."""
    if notice.agent is None:
        return _("The room sees it now: on the board and on the screen.")
    return _("Only the owner of %(player)s sees it, on “my agent”.") % {"player": notice.agent.code}


def role_sentence(role: Role, _named: Mapping[str, Any]) -> str:
    """Says who has which role now."""
    named = {"user": isolated(role.user.get_username()), "role": role.get_name_display()}
    return _("%(user)s is %(role)s of this league.") % named


def added_sentence(agent: Agent, _named: Mapping[str, Any]) -> str:
    """Says which player was added."""
    named = {"player": agent.code, "name": isolated(agent.display_name)}
    return _("%(player)s %(name)s is added and plays like any other.") % named


def removed_sentence(count: int, _named: Mapping[str, Any]) -> str:
    """Says how many people were removed from the roster."""
    return ngettext("%(count)d person removed.", "%(count)d persons removed.", count) % {"count": count}


def cloned_sentence(league: League, _named: Mapping[str, Any]) -> str:
    """Says which league was made."""
    return _("%(league)s is open for registration.") % {"league": isolated(league.display_name)}


def series_sentence(series: Series, _named: Mapping[str, Any]) -> str:
    """Says which series the league is in now."""
    return _("The league is in the series %(series)s.") % {"series": isolated(series.display_name)}


def import_sentence(done: importing.Imported, _named: Mapping[str, Any]) -> str:
    """Says which league was imported, and whether its ledger holds."""
    counted = ngettext("%(count)d match", "%(count)d matches", done.matches) % {"count": done.matches}
    named = {"league": isolated(done.league.display_name), "matches": counted}
    if done.stopped:
        sentence = _("%(league)s is here: %(matches)s. It was still being played, and is stopped here.") % named
    else:
        sentence = _("%(league)s is here: %(matches)s.") % named
    return f"{sentence} {done.ledger}"


def asked_sentence(count: int) -> str:
    """Says how many agents are asked."""
    return ngettext(
        "%(count)d agent is being asked: reload this page in a few seconds.",
        "%(count)d agents are being asked: reload this page in a few seconds.",
        count,
    ) % {"count": count}


def checked_sentence(count: int) -> str:
    """Says how many agents are checked."""
    return ngettext(
        "%(count)d agent is being checked: reload this page in a few seconds.",
        "%(count)d agents are being checked: reload this page in a few seconds.",
        count,
    ) % {"count": count}
