"""``/docs/``: the built documentation if there is one, else its Markdown files."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import path as route
from django.urls import reverse
from django.views.decorators.http import require_safe

from leaguesite.docs import built, plain, sources


@require_safe
def docs(request: HttpRequest, path: str = "") -> HttpResponseBase:
    """A page or a file of the documentation; an address of a page gets its slash at the end."""
    root: Path = settings.LEAGUE_DOCS_DIR.parent
    base = reverse("docs")
    files = built.files(settings.LEAGUE_DOCS_SITE, root)
    file = files.get(f"{path}index.html") if path == "" or path.endswith("/") else files.get(path)
    if file is not None:
        return built.answer(request, file)
    if f"{path}/index.html" in files:
        return redirect(f"{base}{path}/")
    if files:
        raise Http404
    if path in (pictures := sources.pictures(root)):
        return built.answer(request, pictures[path])
    page = plain.page_at(root, path)
    if page is None:
        raise Http404
    if (address := sources.address(page)) != path:
        return redirect(base + address)
    shown = {"text": plain.text(root, page, base), "groups": plain.listed(root, base), "here": base + address}
    return render(request, "docs/page.html", shown)


urlpatterns = [route("docs/", docs, name="docs"), route("docs/<path:path>", docs)]
