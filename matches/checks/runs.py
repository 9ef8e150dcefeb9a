"""WRITES: a check on its way: in progress, finished, given back; by compare-and-swap, each run by its number."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from agents_registry import registration
from agents_registry.models import Agent
from matches.league.effects import shown
from matches.models import Check, CheckState
from matches.push import notify
from matches.push.nudge import nudge

MOST_RUNS = 3
INSTRUCTOR = "instructor"
"""As who asked for a check; the league itself is nobody."""
KEPT_PER_ADDRESS = 20
KEPT_OF_STRANGERS = 1000
"""Reports on addresses at which no agent is registered; older ones are forgotten."""

called: dict[UUID, frozenset[str]] = {}
"""By check that this process runs, the program that it calls, as it was found when the check began."""


def topic(check_id: UUID) -> str:
    """What the live pages call a check; no league id holds a colon."""
    return f"check:{check_id}"


def give_back(running: Iterable[tuple[UUID, int]]) -> None:
    """RUNNING to WANTED, each by its id and its run: whoever ran them stops."""
    for check_id, run in running:
        with transaction.atomic():
            _move(check_id, run, state=CheckState.WANTED, claimed_until=None, report={})


def expire(now: datetime) -> None:
    """Checks that whoever took them has lost are WANTED again, or FAILED after :data:`MOST_RUNS`."""
    lost = Check.objects.filter(state=CheckState.RUNNING, claimed_until__lt=now)
    for check in lost.defer("report"):
        if check.runs >= MOST_RUNS:
            fail(check_id=check.pk, run=check.runs, problem=_("It broke off three times."), now=now)
        elif lost.filter(pk=check.pk, runs=check.runs).update(state=CheckState.WANTED, claimed_until=None):
            changed(check)


def progress(*, check_id: UUID, run: int, clauses: list[dict[str, Any]]) -> bool:
    """Show what a running check has found so far; false when the run has been lost."""
    with transaction.atomic():
        return _move(check_id, run, report=_storable({"clauses": clauses}))


def finish(*, check_id: UUID, run: int, report: dict[str, Any], now: datetime | None = None) -> bool:
    """RUNNING to DONE, and the outcome noted on the agents at this address; false when the run has been lost."""
    now = now or timezone.now()
    passed = report["can_play"] is True
    with transaction.atomic():
        done = _move(
            check_id,
            run,
            state=CheckState.DONE,
            report=_storable(report),
            passed=passed,
            problem="" if passed else _one_line(report["next_step"] or report["summary"]),
            claimed_until=None,
            finished_at=now,
        )
        if done:
            _note_outcome(check_id, report)
            _forget_old(check_id)
        return done


def fail(*, check_id: UUID, run: int, problem: str, now: datetime | None = None) -> bool:
    """RUNNING to FAILED: the check could not be carried out, which says nothing about the agent."""
    with transaction.atomic():
        return _move(
            check_id,
            run,
            state=CheckState.FAILED,
            problem=_one_line(problem),
            claimed_until=None,
            finished_at=now or timezone.now(),
        )


def _move(check_id: UUID, run: int, **changes: Any) -> bool:
    moved = Check.objects.filter(pk=check_id, state=CheckState.RUNNING, runs=run).update(**changes)
    if moved and "state" in changes:
        called.pop(check_id, None)
        transaction.on_commit(nudge)
    if moved:
        transaction.on_commit(lambda: notify.push(topic(check_id)))
        if "state" in changes:
            _show_leagues(check_id)
    return bool(moved)


def _note_outcome(check_id: UUID, report: dict[str, Any]) -> None:
    """Whether it answers at all is known from now on, as after a ping."""
    clauses = report["clauses"]
    answered = any(clause["came"] is not None for clause in clauses)
    # Short: it stands in a column of the desk, and the report says the rest.
    why = next((clause["why"] for clause in clauses if clause["verdict"] == "fails"), report["summary"])
    problem = "" if answered else _one_line(why.partition(". ")[0])
    for agent_pk in _agents_at(check_id).values_list("pk", flat=True):
        registration.note_ping(agent_id=agent_pk, problem=problem)


def _agents_at(check_id: UUID) -> Any:
    check = Check.objects.only("endpoint_key", "role").get(pk=check_id)
    return Agent.objects.filter(endpoint_key=check.endpoint_key, kind=check.role)


def _show_leagues(check_id: UUID) -> None:
    for league_id in set(_agents_at(check_id).filter(league__isnull=False).values_list("league_id", flat=True)):
        shown(league_id)


def _forget_old(check_id: UUID) -> None:
    """An address keeps its newest reports only, and strangers together so many."""
    address = Check.objects.values_list("address", flat=True).get(pk=check_id)
    ended = Check.objects.filter(state__in=[CheckState.DONE, CheckState.FAILED])
    for some, most in (
        (ended.filter(address=address), KEPT_PER_ADDRESS),
        (ended.filter(agent=None), KEPT_OF_STRANGERS),
    ):
        old = list(some.order_by("-created_at", "-pk").values_list("pk", flat=True)[most:])
        ended.filter(pk__in=old).delete()


def changed(check: Check) -> None:
    """After commit: browsers on this check, and on its agents' leagues, hear of it, and whoever runs checks looks."""
    _show_leagues(check.pk)
    transaction.on_commit(lambda: notify.push(topic(check.pk)))
    transaction.on_commit(nudge)


def _one_line(text: str) -> str:
    return " ".join(_storable(text).split())[:200]


def _storable(value: Any) -> Any:
    """Without NUL characters and lone surrogates, which no database takes."""
    if isinstance(value, str):
        return value.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_storable(str(key)): _storable(item) for key, item in value.items()}
    return [_storable(item) for item in value] if isinstance(value, (list, tuple)) else value
