"""Who gets in at the pages of the desk: mixed into the admin of leagues, first of all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.options import IS_POPUP_VAR
from django.contrib.admin.utils import unquote
from django.core.exceptions import BadRequest, PermissionDenied, ValidationError
from django.db.models import QuerySet
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse

from matches.desk import acting, busy
from matches.desk.acting import DeskAction, Subject
from matches.desk.actions import listed
from matches.league.errors import ActionRefused, Invalid
from matches.models import League
from matches.view import roles


class LeagueAccess:
    """What every page of the desk needs: its league, if this person may, and the admin's own context."""

    admin_site: Any
    model: Any
    message_user: Callable[..., None]

    def league_for(self, request: HttpRequest, object_id: str, action: roles.Action, *, in_demo: bool = True) -> League:
        """The league of an admin address, for someone who may do this in it.

        Args:
            request: of whoever comes.
            object_id: as the address has it.
            action: what they must be allowed.
            in_demo: whether the demo has it too: nobody runs that, and nothing in it is anybody's.

        Raises:
            Http404: there is no such league.
            PermissionDenied: this person may not.
        """
        # The admin writes ids with a "_" in a spelling of its own; no id holds a NUL.
        league = get_object_or_404(League, pk=unquote(object_id).replace("\x00", "\ufffd"))
        if not roles.may(request.user, action, league.pk):
            raise PermissionDenied
        if league.demo and not in_demo:
            raise Http404
        return league

    def desk_page(self, request: HttpRequest, template: str, title: str, **context: Any) -> TemplateResponse:
        """A page of ``templates/admin/matches/league/``."""
        shown = {**self.admin_site.each_context(request), "opts": self.model._meta, "title": title, **context}
        return TemplateResponse(request, f"admin/matches/league/{template}", shown)

    def desk_do(
        self, request: HttpRequest, action: DeskAction, given: dict[str, Any], said: Callable[[Any], str], back: str
    ) -> HttpResponse:
        """Carry out one POST: say in words that it is done, or why not, and go back.

        Args:
            request: of someone who may.
            action: the row of the table.
            given: what its verb is called with.
            said: makes the sentence that confirms it, of what the verb returned.
            back: the address of the page that is shown then.
        """
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        try:
            done = busy.once_more(lambda: acting.carry_out(action, by=request.user, **given))
            self.message_user(request, said(done), messages.SUCCESS)
        except ActionRefused as refusal:
            self.message_user(request, str(refusal), messages.ERROR)
        except busy.AWAY as error:
            self.message_user(request, busy.sentence(error), messages.ERROR)
        return HttpResponseRedirect(back)

    def desk_form(
        self, request: HttpRequest, form: Form, action: DeskAction, *, at: str | None = None, **given: Any
    ) -> Any:
        """Carry out what a valid form asks for, and say so.

        Args:
            request: of someone who may.
            form: is shown again if it is refused.
            action: the row of the table.
            at: the field at which a refusal stands that is about no field.
            given: what the verb is called with.

        Returns:
            What the verb returns; None, with the reason in the form, if it was refused.
        """
        try:
            done = acting.carry_out(action, by=request.user, **given)
        except ActionRefused as refusal:
            field = refusal.field if isinstance(refusal, Invalid) else None
            form.add_error(field if field in form.fields else at, str(refusal))
            return None
        self.message_user(request, action.sentence(done, {}), messages.SUCCESS)
        return done


class ChosenRows:
    """Mixed into the admin of rows that one can choose from a list, before the admin itself."""

    model: Any

    def response_action(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        """What is done to the rows that were ticked; Django asks the database for whatever was sent as their ids.

        Raises:
            BadRequest: no list has such an id.
        """
        for one in request.POST.getlist(ACTION_CHECKBOX_NAME):
            try:
                self.model._meta.pk.clean(one.replace("\x00", "\ufffd"), None)
            except ValidationError:
                raise BadRequest("that is the id of no row") from None
        return super().response_action(request, queryset)  # type: ignore[misc]


class OwnRows(ChosenRows):
    """Mixed into the admin of rows that belong to leagues, before the admin itself."""

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """The row, if it is among those this person sees.

        Raises:
            PermissionDenied: it is not, or there is none: whether there is one is nobody's business.
        """
        found = super().get_object(request, object_id, from_field)  # type: ignore[misc]
        if found is None and not request.user.is_superuser:
            raise PermissionDenied
        return found


class ListActions:
    """Mixed into the admin of what actions are done to: its list offers those of the table.

    Attributes:
        subject: whose rows of the table.
    """

    subject: Subject

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """What this person may do in any league; it is asked again for every row that is ticked."""
        found: dict[str, Any] = super().get_actions(request)  # type: ignore[misc]
        if IS_POPUP_VAR in request.GET:
            return found
        offered = listed(self.subject)
        may = {needs: roles.leagues(request.user, needs).exists() for needs in {one.needs for one in offered.values()}}
        for name, action in offered.items():
            if may[action.needs] and action.listed is not None:
                found[name] = (_to_rows(action), name, action.listed.label)
        return found

    def do_to_rows(self, action: DeskAction, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Do to the rows that are ticked what a row of the table says."""
        raise NotImplementedError


def _to_rows(action: DeskAction) -> Callable[[ListActions, HttpRequest, QuerySet[Any]], None]:
    return lambda admin, request, queryset: admin.do_to_rows(action, request, queryset)
