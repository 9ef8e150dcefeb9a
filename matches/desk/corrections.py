"""The pages of corrections: the list, a new correction with its preview, and undoing one."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.admin.utils import quote
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _

from matches.desk import acting
from matches.desk.access import LeagueAccess
from matches.desk.acting import CORRECTION, Button
from matches.desk.actions import ACTIONS, correcting
from matches.desk.correction_forms import FORMS, CorrectionForm, UndoForm
from matches.league.corrections import queries
from matches.league.errors import ActionRefused, HasChanged, NotFound
from matches.models import League
from matches.view import roles
from matches.view.roles import Permission
from matches.words.corrections import change_rows, correction_event, kind_label


class CorrectionPages(LeagueAccess):
    """Mixed into the admin of leagues."""

    pages = {
        "corrections": "<path:object_id>/corrections/",
        "correction_undo": "<path:object_id>/corrections/<int:number>/undo/",
        "correct": "<path:object_id>/correct/",
    }

    def corrections_page(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The corrections of a league, the newest first."""
        league = self.league_for(request, object_id, Permission.WATCH)
        may = roles.allowed(request.user, league.pk)
        made = queries.corrections_made(league)
        events = queries.event_data_by_number(league)
        lines = [(correction, correction_event(events[correction.number])) for correction in made]
        return self.desk_page(
            request,
            "correct_list.html",
            _("Corrections"),
            league=league,
            lines=lines,
            kinds=_kinds(league, may),
            may_undo=Permission.CORRECT in may,
        )

    def correct_page(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """A new correction: the form, then its preview, then the confirmation."""
        league = self.league_for(request, object_id, Permission.RERUN)
        may = roles.allowed(request.user, league.pk)
        offered = _kinds(league, may)
        kind = request.POST.get("kind") or request.GET.get("kind") or offered[0].key
        if kind not in FORMS:
            raise Http404
        if correcting(kind).needs not in may:
            raise PermissionDenied
        initial = {"match_id": request.GET.get("match", ""), "player_id": request.GET.get("player", "")}
        form = FORMS[kind](request.POST or None, initial=initial, league=league, kind=kind)
        preview = None
        if request.method == "POST" and form.is_valid():
            if self._make_if_confirmed(request, league, form):
                return self._to_list(league)
            preview = _preview(league, form)
        return self._form_page(request, league, form, preview, kinds=offered, kind=kind)

    def _form_page(
        self, request: HttpRequest, league: League, form: CorrectionForm, preview: Any, **context: Any
    ) -> HttpResponse:
        title = kind_label(str(context["kind"]))
        shown = {**context, "title_of_kind": title, "preview": preview, **_changes(preview)}
        return self.desk_page(request, "correct.html", title, league=league, form=form, **shown)

    def _make_if_confirmed(self, request: HttpRequest, league: League, form: CorrectionForm) -> bool:
        """Make the correction if it was confirmed; returns whether it was made.

        If the league has changed since the preview, the preview is shown again.
        """
        if "confirm" not in request.POST:
            return False
        previewed = request.POST.get("fingerprint", "")
        try:
            action, wish = correcting(form.kind), form.wish()
            made = acting.carry_out(action, by=request.user, league_id=league.pk, wish=wish, fingerprint=previewed)
        except HasChanged as refusal:
            self.message_user(request, refusal.sentence, messages.WARNING)
            return False
        except ActionRefused as refusal:
            form.refuse(refusal)
            return False
        self.message_user(request, action.sentence(made, {}), messages.SUCCESS)
        return True

    def correction_undo_page(self, request: HttpRequest, object_id: str, number: int) -> HttpResponse:
        """Undo a correction: a preview of the table, and a form for the reason."""
        league = self.league_for(request, object_id, Permission.CORRECT)
        form = UndoForm(request.POST or None)
        arguments: dict[str, Any] = {"number": number, "fingerprint": request.POST.get("fingerprint", "")}
        if self.desk_form(request, form, ACTIONS[CORRECTION, "undo"], league_id=league.pk, **arguments):
            return self._to_list(league)
        try:
            plan = queries.plan_to_undo(league, number, "")
        except NotFound as refusal:
            raise Http404(refusal.sentence) from None
        except ActionRefused as refusal:
            self.message_user(request, refusal.sentence, messages.ERROR)
            return self._to_list(league)
        event = queries.event_data_by_number(league)[number]
        preview = queries.preview(league, plan)
        shown = {"number": number, "sentence": correction_event(event), "preview": preview, **_changes(preview)}
        title = _("Undo correction #%(number)d") % {"number": number}
        return self.desk_page(request, "correct_undo.html", title, league=league, form=form, **shown)

    def _to_list(self, league: League) -> HttpResponse:
        return HttpResponseRedirect(reverse("admin:matches_league_corrections", args=[quote(league.pk)]))


def _kinds(league: League, may: frozenset[Permission]) -> list[Button]:
    address = reverse("admin:matches_league_correct", args=[quote(league.pk)])
    return [
        Button(kind_label(kind), f"{address}?kind={kind}", key=kind) for kind in FORMS if correcting(kind).needs in may
    ]


def _preview(league: League, form: CorrectionForm) -> queries.Preview | None:
    """Preview the correction of a form; None, with the refusal shown in the form, if it cannot be made."""
    if form.errors:
        return None
    try:
        return queries.preview(league, queries.plan_for(league, form.wish()))
    except ActionRefused as refusal:
        form.refuse(refusal)
        return None


def _changes(preview: queries.Preview | None) -> dict[str, Any]:
    return {"changes": change_rows(preview.plan)} if preview is not None else {}
