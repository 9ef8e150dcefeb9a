"""READS: what the instructor's desk shows of a league in the admin."""

from __future__ import annotations

from typing import Any

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from agents_registry.models import Agent, Kind
from agents_registry.words import answers
from league_sdk.protocol.states import IN_PLAY, LeagueState, MatchState, RoundState
from matches import pages, queries, readiness
from matches.league import outbox
from matches.models import League


def agents(league: League) -> list[Agent]:
    """The players of a league and the referees that could judge it."""
    found = Agent.objects.filter(Q(league=league) | Q(league__isnull=True, kind=Kind.REFEREE))
    return list(found.order_by("kind", "pk"))


def headline(league: League) -> str:
    """What is happening in a league, in one sentence."""
    return str(pages.league_dict(league, pages.rounds_of(league), queries.tally(league)[league.pk])["headline"])


def context(league: League) -> dict[str, Any]:
    """The desk: state, the next action, agents with their last answer, matches that need a decision."""
    rounds = pages.rounds_of(league)
    unfinished = list(queries.matches_of(league).filter(state__in=[MatchState.READY, MatchState.HELD, *IN_PLAY]))
    around = agents(league)
    able = outbox.referees_of(league)
    known = readiness.readiness([agent for agent in around if agent.kind == Kind.PLAYER])
    lines = [_agent_line(agent) | {"ready": known.get(agent.pk)} for agent in around]
    return {
        "desk": {
            "league": pages.league_dict(league, rounds, queries.tally(league)[league.pk]),
            "buttons": _buttons(league, rounds),
            "problems": [*_problems(league, around, able), *_not_ready(league, around, known)],
            "left_out": {code: readiness.label(word) for code, word in sorted(league.left_out.items())},
            "players": [line for line in lines if line["kind"] == Kind.PLAYER],
            "referees": [line for line in lines if line["kind"] == Kind.REFEREE],
            "open": [pages.match_dict(match) for match in unfinished if match.state != MatchState.HELD],
            "held": [pages.match_dict(match) for match in unfinished if match.state == MatchState.HELD],
            "at": timezone.now(),
        }
    }


def _agent_line(agent: Agent) -> dict[str, Any]:
    return {
        "pk": agent.pk,
        "kind": agent.kind,
        "agent_id": agent.code,
        "display_name": agent.display_name,
        "state": agent.state,
        "trusted": agent.trusted,
        "answers": answers(agent),
        "problem": agent.problem,
        "endpoint": agent.endpoint,
        "notes": agent.notes,
    }


def _problems(league: League, around: list[Agent], able: list[Agent]) -> list[str]:
    """What stands in the way, each with what can be done."""
    found = []
    if not able and league.state not in (LeagueState.COMPLETED, LeagueState.STOPPED):
        found.append(
            _("No referee may judge %(game)s now: start one (manage.py referee), or tick “may judge” at one below.")
            % {"game": league.game_type}
        )
    silent = [agent.code for agent in around if agent.kind == Kind.PLAYER and agent.problem]
    if silent:
        found.append(
            _("These players did not answer the last time: %(players)s. They would lose by starting now.")
            % {"players": ", ".join(silent)}
        )
    return found


def _not_ready(league: League, around: list[Agent], known: dict[int, readiness.Readiness]) -> list[str]:
    """Who would be left out by closing registration now (``require_check``)."""
    if league.state != LeagueState.REGISTRATION or not league.rules.require_check:
        return []
    waiting = [
        f"{agent.code} ({known[agent.pk].label})"
        for agent in around
        if agent.pk in known and not known[agent.pk].passed
    ]
    if not waiting:
        return []
    return [
        _("These players have not passed the check and would be left out by closing now: %(players)s.")
        % {"players": ", ".join(waiting)}
    ]


def _buttons(league: League, rounds: list[Any]) -> list[dict[str, Any]]:
    """Every action of the desk; the one that comes next is marked. Wrong clicks are answered in words."""
    coming = next((one for one in rounds if one.state == RoundState.PENDING), None)
    active = any(one.state in (RoundState.ANNOUNCING, RoundState.RUNNING) for one in rounds)
    number = coming.number if coming else (1 if not rounds else rounds[-1].number)
    following = "start"
    if league.paused:
        following = "resume"
    elif active:
        following = "pause"
    elif league.state == LeagueState.REGISTRATION:
        following = "close"
    over = league.state in (LeagueState.COMPLETED, LeagueState.STOPPED)
    labels = [
        ("close", _("Close registration and make the schedule"), league.state == LeagueState.REGISTRATION),
        ("start", _("Start round %(number)d") % {"number": number}, not over),
        ("run_all", _("Run all rounds"), not over),
        ("pause", _("Pause"), not over and not league.paused),
        ("resume", _("Resume"), not over and league.paused),
        ("check_all", _("Check all players"), not over),
        ("check", _("Ask all agents whether they answer"), True),
        ("stop", _("Stop for good"), league.state != LeagueState.STOPPED),
    ]
    return [
        {
            "verb": verb,
            "label": label,
            "next": verb == following and not over,
            # Nothing brings a stopped league back; only the demo goes by one click.
            "confirm": verb == "stop" and not league.demo,
        }
        for verb, label, fits in labels
        if fits
    ]
