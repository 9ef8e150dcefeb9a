"""What instructors do at the desk: corrections, notices and roles."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from agents_registry.models import Agent
from league_sdk.protocol.limits import MAX_ID_CHARS
from matches.models.league import League

MAX_REASON_CHARS = 300
MAX_USER_CHARS = 150
"""The limit that Django has for user names."""
MAX_NOTICE_CHARS = 500


class CorrectionKind(models.TextChoices):
    VOID = "void", _("match voided")
    REPLAY = "replay", _("match played again")
    SET_RESULT = "set_result", _("result set by hand")
    WITHDRAW = "withdraw", _("player withdrawn")
    DISQUALIFY = "disqualify", _("player disqualified")
    POINTS = "points", _("points awarded or taken")


class Correction(models.Model):
    """One correction. It stays on record for ever; undoing it is recorded in the same row.

    ``before`` and ``after`` hold what it changed, by match id: enough to undo it, and to show it.
    """

    league = models.ForeignKey(League, on_delete=models.CASCADE, related_name="corrections")
    number = models.PositiveIntegerField()
    kind = models.CharField(_("kind"), max_length=12, choices=CorrectionKind.choices)
    match_id = models.CharField(_("match"), max_length=MAX_ID_CHARS, blank=True, default="")
    player = models.ForeignKey(Agent, null=True, on_delete=models.SET_NULL, related_name="+")
    points = models.IntegerField(_("points"), default=0)
    matches_become = models.CharField(max_length=8, blank=True, default="")
    reason = models.CharField(_("reason"), max_length=MAX_REASON_CHARS)
    before = models.JSONField(default=dict)
    after = models.JSONField(default=dict)
    made_by = models.CharField(_("by"), max_length=MAX_USER_CHARS)
    made_at = models.DateTimeField(_("at"))
    undone_by = models.CharField(max_length=MAX_USER_CHARS, blank=True, default="")
    undone_at = models.DateTimeField(null=True)
    undone_reason = models.CharField(max_length=MAX_REASON_CHARS, blank=True, default="")

    class Meta:
        verbose_name = _("correction")
        verbose_name_plural = _("corrections")
        constraints = [
            models.CheckConstraint(name="correction_kind", condition=Q(kind__in=CorrectionKind.values)),
            models.CheckConstraint(name="correction_has_reason", condition=~Q(reason="")),
            models.CheckConstraint(
                name="correction_undone_has_reason",
                condition=Q(undone_at__isnull=True, undone_reason="")
                | Q(undone_at__isnull=False) & ~Q(undone_reason=""),
            ),
            models.UniqueConstraint(name="correction_number", fields=["league", "number"]),
        ]

    def __str__(self) -> str:
        return f"{self.league_id} #{self.number} {self.kind}"


class Notice(models.Model):
    """A notice of the instructor: to everybody, or to the owner of one agent."""

    league = models.ForeignKey(League, on_delete=models.CASCADE, related_name="notices")
    agent = models.ForeignKey(Agent, null=True, on_delete=models.CASCADE, related_name="notices")
    text = models.CharField(_("text"), max_length=MAX_NOTICE_CHARS)
    made_by = models.CharField(max_length=MAX_USER_CHARS)
    made_at = models.DateTimeField()
    withdrawn_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("notice")
        verbose_name_plural = _("notices")
        constraints = [models.CheckConstraint(name="notice_has_text", condition=~Q(text=""))]

    def __str__(self) -> str:
        return f"{self.league_id} {self.text[:40]}"


class RoleName(models.TextChoices):
    INSTRUCTOR = "instructor", _("instructor")
    ASSISTANT = "assistant", _("assistant")


class Role(models.Model):
    """The role of a staff user in one league. Superusers need none; a user without a role is a spectator."""

    league = models.ForeignKey(League, on_delete=models.CASCADE, related_name="roles")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="league_roles")
    name = models.CharField(_("role"), max_length=10, choices=RoleName.choices)

    class Meta:
        verbose_name = _("role")
        verbose_name_plural = _("roles")
        constraints = [
            models.CheckConstraint(name="role_name", condition=Q(name__in=RoleName.values)),
            models.UniqueConstraint(name="role_once", fields=["league", "user"]),
        ]

    def __str__(self) -> str:
        return f"{self.user} {self.get_name_display()} {self.league_id}"
