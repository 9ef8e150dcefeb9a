"""READS: the report of a check for its page and the API. Anybody who knows its id may read it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from typing import Annotated, Any, NamedTuple, NotRequired, cast
from uuid import UUID

from django.db.models import QuerySet
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from typing_extensions import TypedDict

from agents_registry.models import Kind
from league_sdk.protocol.inbox import SCHEME
from league_sdk.protocol.schemas.parts import one_of, says
from matches.checks.ways import is_line
from matches.models import Check, CheckRole, CheckState, CheckWay
from matches.view import readiness
from matches.view.public_answers import report_for_public
from matches.view.readiness import UNABLE, Ready
from matches.view.rows import time_in
from matches.words import checks as words
from matches.words import states
from matches.words.notes import sentence_of
from storage import clock

ASK_AGAIN_S = 2.0
"""How often a program that waits for a check should ask."""
FRAGMENTS = ("check_head", "check_clauses")
VERDICTS = ("fails", "tolerated", "conforms", "skipped")
"""The most important first."""
_AS_WORDS = "again, as a text with places and the facts in them; absent in older reports and while withheld."


class ClauseRow(TypedDict):
    """One thing that the documents demand of an agent, and what this agent did."""

    id: Annotated[str, says("Short and stable, such as join.accepts.")]
    title: Annotated[str, says("The question in a few words.")]
    expected: Annotated[str, says("What the documents expect.")]
    source: Annotated[str, says("Where they say so, such as 004 4.4.2.")]
    verdict: Annotated[str, one_of(VERDICTS), says("What came of it.")]
    why: Annotated[str, says("The reason and, unless it conforms, what to mend.")]
    sent: Annotated[Any, says("The body that was sent, cut at 4 KiB; any JSON, null when nothing was.")]
    came: Annotated[Any, says("The body that came back, likewise; a text when it was no JSON.")]
    elapsed_ms: Annotated[int | None, says("Milliseconds from sending to the answer; null when nothing was sent.")]
    http_status: Annotated[int | None, says("The HTTP status of the answer; null when there was none.")]
    why_words: NotRequired[Annotated[dict[str, Any], says(f"The reason {_AS_WORDS}")]]


class CheckReport(TypedDict):
    """What a check has found."""

    schema: NotRequired[Annotated[int, says("The version of this form.")]]
    role: NotRequired[Annotated[str, says("What the agent was checked as: player, referee or manager.")]]
    endpoint: NotRequired[Annotated[str, says("The address that was checked.")]]
    started_at: NotRequired[Annotated[str, time_in("When it began, in UTC.")]]
    took_s: NotRequired[Annotated[float, says("How long it took, in seconds.")]]
    dialect: NotRequired[Annotated[str, says("The dialect in which the invitation was understood; empty for none.")]]
    spoken: NotRequired[Annotated[dict[str, str], says("By message type, the dialect in which it was understood.")]]
    can_play: NotRequired[Annotated[bool, says("Whether the league can play with this agent as it is.")]]
    summary: NotRequired[Annotated[str, says("The result in a sentence; absent while answers are withheld.")]]
    next_step: NotRequired[Annotated[str, says("What to mend first; empty for nothing, absent while withheld.")]]
    summary_words: NotRequired[Annotated[dict[str, Any], says(f"The summary {_AS_WORDS}")]]
    next_step_words: NotRequired[Annotated[dict[str, Any], says(f"The next step {_AS_WORDS}")]]
    clauses: Annotated[list[ClauseRow], says("Every clause, in the order of the rules.")]
    counts: NotRequired[Annotated[dict[str, int], says("How many clauses have which verdict.")]]


class CheckRow(TypedDict):
    """A check of an agent."""

    check_id: Annotated[str, says("Its id; who knows it may read the report.")]
    url: Annotated[str, says("The path of its page on this site.")]
    state: Annotated[str, one_of(CheckState.values), says("How far it is; FAILED: it could not be carried out.")]
    role: Annotated[str, one_of(CheckRole.values), says("What the agent is checked as.")]
    endpoint: Annotated[str, says("The address that is called.")]
    way: Annotated[
        str, one_of(("", *CheckWay.values)), says("How the agent is reached; empty: at its address, or not decided.")
    ]
    game_types: Annotated[list[str], says("The games that a player is asked to play.")]
    notes: Annotated[list[Any], says("What was unusual about how it was asked for: sentences, or codes.")]
    passed: Annotated[bool | None, says("Whether it passed; null before it is DONE.")]
    verdict: Annotated[Annotated[str, one_of(Ready.values)] | None, says("The word for it; null before it is DONE.")]
    problem: Annotated[
        str, says("What to mend first, or why it could not be carried out; empty for neither, and while withheld.")
    ]
    withheld: Annotated[str, says("Why answers are withheld, in a sentence; empty when they are shown.")]
    created_at: Annotated[datetime, says("When it was asked for, in UTC.")]
    started_at: Annotated[datetime | None, says("When it began, in UTC; null before.")]
    finished_at: Annotated[datetime | None, says("When it ended, in UTC; null before.")]
    clauses: Annotated[int, says("How many clauses are tried so far.")]
    report: Annotated[CheckReport | None, says("What was found; null until it is DONE.")]


class CheckSoFar(CheckRow):
    """A check, for a caller that waits for it: its report is what was found so far."""

    ask_again_after_s: Annotated[float | None, says("In how many seconds to ask again; null: it has ended.")]


def find(check_id: str | UUID) -> Check | None:
    """The check of this id, with its agent; None when there is none."""
    return find_among(Check.objects.all(), check_id)


def find_among(rows: QuerySet[Check], report_id: str | UUID) -> Check | None:
    """The check or practice match of this id, with its agent; None when there is none among these."""
    try:
        return rows.select_related("agent__league").filter(pk=UUID(str(report_id))).first()
    except ValueError:
        return None


def api_row(check: Check) -> CheckRow:
    """A check as JSON for the API; ``report`` is None until it is DONE."""
    report = _readable(check)
    return {
        "check_id": str(check.pk),
        "url": reverse("check_report", args=[check.pk]),
        "state": check.state,
        "role": check.role,
        "endpoint": check.endpoint,
        "way": check.way,
        "game_types": check.game_types,
        "notes": check.notes,
        "passed": check.passed,
        "verdict": verdict.value if (verdict := readiness.of_report(check)) is not None else None,
        "problem": _problem(check),
        "withheld": _withheld(check),
        "created_at": check.created_at,
        "started_at": check.started_at,
        "finished_at": check.finished_at,
        "clauses": len(report.get("clauses", [])),
        "report": cast(CheckReport, report) if check.state == CheckState.DONE else None,
    }


def so_far(check: Check, now: datetime | None = None) -> CheckSoFar:
    """A check as JSON with what was found so far, and when to ask again."""
    found = _readable(check)
    row: CheckSoFar = {**api_row(check), "ask_again_after_s": None}
    row["report"] = cast(CheckReport, found) if found.get("clauses") else None
    if check.finished_at is None:
        due_in_s = (check.due_at - (now or clock.now())).total_seconds()
        row["ask_again_after_s"] = round(max(ASK_AGAIN_S, due_in_s if check.state == CheckState.WANTED else 0), 1)
    return row


def report_page(check_id: str) -> dict[str, Any] | None:
    """The context of a report's page; None when there is no such check."""
    check = find(check_id)
    if check is None:
        return None
    done, verdict = check.state == CheckState.DONE, readiness.of_report(check)
    report = _readable(check)
    clauses = [_clause(clause) for clause in report.get("clauses", [])]
    counts = {verdict: sum(clause["verdict"] == verdict for clause in clauses) for verdict in VERDICTS}
    return {
        "check": {
            "check_id": str(check.pk),
            "url": reverse("check_report", args=[check.pk]),
            "json_url": reverse("check_json", args=[check.pk]),
            "endpoint": "" if _is_over_a_line(check) else check.endpoint,
            "way": CheckWay(check.way or CheckWay.INBOX).label if _is_over_a_line(check) else "",
            "notes": [sentence_of(note) for note in check.notes],
            "role": check.role,
            "role_label": CheckRole(check.role).label,
            "state": check.state,
            "outcome": check.state if verdict is None else "NOT_PASSED" if verdict in UNABLE else "PASSED",
            "headline": _headline(check),
            "summary": words.stored(report, "summary") if done else "",
            # Of a check that waits, the headline says it.
            "next_step": words.stored(report, "next_step")
            if done
            else words.fixed(_problem(check) if check.state == CheckState.FAILED else ""),
            "withheld": _withheld(check),
            "next_clause": _clause_of(report.get("next_step", ""), report.get("clauses", [])),
            "dialect": report.get("dialect", ""),
            "spoken": sorted(report.get("spoken", {}).items()),
            "took_s": report.get("took_s"),
            "games": ", ".join(check.game_types),
            "at": check.finished_at or check.started_at or check.created_at,
            "unfinished": check.state in (CheckState.WANTED, CheckState.RUNNING),
            "agent": None
            if check.agent is None
            else {
                "agent_id": check.agent.code,
                "display_name": check.agent.display_name,
                "league": check.agent.league.display_name if check.agent.league else "",
            },
            "practice_url": _practice_url(check),
            "counts": [{"verdict": verdict, "label": _verdict(verdict), "n": counts[verdict]} for verdict in VERDICTS],
            "clauses": clauses,
        }
    }


