"""The page of one student's own agent: whether it is ready, what it was told, and every message of its matches.

Not a page of the audience: it is shown to whoever has the agent's token or its owner's code (``matches.view.own``), and
nobody else's socket carries it. Own matches stay whole when the board is frozen; there is no table here.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext as _

from agents_registry.models import Agent
from league_sdk.protocol.states import IN_PLAY, AgentState, LeagueState, MatchState
from matches.audience.pages import notices
from matches.audience.pages.exchanges import Line, exchanges
from matches.audience.pages.player import letter
from matches.audience.pages.trial import trial_dict
from matches.conducting import trials
from matches.models import Check, League, Match, Message
from matches.view import queries, readiness, sight
from matches.view.readiness import Ready
from matches.words import states


def context(
    league: League, agents: list[Agent], *, agent_id: str = "", match_id: str = "", proven: bool = True
) -> dict[str, Any]:
    """What the page shows of one agent.

    Args:
        agents: all that belong to whoever looks; may be empty.
        agent_id: which of them; the first when it is none of theirs.
        match_id: whose messages; those of its latest match when it is none of its.
        proven: whether the agents are shown to be theirs; else of what they answered there is what the public reads.
    """
    found: dict[str, Any] = {
        "league": {
            "league_id": league.pk,
            "display_name": league.display_name,
            "url": reverse("board", args=[league.pk]),
        },
        "agents": agents,
        "agent": None,
        "notices": notices.for_league(league, None),
    }
    agent = next((one for one in agents if one.code == agent_id), agents[0] if agents else None)
    if agent is None:
        return found
    moment = sight.told(league)
    matches = list(queries.matches_of(league).filter(Q(player_a=agent) | Q(player_b=agent)))
    shown = _chosen(matches, match_id)
    trial = trials.of(agent.pk) if proven else None
    known = readiness.readiness([agent])[agent.pk]
    return found | {
        "agent": agent,
        "verdict": verdict(league, agent, known) if proven else _guarded(league, agent, known),
        "withheld": "" if proven else states.not_shown_to_be_yours(),
        "notices": notices.for_league(league, agent),
        "matches": [_match_dict(league, match, agent, moment.outcomes.get(match.match_id)) for match in matches],
        "match": shown,
        "exchanges": _exchanges(shown, agent, proven=proven) if shown is not None else [],
        "foreign": shown is not None and shown.referee is not None and not shown.referee.sends_progress,
        "trial": trial_dict(trial) if trial is not None else None,
        "part": _address(league, agent, shown) + "&part=1",
    }


def _exchanges(match: Match, agent: Agent, *, proven: bool) -> list[dict[str, Any]]:
    if not proven:
        lines = queries.transcript(match, sight.everything(match.league), staff=False)
        # Nor may it be sent again: who names an address must not have it called at will.
        found = exchanges([Line(line["attempt"], line) for line in lines], agent)
        return [one | {"again": False} for one in found]
    rows = Message.objects.filter(match=match).order_by("attempt", "n").values_list("attempt", "entry")
    return exchanges([Line(*row) for row in rows], agent)


def _guarded(league: League, agent: Agent, known: readiness.Readiness) -> dict[str, Any]:
    """The verdict without what the agent has said, and with its check's report only if that is without it, too."""
    shown = copy(agent)
    shown.problem = _("no answer") if agent.problem else ""
    if not Check.objects.filter(pk=known.check_id, withheld=True).exists():
        known = replace(known, check_id=None)
    return verdict(league, shown, replace(known, why=""))


def _address(league: League, agent: Agent, match: Match | None) -> str:
    chosen = {"match": match.match_id} if match is not None else {}
    return f"{reverse('mine', args=[league.pk])}?{urlencode({'agent': agent.code, **chosen})}"


def _chosen(matches: list[Match], match_id: str) -> Match | None:
    """The match asked for, else the one that is on or was last."""
    asked = next((match for match in matches if match.match_id == match_id), None)
    begun = [match for match in matches if match.attempt > 0]
    return asked or (begun[-1] if begun else matches[0] if matches else None)


