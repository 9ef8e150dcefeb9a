"""A series: the leagues of one course, which are played on one evening after another, or by its groups."""

from __future__ import annotations

from django.core.validators import RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from league_sdk.protocol.limits import MAX_ID_CHARS, MAX_NAME_CHARS


class Series(models.Model):
    """Leagues with a common table. A league is in one series at most (``League.series``)."""

    series_id = models.CharField(
        _("series id"),
        max_length=MAX_ID_CHARS,
        primary_key=True,
        validators=[RegexValidator(r"^[A-Za-z0-9][A-Za-z0-9_-]*\Z", _("Use letters, digits, - and _ only."))],
    )
    display_name = models.CharField(_("name"), max_length=MAX_NAME_CHARS)
    created_at = models.DateTimeField(editable=False)

    class Meta:
        verbose_name = _("series")
        verbose_name_plural = _("series")

    def __str__(self) -> str:
        return self.display_name
