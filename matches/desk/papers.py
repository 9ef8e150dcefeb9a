"""The desk's pages on paper: announcements, exports, evidence sheets, and the import of a league."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from typing import Any, BinaryIO

from django import forms
from django.contrib.admin.utils import quote
from django.core.exceptions import PermissionDenied
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents_registry.models import Kind
from matches.desk.access import LeagueAccess
from matches.desk.acting import NOTICE, SITE
from matches.desk.actions import ACTIONS
from matches.models import League
from matches.models.desk import MAX_NOTICE_CHARS
from matches.papers import bundle, evidence, files, layout, tables
from matches.papers.snapshot import one_moment
from matches.view import roles

TO_ROOM = ""
LISTED = 200


class NoticeForm(forms.Form):
    """What to say, and to whom."""

    text = forms.CharField(
        label=gettext_lazy("Text"),
        max_length=MAX_NOTICE_CHARS,
        widget=forms.Textarea(attrs={"rows": 3, "cols": 60, "dir": "auto"}),
    )
    player_id = forms.ChoiceField(label=gettext_lazy("To"), required=False)

    def __init__(self, league: League, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        players = league.agents.filter(kind=Kind.PLAYER).order_by("pk").values_list("code", "display_name")
        named = [(code, f"{code} {name}") for code, name in players]
        self.fields["player_id"].choices = [(TO_ROOM, _("the room: board, screen and every student")), *named]


class FileForm(forms.Form):
    """The export of a league."""

    file = forms.FileField(label=gettext_lazy("league.json, or the ZIP"))


class PaperFile(FileResponse):
    """A file that was made for one answer; it goes out in large parts and is gone afterwards."""

    block_size = 256 * 1024


class PaperPages(LeagueAccess):
    """Mixed into the admin of leagues: adds ``…/notices/``, ``…/papers/`` and ``import/``."""

    has_add_permission: Callable[..., bool]

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        return [
            path("import/", wrap(self.import_page), name="matches_league_import"),
            path("<path:object_id>/notices/", wrap(self.notices_page), name="matches_league_notices"),
            path("<path:object_id>/papers/", wrap(self.papers_page), name="matches_league_papers"),
            path("<path:object_id>/papers/evidence/", wrap(self.evidence_page), name="matches_league_evidence"),
            path("<path:object_id>/papers/<str:name>", wrap(self.paper), name="matches_league_paper"),
            *super().get_urls(),  # type: ignore[misc]
        ]

    # Announcements -------------------------------------------------------------------------------

    def notices_page(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Say something to the room or to one student; what was said, and taking it back."""
        league = self.league_for(request, object_id, roles.Action.RUN, in_demo=False)
        form = NoticeForm(league, request.POST if request.method == "POST" else None)
        asked = request.method == "POST" and form.is_valid()
        if asked and self.desk_form(request, form, ACTIONS[NOTICE, "say"], league_id=league.pk, **form.cleaned_data):
            return HttpResponseRedirect(reverse("admin:matches_league_notices", args=[quote(league.pk)]))
        said = list(league.notices.select_related("agent").order_by("-made_at", "-pk")[:LISTED])
        title = _("Announcements of %(league)s") % {"league": league.display_name}
        return self.desk_page(request, "notices.html", title, league=league, form=form, said=said)

    # Exports -------------------------------------------------------------------------------------

    def papers_page(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Everything that can be taken away of a league."""
        league = self.league_for(request, object_id, roles.Action.EDIT, in_demo=False)
        title = _("Export of %(league)s") % {"league": league.display_name}
        names = [name for name in tables.TABLES if name not in tables.ALWAYS_PEOPLE]
        return self.desk_page(request, "papers.html", title, league=league, tables=names)

    def paper(self, request: HttpRequest, object_id: str, name: str) -> HttpResponse:
        """One file: ``league.zip``, ``league.json`` or a table; ``?people=1`` with what is for the instructor alone."""
        league = self.league_for(request, object_id, roles.Action.EDIT, in_demo=False)
        people = request.GET.get("people") == "1"
        stem, _dot, ending = name.rpartition(".")
        if ending == "csv" and stem in tables.TABLES:
            return _file(name, league, partial(tables.write, stem, league, people=people))
        if name == files.DOCUMENT:
            return _file(name, league, partial(bundle.write, league, people=people))
        if name == "league.zip":
            return _file(name, league, partial(layout.write, league, people=people))
        raise Http404

    def evidence_page(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """What each student is graded by, made for paper; ``?player=P01`` one of them."""
        league = self.league_for(request, object_id, roles.Action.EDIT, in_demo=False)
        player_id = request.GET.get("player", "").replace("\x00", "\ufffd")
        with one_moment():
            sheets = evidence.sheets(league, player_id)
        if player_id and not sheets:
            raise Http404
        site = request.build_absolute_uri("/").rstrip("/")
        shown = {"league": league, "sheets": sheets, "one": player_id, "site": site}
        return render(request, "admin/matches/league/evidence.html", shown)

    # Import --------------------------------------------------------------------------------------

    def import_page(self, request: HttpRequest) -> HttpResponse:
        """Take in a league from its export."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = FileForm(request.POST or None, request.FILES or None)
        if request.method == "POST" and form.is_valid():
            done = self.desk_form(request, form, ACTIONS[SITE, "import"], at="file", file=form.cleaned_data["file"])
            if done is not None:
                return HttpResponseRedirect(reverse("admin:matches_league_change", args=[quote(done.league.pk)]))
        return self.desk_page(request, "papers_import.html", _("Import a league"), form=form)


def _file(name: str, league: League, write: Callable[[BinaryIO], None]) -> HttpResponse:
    """What ``write`` writes, as a download; a large one is on the disk meanwhile, and not in memory."""
    # Closed by the response.
    file = tempfile.SpooledTemporaryFile(max_size=1024 * 1024)  # noqa: SIM115
    with one_moment():
        write(file)  # type: ignore[arg-type]
    file.seek(0)
    shown = name if name.startswith("league.") else f"-{name}"
    whole = f"{league.pk}{shown.removeprefix('league')}"
    return PaperFile(file, as_attachment=True, filename=whole)
