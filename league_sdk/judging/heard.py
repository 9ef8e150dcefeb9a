"""What comes of one call to a player, and the two ways of calling one."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from league_sdk.dialects.hunt import Proposal
from league_sdk.judging.brief import Seat
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.transcript import Wire


@dataclass(frozen=True, slots=True)
class Limited:
    """A refusal for a rate to which our own search for the player's words has led (ruling, section 12).

    Attributes:
        proposal: the request that was refused; it is to be sent alone in the next try.
        wait_s: seconds after which the player wants to be asked again; None when it does not say.
    """

    proposal: Proposal
    wait_s: float | None = None


@dataclass(frozen=True, slots=True)
class Heard:
    """What came of one try.

    Attributes:
        message: the answer's fields, empty when there was none.
        error_code: E001 or E009 when no answer came, E002 when what came was none, else None.
        problem: what was wrong, for people.
        elapsed_s: seconds from sending to the answer or to giving up.
        http_status: of the answer.
        notes: what was tolerated.
        body: what came, for the transcript.
        connected: whether the message may have arrived.
        cause: whose fault it is that there was no answer, where the error code does not say it all.
        detail: what was seen or understood instead, for people.
        cut_off: a machine without a network would fail in the same way.
        excuse: what shows that this side failed, not the player; empty when nothing does.
        limited: it refused for a rate, after requests that were ours to make.
        wire: the requests that were sent for it.
    """

    message: Mapping[str, Any] = field(default_factory=dict)
    error_code: str | None = None
    problem: str = ""
    elapsed_s: float = 0.0
    http_status: int | None = None
    notes: tuple[str, ...] = ()
    body: Any = None
    connected: bool = True
    cause: Cause | None = None
    detail: str = ""
    cut_off: bool = False
    excuse: str = ""
    limited: Limited | None = None
    wire: tuple[Wire, ...] = field(default=(), compare=False)

    @property
    def spoke(self) -> bool:
        """Whether the player said something, which may give a hidden choice away."""
        return self.body is not None or self.http_status is not None


class Ask(Protocol):
    """Send a message to a seat and wait for its answer, at most ``limit_s`` seconds; with ``only`` in this spelling."""

    def __call__(
        self, seat: Seat, message: dict[str, Any], *, limit_s: float, only: Proposal | None = None
    ) -> Awaitable[Heard]: ...


class Tell(Protocol):
    """Send a message to a seat whose answer does not matter, at most ``limit_s`` seconds."""

    def __call__(self, seat: Seat, message: dict[str, Any], *, limit_s: float) -> Awaitable[Heard]: ...
