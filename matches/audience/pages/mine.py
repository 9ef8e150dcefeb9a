"""The page "My agent": whether a student's agent is ready, notices, and every message of its matches.

Only a visitor with the agent's token or its owner's personal code sees it (``matches.view.own``), and no socket
carries it. A freeze does not hide the agent's own matches; the page has no table.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.db.models.fields.json import KT
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents_registry.addresses import programs
from agents_registry.models import Agent
from agents_registry.words import reach, reach_for_all
from league_sdk.ledger.standings import Row
from league_sdk.protocol.states import IN_PLAY, AgentState, LeagueState, MatchState
from league_sdk.rules.registry import games
from matches.audience.pages import luck, notices, practice, trial
from matches.audience.pages.exchanges import AttemptEntry, Exchange, exchanges
from matches.audience.pages.parts import Player
from matches.audience.pages.player import PlayerMatch
from matches.checks import practising
from matches.conducting import trials
from matches.events.history import Outcome
from matches.models import Check, League, Match, Message, Opponent
from matches.view import queries, readiness, sight
from matches.view.readiness import UNABLE, Ready
from matches.words import states
from matches.words.corrections import correction_event
from matches.words.match import own_words
from matches.words.notes import sentence_of
from storage import clock

SHOWN_PRACTICES = 5
"""How many practice matches the page lists, the latest first."""


def context(
    league: League, agents: list[Agent], *, agent_id: str = "", match_id: str = "", proven: bool = True
) -> dict[str, Any]:
    """The page of one agent.

    Args:
        agents: all agents of the visitor; may be empty.
        agent_id: which of them to show; the first one if it is not among them.
        match_id: which match's messages to show; if it is not the agent's, :func:`_chosen` chooses one.
        proven: whether it is proven that the agents are the visitor's; if not, answers are redacted as for the public.
    """
    agent = next((candidate for candidate in agents if candidate.code == agent_id), agents[0] if agents else None)
    shown = {"league": league, "agents": agents, "agent": agent, "notices": notices.for_owner(league, agent)}
    if agent is None:
        return shown
    moment = sight.known_to_owners(league)
    matches = list(queries.matches_of_player(league, agent.code))
    chosen = _chosen(matches, match_id)
    sent_again = trials.of(agent.pk) if proven else None
    check = readiness.readiness([agent])[agent.pk]
    shown_matches = [
        _match(league, match, agent, moment.outcomes.get(match.match_id), proven=proven) for match in matches
    ]
    return shown | {
        "verdict": verdict(league, agent, check) if proven else _redacted_verdict(league, agent, check),
        "reach": reach(agent) if proven else reach_for_all(agent, proven=False),
        "withheld": "" if proven else states.not_shown_to_be_yours(),
        "place": _place(league, agent),
        "matches": shown_matches,
        "next": _next(league, shown_matches),
        "match": chosen,
        "exchanges": _exchanges(chosen, agent, proven=proven) if chosen is not None else [],
        "foreign": chosen is not None and chosen.referee is not None and not chosen.referee.sends_progress,
        "practice": _practice(agent) if proven else None,
        "trial": trial.shown(sent_again) if sent_again is not None else None,
        "part": address(league, agent.code, chosen.match_id if chosen is not None else "") + "&part=1",
    }


def _exchanges(match: Match, agent: Agent, *, proven: bool) -> list[Exchange]:
    if not proven:
        transcript = queries.transcript(match, sight.everything(match.league), staff=False)
        # No request may be sent again either: somebody who only named an address must not be able to have it called.
        redacted = exchanges([AttemptEntry(entry["attempt"], entry) for entry in transcript], agent)
        return [replace(exchange, again=False) for exchange in redacted]
    rows = Message.objects.filter(match=match).order_by("attempt", "n").values_list("attempt", "entry")
    return exchanges([AttemptEntry(*row) for row in rows], agent)


def _redacted_verdict(league: League, agent: Agent, known: readiness.Readiness) -> Verdict:
    """The verdict without texts from the agent, and with a link to the check's report only if that is redacted."""
    shown = copy(agent)
    shown.problem = _("no answer") if agent.problem else ""
    if known.check_id is None or not Check.objects.filter(pk=known.check_id, withheld=True).exists():
        known = replace(known, check_id=None)
    return verdict(league, shown, replace(known, why=""))


