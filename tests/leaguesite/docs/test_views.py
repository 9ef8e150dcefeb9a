"""``/docs/`` on a site, in both ways: what ``make docs`` built, and the Markdown files themselves."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client

from leaguesite.docs import built, sources
from tests.paths import ROOT

SCRIPT = "document.title = 'x';"
OUTSIDE = [
    "../settings.py",
    "../../etc/passwd",
    "%2e%2e/settings.py",
    "..%2fsettings.py",
    "cli/../../settings.py",
    "/etc/passwd",
    "..\\settings.py",
    "assets/",
    "nothing/",
    "decisions/0001",
    sources.DIGEST,
]


@pytest.fixture
def site(tmp_path: Path, settings: LazySettings) -> Path:
    """A small built site, of the sources as they are."""
    folder = tmp_path / "site"
    (folder / "cli").mkdir(parents=True)
    (folder / "assets").mkdir()
    data = '<script id="__config" type="application/json">{}</script><script src="assets/a.js"></script>'
    (folder / "index.html").write_text(f"<html><script>{SCRIPT}</script>{data}</html>", encoding="utf-8")
    (folder / "cli" / "index.html").write_text("<html>the command line</html>", encoding="utf-8")
    (folder / "assets" / "a.js").write_text("1;", encoding="utf-8")
    (folder / "assets" / "a.png").write_bytes(b"\x89PNG")
    (folder / sources.DIGEST).write_text(sources.digest(ROOT), encoding="ascii")
    settings.LEAGUE_DOCS_SITE = folder
    return folder


@pytest.fixture
def no_site(tmp_path: Path, settings: LazySettings) -> None:
    settings.LEAGUE_DOCS_SITE = tmp_path / "never built"


def policy(response: Any) -> dict[str, str]:
    """The Content-Security-Policy of a response by directive."""
    parts = (part.strip().partition(" ") for part in response["Content-Security-Policy"].split(";"))
    return {name: words for name, _, words in parts}


# -- what was built ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("site")
def test_built_files_have_their_types_and_are_not_sent_twice(client: Client) -> None:
    kinds = {path: client.get(f"/docs/{path}")["Content-Type"] for path in ("", "cli/", "assets/a.js", "assets/a.png")}
    assert kinds == {
        "": "text/html; charset=utf-8",
        "cli/": "text/html; charset=utf-8",
        "assets/a.js": "text/javascript; charset=utf-8",
        "assets/a.png": "image/png",
    }
    first = client.get("/docs/cli/")
    assert first["Cache-Control"] == "max-age=60"
    again = client.get("/docs/cli/", headers={"If-None-Match": first["ETag"]})
    assert (first.content, again.status_code, again.content) == (b"<html>the command line</html>", 304, b"")


@pytest.mark.usefixtures("site")
def test_a_page_without_its_slash_leads_to_the_page(client: Client) -> None:
    assert client.get("/docs")["Location"] == "/docs/"
    assert client.get("/docs/cli")["Location"] == "/docs/cli/"


@pytest.mark.usefixtures("site")
def test_a_built_page_may_run_its_own_scripts_and_no_others(client: Client) -> None:
    usual = policy(client.get("/check"))
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    assert policy(client.get("/docs/")) == usual | {"script-src": f"'self' 'sha256-{digest}'"}
    assert policy(client.get("/docs/cli/")) == usual
    assert "unsafe-inline" not in usual["script-src"]


@pytest.mark.usefixtures("site")
def test_a_page_that_was_not_built_is_404(client: Client) -> None:
    assert client.get("/docs/protocol/").status_code == 404
    assert client.post("/docs/").status_code == 405


@pytest.mark.parametrize("path", OUTSIDE)
@pytest.mark.usefixtures("site")
def test_no_path_leads_out_of_the_built_site(client: Client, path: str) -> None:
    assert client.get(f"/docs/{path}").status_code == 404


def test_a_site_of_other_sources_is_not_shown(client: Client, site: Path) -> None:
    (site / sources.DIGEST).write_text("of yesterday", encoding="ascii")
    built.files.cache_clear()
    assert b"docs-text" in client.get("/docs/cli/").content
    built.files.cache_clear()


# -- the Markdown files -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_site")
def test_every_page_is_there_without_a_built_site_and_links_lead_to_pages(client: Client) -> None:
    pages, found = sources.pages(ROOT), {}
    for page in pages:
        address = f"/docs/{sources.address(page)}"
        response = client.get(address)
        assert response.status_code == 200, address
        found[address] = response.content.decode()
    pictures = {f"/docs/{path}" for path in sources.pictures(ROOT)}
    broken = []
    for address, html in found.items():
        [text] = re.findall(r'<article class="docs-text".*?</article>', html, re.DOTALL)
        for link in re.findall(r'(?:href|src)="([^"]*)"', text):
            to, mark, anchor = link.partition("#")
            if to.startswith(("http://", "https://")) or to in pictures:
                continue
            target = found.get(to or address)
            if target is None or (mark and f'id="{anchor}"' not in target):
                broken.append((address, link))
    assert broken == []


@pytest.mark.usefixtures("no_site")
def test_the_list_of_pages_has_each_page_once_but_no_decision(client: Client) -> None:
    html = client.get("/docs/").content.decode()
    [listed] = re.findall(r'<nav class="docs-pages".*?</nav>', html, re.DOTALL)
    names = re.findall(r'href="/docs/([^"]*)"', listed)
    decisions = {sources.address(page) for page in sources.pages(ROOT) if re.match(r"decisions/\d", page)}
    assert {*names, ""} == {sources.address(page) for page in sources.pages(ROOT)} - decisions
    assert len(names) == len(set(names))
    assert '<a href="/docs/cli/" aria-current="page">' in client.get("/docs/cli/").content.decode()


@pytest.mark.usefixtures("no_site")
def test_html_in_markdown_is_text_and_the_policy_is_the_usual_one(
    client: Client, tmp_path: Path, settings: LazySettings
) -> None:
    settings.LEAGUE_DOCS_DIR = tmp_path / "docs"
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / sources.INDEX).write_text("# Docs\n\n<script>alert(1)</script>\n", encoding="utf-8")
    response = client.get("/docs/")
    assert policy(response) == policy(client.get("/check"))
    assert b"&lt;script&gt;alert(1)&lt;/script&gt;" in response.content
    assert b"<script>alert" not in response.content


@pytest.mark.usefixtures("no_site")
def test_pictures_and_slashes_without_a_built_site(client: Client) -> None:
    picture = client.get("/docs/pictures/mcp-play.png")
    assert (picture.status_code, picture["Content-Type"]) == (200, "image/png")
    assert client.get("/docs/cli")["Location"] == "/docs/cli/"
    assert client.get("/docs/decisions")["Location"] == "/docs/decisions/"


@pytest.mark.parametrize("path", [*OUTSIDE, "cli.md", "../README.md"])
@pytest.mark.usefixtures("no_site")
def test_no_path_leads_out_of_the_pages(client: Client, path: str) -> None:
    assert client.get(f"/docs/{path}").status_code == 404


@pytest.mark.django_db
@pytest.mark.usefixtures("no_site")
def test_a_hebrew_reader_gets_english_text_from_left_to_right(client: Client) -> None:
    html = client.get("/docs/cli/", headers={"Accept-Language": "he"}).content.decode()
    assert '<html lang="he" dir="rtl">' in html
    assert '<article class="docs-text" lang="en" dir="ltr">' in html
    assert '<a href="/docs/">תיעוד</a>' in html
