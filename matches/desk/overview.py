"""READS: everything that the desk of a league shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.contrib.admin.utils import quote
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents_registry.addresses.shared import sharing
from agents_registry.models import Agent, Kind
from agents_registry.words import Reach, answers, reach, remarks, state
from league_sdk.protocol.states import IN_PLAY, AgentState, MatchState
from matches.audience.pages import parts
from matches.desk import controls, names, outside, problems
from matches.desk.acting import MATCH, PLAN, Button, button
from matches.desk.actions import ACTIONS, ROWS
from matches.desk.facts import Facts
from matches.desk.shared import Wait, gateways, waits
from matches.models import League, Match, Round
from matches.view import sight, summaries
from matches.view.readiness import Readiness, Ready, read_ready
from matches.view.roles import Permission
from matches.words import states

EVERYTHING = frozenset(Permission)
MAX_AGENT_ROWS = 100
"""Rows of a table of agents unless the instructor asks for all: more than a class has, and quick to render."""
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
            "gateways": gateways(facts, every_gateway=every_gateway),
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


@dataclass(frozen=True)
class AgentRow:
    """An agent with what the desk shows about it.

    Attributes:
        state: its state in a word.
        word: whether it answers, for CSS: ``asking``, ``silent``, ``unknown`` or ``answered``.
        answers: the same as a sentence.
        reach: how it is reached now.
        remarks: what was odd about its registration, in sentences.
        ready: the result of its check; None for a referee.
        resembles: agents whose names look like its own, as text.
        shares: ids of some agents on the same machine; ``more`` is the number of others.
    """

    agent: Agent
    state: str
    word: str
    answers: str
    reach: Reach
    remarks: list[str]
    ready: Readiness | None
    resembles: str
    shares: str
    more: int


@dataclass(frozen=True)
class Table:
    """The agents of one kind; ``total`` counts also those that are not shown."""

    kind: str
    rows: list[AgentRow]
    total: int

    @property
    def more(self) -> int:
        """How many agents are not shown."""
        return self.total - len(self.rows)


@dataclass(frozen=True)
class MatchLine:
    """An open match.

    Attributes:
        row: what every page shows of a match.
        buttons: what may be done to it, by the name of the action.
        telling: whether its verdict is sealed and its players are being told.
        waits: why it waits for another match, if it does.
    """

    row: parts.MatchRow
    buttons: dict[str, Button]
    telling: bool
    waits: Wait | None


def _tables(facts: Facts, *, every_agent: bool) -> dict[Kind, Table]:
    """The agents of each kind; those with problems come first, as not all rows may be shown."""
    resembled = names.marks(facts.agents)
    shared = sharing(facts.players, MAX_NEIGHBOURS_NAMED)
    tables = {}
    for kind in Kind:
        agents = sorted((agent for agent in facts.agents if agent.kind == kind), key=_has_no_problem)
        rows = []
        for agent in agents if every_agent else agents[:MAX_AGENT_ROWS]:
            others, number = shared.get(agent.pk, ([], 0))
            row = AgentRow(
                agent=agent,
                state=state(agent.state),
                word=_word(agent),
                answers=answers(agent),
                reach=reach(agent),
                remarks=remarks(agent),
                ready=facts.readiness.get(agent.pk),
                resembles=resembled.get(agent.pk, ""),
                shares=", ".join(other.code for other in others),
                more=number - len(others),
            )
            rows.append(row)
        tables[kind] = Table(kind.value, rows, len(agents))
    return tables


def _has_no_problem(agent: Agent) -> bool:
    """Whether an agent needs no attention."""
    return not agent.problem and agent.state not in (AgentState.SUSPENDED, AgentState.SHUTDOWN)


def _word(agent: Agent) -> str:
    """Whether an agent answers, as in :attr:`AgentRow.word`."""
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


def _match_lines(facts: Facts, view: sight.View, *, held: bool) -> list[MatchLine]:
    """The open matches of rounds that have begun, held ones or the others, with their buttons and why they wait."""
    waiting = {} if held else waits(facts)
    points = {row.player_id: row.points for row in view.standings}
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
        lines.append(MatchLine(parts.match_row(match, view), buttons, telling, waiting.get(match.match_id)))
    return lines


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