def address(league: League, agent_id: str, match_id: str) -> str:
    """The address of the page with one agent and, where it is not empty, one match chosen."""
    chosen = {"match": match_id} if match_id else {}
    return f"{reverse('mine', args=[league.pk])}?{urlencode({'agent': agent_id, **chosen})}"


def _chosen(matches: list[Match], match_id: str) -> Match | None:
    """The requested match; or else the last one that has begun; or else the first one."""
    requested = next((match for match in matches if match.match_id == match_id), None)
    begun = [match for match in matches if match.attempt > 0]
    return requested or (begun[-1] if begun else matches[0] if matches else None)


def _match(league: League, match: Match, agent: Agent, outcome: Outcome | None, *, proven: bool) -> PlayerMatch:
    other = match.player_b if match.player_a_id == agent.pk else match.player_a
    quotes = match.said if proven and outcome is not None else {}
    return PlayerMatch(
        match.match_id,
        address(league, agent.code, match.match_id),
        match.round.number,
        agent.code,
        Player(other.code, other.display_name, reverse("player", args=[league.pk, other.code])),
        MatchState.FINISHED if outcome is not None else match.state,
        outcome,
        # The opponent's own words are not shown.
        own_words=own_words(outcome, {agent.code: quotes.get(agent.code, "")}, owned=agent.code) if outcome else (),
    )


class Played(NamedTuple):
    """A practice match: its report, who it was with, how it ended, and when it was asked for."""

    url: str
    house: str
    game: str
    result: str
    at: datetime


class Practice(NamedTuple):
    """What the form of a practice match offers, and the latest ones.

    Attributes:
        wait: why no practice match can be asked for now; empty if one can.
        open: the address of the report of the match that is not over yet; empty if there is none.
    """

    games: list[tuple[str, str]]
    opponents: list[tuple[str, Any]]
    wait: str
    open: str
    played: list[Played]


def _practice(agent: Agent) -> Practice:
    # Do not read the reports, which are long: the page asks again every few seconds.
    latest = Check.practices.filter(agent=agent).order_by("-created_at").defer("report")
    rows = list(latest.annotate(status=KT("report__status"))[:SHOWN_PRACTICES])
    names = {name: game.display_name for name, game in games().items()}
    played = [
        Played(
            reverse("practice_report", args=[row.pk]),
            practice.house(row.opponent),
            names.get(row.game_types[0], row.game_types[0]),
            practice.result(row, row.status),
            row.created_at,
        )
        for row in rows
    ]
    open_url = next((line.url for line, row in zip(played, rows, strict=True) if row.finished_at is None), "")
    at = practising.next_at(agent, clock.now())
    return Practice(
        [(name, names[name]) for name in practising.games_of(agent)],
        list(Opponent.choices),
        practising.too_many(at) if at is not None else "",
        open_url,
        played,
    )


class Place(NamedTuple):
    """The agent's place in the public table, of how many players; behind a freeze, after which round.

    ``luck`` says how much of it is luck; empty while that is not known.
    """

    row: Row
    players: int
    after_round: int | None
    luck: str


def _place(league: League, agent: Agent) -> Place | None:
    """The agent's place, as everybody sees it; None before the first result."""
    view = sight.public(league)
    if not view.moment.outcomes:
        return None
    row = next((row for row in view.standings if row.player_id == agent.code), None)
    if row is None:
        return None
    return Place(row, len(view.standings), view.frozen_after, luck.of_player(view, agent.code))


def _next(league: League, matches: list[PlayerMatch]) -> PlayerMatch | None:
    """The first match that is still to be played; None if there is none."""
    if league.state in (LeagueState.COMPLETED, LeagueState.STOPPED):
        return None
    return next((match for match in matches if match.outcome is None), None)


