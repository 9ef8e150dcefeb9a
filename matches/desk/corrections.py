"""The desk's pages of corrections: the list of those made, a new one with its preview, undoing one."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.admin.utils import quote
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from matches.desk import acting
from matches.desk.access import LeagueAccess
from matches.desk.acting import CORRECTION, DeskAction
from matches.desk.actions import ACTIONS
from matches.desk.correction_forms import FORMS, CorrectionForm, UndoForm
from matches.league.corrections import applying, plans, queries
from matches.league.errors import ActionRefused, NotFound
from matches.models import League
from matches.view import roles
from matches.view.roles import Action
from matches.words.corrections import change_lines, correction_event, kind_label


def action_for(kind: str) -> DeskAction:
    """The row of the table for a kind of correction: an assistant may have matches played again."""
    return ACTIONS[CORRECTION, "replay" if kind == plans.REPLAY else "make"]


class CorrectionPages(LeagueAccess):
    """Mixed into the admin of leagues."""

    def get_urls(self) -> list[URLPattern]:
        """The admin's own addresses and these."""
        pages = [
            ("corrections/", self.corrections_view, "matches_league_corrections"),
            ("corrections/<int:number>/undo/", self.undo_view, "matches_league_correction_undo"),
            ("correct/", self.correct_view, "matches_league_correct"),
        ]
        ours = [
            path(f"<path:object_id>/{end}", self.admin_site.admin_view(never_cache(view)), name=name)
            for end, view, name in pages
        ]
        return [*ours, *super().get_urls()]  # type: ignore[misc]

    def corrections_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Every correction of a league, the newest first."""
        league = self.league_for(request, object_id, Action.WATCH)
        may = roles.allowed(request.user, league.pk)
        made = queries.corrections_made(league)
        told = queries.told_by_number(league)
        lines = [{"made": one, "sentence": correction_event(told[one.number])} for one in made]
        return self.desk_page(
            request,
            "correct_list.html",
            _("Corrections"),
            league=league,
            lines=lines,
            kinds=_kinds(league, may),
            may_undo=Action.CORRECT in may,
        )

    def correct_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """A new correction: the form, then its preview, then it is made."""
        league = self.league_for(request, object_id, Action.RERUN)
        may = roles.allowed(request.user, league.pk)
        offered = _kinds(league, may)
        kind = request.POST.get("kind") or request.GET.get("kind") or offered[0]["kind"]
        if kind not in FORMS:
            raise Http404
        if action_for(kind).needs not in may:
            raise PermissionDenied
        given = {"match_id": request.GET.get("match", ""), "player_id": request.GET.get("player", "")}
        form = FORMS[kind](request.POST or None, initial=given, league=league, kind=kind)
        preview = None
        if request.method == "POST" and form.is_valid():
            if self._made(request, league, form):
                return self._to_list(league)
            preview = _preview(league, form)
        return self._form_page(request, league, form, preview, kinds=offered, kind=kind)

    def _form_page(
        self, request: HttpRequest, league: League, form: CorrectionForm, preview: Any, **context: Any
    ) -> HttpResponse:
        title = kind_label(str(context["kind"]))
        shown = {**context, "title_of_kind": title, "preview": preview, **_changes(preview)}
        return self.desk_page(request, "correct.html", title, league=league, form=form, **shown)

    def _made(self, request: HttpRequest, league: League, form: CorrectionForm) -> bool:
        """Whether it was confirmed and is done. If the league has moved on, it is shown anew."""
        if "confirm" not in request.POST:
            return False
        shown = request.POST.get("fingerprint", "")
        try:
            action, given = action_for(form.kind), {"wish": form.wish(), "fingerprint": shown}
            made = acting.carry_out(action, by=request.user, league_id=league.pk, **given)
        except applying.LookAgain as refusal:
            self.message_user(request, str(refusal), messages.WARNING)
            return False
        except ActionRefused as refusal:
            form.refuse(refusal)
            return False
        self.message_user(request, action.sentence(made, {}), messages.SUCCESS)
        return True

    def undo_view(self, request: HttpRequest, object_id: str, number: int) -> HttpResponse:
        """Undoing one: what the table becomes, and the reason."""
        league = self.league_for(request, object_id, Action.CORRECT)
        form = UndoForm(request.POST or None)
        if request.method == "POST" and form.is_valid() and self._undone(request, league, number, form):
            return self._to_list(league)
        try:
            plan = queries.plan_to_undo(league, number, "")
        except NotFound as refusal:
            raise Http404(str(refusal)) from None
        except ActionRefused as refusal:
            self.message_user(request, str(refusal), messages.ERROR)
            return self._to_list(league)
        told = queries.told_by_number(league)[number]
        preview = queries.preview(league, plan)
        shown = {"number": number, "sentence": correction_event(told), "preview": preview, **_changes(preview)}
        title = _("Undo correction #%(number)d") % {"number": number}
        return self.desk_page(request, "correct_undo.html", title, league=league, form=form, **shown)

    def _undone(self, request: HttpRequest, league: League, number: int, form: UndoForm) -> bool:
        given = {"reason": form.cleaned_data["reason"], "fingerprint": request.POST.get("fingerprint", "")}
        undo = ACTIONS[CORRECTION, "undo"]
        return self.desk_form(request, form, undo, league_id=league.pk, number=number, **given) is not None

    def _to_list(self, league: League) -> HttpResponse:
        return HttpResponseRedirect(reverse("admin:matches_league_corrections", args=[quote(league.pk)]))


def _kinds(league: League, may: frozenset[Action]) -> list[dict[str, str]]:
    address = reverse("admin:matches_league_correct", args=[quote(league.pk)])
    return [
        {"kind": kind, "label": kind_label(kind), "url": f"{address}?kind={kind}"}
        for kind in FORMS
        if action_for(kind).needs in may
    ]


def _preview(league: League, form: CorrectionForm) -> queries.Preview | None:
    """What the form asks for would do; None with the refusal in the form when it cannot be done."""
    if form.errors:
        return None
    try:
        return queries.preview(league, queries.plan_for(league, form.wish()))
    except ActionRefused as refusal:
        form.refuse(refusal)
        return None


def _changes(preview: queries.Preview | None) -> dict[str, Any]:
    return {"changes": change_lines(preview.plan)} if preview is not None else {}
