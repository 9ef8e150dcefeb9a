"""One request that is sent again, and its copy for the site's other web processes.

Whoever asked for a trial may load the page that shows it from another process than the one that sends it. The copy is
in Django's cache, in Redis; a site in one process keeps none.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.core.cache import cache
from django.utils import timezone

from league_sdk.dialects.answers import Understanding
from league_sdk.protocol.transcript import Wire
from matches.push import notify

logger = logging.getLogger(__name__)

LOST_AFTER_S = 30.0
"""Beyond its limit; then nobody is sending it any more."""
KEPT_S = 1800


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
        stays: it is behind a gateway, where another path is another program.
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
    stays: bool = False
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


def keep(trial: Trial) -> None:
    """Keep the copy of a trial as it is now. Without Redis the page shows it only where it was asked for."""
    if not notify.reaches_others():
        return
    understood = trial.understanding.name if trial.understanding is not None else None
    words = asdict(trial) | {"asked_at": trial.asked_at.isoformat(), "understanding": understood}
    try:
        cache.set(_name(trial.agent_pk), words, KEPT_S)
    except Exception as error:
        logger.warning("the copy of a trial was not kept (%r)", error)


def find(agent_pk: int) -> Trial | None:
    """The copy of an agent's last trial; None when there is none, or Redis is not there."""
    if not notify.reaches_others():
        return None
    try:
        words = cache.get(_name(agent_pk))
    except Exception as error:
        logger.warning("the copy of a trial was not found (%r)", error)
        return None
    return None if words is None else _read(words)


def _read(words: dict[str, Any]) -> Trial:
    asked_at = datetime.fromisoformat(words["asked_at"])
    understood = words["understanding"]
    return Trial(
        **words
        | {
            "asked_at": asked_at,
            # The other process has a monotonic clock of its own.
            "begun": time.monotonic() - (timezone.now() - asked_at).total_seconds(),
            "state": State(words["state"]),
            "wire": tuple(words["wire"]),
            "understanding": None if understood is None else Understanding[understood],
        }
    )


def _name(agent_pk: int) -> str:
    return f"trial:{agent_pk}"
