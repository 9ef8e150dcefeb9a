"""Pages of the desk: notices, exports, evidence sheets, and the import of a league."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from typing import IO, Any

from django import forms
from django.contrib.admin.utils import quote
from django.core.exceptions import PermissionDenied
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents_registry.addresses.public import site_address_for_page
from agents_registry.models import Kind
from league_sdk.ledger.documents import LEAGUE_FILE
from matches.desk.access import LeagueAccess
from matches.desk.acting import NOTICE, SITE
from matches.desk.actions import ACTIONS
from matches.desk.forms import chooser, set_choices
from matches.desk.shown import carried
from matches.league import audit
from matches.league.leagues import named
from matches.models import League
from matches.models.desk import MAX_NOTICE_CHARS
from matches.papers import bundle, evidence, export_zip, files, tables
from matches.papers.bundle import read_snapshot
from matches.view import roles

TO_EVERYBODY = ""
MAX_NOTICES_LISTED = 200


class NoticeForm(forms.Form):
    """The form of a notice to everybody, or to the owner of one player."""

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
        set_choices(self, "player_id", [(TO_EVERYBODY, _("the room: board, screen and every student")), *named])


class FileForm(forms.Form):
    """The export of a league."""

    file = forms.FileField(
        label=gettext_lazy("league.json, or the ZIP"), widget=chooser(".json,.zip", files.LIMITS.file)
    )


class PaperFile(FileResponse):
    """Sends a temporary file in large blocks and closes it, which deletes it."""

    block_size = 256 * 1024


class PaperPages(LeagueAccess):
    """Mixed into the admin of leagues."""

    pages = {
        "import": "import/",
        "notices": "<path:object_id>/notices/",
        "papers": "<path:object_id>/papers/",
        "evidence": "<path:object_id>/papers/evidence/",
        "paper": "<path:object_id>/papers/<str:name>",
    }

    # Notices -------------------------------------------------------------------------------------

    def notices_page(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Publish a notice, and list the latest notices; each that is not withdrawn has a button for that."""
        league = self.league_for(request, object_id, roles.Permission.RUN, in_demo=False)
        form = NoticeForm(league, request.POST if request.method == "POST" else None)
        if self.desk_form(request, form, ACTIONS[NOTICE, "say"], league_id=league.pk):
            return HttpResponseRedirect(reverse("admin:matches_league_notices", args=[quote(league.pk)]))
        notices = list(league.notices.select_related("agent").order_by("-made_at", "-pk")[:MAX_NOTICES_LISTED])
        title, shown = _("Notices of %(league)s") % named(league), carried(["notices"], league)
        return self.desk_page(request, "notices.html", title, league=league, form=form, notices=notices, shown=shown)

    # Exports -------------------------------------------------------------------------------------

    def papers_page(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Links to all exports of a league."""
        league = self.league_for(request, object_id, roles.Permission.EDIT, in_demo=False)
        title = _("Export of %(league)s") % named(league)
        names = [name for name in tables.TABLES if name not in tables.PRIVATE_TABLES]
        return self.desk_page(request, "papers.html", title, league=league, tables=names)

    def paper_page(self, request: HttpRequest, object_id: str, name: str) -> FileResponse:
        """Download the ZIP file, the document or a table; ``?people=1`` includes what only the instructor may see."""
        league = self.league_for(request, object_id, roles.Permission.EDIT, in_demo=False)
        file = export(league, name, people=request.GET.get("people") == "1", by=request.user)
        if file is None:
            raise Http404
        return file

    def evidence_page(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The evidence sheets, to print; ``?player=P01`` shows one of them."""
        league = self.league_for(request, object_id, roles.Permission.EDIT, in_demo=False)
        page = sheets(request, league, request.GET.get("player", ""), by=request.user)
        if page is None:
            raise Http404
        return page

    # Import --------------------------------------------------------------------------------------

    def import_page(self, request: HttpRequest) -> HttpResponse:
        """Import a league from its export."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = FileForm(request.POST or None, request.FILES or None)
        done = self.desk_form(request, form, ACTIONS[SITE, "import"], at="file")
        if done is not None:
            return HttpResponseRedirect(reverse("admin:matches_league_change", args=[quote(done.league.pk)]))
        return self.desk_page(request, "papers_import.html", _("Import a league"), form=form)


def export(league: League, name: str, *, people: bool, by: Any) -> FileResponse | None:
    """Make a file of a league to download, and an entry in the log of who did what.

    Args:
        league: the league.
        name: ``league.json``, ``league.zip``, or the name of a table with ``.csv``.
        people: include what only the instructor may see.
        by: the user; None for a script with the API key.

    Returns:
        The download; None if there is no file of this name.
    """
    stem, _dot, ending = name.rpartition(".")
    writers: dict[str, Callable[..., None]] = {LEAGUE_FILE: bundle.write, "league.zip": export_zip.write}
    if ending == "csv" and stem in tables.TABLES:
        writers[name] = partial(tables.write, stem)
    if name not in writers:
        return None
    audit.note(by=by, action="league.export", league_id=league.pk, target=name, asked={"people": people})
    return _file(name, league, partial(writers[name], league, people=people))


def sheets(request: HttpRequest, league: League, player_id: str, *, by: Any) -> HttpResponse | None:
    """Render the page with the evidence sheets, and make an entry in the log of who did what.

    Args:
        request: the request, which says at which address the site was called.
        league: the league.
        player_id: the player whose sheet is shown; empty: all of them.
        by: the user; None for a script with the API key.

    Returns:
        The page; None if there is no such player.
    """
    code = player_id.replace("\x00", "\ufffd")
    with read_snapshot():
        sheets = evidence.sheets(league, code)
    if code and not sheets:
        return None
    audit.note(by=by, action="league.evidence", league_id=league.pk, target=code)
    shown = {"league": league, "sheets": sheets, "one": code, "site": site_address_for_page(request)}
    return render(request, "admin/matches/league/evidence.html", shown)


def _file(name: str, league: League, write: Callable[[IO[bytes]], None]) -> FileResponse:
    """A download of what ``write`` writes; a large file is kept on the disk, not in memory."""
    # The response closes the file.
    file = tempfile.SpooledTemporaryFile(max_size=1024 * 1024)  # noqa: SIM115
    with read_snapshot():
        write(file)
    file.seek(0)
    ending = name.removeprefix("league") if name.startswith("league.") else f"-{name}"
    return PaperFile(file, as_attachment=True, filename=f"{league.pk}{ending}")
