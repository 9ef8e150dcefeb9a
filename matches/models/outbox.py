"""What agents are told, and how far that has come."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from agents_registry.models import Agent
from matches.models.league import League
from storage.inside import Quick


class Broadcast(Quick, models.Model):
    """What is told to many agents: one payload; token and dialect are put in when it is sent."""

    league = models.ForeignKey(League, on_delete=models.CASCADE, related_name="broadcasts")
    message_type = models.CharField(max_length=32)
    round_number = models.PositiveIntegerField(null=True)
    payload = models.JSONField()
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.league_id} {self.message_type}"


class DeliveryState(models.TextChoices):
    PENDING = "PENDING"
    SETTLED = "SETTLED"
    FAILED = "FAILED"
    DROPPED = "DROPPED"


class Delivery(Quick, models.Model):
    """The outbox: one broadcast to one agent, in the order of the rows per agent."""

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
            # Whether a broadcast has arrived everywhere; where it went is found by delivery_once.
            models.Index(name="delivery_waiting", fields=["broadcast"], condition=Q(state=DeliveryState.PENDING)),
        ]

    def __str__(self) -> str:
        return f"{self.broadcast_id} to {self.agent_id}"
