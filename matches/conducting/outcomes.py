"""What became of what went out, until it is written down."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from django.db import transaction

from agents_registry import learned, registration
from matches.league import losses, outbox
from matches.league.losses import NotTaken


@dataclass(slots=True)
class Outcomes:
    """What became of what went out.

    Attributes:
        deliveries: (delivery, problem); no problem means settled.
        undeliverable: starts that were not taken, and why.
        pings: (agent, problem).
        learned: (agent, by message type what it was seen to understand).
        freed: agents that nothing is on its way to any more.
    """

    deliveries: list[tuple[int, str]] = field(default_factory=list)
    undeliverable: list[NotTaken] = field(default_factory=list)
    pings: list[tuple[int, str]] = field(default_factory=list)
    learned: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    freed: list[int] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.deliveries or self.undeliverable or self.pings or self.learned)

    def put_before(self, earlier: Outcomes) -> None:
        """Add what could not be written down earlier, before what came since."""
        for one in fields(self):
            getattr(self, one.name)[:0] = getattr(earlier, one.name)


def note(outcomes: Outcomes) -> None:
    """Write down what became of what went out, in one transaction."""
    with transaction.atomic():
        for lost in outcomes.undeliverable:
            losses.undeliverable(lost)
        for agent_pk, problem in outcomes.pings:
            registration.note_ping(agent_id=agent_pk, problem=problem)
        for agent_pk, spoken in outcomes.learned:
            learned.learn_dialect(agent_id=agent_pk, spoken=spoken)
        # Deliveries last, as in a report that ends a round: in another order both would wait for each other.
        outbox.settle(outcomes.deliveries)
