"""The outbox: messages that wait for delivery, each with a row for every agent that gets it."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from agents_registry.models import Agent
from matches.models.league import League
from storage.inside import QuickLoad


class Broadcast(QuickLoad, models.Model):
    """The payload of a message for one or more agents; each agent's token and dialect are added when it is sent."""

    league = models.ForeignKey(League, on_delete=models.CASCADE, related_name="broadcasts")
    message_type = models.CharField(max_length=32)
    round_number = models.PositiveIntegerField(null=True)
    payload = models.JSONField()
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.league_id} {self.message_type}"


class DeliveryState(models.TextChoices):
    """PENDING: to be sent; SETTLED: the agent has it; FAILED: all tries failed; DROPPED: not wanted any more."""

    PENDING = "PENDING"
    SETTLED = "SETTLED"
    FAILED = "FAILED"
    DROPPED = "DROPPED"


class Delivery(QuickLoad, models.Model):
    """One broadcast to one agent. An agent gets its broadcasts in the order of these rows."""

    broadcast = models.ForeignKey(Broadcast, on_delete=models.CASCADE, related_name="deliveries", db_index=False)
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="deliveries")
    state = models.CharField(max_length=8, choices=DeliveryState.choices, default=DeliveryState.PENDING)
    problem = models.CharField(max_length=200, blank=True, default="")
    settled_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name_plural = "deliveries"
        constraints = [
            models.CheckConstraint(name="delivery_state", condition=Q(state__in=list(DeliveryState))),
            models.UniqueConstraint(name="delivery_once", fields=["broadcast", "agent"]),
        ]
        indexes = [
            models.Index(name="delivery_due", fields=["id"], condition=Q(state=DeliveryState.PENDING)),
            # Shows whether a broadcast waits for any agent. All deliveries of a broadcast are found by delivery_once.
            models.Index(name="delivery_waiting", fields=["broadcast"], condition=Q(state=DeliveryState.PENDING)),
        ]

    def __str__(self) -> str:
        return f"{self.broadcast_id} to {self.agent_id}"
