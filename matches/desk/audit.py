"""Who did what, as a list of the admin with filters, and as CSV."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.admin import ModelAdmin

from matches.desk.access import OwnRows, csv_download
from matches.models import AuditEntry, Via
from matches.view import roles
from matches.view.roles import Permission

MAX_CSV_ENTRIES = 100_000
COLUMNS = ("at", "account", "via", "action", "league_id", "target", "asked", "changes")


@admin.register(AuditEntry)
class AuditAdmin(OwnRows, ModelAdmin):
    """Every action of a person or a script. An instructor sees those in their own leagues, a superuser all of them.

    Nobody edits or deletes an entry here.
    """

    list_display = ("when", "who", "action", "league_id", "target", "what")
    list_display_links = None
    fields = list_display
    list_filter = (
        *("at", "via"),
        *((name, admin.AllValuesFieldListFilter) for name in ("account", "action", "league_id")),
    )
    search_fields = ("account", "action", "league_id", "target")
    ordering = ("-id",)
    show_full_result_count = False
    list_per_page = 100
    change_list_template = "admin/matches/audit_list.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[AuditEntry]:
        entries: QuerySet[AuditEntry] = super().get_queryset(request)
        if request.user.is_superuser:
            return entries
        return entries.filter(league_id__in=roles.leagues(request.user, Permission.EDIT).values("pk"))

    def has_view_permission(self, request: HttpRequest, obj: AuditEntry | None = None) -> bool:
        return bool(request.user.is_superuser) or self.may(request, obj, Permission.EDIT)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: AuditEntry | None = None) -> bool:
        return False

    @admin.display(description=gettext_lazy("at"), ordering="at")
    def when(self, entry: AuditEntry) -> str:
        return render_to_string("admin/time.html", {"at": entry.at})

    @admin.display(description=gettext_lazy("who"), ordering="account")
    def who(self, entry: AuditEntry) -> str:
        return entry.account or _("a script with the API key")

    @admin.display(description=gettext_lazy("what was asked for, and what changed"))
    def what(self, entry: AuditEntry) -> str:
        return render_to_string("admin/matches/audit_what.html", {"entry": entry})

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The list; with ``csv`` in the query, a CSV file of the entries that the filters leave.

        The file has the first :data:`MAX_CSV_ENTRIES` of them.
        """
        query = request.GET.copy()
        is_file = query.pop("csv", None) is not None
        if is_file:
            # The admin refuses parameters that it does not know.
            request.GET = QueryDict(query.urlencode(), encoding=query.encoding)
        link = f"{query.urlencode()}&csv=1".lstrip("&")
        page = super().changelist_view(request, {**(extra_context or {}), "csv_query": link})
        if not is_file or not isinstance(page, TemplateResponse):
            # The page is asked for, or the admin has refused the request: this is its answer.
            return page
        entries = (page.context_data or {})["cl"].queryset
        return csv_download("who-did-what.csv", [COLUMNS, *map(_cells, entries[:MAX_CSV_ENTRIES])])


def _cells(entry: AuditEntry) -> list[object]:
    """The cells of an entry in the file."""
    account = entry.account or ("API key" if entry.via == Via.API else "")
    in_words = {"account": account, "asked": _in_words(entry.asked), "changes": _changes_in_words(entry.changes)}
    return [in_words.get(name, getattr(entry, name)) for name in COLUMNS]


def _in_words(arguments: dict[str, Any]) -> str:
    return "; ".join(f"{name}: {value}" for name, value in arguments.items())


def _changes_in_words(changes: dict[str, Any]) -> str:
    return "; ".join(f"{name}: {before} -> {after}" for name, (before, after) in changes.items())
