"""Forms of a league's desk: a planned start, a planned freeze, a role."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from django import forms
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from matches.models import RoleName
from matches.models.desk import MAX_USER_CHARS


def chooser(accept: str, max_bytes: int) -> forms.FileInput:
    """A field to choose a file with; ``static/js/file.js`` checks the file before it is sent.

    Args:
        accept: the endings of file names and the media types that the browser offers.
        max_bytes: the largest size of the file.
    """
    return forms.FileInput(attrs={"accept": accept, "data-max-bytes": max_bytes})


class PlanForm(forms.Form):
    """A planned start.

    The browser sends the local time that was typed, and a script of the page adds the same time in UTC. Without
    scripts, what was typed is taken as UTC.
    """

    when = forms.DateTimeField(
        label=gettext_lazy("Start at"),
        widget=forms.DateTimeInput(attrs={"type": "datetime-local", "required": True, "data-local-time": ""}),
    )
    utc = forms.CharField(required=False, max_length=40, widget=forms.HiddenInput(attrs={"data-utc-time": ""}))
    all_rounds = forms.BooleanField(label=gettext_lazy("then every round, one after the other"), required=False)

    def clean(self) -> dict[str, Any]:
        """Add ``at``, the time in UTC."""
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("utc"):
            cleaned["at"] = self._utc(cleaned["utc"])
        elif cleaned.get("when"):
            cleaned["at"] = cleaned["when"]
        return cleaned

    def _utc(self, text: str) -> datetime:
        try:
            parsed = parse_datetime(text)
            if parsed is not None and parsed.tzinfo is not None:
                return parsed.astimezone(UTC)
        except (ValueError, OverflowError):
            # OverflowError: a time at the very beginning of year 1 or end of year 9999 has no equivalent in UTC.
            pass
        raise forms.ValidationError(_("This is not a time: choose a date and a time."))


class FreezeForm(forms.Form):
    """The first round whose results the public does not see."""

    from_round = forms.IntegerField(label=gettext_lazy("Freeze from round"), min_value=1, max_value=10_000)


class RoleForm(forms.Form):
    """Gives a user a role in a league."""

    username = forms.CharField(
        label=gettext_lazy("User name"),
        max_length=MAX_USER_CHARS,
        widget=forms.TextInput(attrs={"dir": "auto", "autocomplete": "off"}),
    )
    name = forms.ChoiceField(label=gettext_lazy("Role"), choices=RoleName.choices)


def set_choices(form: forms.BaseForm, name: str, choices: Iterable[tuple[str, str]]) -> None:
    """Set what can be chosen in a field of a form, where it depends on the league.

    Args:
        form: the form, before it is shown or validated.
        name: the name of the field.
        choices: the value and the label of each.

    Raises:
        TypeError: it is not a field with choices.
    """
    field = form.fields[name]
    if not isinstance(field, forms.ChoiceField):
        raise TypeError(f"{name} of {type(form).__name__} is no ChoiceField")
    field.choices = choices


def first_error(form: forms.Form) -> str:
    """The first error of a form as one sentence, for a form that is not shown again."""
    field, errors = next(iter(form.errors.items()))
    label = form.fields[field].label if field in form.fields else None
    return f"{label}: {errors[0]}" if label else str(errors[0])
