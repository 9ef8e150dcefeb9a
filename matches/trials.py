"""Trials: a request of a match is sent to its player once more, outside any match; nothing of it counts.

A request of a page must not wait for an agent, so it only puts the trial down here (:func:`ask`); the conductor's loop
sends it with the conductor's client (:func:`keep_sending`), and the page looks again. Trials are kept in memory and
nowhere else: they say nothing about the league, and a restart may forget them. They belong to one process, as web and
conductor do (``manage.py host``).
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import chain, count
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from agents_registry.models import Agent
from league_sdk.dialects import session
from league_sdk.dialects.answers import Understanding
from league_sdk.dialects.hunt import Hunt, Memory, Proposal
from league_sdk.protocol.envelope import stamp
from league_sdk.protocol.transcript import Wire, body_for_transcript
from league_sdk.transport.client import Broken, CallFailed, Client, Reply
from matches import nudge
from matches.league.errors import ActionRefused

logger = logging.getLogger(__name__)

TOKEN = "tok_trial"  # noqa: S105 - says that it is none
FIRST_ID = 9001
MOST_AT_ONCE = 8
MOST_WAITING = 50
MOST_KEPT = 200
LOST_AFTER_S = 30.0
"""Beyond its limit; then nobody is sending it any more."""


class State(StrEnum):
    """How far a trial has come."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Trial:
    """One request that is sent again.

    Attributes:
        agent_pk: to whom.
        exchange: which one of the match page it repeats.
        message: as it is sent, in canonical form.
        limit_s: seconds for everything.
        begun: when it was asked for, by the monotonic clock.
        wire: the requests that went out, and how they were answered; ``shown`` is the number of the one whose answer
            the rest is about.
        understanding: what the referee's reading makes of the answer; None when none came.
        answer: the fields that it read.
        body: the answer as it came, cut when it is long.
        problem: why there was none.
    """

    agent_pk: int
    endpoint: str
    dialect: str
    spoken: Mapping[str, str]
    exchange: str
    message: Mapping[str, Any]
    choice_field: str
    limit_s: float
    begun: float
    asked_at: datetime
    state: State = State.WAITING
    wire: tuple[Wire, ...] = ()
    shown: int = -1
    understanding: Understanding | None = None
    answer: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    problem: str = ""
    elapsed_ms: int = 0

    @property
    def open(self) -> bool:
        """Whether it is still to be answered."""
        late = time.monotonic() - self.begun > self.limit_s + LOST_AFTER_S
        return self.state != State.DONE and not late


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
    )
    with _lock:
        known = _trials.get(agent.pk)
        if known is not None and known.open:
            raise ActionRefused(
                _("One request is on its way to %(agent)s already: wait for it.") % {"agent": agent.code}
            )
        if sum(one.open for one in _trials.values()) >= MOST_WAITING:
            raise ActionRefused(_("Too many requests are being sent again: try it in a minute."))
        _put(trial)
    nudge.nudge()
    return trial


def of(agent_pk: int) -> Trial | None:
    """The last trial of an agent."""
    with _lock:
        return _trials.get(agent_pk)


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


def _finish(trial: Trial, **found: Any) -> None:
    elapsed_ms = round((time.monotonic() - found.pop("begun")) * 1000)
    with _lock:
        known = _trials.get(trial.agent_pk)
        # Another one may have taken its place, when it was thought lost.
        if known is not None and known.message == trial.message:
            _put(replace(known, state=State.DONE, elapsed_ms=elapsed_ms, **found))


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
        found = await _hunt(client, trial, begun)
    except Exception:
        logger.exception("a trial at agent %s failed", trial.agent_pk)
        found = {"problem": "the trial itself failed; the site's log says why"}
    finally:
        _finish(trial, begun=begun, **found)


async def _hunt(client: Client, trial: Trial, begun: float) -> dict[str, Any]:
    memory = Memory(dialect=trial.dialect, spoken=dict(trial.spoken))
    hunt = Hunt(trial.message, url=trial.endpoint, memory=memory, choice_field=trial.choice_field)
    ids = count(FIRST_ID)
    wire: list[Wire] = []
    last: dict[str, Any] = {"problem": "no answer in time"}
    left = trial.limit_s
    while left > 0 and (proposal := hunt.propose(next(ids))) is not None:
        try:
            reply = await _post(client, proposal, memory, left, ids)
        except CallFailed as error:
            wire.append(hunt.on_the_wire(proposal))
            last = last if "shown" in last else {"problem": str(error)}
            if not isinstance(error, Broken):
                break
            hunt.give_up(proposal)
            continue
        finally:
            left = trial.limit_s - (time.monotonic() - begun)
        kind = reply.headers.get("content-type", "")
        wire.append(hunt.on_the_wire(proposal, status=reply.status, content_type=kind, text=reply.text))
        finding = hunt.consider(proposal, status=reply.status, body=reply.body, problem=reply.problem)
        understood = finding.understanding is not Understanding.NOT_UNDERSTOOD
        if understood or "shown" not in last:
            # Of many refusals the first says most: it is of the words that the agent should know.
            last = {
                "understanding": finding.understanding,
                "answer": finding.answer.message,
                "body": body_for_transcript(reply.body),
                "problem": reply.problem,
                "shown": len(wire) - 1,
            }
        if understood:
            break
    return {"shown": len(wire) - 1} | last | {"wire": tuple(wire)}


async def _post(client: Client, proposal: Proposal, memory: Memory, limit_s: float, ids: count[int]) -> Reply:
    """The request, within a session when the server wants one; the limit is for all of it."""
    end = time.monotonic() + limit_s
    lefts = chain([limit_s], iter(lambda: max(0.001, end - time.monotonic()), None))

    async def send(body: Any, headers: Mapping[str, str] | None) -> Reply:
        return await client.post(proposal.url, body, limit_s=next(lefts), headers=headers)

    return await session.through(send, proposal.body, memory, lambda: next(ids))
