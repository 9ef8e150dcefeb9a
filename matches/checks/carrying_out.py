"""Carries out the checks that were asked for: takes what is due, runs it, shows it as it goes.

Beside the conductor's looks, on its loop and its database thread: a check takes seconds and must hold
up no match. Like the conductor it owns nothing but what is on its way.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from typing import Any

from django.db import close_old_connections
from django.utils import timezone
from django.utils.translation import gettext as _

from league_sdk.conformance.fixtures import Identity
from league_sdk.conformance.listener import CallbackListener, own_address
from league_sdk.conformance.manager import check_manager
from league_sdk.conformance.player import check_player
from league_sdk.conformance.referee import check_referee
from league_sdk.conformance.report import Clause, Report
from league_sdk.transport.client import Client
from matches.checks import asking, runs, taking
from matches.checks.taking import Job
from matches.models import CheckRole
from matches.push import nudge

logger = logging.getLogger(__name__)

TICK_S = 1.0
BREATH_S = 0.2
"""Between two looks, whatever happens on the site meanwhile."""
SHOW_EVERY_S = 0.3
"""At least this long between two showings of what a check has found so far."""
RUN_LIMIT_S = 120.0
"""A correct agent takes under 20 s; one that answers nothing in time, the sum of the limits."""

InThread = Callable[[Callable[[], Any]], Awaitable[Any]]
OnClause = Callable[[Clause], None]


async def _check_player(job: Job, client: Client, on_clause: OnClause) -> Report:
    listener = await _listening(job.endpoint)
    identity = None
    if job.player_id:
        identity = Identity(job.player_id, job.league_id, job.league_token, known=True)
    try:
        return await check_player(
            job.endpoint,
            client=client,
            game_types=job.game_types,
            on_clause=on_clause,
            identity=identity,
            callbacks=listener,
            dialect=job.dialect,
            stays=job.stays,
            # An agent that is registered still has its league before it, and some go home after LEAGUE_COMPLETED.
            farewell=identity is None,
        )
    finally:
        if listener is not None:
            await listener.stop()


async def _listening(endpoint: str) -> CallbackListener | None:
    """A port for answers that come as a POST, at our address as the agent sees it; None when there is no way."""
    listener = CallbackListener()
    try:
        await listener.start(await asyncio.to_thread(own_address, endpoint))
    except OSError:
        return None
    return listener


async def _check_referee(job: Job, client: Client, on_clause: OnClause) -> Report:
    # It is registered here, or nowhere: nobody can start it for a league manager that lives as long as a check.
    return await check_referee(job.endpoint, client=client, on_clause=on_clause, register_wait_s=0)


async def _check_manager(job: Job, client: Client, on_clause: OnClause) -> Report:
    return await check_manager(job.endpoint, client=client, on_clause=on_clause)


CHECKS: dict[str, Callable[[Job, Client, OnClause], Coroutine[Any, Any, Report]]] = {
    CheckRole.PLAYER.value: _check_player,
    CheckRole.REFEREE.value: _check_referee,
    CheckRole.MANAGER.value: _check_manager,
}
"""How an agent is checked, by role."""


async def keep_checking(client: Client, in_thread: InThread, draining: Callable[[], bool]) -> None:
    """Take and run checks until cancelled.

    Args:
        client: the conductor's, with the endpoint policy.
        in_thread: runs database work in the conductor's thread.
        draining: whether nothing new is begun any more.
    """
    loop = asyncio.get_running_loop()
    woken = asyncio.Event()

    def wake(urgent: bool) -> None:
        # What is not urgent is matches going on; and who is awake already has its look before it.
        if urgent and not woken.is_set():
            loop.call_soon_threadsafe(woken.set)

    detach = nudge.attach(wake)
    running: dict[asyncio.Task[None], Job] = {}

    def ended(task: asyncio.Task[None]) -> None:
        running.pop(task, None)
        # Its address, and a place, are free again.
        woken.set()

    try:
        while True:
            woken.clear()
            for job in [] if draining() else await _take(in_thread, taking.MOST_AT_ONCE - len(running)):
                task = asyncio.create_task(_run(job, client, in_thread))
                running[task] = job
                task.add_done_callback(ended)
            try:
                async with asyncio.timeout(TICK_S):
                    await woken.wait()
            except TimeoutError:
                logger.debug("tick")
            await asyncio.sleep(BREATH_S)
    finally:
        detach()
        jobs = list(running.values())
        for task in list(running):
            task.cancel()
        if jobs:
            # So that whoever comes next begins with them at once, and no page says that they are running.
            await in_thread(lambda: _closing(lambda: runs.give_back([(job.check_id, job.run) for job in jobs])))


async def _take(in_thread: InThread, room: int) -> list[Job]:
    def look() -> list[Job]:
        now = timezone.now()
        asking.tend(now=now)
        return taking.take(now=now, room=room)

    try:
        found: list[Job] = await in_thread(lambda: _closing(look))
    except Exception:
        # A database that is locked or gone for a moment: the rows are as they were.
        logger.exception("a look at the checks failed; the next one tries again")
        return []
    return found


async def _run(job: Job, client: Client, in_thread: InThread) -> None:
    clauses: list[dict[str, Any]] = []
    news = asyncio.Event()

    def heard(clause: Clause) -> None:
        clauses.append(clause.to_json())
        news.set()

    # A name that led elsewhere when the check began must not lead it to a program that plays by now.
    pinned = Client(agent_type="league_manager", policy=replace(client.policy, pinned=job.pinned))
    showing = asyncio.create_task(_keep_showing(job, clauses, news, in_thread))
    report: Report | None = None
    problem = ""
    try:
        async with asyncio.timeout(RUN_LIMIT_S):
            report = await CHECKS[job.role](job, pinned, heard)
    except TimeoutError:
        problem = _("The check did not end within %(limit)d s.") % {"limit": RUN_LIMIT_S}
    except Exception:
        logger.exception("the check %s failed", job.check_id)
        problem = _("The check itself failed; the site's log says why.")
    finally:
        showing.cancel()
        await pinned.aclose()

    def end() -> bool:
        if report is None:
            return runs.fail(check_id=job.check_id, run=job.run, problem=problem)
        return runs.finish(check_id=job.check_id, run=job.run, report=report.to_json())

    try:
        await in_thread(lambda: _closing(end))
    except Exception:
        # Its claim runs out, and it is run again.
        logger.exception("the outcome of the check %s could not be written down", job.check_id)


async def _keep_showing(job: Job, clauses: list[dict[str, Any]], news: asyncio.Event, in_thread: InThread) -> None:
    """Write down what was found so far, now and then, so that whoever looks sees it happen."""
    while True:
        await news.wait()
        news.clear()
        so_far = list(clauses)
        try:
            await in_thread(
                lambda so_far=so_far: _closing(
                    lambda: runs.progress(check_id=job.check_id, run=job.run, clauses=so_far)
                )
            )
        except Exception:
            logger.exception("what the check %s has found so far could not be shown", job.check_id)
        await asyncio.sleep(SHOW_EVERY_S)


def _closing(work: Callable[[], Any]) -> Any:
    try:
        return work()
    finally:
        close_old_connections()
