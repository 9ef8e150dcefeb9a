"""READS: the report of a check as the page and the API show it. Who knows its id may read it."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from matches.models import Check, CheckRole, CheckState
from matches.view.public_answers import report_for_public
from matches.words import states

FRAGMENTS = ("check_head", "check_clauses")
VERDICTS = ("fails", "tolerated", "conforms", "skipped")
"""In the order in which they matter."""


def find(check_id: str | UUID) -> Check | None:
    """A check by its id, with the agent it belongs to."""
    wanted = _uuid(check_id)
    if wanted is None:
        return None
    return Check.objects.select_related("agent", "agent__league").filter(pk=wanted).first()


def _uuid(text: str | UUID) -> UUID | None:
    try:
        return UUID(str(text))
    except ValueError:
        return None


def wire(check: Check) -> dict[str, Any]:
    """A check for machines; ``report`` is there when it is DONE."""
    report = _readable(check)
    return {
        "check_id": str(check.pk),
        "url": reverse("check_report", args=[check.pk]),
        "state": check.state,
        "role": check.role,
        "endpoint": check.endpoint,
        "game_types": check.game_types,
        "notes": check.notes,
        "passed": check.passed,
        "problem": _problem(check),
        "withheld": _withheld(check),
        "created_at": check.created_at,
        "started_at": check.started_at,
        "finished_at": check.finished_at,
        "clauses": len(report.get("clauses", [])),
        "report": report if check.state == CheckState.DONE else None,
    }


def report_page(check_id: str) -> dict[str, Any] | None:
    """The context of a report's page; None when there is no such check."""
    check = find(check_id)
    if check is None:
        return None
    done = check.state == CheckState.DONE
    report = _readable(check)
    clauses = [_clause(clause) for clause in report.get("clauses", [])]
    counts = {verdict: sum(clause["verdict"] == verdict for clause in clauses) for verdict in VERDICTS}
    return {
        "check": {
            "check_id": str(check.pk),
            "url": reverse("check_report", args=[check.pk]),
            "json_url": reverse("check_json", args=[check.pk]),
            "endpoint": check.endpoint,
            "notes": check.notes,
            "role": check.role,
            "role_label": CheckRole(check.role).label,
            "state": check.state,
            "outcome": ("PASSED" if check.passed else "NOT_PASSED") if done else check.state,
            "headline": _headline(check),
            "summary": report.get("summary", "") if done else "",
            "next_step": report.get("next_step", "") if done else _problem(check),
            "withheld": _withheld(check),
            "next_clause": _clause_of(report.get("next_step", ""), clauses),
            "dialect": report.get("dialect", ""),
            "spoken": sorted(report.get("spoken", {}).items()),
            "took_s": report.get("took_s"),
            "games": ", ".join(check.game_types),
            "at": check.finished_at or check.started_at or check.created_at,
            "running": check.state in (CheckState.WANTED, CheckState.RUNNING),
            "agent": None
            if check.agent is None
            else {
                "agent_id": check.agent.code,
                "display_name": check.agent.display_name,
                "league": check.agent.league.display_name if check.agent.league else "",
            },
            "counts": [{"verdict": verdict, "label": _verdict(verdict), "n": counts[verdict]} for verdict in VERDICTS],
            "clauses": clauses,
        }
    }


def _readable(check: Check) -> dict[str, Any]:
    """Its report as whoever has its link reads it."""
    found: dict[str, Any] = report_for_public(check.report) if check.withheld else check.report
    return found


def _problem(check: Check) -> str:
    # Of one that could not be carried out it is in our words; else it is the first thing to mend, with what came.
    return "" if check.withheld and check.state == CheckState.DONE else check.problem


def _withheld(check: Check) -> str:
    return states.not_shown_to_be_yours() if check.withheld else ""


def fragments(check_id: str, language: str) -> dict[str, str] | None:
    """Every fragment of a report's page in the language that is active; None when there is no such check.

    Whoever watched a check to its end still has the page open: one that has ended is rendered once.
    """
    wanted = _uuid(check_id)
    ended = Check.objects.filter(pk=wanted).values_list("finished_at", flat=True).first() if wanted else None
    return _rendered(check_id) if ended is None else _rendered_for_good(check_id, language)


def _rendered(check_id: str) -> dict[str, str] | None:
    context = report_page(check_id)
    if context is None:
        return None
    return {name: render_to_string(f"check/fragments/{name}.html", context) for name in FRAGMENTS}


@lru_cache(maxsize=64)
def _rendered_for_good(check_id: str, _language: str) -> dict[str, str] | None:
    return _rendered(check_id)


def _clause(clause: dict[str, Any]) -> dict[str, Any]:
    return {
        **{name: clause[name] for name in ("id", "title", "expected", "source", "verdict", "why", "elapsed_ms")},
        "http_status": clause.get("http_status"),
        "label": _verdict(clause["verdict"]),
        "sent": _body(clause["sent"]),
        "came": _body(clause["came"]),
    }


def _clause_of(next_step: str, clauses: list[dict[str, Any]]) -> str:
    """The clause that the next step is about, by its id; empty when it is about none."""
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
    """What is so now, in one sentence."""
    if check.state == CheckState.WANTED:
        if check.due_at > timezone.now():
            return _("Planned: it is checked by itself at %(time)s UTC.") % {"time": f"{check.due_at:%H:%M:%S}"}
        return _("Waiting for its turn: one check at a time per address, and none during a match.")
    if check.state == CheckState.RUNNING:
        n = len(check.report.get("clauses", []))
        return ngettext("Running: %(n)d clause so far.", "Running: %(n)d clauses so far.", n) % {"n": n}
    if check.state == CheckState.FAILED:
        return _("The check could not be carried out. That says nothing about the agent.")
    sentences = {
        CheckRole.PLAYER: (_("This agent can play here as it is."), _("This agent cannot play here yet.")),
        CheckRole.REFEREE: (_("This referee can judge here as it is."), _("This referee cannot judge here yet.")),
        CheckRole.MANAGER: (
            _("Agents of the course can use this league manager."),
            _("Agents of the course cannot use this league manager yet."),
        ),
    }
    return sentences[CheckRole(check.role)][0 if check.passed else 1]
