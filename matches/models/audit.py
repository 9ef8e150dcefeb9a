"""Who did what: one row for each action of a person, also of a script that has the API key."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from league_sdk.protocol.limits import MAX_ID_CHARS
from matches.models.desk import MAX_USER_CHARS

MAX_ACTION_CHARS, MAX_TARGET_CHARS = 40, 200


class Via(models.TextChoices):
    DESK = "desk", _("desk")
    API = "api", _("API")


class AuditEntry(models.Model):
    """One action. League and account are texts: the entry outlives the league and the account that it names.

    ``asked`` holds what the action was asked to do. ``changes`` holds for each changed thing, by its name, the value
    before and the value after. No code, password or token is in either (``matches.view.audit``).
    """

    at = models.DateTimeField(_("at"))
    account = models.CharField(_("account"), max_length=MAX_USER_CHARS, help_text="The user name; empty for a script.")
    via = models.CharField(_("by"), max_length=4, choices=Via.choices)
    action = models.CharField(_("action"), max_length=MAX_ACTION_CHARS)
    league_id = models.CharField(_("league"), max_length=MAX_ID_CHARS, blank=True, default="")
    target = models.CharField(_("done to"), max_length=MAX_TARGET_CHARS, blank=True, default="")
    asked = models.JSONField(_("asked for"), default=dict)
    changes = models.JSONField(_("changes"), default=dict)

    class Meta:
        verbose_name = _("entry of who did what")
        verbose_name_plural = _("who did what")
        indexes = [
            models.Index(name="audit_league", fields=["league_id", "-id"]),
            models.Index(name="audit_account", fields=["account", "-id"]),
        ]
        constraints = [models.CheckConstraint(name="audit_via", condition=models.Q(via__in=Via.values))]

    def __str__(self) -> str:
        return f"#{self.pk}"
