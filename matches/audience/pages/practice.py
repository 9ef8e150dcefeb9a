"""The page of a practice match: how it ended, the board, and every message. Anybody who knows its id may read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents_registry.models import Agent
from league_sdk.protocol import sentences
from league_sdk.protocol.own_words import clean_words
from league_sdk.protocol.states import ResultStatus
from league_sdk.rules.registry import games
from matches.audience.pages.exchanges import AttemptEntry, Exchange, exchanges
from matches.checks import practices
from matches.checks.report import Page
from matches.checks.ways import is_line
from matches.events.history import Outcome
from matches.models import Check, CheckState, CheckWay, Opponent
from matches.view import boards, drawings
from matches.words import checks
from matches.words.match import why
from matches.words.notes import VOICES, sentence_of

FRAGMENTS = ("practice_head", "practice_board", "practice_steps")
NOT_PLAYED = "NOT_PLAYED"
_TONES = {"WIN": "PASSED", "DRAW": "PASSED", "LOSS": "LOST", "TECHNICAL_LOSS": "NOT_PASSED", NOT_PLAYED: "FAILED"}
"""How the mark beside the headline looks, by how the match ended for the agent."""


class HouseMove(NamedTuple):
    """A move of the house agent, in a sentence."""

    text: str


def context(practice_id: str) -> dict[str, Any] | None:
    """The context of the page; None when there is no such practice match."""
    practice = practices.find(practice_id)
    if practice is None:
        return None
    report, agent = practice.report, practice.agent
    players = _players(practice)
    game = games().get(practice.game_types[0])
    headline, reason = _verdict(practice)
    return {
        "practice": {
            "json_url": reverse("practice_json", args=[practice.pk]),
            "mine_url": _mine(agent),
            "state": practice.state,
            "unfinished": practice.finished_at is None,
            "outcome": _TONES.get(str(report.get("status")), "FAILED")
            if practice.state == CheckState.DONE
            else practice.state,
            "headline": headline,
            "why": reason,
            "own_words": [clean_words(str(fault["said"])) for fault in report.get("faults", ()) if fault.get("said")],
            "agent": agent,
            "game": game.display_name if game is not None else practice.game_types[0],
            "in_turns": game is not None and not game.hidden,
            "opponent": Opponent(practice.opponent).label,
            "begins": players[0],
            "way": CheckWay(practice.way).label if is_line(practice.way) else "",
            "at": practice.finished_at or practice.started_at or practice.created_at,
            "took_s": report.get("took_s"),
            "messages": sum(bool(step["message_type"]) for step in report.get("steps", ())),
        },
        "match": _match(practice, players),
        "steps": _steps(practice, players),
    }


def _match(practice: Check, players: tuple[str, str]) -> dict[str, Any]:
    """The players and, of a game in turns, the board."""
    view = _view(practice.report)
    board = boards.read_board(view, players)
    seats = (drawings.Seat(players[0]), drawings.Seat(players[1]))
    over = practice.finished_at is not None
    drawing = drawings.drawing_of(practice.game_types[0], view, seats, over=over) if board is not None else None
    return {"a": seats[0], "b": seats[1], "board": board, "drawing": drawing}


PAGE = Page("practice", FRAGMENTS, context)


def _mine(agent: Agent | None) -> str:
    """The address of the page "My agent"; empty for an agent without a league."""
    if agent is None or agent.league_id is None:
        return ""
    return f"{reverse('mine', args=[agent.league_id])}?agent={agent.code}#practice"


def _players(practice: Check) -> tuple[str, str]:
    """The ids of PLAYER_A and PLAYER_B, as the report has them, or as the agent will be told them."""
    own = practice.agent.code if practice.agent is not None else "P01"
    report = practice.report
    own = str(report.get("player_id") or own)
    known = report.get("players")
    if isinstance(known, list):
        return str(known[0]), str(known[1])
    other = "P02" if own != "P02" else "P01"
    return (other, own) if practice.second else (own, other)


def _view(report: Mapping[str, Any]) -> Mapping[str, Any]:
    view = report.get("view")
    return view if isinstance(view, Mapping) else {}


# What came of it -----------------------------------------------------------------------------------


def house(opponent: str) -> str:
    """The house agent of a strength, in a sentence."""
    return {
        Opponent.EASY.value: _("the house's easy agent"),
        Opponent.MEDIUM.value: _("the house's medium agent"),
        Opponent.HARD.value: _("the house's hard agent"),
    }[opponent]


def result(practice: Check, status: str | None) -> str:
    """How a practice match ended, or how far it is, in a few words; ``status``: of its report."""
    if practice.state == CheckState.FAILED:
        return _("could not be played")
    if practice.state != CheckState.DONE:
        return _("being played") if practice.state == CheckState.RUNNING else _("waiting")
    return {"WIN": _("won"), "DRAW": _("draw"), "LOSS": _("lost"), "TECHNICAL_LOSS": _("technical loss")}.get(
        str(status), _("could not be played")
    )


def _verdict(practice: Check) -> tuple[str, str | SafeString]:
    """The state of the match in one sentence, and why, if that is another one."""
    report, names = practice.report, {"house": house(practice.opponent)}
    if practice.state == CheckState.WANTED:
        ahead = Check.practices.filter(state=CheckState.WANTED, created_at__lt=practice.created_at).count()
        waits = _("Waiting for its turn: checks and matches of the league come first.")
        before = ngettext("%(count)d practice match is before it.", "%(count)d practice matches are before it.", ahead)
        return waits, before % {"count": ahead} if ahead else ""
    if practice.state == CheckState.RUNNING:
        return _("Playing against %(house)s.") % names, ""
    if practice.state == CheckState.FAILED:
        failed = _("The practice match could not be carried out. That says nothing about the agent.")
        return failed, checks.fixed(practice.problem)
    if report["status"] == NOT_PLAYED:
        return _("Your agent could not be played with."), _sentence(checks.stored(report, "reason"))
    headline = {
        "WIN": _("Your agent won against %(house)s"),
        "DRAW": _("A draw with %(house)s"),
        "LOSS": _("Your agent lost against %(house)s"),
    }.get(report["status"], _("Your agent lost against %(house)s, technically"))
    reason = why(_outcome(practice))
    if report["status"] in ("WIN", "LOSS"):
        return _("%(result)s: %(why)s") % {"result": headline % names, "why": reason}, ""
    return f"{headline % names}.", reason


def _sentence(words: SafeString) -> SafeString:
    """A clause as a sentence, with a capital letter and a full stop."""
    text = str(words)
    return words if not text or text.endswith(".") else format_html("{}{}.", text[:1].upper(), SafeString(text[1:]))


def _outcome(practice: Check) -> Outcome:
    """The result in the form of a match's result, so that it is put into words like one."""
    report = practice.report
    told_result = report["result"]
    return Outcome(
        match_id="",
        round_number=0,
        players=_players(practice),
        status=ResultStatus(told_result["status"]),
        winner=told_result["winner_player_id"],
        reason=report["reason"],
        details=told_result,
        faults=tuple(report["faults"]),
        attempt=1,
        referee_id=None,
        seq=0,
        at=practice.finished_at or practice.created_at,
    )


