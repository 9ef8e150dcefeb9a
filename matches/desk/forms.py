"""Forms of a league's desk: when to start, from which round on to freeze, who gets which role."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django import forms
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from matches.models import RoleName
from matches.models.desk import MAX_USER_CHARS


class PlanForm(forms.Form):
    """A time of the browser's own zone. Its script adds the same in UTC; without one the time is taken as UTC."""

    when = forms.DateTimeField(
        label=gettext_lazy("Start at"),
        widget=forms.DateTimeInput(attrs={"type": "datetime-local", "required": True, "data-local-time": ""}),
    )
    utc = forms.CharField(required=False, max_length=40, widget=forms.HiddenInput(attrs={"data-utc-time": ""}))
    all_rounds = forms.BooleanField(label=gettext_lazy("then every round, one after the other"), required=False)

    def clean(self) -> dict[str, Any]:
        """``at``: the time, in UTC."""
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("utc"):
            cleaned["at"] = self._utc(cleaned["utc"])
        elif cleaned.get("when"):
            cleaned["at"] = cleaned["when"]
        return cleaned

    def _utc(self, text: str) -> datetime:
        try:
            found = parse_datetime(text)
            if found is not None and found.tzinfo is not None:
                return found.astimezone(UTC)
        except (ValueError, OverflowError):
            # Some times of the first and of the last year there is are in no year in UTC.
            pass
        raise forms.ValidationError(_("This is no time: choose a date and a time."))


class FreezeForm(forms.Form):
    """The first round whose results the public does not see."""

    from_round = forms.IntegerField(label=gettext_lazy("Freeze from round"), min_value=1, max_value=10_000)


class RoleForm(forms.Form):
    """Who becomes what in a league."""

    username = forms.CharField(
        label=gettext_lazy("User name"),
        max_length=MAX_USER_CHARS,
        widget=forms.TextInput(attrs={"dir": "auto", "autocomplete": "off"}),
    )
    name = forms.ChoiceField(label=gettext_lazy("Role"), choices=RoleName.choices)


def first_error(form: forms.Form) -> str:
    """What is wrong with a form that stands on a page with others: one sentence."""
    field, errors = next(iter(form.errors.items()))
    label = form.fields[field].label if field in form.fields else None
    return f"{label}: {errors[0]}" if label else str(errors[0])
