"""Mixins for the admin of leagues and agents: permissions, URLs, and how buttons and forms carry out actions."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.utils import unquote
from django.core.exceptions import BadRequest, PermissionDenied, ValidationError
from django.db.models import QuerySet
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import URLPattern, path

from agents_registry.isolating import isolated
from matches.desk import acting, busy
from matches.desk.acting import DeskAction
from matches.desk.shown import sent
from matches.league.errors import ActionRefused, Invalid
from matches.models import League
from matches.papers.tables import BOM, escape
from matches.view import roles

if TYPE_CHECKING:
    from django.contrib.admin import ModelAdmin

    AdminMixin = ModelAdmin[Any]
else:
    # At run time the mixins have no base of their own: their super() calls the ModelAdmin that follows them.
    AdminMixin = object


def do_and_say(
    admin: AdminMixin,
    request: HttpRequest,
    action: DeskAction,
    confirm: Callable[[Any], str],
    *,
    of: str = "",
    **arguments: Any,
) -> None:
    """Carry out an action, and show a message that confirms or refuses it.

    Args:
        admin: the admin that the request was sent to.
        request: the request of a person who has the permission.
        action: the action, a row of ``desk.actions``.
        confirm: makes the confirming sentence from what the verb returned.
        of: stands before the sentences, where they are about one of several rows.
        arguments: those of :func:`acting.carry_out`.
    """
    try:
        done = acting.carry_out(action, by=request.user, **arguments)
        admin.message_user(request, of + confirm(done), messages.SUCCESS)
    except ActionRefused as refusal:
        admin.message_user(request, refusal.sentence, messages.ERROR)
    except busy.DATABASE_ERRORS as error:
        admin.message_user(request, of + busy.sentence(error), messages.ERROR)


class LeagueAccess(AdminMixin):
    """Base of the mixins that add pages to the admin of leagues.

    Attributes:
        pages: URL paths of the mixin's pages by name. The page ``notices`` has the view ``notices_page`` and the URL
            name ``admin:matches_league_notices``.
    """

    pages: Mapping[str, str] = {}

    def get_urls(self) -> list[URLPattern]:
        """The URLs of all mixins' pages, then those of the admin."""
        wrap = self.admin_site.admin_view
        ours = [
            path(address, wrap(getattr(self, f"{name}_page")), name=f"matches_league_{name}")
            for mixin in type(self).__mro__
            for name, address in vars(mixin).get("pages", {}).items()
        ]
        return [*ours, *super().get_urls()]

    def league_for(
        self, request: HttpRequest, object_id: str, permission: roles.Permission, *, in_demo: bool = True
    ) -> League:
        """Get the league of a URL, if the person has a permission in it.

        Args:
            request: the person's request.
            object_id: the league's id as it is in the URL.
            permission: the permission that is needed.
            in_demo: whether the page exists for the demo league, which has no instructor.

        Raises:
            Http404: there is no such league, or no such page for the demo league.
            PermissionDenied: the person lacks the permission.
        """
        # The admin quotes "_" in ids; a NUL would be refused by the database.
        league = get_object_or_404(League, pk=unquote(object_id).replace("\x00", "\ufffd"))
        if not roles.may(request.user, permission, league.pk):
            raise PermissionDenied
        if league.demo and not in_demo:
            raise Http404
        return league

    def desk_page(self, request: HttpRequest, template: str, title: str, **context: Any) -> TemplateResponse:
        """Render a template of ``templates/admin/matches/league/``."""
        whole = {**self.admin_site.each_context(request), "opts": self.model._meta, "title": title, **context}
        return TemplateResponse(request, f"admin/matches/league/{template}", whole)

    def desk_do(
        self,
        request: HttpRequest,
        action: DeskAction,
        arguments: dict[str, Any],
        confirm: Callable[[Any], str],
        back: str,
    ) -> HttpResponse:
        """Carry out the action of a button: show a message that confirms or refuses it, and redirect.

        Args:
            request: the request of a person who has the permission.
            action: the action, a row of ``desk.actions``.
            arguments: the arguments of its verb.
            confirm: makes the confirming sentence from what the verb returned.
            back: the URL to redirect to.
        """
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        shown = sent(action.shown, request.GET.dict(), request.POST.dict())
        do_and_say(self, request, action, confirm, shown=shown, **arguments)
        return HttpResponseRedirect(back)

    def desk_form(
        self, request: HttpRequest, form: Form, action: DeskAction, *, at: str | None = None, **arguments: Any
    ) -> Any:
        """Carry out the action of a form if it was sent and is valid, and show a message that confirms it.

        Args:
            request: the request of a person who has the permission.
            form: its fields are arguments of the verb.
            action: the action, a row of ``desk.actions``.
            at: the field at which a refusal is shown that concerns none of the form's fields; None: above the form.
            arguments: the other arguments of the verb.

        Returns:
            What the verb returns; None if nothing was done: the form was not sent, or has errors.
        """
        if request.method != "POST" or not form.is_valid():
            return None
        try:
            shown = sent(action.shown, request.POST.dict())
            done = acting.carry_out(action, by=request.user, shown=shown, **arguments, **form.cleaned_data)
        except ActionRefused as refusal:
            field = refusal.field if isinstance(refusal, Invalid) else None
            form.add_error(field if field in form.fields else at, refusal.sentence)
            return None
        self.message_user(request, action.sentence(done, {}), messages.SUCCESS)
        return done


