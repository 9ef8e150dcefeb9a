"""One trial, and its copy for the site's other web processes.

The page that shows a trial may be loaded from another process than the one that sends it. The copy is in Django's
cache, in Redis; a site in one process keeps none.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.core.cache import cache

from league_sdk.dialects.answers import Understanding
from league_sdk.protocol.transcript import Wire
from matches.push import notify
from storage import clock

logger = logging.getLogger(__name__)

LOST_AFTER_S = 30.0
"""How long after its time limit a trial counts as lost, because no process can still be sending it."""
CACHE_TIMEOUT_S = 1800


class State(StrEnum):
    """How far a trial has come."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Trial:
    """One request of a match that is sent again.

    Attributes:
        agent_pk: the primary key of the agent.
        dialect: the dialect in which the agent registered.
        spoken: by message type, the shape in which the agent understood it in its matches.
        exchange: the exchange on the match page that it repeats.
        message: the message in canonical form.
        limit_s: seconds for all tries together.
        behind_gateway: the agent is behind a gateway, where another path is another program.
        wire: the requests that were sent, with their answers; ``shown`` is the index of the one whose answer the
            following attributes describe.
        understanding: how a referee would read the answer; None if no answer came.
        answer: the fields that were read.
        body: the answer as it came, cut if it is long.
        problem: why no answer came.
    """

    agent_pk: int
    endpoint: str
    dialect: str
    spoken: Mapping[str, str]
    exchange: str
    message: Mapping[str, Any]
    choice_field: str
    limit_s: float
    asked_at: datetime
    behind_gateway: bool = False
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
        """Whether it is waiting or being sent."""
        late = (clock.now() - self.asked_at).total_seconds() > self.limit_s + LOST_AFTER_S
        return self.state != State.DONE and not late


def keep(trial: Trial) -> None:
    """Store a copy of a trial as it is now. Without Redis only the process that was asked for the trial shows it."""
    if not notify.reaches_others():
        return
    understood = trial.understanding.name if trial.understanding is not None else None
    stored = asdict(trial) | {"asked_at": trial.asked_at.isoformat(), "understanding": understood}
    try:
        cache.set(_cache_key(trial.agent_pk), stored, CACHE_TIMEOUT_S)
    except Exception as error:
        logger.warning("the copy of a trial could not be stored (%r)", error)


def find(agent_pk: int) -> Trial | None:
    """The copy of an agent's last trial; None if there is none, it cannot be read, or Redis is away."""
    if not notify.reaches_others():
        return None
    try:
        stored = cache.get(_cache_key(agent_pk))
        return None if stored is None else _read(stored)
    except Exception as error:
        # Or another version of the site, which runs until it is replaced, stored less or something else.
        logger.warning("the copy of a trial could not be read (%r)", error)
        return None


def _read(stored: dict[str, Any]) -> Trial:
    # Another version of the site may have stored fields that this one lacks.
    known = {one.name: stored[one.name] for one in fields(Trial) if one.name in stored}
    understood = known["understanding"]
    return Trial(
        **known
        | {
            "asked_at": datetime.fromisoformat(known["asked_at"]),
            "state": State(known["state"]),
            "wire": tuple(known["wire"]),
            "understanding": None if understood is None else Understanding[understood],
        }
    )


def _cache_key(agent_pk: int) -> str:
    return f"trial:{agent_pk}"
