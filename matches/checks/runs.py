"""WRITES: a running check or practice match: its progress, its end, and its return to the queue.

Each write to a running check is a compare-and-swap on the number of its run: it changes nothing if another process has
run the check since.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from agents_registry.addresses.reading import agent_of_line
from agents_registry.models import Agent
from agents_registry.registering import registration
from league_sdk.protocol.notes import Note
from league_sdk.protocol.transcript import clean, storable
from matches.league import effects
from matches.models import Check, CheckState
from matches.push import notify
from matches.push.nudge import nudge
from storage import clock

MAX_RUNS = 3
AGAIN_S = 5.0
"""After how many seconds a check is tried again that could not be made because something of the site's was away."""
INSTRUCTOR = "instructor"
"""The value of ``asked_by`` for checks that the instructor asked for; empty for those that a league demands."""
REGISTRATION = "registration"
"""The value of ``asked_by`` for checks that a registration started automatically."""
MAX_REPORTS_PER_ADDRESS = 20
MAX_REPORTS_WITHOUT_AGENT = 1000
"""How many reports on addresses at which no agent is registered are kept, all addresses together."""
MAX_PRACTICES_PER_AGENT, MAX_PRACTICES = 20, 1000
"""How many reports of practice matches are kept, of one agent and in all."""

called_program_keys: dict[UUID, frozenset[str]] = {}
"""By running check of this process: the keys of the program at the address that it calls, as found when it
began; of a check over a line only once the line is gone (:func:`matches.checks.taking.falls_back`)."""


def topic(check_id: UUID) -> str:
    """The name under which live pages subscribe to a check; the colon keeps it apart from the ids of leagues."""
    return f"check:{check_id}"


def return_to_queue(running: Iterable[tuple[UUID, int]]) -> None:
    """RUNNING to WANTED: return checks, each by its id and run, to the queue, from which they are run again."""
    for check_id, run in running:
        _move(check_id, run, state=CheckState.WANTED, claimed_until=None, report={})


def put_off(*, check_id: UUID, run: int, why: Note | str, now: datetime | None = None) -> bool:
    """RUNNING to WANTED: something of the site's own was away, so that the check says nothing about the agent.

    It is made again soon, however often that happens; false as from :func:`progress`.

    Args:
        why: what was away.
    """
    due_at = (now or clock.now()) + timedelta(seconds=AGAIN_S)
    again: dict[str, Any] = {"state": CheckState.WANTED, "claimed_until": None, "report": {}, "due_at": due_at}
    return _move(check_id, run, **again, problem=_one_line(str(why)))


def postpone(*, check: Check, why: Note | str, now: datetime) -> None:
    """Have a check wait that is due, for a reason as that of :func:`put_off`."""
    waiting = Check.checks_and_practices.filter(pk=check.pk, state=CheckState.WANTED)
    if waiting.update(due_at=now + timedelta(seconds=AGAIN_S), problem=_one_line(str(why))):
        changed(check)


def yield_to_match(*, check_id: UUID, run: int) -> None:
    """RUNNING to WANTED: a practice match gives way, and is played from its beginning later; to FAILED after
    :data:`MAX_RUNS`, so that it does not delay one match after the other."""
    if run < MAX_RUNS:
        return_to_queue([(check_id, run)])
    else:
        fail(
            check_id=check_id,
            run=run,
            problem=_("A match or a check of the agent, or other people, came first, three times."),
        )


@transaction.atomic
def refuse(*, check: Check, problem: str, now: datetime) -> bool:
    """WANTED to FAILED: a check or practice match that may not be carried out any more."""
    refused = Check.checks_and_practices.filter(pk=check.pk, state=CheckState.WANTED).update(
        state=CheckState.FAILED, problem=_one_line(problem), finished_at=now
    )
    if refused:
        changed(check)
    return bool(refused)


def expire(now: datetime) -> None:
    """Put checks whose claim has timed out back into the queue, or fail them after :data:`MAX_RUNS` runs."""
    lost = Check.checks_and_practices.filter(state=CheckState.RUNNING, claimed_until__lt=now)
    for check in lost.defer("report"):
        if check.runs >= MAX_RUNS:
            fail(check_id=check.pk, run=check.runs, problem=_("It broke off three times."), now=now)
        elif lost.filter(pk=check.pk, runs=check.runs).update(state=CheckState.WANTED, claimed_until=None):
            changed(check)


def progress(*, check_id: UUID, run: int, **found: Any) -> bool:
    """Show what a running check has found so far, or what was played; false if this run is not the latest any more.

    Args:
        found: the parts of the report, such as ``clauses`` or ``steps``.
    """
    return _move(check_id, run, report=clean(found))


@transaction.atomic
def finish_practice(*, check_id: UUID, run: int, report: dict[str, Any], now: datetime | None = None) -> bool:
    """RUNNING to DONE with the report of a practice match, its only result; false as from :func:`progress`."""
    return _finish(check_id, run, report, now)