def _match_dict(league: League, match: Match, agent: Agent, outcome: Any) -> dict[str, Any]:
    other = match.player_b if match.player_a_id == agent.pk else match.player_a
    own = [fault for fault in outcome.faults if fault.get("player_id") == agent.code] if outcome is not None else []
    return {
        "match_id": match.match_id,
        "round": match.round.number,
        "opponent": {"player_id": other.code, "display_name": other.display_name},
        "url": _address(league, agent, match),
        "state": MatchState.FINISHED if outcome is not None else match.state,
        "state_label": states.match_state(MatchState.FINISHED if outcome is not None else match.state),
        "result": states.result_summary(outcome.status, outcome.winner, outcome.details) if outcome is not None else "",
        "how": letter(outcome, agent.code) if outcome is not None else "",
        "faults": [states.fault_sentence(fault) for fault in own],
    }


def in_play(agent: Agent) -> str | None:
    """The match that is on at an agent's address, or about to begin: nothing else is sent there meanwhile."""
    at = Q(player_a__endpoint_key=agent.endpoint_key) | Q(player_b__endpoint_key=agent.endpoint_key)
    return Match.objects.filter(at, state__in=[MatchState.READY, *IN_PLAY]).values_list("match_id", flat=True).first()


# The verdict ----------------------------------------------------------------------------------


def verdict(league: League, agent: Agent, known: readiness.Readiness) -> dict[str, Any]:
    """Whether an agent is ready, first in a word, then in a sentence with the one thing to do.

    The words: ``ready``, ``do`` (something is to be done), ``wait``, ``out`` (it does not play).
    """
    word, headline, text = _verdict(league, agent, known)
    report = reverse("check_report", args=[known.check_id]) if known.check_id is not None else ""
    return {"word": word, "headline": headline, "text": text, "report": report}


def _verdict(league: League, agent: Agent, known: readiness.Readiness) -> tuple[str, str, str]:
    return _out(league, agent) or _silent(agent) or _by_check(league, agent, known)


def _out(league: League, agent: Agent) -> tuple[str, str, str] | None:
    # That it was played to its end is what a freeze keeps back.
    ended = league.state == LeagueState.COMPLETED and sight.public(league).moment.state == LeagueState.COMPLETED
    if ended or league.state == LeagueState.STOPPED:
        return "out", _("The league is over"), _("Nothing more is asked of your agent.")
    if agent.code in league.out:
        return "out", _("Out of the league"), _("The instructor has taken it out. Ask what for.")
    if agent.code in league.left_out:
        return "out", _("Not in the schedule"), _("Its check had not passed when registration was closed.")
    return None


def _silent(agent: Agent) -> tuple[str, str, str] | None:
    if agent.state == AgentState.SHUTDOWN:
        text = _("It was silent in %(count)d matches in a row and gets no more. Start it and register it again.")
        return "do", _("Shut down"), text % {"count": agent.silences}
    if agent.state == AgentState.SUSPENDED:
        text = _("It did not answer: %(problem)s. Start it; it is back with the next invitation that it accepts.")
        return "do", _("Suspended"), text % {"problem": agent.problem or _("no answer")}
    return None


def _by_check(league: League, agent: Agent, known: readiness.Readiness) -> tuple[str, str, str]:
    if known.word == Ready.CHECKING:
        return "wait", _("Being checked"), _("The report says in a few seconds what is found.")
    if agent.problem:
        text = _("It did not answer when it was asked last: %(problem)s. Is it running, and at this address?")
        return "do", _("Not reached"), text % {"problem": agent.problem}
    if known.word == Ready.FAILED:
        return "do", _("Not ready"), known.why or _("The check did not pass: the report says what to mend.")
    if known.word == Ready.PASSED:
        return "ready", _("Ready"), _("The check passed. Leave your agent running.")
    if league.rules.require_check:
        return "wait", _("Waiting for its check"), _("This league checks every agent by itself, in a few seconds.")
    return "do", _("Registered, not checked"), _("Have it checked: most of what goes wrong is found there.")