def _practice_url(check: Check) -> str:
    """The page where the agent's owner starts practice matches; empty for an agent outside leagues."""
    agent = check.agent
    if agent is None or agent.kind != Kind.PLAYER or agent.league_id is None:
        return ""
    return f"{reverse('mine', args=[agent.league_id])}?agent={agent.code}#practice"


def _is_over_a_line(check: Check) -> bool:
    """Whether a check goes to the agent's inbox; before it begins, its address tells."""
    return is_line(check.way) or check.endpoint.startswith(f"{SCHEME}:")


def _readable(check: Check) -> dict[str, Any]:
    """The report as far as readers of the link may see it."""
    report: dict[str, Any] = report_for_public(check.report) if check.withheld else check.report
    return report


def _problem(check: Check) -> str:
    # The problem of a DONE check quotes the agent's answer, which is withheld; that of a FAILED one is our own text.
    return "" if check.withheld and check.state == CheckState.DONE else check.problem


def _withheld(check: Check) -> str:
    return states.not_shown_to_be_yours() if check.withheld else ""


class Page(NamedTuple):
    """The page of a report: of a check, or of a practice match.

    Attributes:
        folder: of its templates.
        fragments: their names.
        context: returns what they show of the report with this id; None when there is none.
    """

    folder: str
    fragments: tuple[str, ...]
    context: Callable[[str], dict[str, Any] | None]


