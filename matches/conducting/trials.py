"""Trials: a request of a match is sent to its player once more, outside any match; nothing of it counts.

A request of a page must not wait for an agent, so it only puts the trial down here (:func:`ask`); the conductor's loop
sends it with the conductor's client (:func:`keep_sending`), and the page looks again; a web process without a
conductor does that itself. Trials are kept in memory, with a copy for the other web processes of the site
(``trial_copies``): they say nothing about the league, and a restart may forget them.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from itertools import count
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from agents_registry import programs
from agents_registry.models import Agent
from league_sdk.dialects import session
from league_sdk.dialects.answers import Understanding
from league_sdk.dialects.driver import Driver, Failed
from league_sdk.dialects.hunt import Hunt, Memory, Proposal
from league_sdk.protocol.envelope import stamp
from league_sdk.protocol.transcript import body_for_transcript
from league_sdk.transport.client import Broken, CallFailed, Client, Reply
from matches.conducting import trial_copies
from matches.conducting.trial_copies import State, Trial
from matches.league.errors import ActionRefused
from matches.push import notify, nudge

logger = logging.getLogger(__name__)

TOKEN = "tok_trial"  # noqa: S105 - says that it is none
FIRST_ID = 9001
MOST_AT_ONCE = 8
MOST_WAITING = 50
MOST_KEPT = 200

_lock = threading.Lock()
_trials: OrderedDict[int, Trial] = OrderedDict()


def rewrite(message: Mapping[str, Any], *, now: datetime, limit_s: float) -> dict[str, Any]:
    """A request of a match as its trial: a conversation of its own, the time of now, and no token."""
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
    """Have a request sent again.

    Raises:
        ActionRefused: one is on its way to this agent, or too many to all.
    """
    now = timezone.now()
    trial = Trial(
        agent_pk=agent.pk,
        endpoint=agent.endpoint,
        dialect=agent.dialect,
        spoken=dict(agent.spoken),
        exchange=exchange,
        message=rewrite(message, now=now, limit_s=limit_s),
        choice_field=choice_field,
        limit_s=limit_s,
        begun=time.monotonic(),
        asked_at=now,
        stays=programs.is_behind_gateway(agent.program.split()),
    )
    known = of(agent.pk)
    with _lock:
        if any(one is not None and one.open for one in (known, _trials.get(agent.pk))):
            raise ActionRefused(
                _("One request is on its way to %(agent)s already: wait for it.") % {"agent": agent.code}
            )
        if sum(one.open for one in _trials.values()) >= MOST_WAITING:
            raise ActionRefused(_("Too many requests are being sent again: try it in a minute."))
        _put(trial)
    trial_copies.keep(trial)
    nudge.wake(urgent=True)
    return trial


def of(agent_pk: int) -> Trial | None:
    """The last trial of an agent, whichever web process was asked for it."""
    with _lock:
        own = _trials.get(agent_pk)
    copy = trial_copies.find(agent_pk)
    return copy if own is None or (copy is not None and copy.asked_at > own.asked_at) else own


def _put(trial: Trial) -> None:
    _trials[trial.agent_pk] = trial
    _trials.move_to_end(trial.agent_pk)
    while len(_trials) > MOST_KEPT:
        _trials.popitem(last=False)


def _take(room: int) -> list[Trial]:
    """Those that wait, now running."""
    with _lock:
        waiting = [one for one in _trials.values() if one.state == State.WAITING and one.open][: max(0, room)]
        for one in waiting:
            _put(replace(one, state=State.RUNNING))
    return waiting


def _finish(trial: Trial, **found: Any) -> Trial | None:
    """What became of it; None when another one has taken its place, as it was thought lost."""
    elapsed_ms = round((time.monotonic() - found.pop("begun")) * 1000)
    with _lock:
        known = _trials.get(trial.agent_pk)
        if known is None or known.message != trial.message:
            return None
        done = replace(known, state=State.DONE, elapsed_ms=elapsed_ms, **found)
        _put(done)
        return done


async def keep_sending(client: Client) -> None:
    """Send what is asked for until cancelled.

    Args:
        client: the conductor's, with the endpoint policy.
    """
    loop = asyncio.get_running_loop()
    woken = asyncio.Event()
    detach = nudge.attach(lambda _urgent: loop.call_soon_threadsafe(woken.set))
    running: set[asyncio.Task[None]] = set()

    def ended(task: asyncio.Task[None]) -> None:
        running.discard(task)
        woken.set()

    try:
        while True:
            woken.clear()
            for trial in _take(MOST_AT_ONCE - len(running)):
                task = asyncio.create_task(_send(client, trial))
                running.add(task)
                task.add_done_callback(ended)
            await woken.wait()
    finally:
        detach()
        for task in list(running):
            task.cancel()


async def _send(client: Client, trial: Trial) -> None:
    """One trial, as a referee's line would ask: every way of speaking within one limit."""
    begun = time.monotonic()
    found: dict[str, Any] = {"problem": "broken off"}
    try:
        found = await _hunt(client, trial)
    except Exception:
        logger.exception("a trial at agent %s failed", trial.agent_pk)
        found = {"problem": "the trial itself failed; the site's log says why"}
    finally:
        done = _finish(trial, begun=begun, **found)
        if done is not None and notify.reaches_others():
            await asyncio.to_thread(trial_copies.keep, done)


async def _hunt(client: Client, trial: Trial) -> dict[str, Any]:
    memory = Memory(dialect=trial.dialect, spoken=dict(trial.spoken), stays=trial.stays)
    hunt = Hunt(trial.message, url=trial.endpoint, memory=memory, choice_field=trial.choice_field)
    next_id = partial(next, count(FIRST_ID))

    async def send(proposal: Proposal, left_s: float) -> Reply:
        return await session.through(partial(client.post, proposal.url), proposal.body, memory, next_id, limit_s=left_s)

    driver = Driver(hunt, send, failures=CallFailed, limit_s=trial.limit_s, next_id=next_id)
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
            # Of many refusals the first says most: it is of the words that the agent should know.
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