def is_in_play(agent: Agent) -> bool:
    """Whether an agent, or its program under any path, plays a match or is about to: then no trial is sent to it."""
    gateways = programs.gateways()
    needed = programs.needed(agent, programs.known(agent, gateways))
    open_matches = Match.objects.filter(state__in=[MatchState.READY, *IN_PLAY]).select_related("player_a", "player_b")
    for match in open_matches.order_by("pk"):
        for seat in (match.player_a, match.player_b):
            if not needed.isdisjoint(programs.taken(seat, programs.known(seat, gateways))):
                return True
    return False


# The verdict ----------------------------------------------------------------------------------


class Verdict(NamedTuple):
    """Whether an agent is ready, and what to do next.

    ``word`` is ``ready``, ``do`` (the student has to do something), ``wait`` or ``out`` (it does not play).
    """

    word: str
    headline: str
    text: str
    report: str = ""


def verdict(league: League, agent: Agent, known: readiness.Readiness) -> Verdict:
    """Whether an agent is ready, with the address of its check's report."""
    result = _out_of_league(league, agent) or _silent_agent(agent) or _by_check(league, agent, known)
    return result if known.check_id is None else result._replace(report=reverse("check_report", args=[known.check_id]))


def _out_of_league(league: League, agent: Agent) -> Verdict | None:
    corrections = sight.known_to_owners(league).corrections.values()
    decisions = [one for one in corrections if not one["undone"] and one.get("out", {}).get(agent.code)]
    if decisions:
        return Verdict("out", _("Out of the league"), correction_event(decisions[-1]))
    # A freeze hides that the league has ended.
    if league.state in (LeagueState.COMPLETED, LeagueState.STOPPED) and sight.public(league).over:
        return Verdict("out", _("The league is over"), _("Nothing more is asked of your agent."))
    if agent.code in league.out:
        # Behind a freeze.
        return Verdict("out", _("Out of the league"), _("The instructor has taken your agent out. Ask why."))
    if agent.code in league.left_out:
        return Verdict("out", _("Not in the schedule"), _("Its check had not passed when registration was closed."))
    return None


def _silent_agent(agent: Agent) -> Verdict | None:
    if agent.state == AgentState.SHUTDOWN:
        text = ngettext(
            "It was silent in %(count)d match and gets no more. Start it and register it again.",
            "It was silent in %(count)d matches in a row and gets no more. Start it and register it again.",
            agent.silences,
        )
        return Verdict("do", _("Shut down"), text % {"count": agent.silences})
    if agent.state == AgentState.SUSPENDED:
        text = _("It did not answer: %(problem)s. Start it; it is back with the next invitation that it accepts.")
        return Verdict("do", _("Suspended"), text % {"problem": sentence_of(agent.problem) or _("no answer")})
    return None


def _by_check(league: League, agent: Agent, known: readiness.Readiness) -> Verdict:
    """The verdict on an agent, with its readiness in the same words as on every page."""
    word, title = known.word, known.label[:1].upper() + known.label[1:]
    if word == Ready.CHECKING:
        return Verdict("wait", title, _("The report is ready in a few seconds."))
    if word == Ready.UNREACHABLE and agent.problem:
        text = _("It did not answer when it was last asked: %(problem)s. Is it running, and at this address?")
        return Verdict("do", title, text % {"problem": sentence_of(agent.problem)})
    if word in UNABLE:
        return Verdict("do", title, known.why or known.step)
    if word == Ready.SLOW:
        return Verdict("ready", title, _("It can play. %(step)s") % {"step": known.step})
    if word == Ready.READY:
        return Verdict("ready", title, _("The check passed. Leave your agent running."))
    if league.rules.require_check:
        return Verdict("wait", title, _("This league checks every agent by itself, in a few seconds."))
    return Verdict("do", title, _("Have it checked: the check finds most mistakes."))
