"""READS: everything that the desk of a league shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from django.contrib.admin.utils import quote
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents_registry.addresses.shared import sharing
from agents_registry.models import Agent, Kind
from agents_registry.words import answers, reach, remarks, state
from league_sdk.protocol.states import IN_PLAY, AgentState, MatchState
from matches.audience.pages import parts
from matches.desk import controls, names, outside, problems
from matches.desk.acting import MATCH, PLAN, button
from matches.desk.actions import ACTIONS, ROWS
from matches.desk.facts import Facts
from matches.desk.shared import gateways, waits
from matches.desk.shown import carried
from matches.models import League, Match, Round
from matches.view import sight, summaries
from matches.view.readiness import Ready, read_ready
from matches.view.roles import Permission
from matches.words import states
from storage import clock

EVERYTHING = frozenset(Permission)
MAX_AGENT_ROWS = 100
"""Rows of a table of agents unless the instructor asks for all: more than a class has, and quick to render."""
MAX_SIBLINGS_NAMED = 10
"""How many matches between agents of one person are named; the evidence has all of them."""
MAX_NEIGHBOURS_NAMED = 3
"""How many agents on the same machine a row names: a whole class may be behind one IP address."""


def headlines(leagues: list[League]) -> dict[str, str]:
    """One sentence for each league, by its id, that says what is happening; the number of queries is constant."""
    known = summaries.summaries(leagues, staff=True)
    return {league.pk: states.headline(known[league.pk], None) for league in leagues}


def context(
    league: League,
    allowed: Collection[Permission] = EVERYTHING,
    *,
    every_gateway: bool = False,
    every_agent: bool = False,
) -> dict[str, Any]:
    """The template context of the desk.

    Args:
        league: the league.
        allowed: the permissions of the person; buttons that need others are left out.
        every_gateway: show also gateways at which no player of this league answers.
        every_agent: show all rows of the tables of agents.
    """
    facts = Facts(league, allowed)
    view = sight.everything(league)
    tables = _tables(facts, every_agent=every_agent)
    asking = sum(1 for agent in facts.agents if agent.ping_wanted)
    checking = any(check.word == Ready.CHECKING for check in facts.readiness.values())
    return {
        "desk": {
            "league": parts.league_of(view),
            "fragment_url": reverse("admin:matches_league_now", args=[quote(league.pk)])
            + ("?all=1" if every_agent else ""),
            "may": {str(permission): True for permission in allowed},
            "buttons": controls.buttons(facts),
            "problems": problems.problems(facts),
            "left_out": {code: read_ready(word).label for code, word in sorted(league.left_out.items())},
            "players": tables[Kind.PLAYER],
            "referees": tables[Kind.REFEREE],
            "answering": _answering(facts, asking),
            "outside": outside.reach(facts),
            "pending": bool(asking or checking or facts.active),
            "open": _match_lines(facts, view, held=False),
            "held": _match_lines(facts, view, held=True),
            "siblings": _siblings(facts),
            "gateways": gateways(facts, every_gateway=every_gateway),
            "links": controls.links(facts),
            "plan": {
                "at": league.starts_at,
                "all": league.starts_all,
                "fits": not facts.over and not league.demo,
                "call_off": button(facts, ACTIONS[PLAN, "call-off"]),
            },
            "freeze": controls.freeze(facts, view),
            "at": clock.now(),
            "shown": carried(["planned_start", "freeze_planned"], league),
        }
    }


def _tables(facts: Facts, *, every_agent: bool) -> dict[Kind, dict[str, Any]]:
    """The agents of each kind; those with problems come first, as not all rows may be shown."""
    resembled = names.marks(facts.agents)
    shared = sharing(facts.players, MAX_NEIGHBOURS_NAMED)
    tables = {}
    for kind in Kind:
        agents = sorted((agent for agent in facts.agents if agent.kind == kind), key=_has_no_problem)
        rows = []
        for agent in agents if every_agent else agents[:MAX_AGENT_ROWS]:
            others, number = shared.get(agent.pk, ([], 0))
            row = {
                "agent": agent,
                "state": state(agent.state),
                "word": _word(agent),
                "answers": answers(agent),
                "reach": reach(agent),
                "remarks": remarks(agent),
                # None for a referee.
                "ready": facts.readiness.get(agent.pk),
                "resembles": resembled.get(agent.pk, ""),
                "shares": ", ".join(other.code for other in others),
                "more": number - len(others),
            }
            rows.append(row)
        tables[kind] = {"kind": kind.value, "rows": rows, "total": len(agents), "more": len(agents) - len(rows)}
    return tables


def _has_no_problem(agent: Agent) -> bool:
    """Whether an agent needs no attention."""
    return not agent.problem and agent.state not in (AgentState.SUSPENDED, AgentState.SHUTDOWN)


def _word(agent: Agent) -> str:
    """Whether an agent answers, for CSS."""
    if agent.ping_wanted:
        return "asking"
    if agent.problem:
        return "silent"
    return "answered" if agent.was_reached else "unknown"


def _answering(facts: Facts, asking: int) -> str:
    """Say in a sentence or two how many players answer, or how many agents are being asked."""
    if asking:
        sentence = ngettext("%(count)d agent is being asked …", "%(count)d agents are being asked …", asking)
        return sentence % {"count": asking}
    if not facts.participants:
        return ""
    words = Counter(_word(agent) for agent in facts.participants)
    counted = {"heard": words["answered"], "total": len(facts.participants), "unknown": words["unknown"]}
    if words["answered"] == len(facts.participants):
        text = ngettext(
            "The only player answered when it was last called.",
            "All %(total)d players answered when they were last called.",
            counted["total"],
        )
    elif words["unknown"] == len(facts.participants):
        return _("No player was called yet.")
    else:
        text = ngettext(
            "%(heard)d of %(total)d player answered when it was last called.",
            "%(heard)d of %(total)d players answered when they were last called.",
            counted["total"],
        )
    if words["unknown"]:
        # A sentence of its own, as each number has its own plural.
        uncalled = ngettext(
            "%(unknown)d player was not called yet.", "%(unknown)d players were not called yet.", words["unknown"]
        )
        text = f"{text} {uncalled}"
    return text % counted


def _match_lines(facts: Facts, view: sight.View, *, held: bool) -> list[dict[str, Any]]:
    """The open matches of rounds that have begun, held ones or the others, with their buttons and why they wait."""
    waiting = {} if held else waits(facts)
    points = {row.player_id: row.points for row in view.standings}
    siblings = {match.pk for match in facts.between_siblings}
    lines = []
    for match in facts.matches:
        if (match.state == MatchState.HELD) != held:
            continue
        telling = match.seal is not None and match.state in IN_PLAY
        name = {"match": match.match_id}
        offered = (
            button(facts, action, match.match_id, about=match, key=f"{action.name}-{match.match_id}", named=name)
            for action in ROWS
            if action.subject == MATCH and not telling
        )
        buttons = {shown.name: shown for shown in offered if shown is not None}
        if (cancel := buttons.get("cancel")) is not None:
            warnings = [*cancel.warnings, *_after_cancelling(facts, match, points)]
            buttons["cancel"] = replace(cancel, warnings=warnings)
        line = {
            "row": parts.match_row(match, view),
            "buttons": buttons,
            # Its verdict is sealed, and its players are being told.
            "telling": telling,
            "waits": waiting.get(match.match_id),
            "siblings": match.pk in siblings,
        }
        lines.append(line)
    return lines


def _siblings(facts: Facts) -> str:
    """Count and name, in a sentence, the matches between one person's agents."""
    matches = facts.between_siblings
    named = [f"{match.match_id} ({' – '.join(match.player_ids)})" for match in matches[:MAX_SIBLINGS_NAMED]]
    more = ["…"] if len(matches) > len(named) else []
    sentence = ngettext(
        "%(count)d match between agents of one person: %(matches)s.",
        "%(count)d matches between agents of one person: %(matches)s.",
        len(matches),
    )
    return sentence % {"count": len(matches), "matches": ", ".join([*named, *more])} if matches else ""


def _after_cancelling(facts: Facts, match: Match, points: Mapping[str, int]) -> list[str]:
    """What cancelling a match would do to its players' points and to its round, in sentences."""
    first, second = match.player_a.code, match.player_b.code
    named = {"a": first, "p": points.get(first, 0), "b": second, "q": points.get(second, 0)}
    sentences = [_("Neither player gets points for it: %(a)s stays at %(p)d, %(b)s at %(q)d.") % named]
    if facts.over:
        return sentences
    # Matches of rounds that are over may be open, too: replays, for which the end of the league waits.
    others = [one for one in facts.matches if one.pk != match.pk]
    if facts.coming is None and not others:
        sentences.append(_("It is the last open match: the league ends with it."))
    elif _is_in(facts.active, match) and not any(_is_in(facts.active, one) for one in others):
        sentences.append(_("It is the last open match of its round: the round ends with it."))
    return sentences


def _is_in(round_: Round | None, match: Match) -> bool:
    return round_ is not None and match.round_id == round_.pk