# What was said -------------------------------------------------------------------------------------


def _steps(practice: Check, players: tuple[str, str]) -> list[Exchange | HouseMove]:
    """The messages with their answers, as "My agent" shows those of a match, and the house agent's moves between."""
    own = players[1] if practice.second else players[0]
    other = players[0] if practice.second else players[1]
    # The agent's row may be deleted by now, or registered by somebody else.
    agent = Agent(code=own, endpoint=practice.endpoint)
    shown: list[Exchange | HouseMove] = []
    opened = False
    for number, step in enumerate(practice.report.get("steps", ()), start=1):
        if not step["message_type"]:
            shown.append(HouseMove(_("Move of %(player)s: %(move)s") % {"player": other, "move": step["move"]}))
            continue
        exchange = _exchange(number, step, agent)
        opened, exchange = opened or exchange.wrong, replace(exchange, opened=exchange.wrong and not opened)
        shown.append(exchange)
    return shown


def _exchange(number: int, step: Mapping[str, Any], agent: Agent) -> Exchange:
    kind, problem = step["message_type"], _problem(step)
    request = {"n": number, "recipient": agent.code, "method": kind, "message_type": kind, "body": step["sent"]}
    response = {"n": number, "sender": agent.code, "body": step["came"]}
    response |= {name: step[name] for name in ("elapsed_ms", "http_status")}
    [exchange] = exchanges([AttemptEntry(1, request), AttemptEntry(1, response)], agent)
    answers = [replace(answer, problem=problem, wrong=answer.wrong or bool(problem)) for answer in exchange.answers]
    # Nothing is sent again from here: this page is shown to everyone who has its address.
    return replace(exchange, answers=answers, again=False, whole=exchange.whole or step["sent"] is None)


def _problem(step: Mapping[str, Any]) -> str:
    words = sentences.read(step["problem_words"])
    return words.in_words(_, VOICES) if words is not None else sentence_of(step["problem_words"] or step["problem"])
