"""Trials: send a request of a match to its player again, outside any match; the answer does not count.

A request for a page must not wait for an agent. So it only queues the trial (:func:`ask`); the conductor's loop, or
that of a web process without a conductor, sends it (:func:`keep_sending`), and the browser loads the page again to see
the answer. Trials are kept in memory, with a copy for the other web processes of the site (``trial_copies``). They are
no part of the league: a restart loses those that have no copy.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from itertools import count
from typing import Any

from django.utils.translation import gettext as _

from agents_registry.addresses import programs
from agents_registry.models import Agent
from league_sdk.dialects import session
from league_sdk.dialects.answers import Understanding
from league_sdk.dialects.driver import Driver, Failed
from league_sdk.dialects.hunt import Hunt, Memory, Proposal
from league_sdk.protocol.envelope import stamp
from league_sdk.protocol.transcript import body_for_transcript
from league_sdk.transport.client import Broken, Client, Reply
from matches.conducting import trial_copies
from matches.conducting.trial_copies import State, Trial
from matches.inbox.calling import AgentCaller
from matches.league.errors import ActionRefused
from matches.push import notify, nudge
from matches.view.recent import Recent
from storage import clock

logger = logging.getLogger(__name__)

TOKEN = "tok_trial"  # noqa: S105 - it names itself as no real token
FIRST_ID = 9001
"""The JSON-RPC id of a trial's first request; each further request has the next number."""
MAX_RUNNING_TRIALS = 8
MAX_OPEN_TRIALS = 50
MAX_KEPT_TRIALS = 200

_lock = threading.Lock()
_trials: Recent[int, Trial] = Recent(MAX_KEPT_TRIALS)


def rewrite(message: Mapping[str, Any], *, now: datetime, limit_s: float) -> dict[str, Any]:
    """Rewrite a request of a match as a trial: with a new conversation_id, time and deadline, and :data:`TOKEN`."""
    fresh = _with_deadlines(message, stamp(now + timedelta(seconds=limit_s)))
    return {
        **fresh,
        "conversation_id": f"trial-{uuid.uuid4().hex[:12]}",
        "timestamp": stamp(now),
        "auth_token": TOKEN,
    }


def _with_deadlines(value: Any, deadline: str) -> Any:
    if isinstance(value, Mapping):
        return {
            name: deadline if name == "deadline" else _with_deadlines(inner, deadline) for name, inner in value.items()
        }
    return [_with_deadlines(one, deadline) for one in value] if isinstance(value, list) else value


def ask(*, agent: Agent, exchange: str, message: Mapping[str, Any], choice_field: str, limit_s: float) -> Trial:
    """Queue a trial.

    Raises:
        ActionRefused: this agent's last trial waits or is being sent, or too many of all agents do.
    """
    now = clock.now()
    trial = Trial(
        agent_pk=agent.pk,
        endpoint=agent.endpoint,
        dialect=agent.dialect,
        spoken=dict(agent.spoken),
        exchange=exchange,
        message=rewrite(message, now=now, limit_s=limit_s),
        choice_field=choice_field,
        limit_s=limit_s,
        asked_at=now,
        behind_gateway=programs.is_behind_gateway(agent.program.split()),
    )
    known = of(agent.pk)
    with _lock:
        if any(one is not None and one.open for one in (known, _trials.get(agent.pk))):
            raise ActionRefused(
                _("One request is on its way to %(agent)s already: wait for it.") % {"agent": agent.code}
            )
        if sum(one.open for one in _trials.values()) >= MAX_OPEN_TRIALS:
            raise ActionRefused(_("Too many requests are being sent again: try it in a minute."))
        _trials[trial.agent_pk] = trial
    trial_copies.keep(trial)
    nudge.wake(urgent=True)
    return trial


def of(agent_pk: int) -> Trial | None:
    """The last trial of an agent, from whichever web process."""
    with _lock:
        own = _trials.get(agent_pk)
    copy = trial_copies.find(agent_pk)
    return copy if own is None or (copy is not None and copy.asked_at > own.asked_at) else own


def _take(room: int) -> list[Trial]:
    """Take at most ``room`` waiting trials, and mark them as running."""
    with _lock:
        waiting = [one for one in _trials.values() if one.state == State.WAITING and one.open][: max(0, room)]
        for one in waiting:
            _trials[one.agent_pk] = replace(one, state=State.RUNNING)
    return waiting


def _finish(trial: Trial, **found: Any) -> Trial | None:
    """Store the outcome of a trial; None if it took so long that it was dropped, or replaced by a newer trial."""
    elapsed_ms = round((time.monotonic() - found.pop("begun")) * 1000)
    with _lock:
        known = _trials.get(trial.agent_pk)
        if known is None or known.message != trial.message:
            return None
        done = replace(known, state=State.DONE, elapsed_ms=elapsed_ms, **found)
        _trials[done.agent_pk] = done
        return done


async def keep_sending(client: Client) -> None:
    """Send queued trials until cancelled.

    Args:
        client: a client with the endpoint policy.
    """
    running: set[asyncio.Task[None]] = set()

    def ended(task: asyncio.Task[None]) -> None:
        running.discard(task)
        woken.set()

    with nudge.woken() as woken:
        try:
            while True:
                woken.clear()
                for trial in _take(MAX_RUNNING_TRIALS - len(running)):
                    task = asyncio.create_task(_send(client, trial))
                    running.add(task)
                    task.add_done_callback(ended)
                await woken.wait()
        finally:
            for task in list(running):
                task.cancel()


async def _send(client: Client, trial: Trial) -> None:
    """Send one trial as a referee would: in every dialect, within one limit."""
    begun = time.monotonic()
    outcome: dict[str, Any] = {"problem": "broken off"}
    try:
        outcome = await _hunt(client, trial)
    except Exception:
        logger.exception("a trial at agent %s failed", trial.agent_pk)
        outcome = {"problem": "the trial itself failed; the site's log says why"}
    finally:
        done = _finish(trial, begun=begun, **outcome)
        if done is not None and notify.reaches_others():
            await asyncio.to_thread(trial_copies.keep, done)


async def _hunt(client: Client, trial: Trial) -> dict[str, Any]:
    memory = Memory(dialect=trial.dialect, spoken=dict(trial.spoken), behind_gateway=trial.behind_gateway)
    hunt = Hunt(trial.message, url=trial.endpoint, memory=memory, choice_field=trial.choice_field)
    next_id, caller = partial(next, count(FIRST_ID)), AgentCaller(client, trial.agent_pk)

    async def send(proposal: Proposal, left_s: float) -> Reply:
        post = partial(caller.post, proposal.url)
        return await session.through(post, proposal.body, memory, next_id, limit_s=left_s)

    driver = Driver(hunt, send, limit_s=trial.limit_s, next_id=next_id)
    last: dict[str, Any] = {"problem": "no answer in time"}
    async for step in driver:
        if isinstance(step, Failed):
            last = last if "shown" in last else {"problem": str(step.error)}
            if not isinstance(step.error, Broken):
                break
            hunt.give_up(step.proposal)
            continue
        understood = step.understanding is not Understanding.NOT_UNDERSTOOD
        if understood or "shown" not in last:
            # Keep the first of several refusals: it is about the shape that the agent should know.
            last = {
                "understanding": step.understanding,
                "answer": step.answer.message,
                "body": body_for_transcript(step.reply.body),
                "problem": step.reply.problem,
                "shown": len(driver.wire) - 1,
            }
        if understood:
            break
    return {"shown": len(driver.wire) - 1} | last | {"wire": tuple(driver.wire)}