def fragments(page: Page, report_id: str, language: str) -> dict[str, str] | None:
    """Every fragment of a report's page in the active language; None when there is no such report.

    The fragments of what has ended are cached: pages that watched it stay open after its end.
    """
    # Read without its report, which is long: most callers get cached fragments.
    check = find_among(Check.checks_and_practices.defer("report"), report_id)
    if check is None or check.finished_at is None:
        return _rendered(page, report_id)
    # The limits of its league may change after its end, and the verdict with them.
    return _rendered_for_good(page, report_id, language, readiness.of_report(check))


def _rendered(page: Page, report_id: str) -> dict[str, str] | None:
    context = page.context(report_id)
    if context is None:
        return None
    return {name: render_to_string(f"{page.folder}/fragments/{name}.html", context) for name in page.fragments}


@lru_cache(maxsize=128)
def _rendered_for_good(page: Page, report_id: str, _language: str, _verdict: Ready | None) -> dict[str, str] | None:
    return _rendered(page, report_id)


PAGE = Page("check", FRAGMENTS, report_page)


def _clause(clause: dict[str, Any]) -> dict[str, Any]:
    return {
        **{name: clause[name] for name in ("id", "source", "verdict", "elapsed_ms")},
        "title": words.fixed(clause["title"]),
        "expected": words.fixed(clause["expected"]),
        "why": words.stored(clause, "why"),
        "http_status": clause.get("http_status"),
        "label": _verdict(clause["verdict"]),
        "sent": _body(clause["sent"]),
        "came": _body(clause["came"]),
    }


def _clause_of(next_step: str, clauses: list[dict[str, Any]]) -> str:
    """The id of the clause that the next step is about; empty when there is none."""
    return next((clause["id"] for clause in clauses if clause["why"] and next_step.startswith(clause["why"])), "")


def _body(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)


def _verdict(verdict: str) -> str:
    return {
        "conforms": _("conforms"),
        "tolerated": _("tolerated"),
        "fails": _("fails"),
        "skipped": _("not asked"),
    }[verdict]


def _headline(check: Check) -> str:
    """The state of the check in one sentence."""
    if check.state == CheckState.WANTED:
        if check.problem:
            return _("It could not be checked, because of the site itself: %(why)s. It is checked again by itself.") % {
                "why": sentence_of(check.problem)
            }
        if check.due_at > clock.now():
            return _("Planned: it is checked by itself at %(time)s UTC.") % {"time": f"{check.due_at:%H:%M:%S}"}
        return _("Waiting for its turn: one check at a time per address, and none during a match.")
    if check.state == CheckState.RUNNING:
        n = len(check.report.get("clauses", []))
        return ngettext("Running: %(n)d clause so far.", "Running: %(n)d clauses so far.", n) % {"n": n}
    if check.state == CheckState.FAILED:
        return _("The check could not be carried out. That says nothing about the agent.")
    verdict = readiness.of_report(check)
    able = verdict not in UNABLE
    sentences = {
        CheckRole.PLAYER: (_("This agent can play here as it is."), _("This agent cannot play here yet.")),
        CheckRole.REFEREE: (_("This referee can judge here as it is."), _("This referee cannot judge here yet.")),
        CheckRole.MANAGER: (
            _("Agents of the course can use this league manager."),
            _("Agents of the course cannot use this league manager yet."),
        ),
    }
    sentence = sentences[CheckRole(check.role)][0 if able else 1]
    return sentence if verdict is None else f"{verdict.label[:1].upper()}{verdict.label[1:]}: {sentence}"
