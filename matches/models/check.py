"""The queue of what is done with agents outside any league: conformance checks, and practice matches."""

from __future__ import annotations

import uuid
from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from agents_registry.models import Agent
from league_sdk.protocol.limits import MAX_ENDPOINT_CHARS


class CheckState(models.TextChoices):
    WANTED = "WANTED"
    RUNNING = "RUNNING"
    DONE = "DONE"
    FAILED = "FAILED"


class CheckRole(models.TextChoices):
    PLAYER = "player", _("player")
    REFEREE = "referee", _("referee")
    MANAGER = "manager", _("league manager")


class CheckWay(models.TextChoices):
    """The way by which an agent is checked. Empty: the way by which a league would reach it when the check begins."""

    ADDRESS = "address", _("its address")
    POLL = "poll", _("its own line (long poll)")
    WEBSOCKET = "websocket", _("its own line (WebSocket)")
    INBOX = "inbox", _("its own line (none was open)")


LINES = (CheckWay.POLL, CheckWay.WEBSOCKET, CheckWay.INBOX)
"""The ways of a check that goes to the agent's inbox."""


class Opponent(models.TextChoices):
    """Whom an agent plays in a practice match: a house agent of this strength (``league_sdk.strategies.house``)."""

    EASY = "easy", _("easy")
    MEDIUM = "medium", _("medium")
    HARD = "hard", _("hard")


class ChecksOnly(models.Manager["Check"]):
    """The checks, without the practice matches: what the site says about an agent is read from checks only."""

    def get_queryset(self) -> models.QuerySet[Check]:
        return super().get_queryset().filter(opponent="")


class PracticesOnly(models.Manager["Check"]):
    """The practice matches."""

    def get_queryset(self) -> models.QuerySet[Check]:
        return super().get_queryset().exclude(opponent="")


class Check(models.Model):
    """One run of the conformance check against one address, or one practice match, outside any league.

    Anybody who knows the unguessable id may read the report. As with matches, the rows themselves are the queue. A
    practice match is a row with an ``opponent``. It waits, is claimed and gives way as a check does, but whether an
    agent is ready does not depend on it. So the manager ``objects`` has the checks only, and the code that works on the
    queue uses the manager ``checks_and_practices``.
    """

    check_id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    role = models.CharField(_("checked as"), max_length=8, choices=CheckRole.choices, default=CheckRole.PLAYER)
    endpoint = models.CharField(_("address"), max_length=MAX_ENDPOINT_CHARS)
    endpoint_key = models.CharField(max_length=MAX_ENDPOINT_CHARS, editable=False)
    way = models.CharField(max_length=9, choices=CheckWay.choices, blank=True, default="")
    address = models.CharField(
        max_length=MAX_ENDPOINT_CHARS,
        editable=False,
        help_text="Host and port; only one check at a time runs at an address.",
    )
    game_types = models.JSONField(default=list)
    notes = models.JSONField(default=list)
    agent = models.ForeignKey(Agent, null=True, on_delete=models.SET_NULL, related_name="checks")
    asked_by = models.CharField(max_length=64, blank=True, default="", help_text="The caller; empty for the league.")
    withheld = models.BooleanField(
        default=False,
        help_text="Whoever asked had not proven that the agent is theirs: the report leaves out its answers.",
    )
    opponent = models.CharField(
        _("opponent"), max_length=8, choices=Opponent.choices, blank=True, default="", help_text="Empty for a check."
    )
    second = models.BooleanField(
        default=False,
        help_text="For a practice match: whether the house agent is PLAYER_A, so that the agent plays second.",
    )
    state = models.CharField(max_length=8, choices=CheckState.choices, default=CheckState.WANTED)
    runs = models.PositiveSmallIntegerField(default=0)
    report = models.JSONField(default=dict)
    passed = models.BooleanField(_("passed"), null=True)
    problem = models.CharField(max_length=200, blank=True, default="")
    due_at = models.DateTimeField()
    claimed_until = models.DateTimeField(null=True)
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    objects = ChecksOnly()
    practices = PracticesOnly()
    checks_and_practices: ClassVar[models.Manager[Check]] = models.Manager()

    class Meta:
        constraints = [
            models.CheckConstraint(name="check_role", condition=Q(role__in=CheckRole.values)),
            models.CheckConstraint(name="check_state", condition=Q(state__in=CheckState.values)),
            models.CheckConstraint(
                name="check_done_has_verdict",
                condition=Q(state=CheckState.DONE, opponent="", passed__isnull=False)
                | ~Q(state=CheckState.DONE, opponent="") & Q(passed__isnull=True),
            ),
            models.CheckConstraint(name="check_opponent", condition=Q(opponent__in=["", *Opponent.values])),
            models.CheckConstraint(
                name="check_practice_of_player",
                condition=Q(opponent="", second=False) | ~Q(opponent="") & Q(role=CheckRole.PLAYER),
            ),
            models.UniqueConstraint(
                name="check_one_practice",
                fields=["agent"],
                condition=~Q(opponent="") & Q(state__in=[CheckState.WANTED, CheckState.RUNNING]),
            ),
            # One at a time per address, whatever two conductors do.
            models.UniqueConstraint(
                name="check_one_running", fields=["address"], condition=Q(state=CheckState.RUNNING)
            ),
        ]
        indexes = [
            models.Index(name="check_due", fields=["due_at"], condition=Q(state=CheckState.WANTED)),
            models.Index(name="check_of_endpoint", fields=["endpoint_key", "-created_at"]),
            models.Index(name="check_of_caller", fields=["asked_by", "created_at"]),
        ]

    def __str__(self) -> str:
        return f"{self.role} {self.endpoint} {self.opponent} {self.state}"

    @property
    def is_practice(self) -> bool:
        """Whether it is a practice match."""
        return self.opponent != ""


class CheckAnswer(models.Model):
    """An answer that the player under check sent to the league manager, until the check takes it."""

    of = models.ForeignKey(Check, on_delete=models.CASCADE, related_name="answers")
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="+")
    message_type = models.CharField(max_length=32)
    payload = models.JSONField()
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.message_type} for {self.of_id}"