def _finish(check_id: UUID, run: int, report: dict[str, Any], now: datetime | None, **more: Any) -> bool:
    done = {"state": CheckState.DONE, "report": clean(report), "claimed_until": None}
    moved = _move(check_id, run, **done, **more, finished_at=now or clock.now())
    if moved:
        _forget_old(check_id)
    return moved


def finish(
    *, check_id: UUID, run: int, report: dict[str, Any], found: Note | str | None = None, now: datetime | None = None
) -> bool:
    """RUNNING to DONE, and the outcome noted on the agents at this address; false as from :func:`progress`.

    Args:
        found: what its first call found in place of an agent (:func:`matches.inbox.finding.found_by`).
    """
    passed = report["can_play"] is True
    problem = "" if passed else _one_line(report["next_step"] or report["summary"])
    with transaction.atomic():
        done = _finish(check_id, run, report, now, passed=passed, problem=problem)
        if done:
            _note_outcome(check_id, report, found)
        return done


def fail(*, check_id: UUID, run: int, problem: str, now: datetime | None = None) -> bool:
    """RUNNING to FAILED: the check could not be carried out, which says nothing about the agent."""
    return _move(
        check_id,
        run,
        state=CheckState.FAILED,
        problem=_one_line(problem),
        claimed_until=None,
        finished_at=now or clock.now(),
    )


@transaction.atomic
def _move(check_id: UUID, run: int, **changes: Any) -> bool:
    moved = Check.checks_and_practices.filter(pk=check_id, state=CheckState.RUNNING, runs=run).update(**changes)
    if moved and "state" in changes:
        called_program_keys.pop(check_id, None)
        transaction.on_commit(nudge)
    if moved:
        transaction.on_commit(lambda: notify.push(topic(check_id)))
        if "state" in changes:
            _show_leagues(check_id)
    return bool(moved)


def _note_outcome(check_id: UUID, report: dict[str, Any], found: Note | str | None) -> None:
    """Note on the agents that a check tells of whether they answer at all, as after a ping."""
    clauses = report["clauses"]
    answered = any(clause["came"] is not None for clause in clauses)
    # Short: it stands in a column of the desk, and the report says the rest.
    why = next((clause["why"] for clause in clauses if clause["verdict"] == "fails"), report["summary"])
    problem = "" if answered else str(found or _one_line(why.partition(". ")[0]))
    # What is at the agents' address: None if nothing is known of it, empty for an agent, else what is there instead.
    over_line = agent_of_line(Check.checks_and_practices.only("endpoint_key").get(pk=check_id).endpoint_key) is not None
    found_instead: str | None = None
    if not over_line:
        found_instead = "" if report["can_play"] else problem or (None if found is None else str(found))
    for agent in _agents_at(check_id).only("pk", "line", "line_seen_at"):
        if agent.dials_out_now and not over_line:
            # This agent is reached over its line, and the check has called an address. Behind one router all agents of
            # a class may seem to have that address, so the check says nothing of whether this one answers.
            registration.note_found(agent_id=agent.pk, found=found_instead)
        else:
            registration.note_ping(agent_id=agent.pk, problem=problem, found=found_instead)


def _agents_at(check_id: UUID) -> Any:
    """The agents that a check tells of; a practice match tells of none."""
    check = Check.objects.only("endpoint_key", "role").filter(pk=check_id).first()
    if check is None:
        return Agent.objects.none()
    # What came over an agent's own line says nothing of others that are registered at its address.
    agent_pk = agent_of_line(check.endpoint_key)
    lookup = {"endpoint_key": check.endpoint_key} if agent_pk is None else {"pk": agent_pk}
    return Agent.objects.filter(kind=check.role, **lookup)


def _show_leagues(check_id: UUID) -> None:
    for league_id in set(_agents_at(check_id).filter(league__isnull=False).values_list("league_id", flat=True)):
        effects.shown(league_id)


def _forget_old(check_id: UUID) -> None:
    """Delete the oldest reports beside one that is new.

    Of a check those of its address, and of addresses at which no agent is registered; of a practice match those of its
    agent, and of all.
    """
    new = Check.checks_and_practices.only("address", "agent_id", "opponent").get(pk=check_id)
    kept = [(Q(address=new.address), MAX_REPORTS_PER_ADDRESS), (Q(agent=None), MAX_REPORTS_WITHOUT_AGENT)]
    if new.is_practice:
        kept = [(Q(agent=new.agent_id), MAX_PRACTICES_PER_AGENT), (Q(), MAX_PRACTICES)]
    rows = Check.practices if new.is_practice else Check.objects
    ended = rows.filter(state__in=[CheckState.DONE, CheckState.FAILED])
    for which, limit in kept:
        old = list(ended.filter(which).order_by("-created_at", "-pk").values_list("pk", flat=True)[limit:])
        ended.filter(pk__in=old).delete()


def changed(check: Check) -> None:
    """After commit, tell browsers that show this check or its agents' leagues, and the process that runs checks."""
    _show_leagues(check.pk)
    transaction.on_commit(lambda: notify.push(topic(check.pk)))
    transaction.on_commit(nudge)


def _one_line(text: str) -> str:
    return " ".join(storable(text).split())[:200]
