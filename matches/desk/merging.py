"""Change forms that two people may have open at the same time: only what this page's reader has changed is saved.

The form carries the value of each field as it was shown (Django's hidden initial values). A field that the reader has
left alone keeps the value that it has by now. Where somebody else has changed the same field meanwhile, nothing is
saved, and the page says what it is now, and by whom; whoever saves once more overwrites it on purpose.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

from django import forms
from django.db import transaction
from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext as _

from matches.desk.access import AdminMixin
from matches.view import audit

if TYPE_CHECKING:
    _ModelForm = forms.ModelForm[Any]
else:
    # Django's class takes no arguments in brackets.
    _ModelForm = forms.ModelForm


class MergedForm(_ModelForm):
    """A form that changes one row, which :class:`LocksRow` has locked."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.carry_shown()

    def carry_shown(self) -> None:
        """Have the form carry the values that it shows; called again after fields were added."""
        for name, field in self.fields.items():
            # A script may send the form without the values that were shown.
            is_carried = not self.is_bound or self[name].html_initial_name in self.data
            field.show_hidden_initial = is_carried and not (self.instance._state.adding or field.disabled)

    def clean(self) -> dict[str, Any]:
        """Keep what others have changed; refuse what they and this reader have changed, unless to the same value."""
        cleaned = super().clean() or self.cleaned_data
        for name, field in self.fields.items():
            bound = self[name]
            if not field.show_hidden_initial:
                continue
            shown = field.hidden_widget().value_from_datadict(self.data, self.files, bound.html_initial_name)
            if not field.has_changed(bound.initial, shown):
                continue
            if name not in self.changed_data:
                cleaned[name] = field.clean(field.prepare_value(bound.initial))
            elif name in cleaned and field.has_changed(bound.initial, bound.data):
                self.add_error(name, self._clash(name, field, bound))
        return cleaned

    def _clash(self, name: str, field: forms.Field, bound: forms.BoundField) -> str:
        """The refusal; from now on the present value counts as shown."""
        now = field.prepare_value(bound.initial)
        self.data = data = cast("QueryDict", self.data).copy()
        data.setlist(bound.html_initial_name, ["" if one is None else str(one) for one in _listed(now)])
        last = audit.last_change(self.instance, name)
        told = {"now": _words(field, now), "who": audit.who(last), "wanted": _words(field, bound.data)}
        sentence = _("Set to “%(now)s” meanwhile (%(who)s); you wanted “%(wanted)s”.")
        nothing_saved = _("Nothing was saved: save again if yours is to count.")
        return f"{sentence % told} {nothing_saved}"


def _listed(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list | tuple) else [value]


def _words(field: forms.Field, value: Any) -> str:
    """A value of a field for a sentence."""
    if isinstance(field, forms.BooleanField):
        return _("yes") if field.to_python(value) else _("no")
    choices: Iterable[Any] = getattr(field, "choices", ())
    names = {str(choice): str(label) for choice, label in choices}
    texts = (f"{one:.10g}" if isinstance(one, float) else str(one) for one in _listed(value) if one not in (None, ""))
    return ", ".join(names.get(text, text) for text in texts) or "–"


class LocksRow(AdminMixin):
    """Mixin before a ModelAdmin: a row that is changed is locked before its form is made."""

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """The row; locked until the end of the transaction if it is about to be changed."""
        row = super().get_object(request, object_id, from_field)
        if row is not None and transaction.get_connection().in_atomic_block and request.method == "POST":
            return self.model._default_manager.select_for_update(of=("self",), no_key=True).filter(pk=row.pk).first()
        return row