def csv_download(name: str, rows: Iterable[Sequence[object]]) -> HttpResponse:
    """A CSV file to download, with cells that spreadsheets do not run as formulas."""
    disposition = f'attachment; filename="{name}"'
    file = HttpResponse(BOM, "text/csv; charset=utf-8", headers={"Content-Disposition": disposition})
    csv.writer(file).writerows([escape(cell) for cell in row] for row in rows)
    return file


def sees_lists(request: HttpRequest) -> bool:
    """Whether the lists of leagues, agents and matches open for a person; the menu asks, too."""
    return roles.opens_leagues(request.user) or roles.leagues(request.user, roles.Permission.WATCH).exists()


class ChosenRows(AdminMixin):
    """Mixin before a ModelAdmin: refuses ticked rows with malformed ids, which Django would pass to the database."""

    def response_action(
        self, request: HttpRequest, queryset: QuerySet[Any], *args: Any, **kwargs: Any
    ) -> HttpResponse | None:
        """Carry out an action of the list on the ticked rows.

        Args:
            request: with the ids of the ticked rows.
            queryset: the rows of the list.
            args: what Django 6 passes besides, and Django 5 does not.
            kwargs: the same by name.

        Raises:
            BadRequest: an id is malformed.
        """
        for row_id in request.POST.getlist(ACTION_CHECKBOX_NAME):
            try:
                self.model._meta.pk.clean(row_id.replace("\x00", "\ufffd"), None)
            except ValidationError:
                raise BadRequest("A ticked row has a malformed id.") from None
        return super().response_action(request, queryset, *args, **kwargs)


class OwnRows(ChosenRows):
    """Mixin before a ModelAdmin of rows that belong to leagues: permissions follow from the roles in their leagues.

    Attributes:
        league_field: the attribute of a row that has the league's id.
    """

    league_field = "league_id"

    def may(self, request: HttpRequest, row: Any, permission: roles.Permission) -> bool:
        """Whether a person has a permission for a row, or, without a row, in at least one league."""
        if row is None:
            return roles.leagues(request.user, permission).exists()
        return roles.may(request.user, permission, getattr(row, self.league_field))

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Show or save a form; a refusal is shown on the page that is loaded anew, and nothing is saved."""
        try:
            return super().changeform_view(request, *args, **kwargs)
        except ActionRefused as refusal:
            self.message_user(request, refusal.sentence, messages.ERROR)
            return HttpResponseRedirect(request.get_full_path())

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return sees_lists(request) if obj is None else self.may(request, obj, roles.Permission.WATCH)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.may(request, obj, roles.Permission.EDIT)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """No row is deleted with the admin's own button: a league is stopped, archived, or deleted at its desk."""
        return False

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """Show the history of a row; in the title, its name is isolated from the direction of the text around it."""
        response = super().history_view(request, object_id, extra_context)
        if isinstance(response, TemplateResponse) and response.context_data:
            row = str(response.context_data["object"])
            response.context_data["title"] = str(response.context_data["title"]).replace(row, isolated(row))
        return response

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """Get a row that the person may see.

        Raises:
            PermissionDenied: they may not see it, or it does not exist; the answer does not tell which. A superuser may
                see all rows, and is told that it does not exist.
        """
        row = super().get_object(request, object_id, from_field)
        if row is None and not request.user.is_superuser:
            raise PermissionDenied
        return row
