"""The actions of the admin's lists on ticked rows; where one warns of something, a page tells it before a second click.

The page says of each ticked row what would happen to it. The second click carries that out; if something else would
happen by then, the page is shown again, and says that it has changed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

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

from matches.desk.access import AdminMixin
from matches.desk.acting import DeskAction, Listed, RowPreview, Subject
from matches.desk.actions import listed
from matches.view import roles

SHOWN = "shown"
"""The field of the second click with what the page told: a digest of it for each row, by primary key."""


@dataclass(frozen=True)
class TickedRow:
    """A ticked row on the page that asks.

    Attributes:
        key: its primary key.
        name: the name of the row; ``url`` is the URL of its page.
        preview: what would happen to it.
        is_new: whether the preview differs from the one that the person saw before the second click.
    """

    key: str
    name: str
    url: str
    preview: RowPreview
    is_new: bool = False

    @property
    def digest(self) -> str:
        """A digest of what the page shows of the row besides its name; if it has changed, the person is asked again."""
        text = json.dumps([list(self.preview.does), list(self.preview.warnings)])
        return hashlib.sha256(text.encode()).hexdigest()[:16]


class ListActions(AdminMixin):
    """Mixin before a ModelAdmin: its list offers the actions of one subject.

    Attributes:
        subject: the subject of the actions.
    """

    subject: Subject

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

    def do_to_rows(self, action: DeskAction, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Carry out an action on the ticked rows."""
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
        shown = _read_shown(request.POST.get(SHOWN, ""))
        # If all rows of the list were chosen, there may be more by now: rows that the page did not show are left alone.
        ticked = [row for row in queryset if not shown or str(row.pk) in shown]
        rows = self._rows(entry, request, ticked, shown)
        if len(ticked) < len(shown) or any(row.is_new for row in rows):
            self._say_what_changed(request, rows, len(shown) - len(ticked))
            return self._page(entry, request, rows) if rows else HttpResponseRedirect(request.get_full_path())
        if not shown and any(row.preview.warnings for row in rows):
            return self._page(entry, request, rows)
        self.do_to_rows(action, request, queryset.filter(pk__in=[row.pk for row in ticked]) if shown else queryset)
        return None

    def _rows(
        self, entry: Listed, request: HttpRequest, ticked: Collection[Any], shown: Mapping[str, str]
    ) -> list[TickedRow]:
        if entry.preview is None:
            return []
        url_name = f"admin:{self.opts.app_label}_{self.opts.model_name}_change"
        made = []
        for row in ticked:
            url, preview = reverse(url_name, args=[quote(row.pk)]), entry.preview(self.about(request, row))
            made.append(TickedRow(str(row.pk), self.row_name(row), url, preview))
        return [replace(row, is_new=shown.get(row.key) != row.digest) for row in made] if shown else made

    def _say_what_changed(self, request: HttpRequest, rows: Collection[TickedRow], missing: int) -> None:
        if any(row.is_new for row in rows):
            sentence = _("What would happen has changed since this was shown: look again, then confirm.")
            self.message_user(request, sentence, messages.WARNING)
        if missing:
            counted = ngettext(
                "%(count)d row is no longer in the list.", "%(count)d rows are no longer in the list.", missing
            )
            self.message_user(request, counted % {"count": missing}, messages.WARNING)

    def _page(self, entry: Listed, request: HttpRequest, rows: Sequence[TickedRow]) -> HttpResponse:
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
            "ticked": [row.key for row in rows][: 1 if across else None],
            "across": across,
            "shown": json.dumps({row.key: row.digest for row in rows}),
        }
        return TemplateResponse(request, "admin/matches/ticked.html", context)


def _to_rows(
    action: DeskAction, entry: Listed
) -> Callable[[ListActions, HttpRequest, QuerySet[Any]], HttpResponse | None]:
    return lambda admin, request, queryset: admin.ask_or_do(action, entry, request, queryset)


def _read_shown(shown: str) -> dict[str, str]:
    """What the page told before the second click; empty if malformed, so that the click counts as a first one."""
    try:
        rows = json.loads(shown)
    except ValueError:
        return {}
    is_right = isinstance(rows, dict) and all(isinstance(digest, str) for digest in rows.values())
    return rows if is_right else {}
