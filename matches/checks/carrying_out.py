"""Runs checks: claims those that are due, carries them out, and publishes their progress.

This is a task on the conductor's event loop that uses the conductor's database thread: a check takes seconds and must
not delay a match. All its state is in the database, except for the checks that are running.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from uuid import UUID

from django.db import DatabaseError, InterfaceError, InternalError, OperationalError
from django.utils.translation import gettext as _

from agents_registry.models import Agent
from agents_registry.registering import learned
from league_sdk.conformance.practice import NOT_PLAYED
from league_sdk.conformance.report import Clause, Report
from league_sdk.protocol.notes import Code, Note, note
from league_sdk.protocol.states import ResultStatus
from league_sdk.transport.client import Caller, Client
from league_sdk.transport.httpx_client import HttpxClient
from matches.checks import performing, relaying, runs, taking, tending
from matches.checks.performing import OnClause, OnReport
from matches.checks.taking import Job, Relayed
from matches.inbox.beats import process_name
from matches.inbox.calling import AgentCaller, AgentInboxCaller
from matches.inbox.finding import FirstCall, Hindered
from matches.models import Check
from matches.push import nudge
from storage import clock
from storage.databases import outside_requests

logger = logging.getLogger(__name__)

LATE_S = 3.0
"""A pass over the checks that takes this much longer than it should has waited for the database, or this process stood
still; both may have cost an agent under check its answer."""
_AWAY = (OperationalError, InterfaceError, InternalError)
"""What the database raises while it is away or busy. What it refuses (DataError) it would refuse for ever."""
InThread = Callable[[Callable[[], Any]], Awaitable[Any]]


def _keep_for_league(job: Job, report: Report) -> None:
    """Keep how a registered player is called, so that neither the conductor nor a referee has to find it out again.

    What was found at an address is kept only for a player that is called there now and has never dialled out. Behind
    one router all agents of a class may seem to have the same address, and the one that answers there may be a rival's.
    """
    if job.learns_for is None or report.memory is None:
        return
    (number, registration), memory = job.learns_for, report.memory
    agent = Agent.objects.filter(pk=number).only("endpoint_key", "line_seen_at").first()
    checked = Check.objects.only("endpoint_key").get(pk=job.check_id).endpoint_key
    if job.agent is None and (agent is None or agent.endpoint_key != checked or agent.line_seen_at is not None):
        return
    learned.learn_dialect(agent_id=number, spoken=memory.spoken, learned=memory.shared(), registration=registration)


def _end_practice(job: Job, report: dict[str, Any]) -> None:
    """Keep the report of a practice match; one that gave way goes back to the queue, or fails (``yield_to_match``)."""
    if job.is_overtaken() and report["status"] == NOT_PLAYED:
        runs.yield_to_match(check_id=job.check_id, run=job.run)
    else:
        runs.finish_practice(check_id=job.check_id, run=job.run, report=report)


def _is_good(report: Report | dict[str, Any] | None) -> bool:
    """Whether a check passed, or a practice match was played, whatever was away meanwhile."""
    if isinstance(report, dict):
        return report["status"] not in (NOT_PLAYED, ResultStatus.TECHNICAL_LOSS)
    return report is not None and report.can_play


@dataclass(slots=True)
class _News:
    """What a check has found so far, or a practice match has played.

    Attributes:
        arrived: set when there is something new.
        clauses: the clauses of a check that were decided so far.
        played: the report of a practice match as far as it is played.
    """

    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    clauses: list[dict[str, Any]] = field(default_factory=list)
    played: dict[str, Any] = field(default_factory=dict)

    def tell_clause(self, clause: Clause) -> None:
        """A clause was decided."""
        self.clauses.append(clause.to_json())
        self.arrived.set()

    def tell(self, played: dict[str, Any]) -> None:
        """A step was played."""
        self.played = played
        self.arrived.set()

    def found(self) -> dict[str, Any]:
        """The report so far."""
        return self.played or {"clauses": list(self.clauses)}


@dataclass(slots=True)
class Checker:
    """Claims and runs checks.

    Attributes:
        client: the conductor's, with the endpoint policy.
        in_thread: runs database work in the conductor's thread.
        draining: whether no new check may be started, because the process is about to stop.
        check: how an agent is checked.
        play: how it plays a practice match.
        pass_interval_s: how often it looks for due checks without being woken.
        min_pass_interval_s: the pause between two such passes, however often it is woken.
        show_interval_s: the pause between two writes of the progress of one check.
        practice_show_interval_s: the same of a practice match, whose report is longer.
        run_timeout_s: for one check. A correct agent takes under 20 s; a silent one takes the sum of the time limits.
        practice_timeout_s: for one practice match.
    """

    client: Client
    in_thread: InThread
    draining: Callable[[], bool]
    check: Callable[[Job, Caller, OnClause], Coroutine[Any, Any, Report]] = performing.check
    play: Callable[[Job, Caller, OnReport], Coroutine[Any, Any, dict[str, Any]]] = performing.play
    pass_interval_s: float = 1.0
    min_pass_interval_s: float = 0.2
    show_interval_s: float = 0.3
    practice_show_interval_s: float = 1.0
    run_timeout_s: float = 120.0
    practice_timeout_s: float = 300.0
    _running: dict[asyncio.Task[None], Job] = field(default_factory=dict)
    _overtaken: set[UUID] = field(default_factory=set)
    _posts: dict[UUID, Relayed] = field(default_factory=dict)
    _hindered: dict[UUID, Note] = field(default_factory=dict)

    async def keep_checking(self) -> None:
        """Claim and run checks until cancelled."""

        def ended(task: asyncio.Task[None]) -> None:
            over = self._running.pop(task, None)
            if over is not None:
                self._posts.pop(over.check_id, None)
            # Another check may use its address and its place.
            woken.set()

        looked_at = time.monotonic()
        # Nudges that are not urgent are about matches.
        with nudge.woken(only_urgent=True) as woken:
            try:
                while True:
                    woken.clear()
                    begun = time.monotonic()
                    if begun - looked_at > self.pass_interval_s + LATE_S:
                        self._hinder(note(Code.PROCESS_STALLED, process=process_name()))
                    for one in [] if self.draining() else await self._take():
                        self._overtaken.discard(one.check_id)
                        # What was away while the outcome of an earlier run waited says nothing of this one.
                        self._hindered.pop(one.check_id, None)
                        job = replace(
                            one,
                            is_overtaken=partial(self._is_overtaken, one.check_id),
                            on_posts=partial(self._posts.__setitem__, one.check_id),
                        )
                        task = asyncio.create_task(self._run(job))
                        self._running[task] = job
                        task.add_done_callback(ended)
                    looked_at = time.monotonic()
                    if looked_at - begun > LATE_S:
                        # Answers that agents sent to the league manager came too late to their checks.
                        self._hinder(note(Code.DATABASE_AWAY))
                    try:
                        async with asyncio.timeout(self.pass_interval_s):
                            await woken.wait()
                    except TimeoutError:
                        logger.debug("tick")
                    await asyncio.sleep(self.min_pass_interval_s)
            finally:
                jobs = list(self._running.values())
                for task in list(self._running):
                    task.cancel()
                if jobs:
                    # The next process can start with them at once, and no page shows them as running.
                    await self._in_db(lambda: runs.return_to_queue([(job.check_id, job.run) for job in jobs]))

    def _hinder(self, what: Note) -> None:
        """Note for all checks that run what of the site's own was away: nobody knows whether an agent is to blame."""
        self._hindered |= dict.fromkeys((job.check_id for job in self._running.values()), what)

    def _is_overtaken(self, check_id: UUID) -> bool:
        return check_id in self._overtaken

    async def _take(self) -> list[Job]:
        def answers() -> list[tuple[UUID, str, dict[str, Any]]]:
            self._overtaken |= taking.overtaken(self._running.values())
            tending.tend(now=clock.now())
            return relaying.take({job.check_id for job in self._running.values()})

        def jobs() -> list[Job]:
            return taking.take(now=clock.now(), room=taking.MAX_RUNNING - len(self._running))

        try:
            # Hand the answers out before anything else can fail: their rows are deleted.
            for check_id, message_type, message in await self._in_db(answers):
                if check_id in self._posts:
                    self._posts[check_id](message_type, message)
            taken: list[Job] = await self._in_db(jobs)
        except Exception as error:
            # The database may be locked or unreachable for a moment. A check that was claimed before the failure runs
            # again when its claim has timed out.
            logger.exception("a pass over the checks failed; the next one tries again")
            if isinstance(error, _AWAY):
                self._hinder(note(Code.DATABASE_AWAY))
            return []
        return taken

    async def _run(self, job: Job) -> None:
        news = _News()
        caller = FirstCall(self._caller(job))
        showing = asyncio.create_task(self._keep_showing(job, news))
        report: Report | dict[str, Any] | None = None
        problem, limit_s = "", self.practice_timeout_s if job.opponent else self.run_timeout_s
        hindered: Note | str = ""
        try:
            async with asyncio.timeout(limit_s):
                report = await (
                    self.play(job, caller, news.tell) if job.opponent else self.check(job, caller, news.tell_clause)
                )
        except TimeoutError:
            problem = _("The check did not end within %(limit)d s.") % {"limit": limit_s}
            if job.opponent:
                problem = _("The practice match did not end within %(limit)d s.") % {"limit": limit_s}
        except Hindered as error:
            hindered = error.what
        except Exception:
            logger.exception("the check %s failed", job.check_id)
            problem = _("The check itself failed; the site's log says why.")
            if job.opponent:
                problem = _("The practice match itself failed; the site's log says why.")
        finally:
            showing.cancel()
            await caller.aclose()

        was_away = self._hindered.pop(job.check_id, "")
        hindered = hindered or was_away

        def end() -> None:
            if hindered and not _is_good(report):
                runs.put_off(check_id=job.check_id, run=job.run, why=hindered)
            elif isinstance(report, dict):
                _end_practice(job, report)
            elif job.is_overtaken() and (report is None or not report.can_play) and not job.opponent:
                # A match of the agent comes first; what the check found until then is not a verdict.
                runs.return_to_queue([(job.check_id, job.run)])
            elif report is None:
                runs.fail(check_id=job.check_id, run=job.run, problem=problem)
            else:
                # The check began on the agent's line and went on at its address when the line was gone: nobody knows
                # which answers came from which of the two.
                mixed = job.agent is not None and job.check_id in runs.called_program_keys
                done = runs.finish(check_id=job.check_id, run=job.run, report=report.to_json(), found=caller.found)
                if done and not mixed:
                    _keep_for_league(job, report)

        await self._write_down(job, end)

    async def _write_down(self, job: Job, end: Callable[[], None]) -> None:
        """Store what became of a check, as soon as the database answers."""
        while True:
            try:
                await self._in_db(end)
            except _AWAY:
                logger.warning("the outcome of the check %s waits for the database", job.check_id, exc_info=True)
                await asyncio.sleep(self.pass_interval_s)
            except Exception:
                # Its claim will time out, and it will be run again.
                logger.exception("the outcome of the check %s could not be written down", job.check_id)
                return
            else:
                return

    def _caller(self, job: Job) -> Caller:
        """What calls the agent: at its address; or over its line, and perhaps at its address once the line is gone."""
        if job.agent is not None and not job.keys:
            return AgentInboxCaller(job.agent, job.rules.connect_grace_s)
        # Call only the IP addresses that were resolved when the check was claimed: the name could meanwhile be
        # pointed at a program that plays a match.
        policy = self.client.policy.model_copy(update={"pinned": job.pinned})
        client = HttpxClient(agent_type="league_manager", policy=policy)
        if job.agent is None:
            return client

        async def may_call() -> bool:
            try:
                return bool(await self._in_db(partial(taking.falls_back, job)))
            except DatabaseError as error:
                raise Hindered(note(Code.DATABASE_AWAY)) from error

        return AgentCaller(client, job.agent, job.rules.connect_grace_s, may_call)

    async def _keep_showing(self, job: Job, news: _News) -> None:
        """Store what was found or played so far, so that open pages show the progress."""
        while True:
            await news.arrived.wait()
            news.arrived.clear()
            show = partial(runs.progress, check_id=job.check_id, run=job.run, **news.found())
            try:
                await self._in_db(show)
            except Exception:
                logger.exception("what the check %s has found so far could not be shown", job.check_id)
            await asyncio.sleep(self.practice_show_interval_s if job.opponent else self.show_interval_s)

    async def _in_db(self, work: Callable[[], Any]) -> Any:
        return await self.in_thread(outside_requests()(work))
