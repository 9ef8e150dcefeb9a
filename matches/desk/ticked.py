"""The actions of the admin's lists on ticked rows; where one warns of something, a page tells it before a second click.

The page says of each ticked row what would happen to it. The second click carries that out; if something else would
happen by then, the page is shown again, and says that it has changed.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.options import IS_POPUP_VAR
from django.contrib.admin.utils import quote
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from unfold.admin import ModelAdmin

from matches.desk.access import AdminMixin
from matches.desk.acting import DeskAction, Listed, Subject
from matches.desk.actions import listed
from matches.desk.shown import AT, Values, carried, read_object, sent
from matches.view import roles

SHOWN = "shown"
"""The field of the second click with what the page told: a digest of it for each row, by primary key."""


class _ListForm(ModelAdmin.action_form):  # type: ignore[misc] # django-stubs has no type of it
    """The choice of an action, with the time when the list was shown."""

    at = forms.FloatField(required=False, label="", min_value=0, widget=forms.HiddenInput, initial=time.time)


class ListActions(AdminMixin):
    """Mixin before a ModelAdmin: its list offers the actions of one subject.

    Attributes:
        subject: the subject of the actions.
    """

    subject: Subject
    action_form = _ListForm

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """The actions that the person may do in at least one league; each ticked row's permission is checked later."""
        actions: dict[str, Any] = super().get_actions(request)
        if IS_POPUP_VAR in request.GET:
            return actions
        offered = listed(self.subject)
        needed = {action.needs for action in offered.values() if action.needs is not None}
        may = {needs for needs in needed if roles.leagues(request.user, needs).exists()}
        for name, action in offered.items():
            if action.needs in may and action.listed is not None:
                actions[name] = (_to_rows(action, action.listed), name, action.listed.label)
        return actions

    # What a subclass defines -----------------------------------------------------------------

    def check_rows(self, action: DeskAction, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Raise PermissionDenied if the person may not do this to every ticked row.

        By default it does nothing, for an admin that has checked the rows before.
        """

    def about(self, request: HttpRequest, row: Any) -> Any:
        """The argument of :attr:`acting.Listed.preview` for a ticked row."""
        return row

    def row_name(self, row: Any) -> str:
        """The name of a ticked row."""
        return str(row.display_name)

    def do_to_rows(self, action: DeskAction, request: HttpRequest, queryset: QuerySet[Any], shown: Values) -> None:
        """Carry out an action on the ticked rows, with what is known of when they were shown."""
        raise NotImplementedError

    # The two clicks --------------------------------------------------------------------------

    def ask_or_do(
        self, action: DeskAction, entry: Listed, request: HttpRequest, queryset: QuerySet[Any]
    ) -> HttpResponse | None:
        """Carry out an action on the ticked rows, or show the page that asks whether to do so.

        Args:
            action: the row of the table, with its entry ``listed`` in the list.
            entry: that entry.
            request: the request of the first click, or with :data:`SHOWN` of the second.
            queryset: the ticked rows.
        """
        self.check_rows(action, request, queryset)
        shown = read_object(request.POST.get(SHOWN, ""))
        # If all rows of the list were chosen, there may be more by now: rows that the page did not show are left alone.
        ticked = [row for row in queryset if not shown or str(row.pk) in shown]
        rows = self._rows(action, entry, request, ticked, shown)
        if len(ticked) < len(shown) or any(row["is_new"] for row in rows):
            self._say_what_changed(request, rows, len(shown) - len(ticked))
            return self._page(entry, request, rows) if rows else HttpResponseRedirect(request.get_full_path())
        if not shown and any(row["preview"].warnings for row in rows):
            return self._page(entry, request, rows)
        chosen = queryset.filter(pk__in=[row.pk for row in ticked]) if shown else queryset
        self.do_to_rows(action, request, chosen, sent([AT], request.POST.dict()))
        return None

    def _rows(
        self,
        action: DeskAction,
        entry: Listed,
        request: HttpRequest,
        ticked: Collection[Any],
        shown: Mapping[str, str],
    ) -> list[dict[str, Any]]:
        """The rows of the page that asks, each with a digest of what it rests on, which may have changed by then."""
        if entry.preview is None:
            return []
        made = []
        for row in ticked:
            preview = entry.preview(self.about(request, row))
            told = json.dumps([list(preview.does), list(preview.warnings), carried(action.shown, row)])
            digest = hashlib.sha256(told.encode()).hexdigest()[:16]
            url = reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_change", args=[quote(row.pk)])
            key = str(row.pk)
            about = {"key": key, "name": self.row_name(row), "url": url, "preview": preview, "digest": digest}
            made.append(about | {"is_new": bool(shown) and shown.get(key) != digest})
        return made

    def _say_what_changed(self, request: HttpRequest, rows: Collection[dict[str, Any]], missing: int) -> None:
        if any(row["is_new"] for row in rows):
            sentence = _("What would happen has changed since this was shown: look again, then confirm.")
            self.message_user(request, sentence, messages.WARNING)
        if missing:
            counted = ngettext(
                "%(count)d row is no longer in the list.", "%(count)d rows are no longer in the list.", missing
            )
            self.message_user(request, counted % {"count": missing}, messages.WARNING)

    def _page(self, entry: Listed, request: HttpRequest, rows: Sequence[dict[str, Any]]) -> HttpResponse:
        across = request.POST.get("select_across", "0") not in ("", "0")
        context = {
            **self.admin_site.each_context(request),
            "opts": self.model._meta,
            "title": entry.label,
            "action": entry.name,
            "rows": rows,
            "back": request.get_full_path(),
            "checkbox": ACTION_CHECKBOX_NAME,
            # Django wants a ticked row also when all rows are chosen; a form has at most a thousand fields.
            "ticked": [row["key"] for row in rows][: 1 if across else None],
            "across": across,
            "shown": json.dumps({row["key"]: row["digest"] for row in rows}),
        }
        return TemplateResponse(request, "admin/matches/ticked.html", context)


def _to_rows(
    action: DeskAction, entry: Listed
) -> Callable[[ListActions, HttpRequest, QuerySet[Any]], HttpResponse | None]:
    return lambda admin, request, queryset: admin.ask_or_do(action, entry, request, queryset)
