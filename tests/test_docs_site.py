"""The documentation as a site: it builds without warnings, loads nothing from other hosts, and lists every page.

It is compared with the Markdown as ``/docs/`` renders it without a built site, so both show the same.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from leaguesite.docs import plain, sources
from leaguesite.docs.built import hashes
from tests.paths import ROOT

PAGES = sources.pages(ROOT)
PARTS = ("h2", "h3", "h4", "table", "tr", "pre", "ol", "ul", "li", "img")


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site, built by ``mkdocs build --strict``."""
    if importlib.util.find_spec("material") is None:
        (pytest.fail if os.environ.get("LEAGUE_CI") else pytest.skip)("mkdocs-material is not installed: make setup")
    folder = tmp_path_factory.mktemp("docs") / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def html_of(site: Path, page: str) -> str:
    return (site / sources.address(page) / "index.html").read_text(encoding="utf-8")


def parts(html: str) -> dict[str, int]:
    """How many elements of each of the kinds in ``PARTS`` there are."""
    return {part: len(re.findall(rf"<{part}[ >]", html)) for part in PARTS}


def test_no_page_loads_anything_from_another_host(built: Path) -> None:
    foreign = []
    for page in PAGES:
        for tag in re.findall(r"<(?:link|script|img|iframe|source|object|embed)\b[^>]*>", html_of(built, page)):
            foreign += [(page, tag) for address in re.findall(r'(?:src|href)="([^"]*)"', tag) if "//" in address]
    for style in built.rglob("*.css"):
        used = re.findall(r"(?:url\(|@import )['\"]?([^)'\"]+)", style.read_text(encoding="utf-8"))
        foreign += [(style.name, address) for address in used if "//" in address and not address.startswith("data:")]
    assert foreign == []
    assert [path.name for path in built.rglob("*") if path.suffix in (".woff", ".woff2", ".ttf", ".map")] == []


def test_every_script_of_a_page_can_be_allowed_by_its_hash(built: Path) -> None:
    """The browser would refuse anything that needs 'unsafe-inline': handlers and styles in attributes, <style>."""
    for page in PAGES:
        html = html_of(built, page)
        outside = re.sub(r"<(script|pre|code)\b.*?</\1>", "", html, flags=re.DOTALL)
        assert re.findall(r"<style|<[^>]*\s(?:style|on[a-z]+)=", outside) == [], page
        bare = [tag for tag in re.findall(r"<script\b[^>]*>", html) if "src=" not in tag and "json" not in tag]
        assert set(bare) == {"<script>"}, page
        assert hashes(html.encode()) != []


def test_every_page_is_in_the_navigation(built: Path) -> None:
    html = html_of(built, "chaos.md")
    listed = set(re.findall(r'class="md-nav__link[^"]*"[^>]*href="([^"#]*)"', html.replace("\n", " ")))
    listed |= set(re.findall(r'href="([^"#]*)"[^>]*class="md-nav__link', html))
    assert listed - {"./"} == {
        f"../{sources.address(page)}" for page in PAGES if page not in ("chaos.md", sources.INDEX)
    } | {".."}


@pytest.mark.parametrize("page", PAGES)
def test_a_built_page_has_the_same_parts_as_without_a_built_site(built: Path, page: str) -> None:
    [content] = re.findall(r'<article class="md-content__inner.*?</article>', html_of(built, page), re.DOTALL)
    assert parts(content) == parts(plain.text(ROOT, page, "/docs/").html)


def test_search_finds_every_page(built: Path) -> None:
    index = json.loads((built / "search" / "search_index.json").read_text(encoding="utf-8"))
    found = {entry["location"].partition("#")[0] for entry in index["docs"]}
    assert found == {sources.address(page) for page in PAGES}


def test_the_built_site_has_the_digest_of_its_sources(built: Path) -> None:
    assert (built / sources.DIGEST).read_text(encoding="ascii") == sources.digest(ROOT)


def test_every_decision_is_in_the_list_of_decisions() -> None:
    listed = re.findall(r"^- \[(.+)\]\((.+)\)$", PAGES["decisions/README.md"].read_text(encoding="utf-8"), re.MULTILINE)
    decisions = sorted(page for page in PAGES if re.match(r"decisions/\d", page))
    titles = [sources.title(PAGES[page].read_text(encoding="utf-8"), page) for page in decisions]
    assert listed == [(title, page.removeprefix("decisions/")) for title, page in zip(titles, decisions, strict=True)]


@pytest.mark.parametrize("current", [True, False])
def test_the_wheel_has_the_built_site_or_else_its_sources(tmp_path: Path, current: bool) -> None:
    spec = importlib.util.spec_from_file_location("hatch_docs", ROOT / "deploy" / "hatch_docs.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "README.md").write_text("# Documentation\n", encoding="utf-8")
    (tmp_path / "SECURITY.md").write_text("# Security\n", encoding="utf-8")
    built = tmp_path / "build" / "docs-site"
    built.mkdir(parents=True)
    (built / sources.DIGEST).write_text(sources.digest(tmp_path) if current else "of yesterday", encoding="ascii")
    data: dict[str, Any] = {"force_include": {}}
    module.Documentation(str(tmp_path), {}, None, None, "", "wheel").initialize("standard", data)
    inside = "leaguesite/resources"
    files = {str(tmp_path / name): f"{inside}/{name}" for name in ("docs/README.md", "SECURITY.md")}
    assert data["force_include"] == ({str(built): f"{inside}/docs-site"} if current else files)
