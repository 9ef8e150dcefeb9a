"""READS: what the instructor's desk shows of a league in the admin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any

from django.contrib.admin.utils import quote
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents_registry.models import Agent, Kind
from agents_registry.shared import sharing
from agents_registry.words import answers
from league_sdk.protocol.states import IN_PLAY, AgentState, MatchState
from matches.audience.pages import parts
from matches.desk import controls, names, problems
from matches.desk.acting import MATCH, PLAN, button
from matches.desk.actions import ACTIONS, ROWS
from matches.desk.facts import Facts
from matches.desk.shared import gateways, with_waits
from matches.models import League
from matches.view import readiness, sight, summaries
from matches.view.roles import Action

EVERYTHING = frozenset(Action)
AGENTS_SHOWN = 100
"""Rows of a table of agents until the instructor asks for all: more than a class has, and quick to show again."""
SHARES = 3
"""Agents on one machine that are named beside each of them: in a class behind one address it would be all of them."""


def headlines(leagues: list[League]) -> dict[str, str]:
    """What is happening in each league, in one sentence, by its id; as many queries for many as for one."""
    known = summaries.summaries(leagues, staff=True)
    return {league.pk: str(parts.league_dict(league, known[league.pk])["headline"]) for league in leagues}


def context(
    league: League, allowed: Collection[Action] = EVERYTHING, *, everywhere: bool = False, every_agent: bool = False
) -> dict[str, Any]:
    """The desk: state, the next action, problems with their remedies, agents with their last answer, matches.

    Args:
        league: the league.
        allowed: what the person who looks may do; buttons for anything else are left out.
        everywhere: whether gateways are shown at which no player of this league answers.
        every_agent: whether the tables of agents have all rows, however many.
    """
    facts = Facts(league, allowed)
    view = sight.everything(league)
    tables = _tables(facts, every_agent=every_agent)
    asking = sum(1 for agent in facts.around if agent.check_wanted)
    checking = any(one.word == readiness.Ready.CHECKING for one in facts.known.values())
    return {
        "desk": {
            "league": parts.league_of(view),
            "fragment_url": reverse("admin:matches_league_now", args=[quote(league.pk)])
            + ("?all=1" if every_agent else ""),
            "may": {str(action): True for action in allowed},
            "buttons": controls.buttons(facts),
            "problems": problems.problems(facts),
            "left_out": {code: readiness.label(word) for code, word in sorted(league.left_out.items())},
            "players": tables[Kind.PLAYER],
            "referees": tables[Kind.REFEREE],
            "answering": _answering(facts, asking),
            "pending": bool(asking or checking or facts.active),
            "open": with_waits(facts, _match_lines(facts, view, held=False)),
            "held": _match_lines(facts, view, held=True),
            "gateways": gateways(facts, everywhere=everywhere),
            "links": controls.links(facts),
            "plan": {
                "at": league.starts_at,
                "all": league.starts_all,
                "fits": not facts.over and not league.demo,
                "call_off": button(facts, ACTIONS[PLAN, "call-off"]),
            },
            "freeze": controls.freeze(facts, view),
            "at": timezone.now(),
        }
    }


def _tables(facts: Facts, *, every_agent: bool) -> dict[Kind, dict[str, Any]]:
    """The agents of each kind with what is known of them; who is in trouble stands first, as not all rows are shown."""
    resembled = names.marks(facts.around)
    shared = sharing(facts.players, SHARES)
    tables = {}
    for kind in Kind:
        agents = sorted((agent for agent in facts.around if agent.kind == kind), key=_well)
        rows = [_agent_line(agent) for agent in (agents if every_agent else agents[:AGENTS_SHOWN])]
        for row in rows:
            others, number = shared.get(row["pk"], ([], 0))
            row["ready"] = facts.known.get(row["pk"])
            row["resembles"] = resembled.get(row["pk"], "")
            row |= {"shares": ", ".join(other.code for other in others), "shares_more": number - len(others)}
        tables[kind] = {"kind": kind.value, "rows": rows, "total": len(agents), "more": len(agents) - len(rows)}
    return tables


def _well(agent: Agent) -> bool:
    """Whether nobody has to look after an agent."""
    return not agent.problem and agent.state not in (AgentState.SUSPENDED, AgentState.SHUTDOWN)


def _agent_line(agent: Agent) -> dict[str, Any]:
    return {
        "pk": agent.pk,
        "agent_id": agent.code,
        "display_name": agent.display_name,
        "state": agent.state,
        "trusted": agent.trusted,
        "answers": answers(agent),
        "word": _word(agent),
        "problem": agent.problem,
        "endpoint": agent.endpoint,
        "notes": agent.notes,
    }


def _word(agent: Agent) -> str:
    """Whether an agent answers, as a mark beside it."""
    if agent.check_wanted:
        return "asking"
    if agent.problem:
        return "silent"
    fresh = agent.checked_at is None and (agent.heard_at is None or agent.heard_at <= agent.registered_at)
    return "unknown" if fresh else "answered"


def _answering(facts: Facts, asking: int) -> str:
    """How many players answer, in one sentence."""
    if asking:
        sentence = ngettext("%(count)d agent is being asked …", "%(count)d agents are being asked …", asking)
        return sentence % {"count": asking}
    if not facts.called:
        return ""
    words = Counter(_word(agent) for agent in facts.called)
    counted = {"heard": words["answered"], "total": len(facts.called), "unknown": words["unknown"]}
    if words["answered"] == len(facts.called):
        return _("All %(total)d players answered when they were last called.") % counted
    if not words["unknown"]:
        return _("%(heard)d of %(total)d players answered when they were last called.") % counted
    return (
        _("%(heard)d of %(total)d players answered when they were last called; %(unknown)d were not called yet.")
        % counted
    )


def _match_lines(facts: Facts, view: sight.View, *, held: bool) -> list[dict[str, Any]]:
    """Matches of the current round that are not finished, with what may be done to each."""
    found = []
    for match in facts.matches:
        if (match.state == MatchState.HELD) != held:
            continue
        telling = match.seal is not None and match.state in IN_PLAY
        name = {"match": match.match_id}
        offered = (
            button(facts, one, match.match_id, about=match, key=f"{one.name}-{match.match_id}", named=name)
            for one in ROWS
            if one.subject == MATCH and not telling
        )
        to = {one.name: one for one in offered if one is not None}
        found.append(parts.match_dict(match, view) | {"to": to, "telling": telling})
    return found
