"""Every page of the tables below, light and dark, in English and in Hebrew, on a phone, a desktop and a projector:
nothing is loaded from elsewhere, no script fails, nothing is too wide, and axe-core finds no violation (not run on the
projector). Takes a screenshot of each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.e2e.browser import chromium, log_in
from tests.e2e.pictures import VIEWPORTS, shoot, too_wide
from tests.e2e.site import ROOT, Player, Site, site_with_players, wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.browser, pytest.mark.long, pytest.mark.timeout(600)]
AXE = ROOT / "tests" / "e2e" / "vendor" / "axe-core" / "axe-4.11.4.min.js"
OPEN, PLAYED = "open", "fall"
PUBLIC = {
    "index": "/",
    "board-open": f"/leagues/{OPEN}/",
    "board": f"/leagues/{PLAYED}/",
    "charts": f"/leagues/{PLAYED}/charts/",
    "match": f"/leagues/{PLAYED}/matches/R1M1/",
    "match-absent": f"/leagues/{PLAYED}/matches/R2M1/",
    "player": f"/leagues/{PLAYED}/players/P01/",
    "screen-wall": f"/leagues/{OPEN}/screen/",
    "screen": f"/leagues/{PLAYED}/screen/",
    "replay": f"/leagues/{PLAYED}/replay/",
    "embed": f"/leagues/{PLAYED}/embed/",
    "story": f"/leagues/{PLAYED}/story/",
    "join": f"/leagues/{OPEN}/join/",
    "mine-closed": f"/leagues/{OPEN}/mine/",
    "mine": f"/leagues/{PLAYED}/mine/",
    "series": "/series/course",
    "login": "/admin/login/",
    "check": "/check",
    "nothing": "/leagues/nowhere/",
    "not-yours": f"/leagues/{PLAYED}/?as=staff",
    "check-report": "/check/{check}",
}
DESK = {
    "admin": "/admin/",
    "leagues": "/admin/matches/league/",
    "desk-open": f"/admin/matches/league/{OPEN}/change/",
    "desk": f"/admin/matches/league/{PLAYED}/change/",
    "new-league": "/admin/matches/league/add/",
    "corrections": f"/admin/matches/league/{PLAYED}/corrections/",
    "correct": f"/admin/matches/league/{PLAYED}/correct/?kind=set_result&match=R1M1",
    "correct-preview": f"/admin/matches/league/{PLAYED}/correct/?kind=set_result&match=R1M1",
    "undo": f"/admin/matches/league/{PLAYED}/corrections/1/undo/",
    "account": "/admin/auth/user/1/change/",
    "settings": f"/admin/matches/league/{PLAYED}/settings/",
    "people": f"/admin/matches/league/{PLAYED}/people/",
    "evidence": f"/admin/matches/league/{PLAYED}/papers/evidence/",
    "import": "/admin/matches/league/import/",
    "add-player": "/admin/matches/league/add-player/",
    "matches": "/admin/matches/match/",
    "users": "/admin/auth/user/",
    "papers": f"/admin/matches/league/{PLAYED}/papers/",
    "notices": f"/admin/matches/league/{PLAYED}/notices/",
    "remote": f"/admin/matches/league/{PLAYED}/remote/",
    "season": f"/admin/matches/league/{PLAYED}/season/",
    "roster": f"/admin/matches/league/{OPEN}/roster/",
    "compatibility": "/admin/matches/league/compatibility/",
    "agents": "/admin/agents_registry/agent/",
    "agent": "/admin/agents_registry/agent/1/change/",
    "revoking": "/admin/agents_registry/agent/",
}
MAY_SCROLL = {"charts"}
"""Pages that may scroll sideways."""


@dataclass(frozen=True)
class PreparedSite:
    """A site with a league that is open and one that was played, of whose players one is dead since round 1.

    ``check`` is the id of a check of the player that died.
    """

    site: Site
    players: list[Player]
    check: str


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PreparedSite]:
    folder = tmp_path_factory.mktemp("pages")
    quick = {"join_timeout_s": 1, "move_timeout_s": 1, "max_retries": 1, "retry_base_s": 0.1}
    options = ("--league-id", PLAYED, "--choice", "alternate")
    with site_with_players(folder, 4, league=PLAYED, settings=quick, player_options=options) as (site, players):
        site.post(f"/leagues/{PLAYED}/start")
        site.wait_for_round(PLAYED, 1)
        players[3].close()
        site.play_to_the_end(PLAYED)
        site.create(OPEN)
        for league in (PLAYED, OPEN):
            site.post(f"/leagues/{league}/series", {"series_id": "course", "series_name": "Agents, winter term"})
        void = {"kind": "void", "match_id": "R1M2", "reason": "seen in the room"}
        site.post(f"/leagues/{PLAYED}/corrections", void, status=201)
        check = site.post("/checks", {"endpoint": players[3].endpoint}, status=201)["check_id"]
        wait_for("the check is done", lambda: site.get(f"/checks/{check}")["state"] == "DONE")
        yield PreparedSite(site, players, check)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


def new_context(browser: Browser, site: Site, scheme: str, language: str) -> BrowserContext:
    """A browser context with a colour scheme and a language."""
    # axe-core runs as a script in the page, which our policy forbids; test_policy.py tests the policy.
    context = browser.new_context(color_scheme=scheme, reduced_motion="reduce", bypass_csp=True)  # type: ignore[arg-type]
    context.add_cookies([{"name": "django_language", "value": language, "url": site.url}])
    return context


def open_my_agent(page: Page, prepared: PreparedSite) -> None:
    """Open "My agent" as the owner of the player that died."""
    page.goto(f"{prepared.site.url}/leagues/{PLAYED}/mine/")
    token = re.search(r'"auth_token": "(tok_[0-9a-f]{32})"', prepared.players[3].log_file.read_text(encoding="utf-8"))
    assert token is not None
    page.fill("#secret", token[1])
    page.press("#secret", "Enter")
    page.wait_for_selector(".match-list")


def visit(page: Page, prepared: PreparedSite, name: str, path: str) -> None:
    """Open a page of the tables above; a page that only a form leads to is opened by filling in the form."""
    page.goto(prepared.site.url + path.replace("{check}", prepared.check))
    if name == "correct-preview":
        page.locator("[name=outcome]").first.check()
        page.fill("[name=reason]", "seen in the room")
        page.click("button[name=preview]")
        page.wait_for_selector("[name=fingerprint]", state="attached")
    if name == "revoking":
        page.locator("input.action-select").first.check()
        page.select_option("select[name=action]", "revoke_tokens")
        page.click("#changelist-form button[name=index]")
        page.wait_for_selector("#ticked")
    page.wait_for_load_state("networkidle")


def violations(page: Page) -> list[str]:
    """What axe-core finds: rule, element, and why."""
    # Not as a script tag: the pages allow no script but their own.
    page.evaluate(AXE.read_text(encoding="utf-8"))
    violations_by_rule = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [
        f"{one['id']}: {node['target']} {node.get('failureSummary', '')[:200]}"
        for one in violations_by_rule
        for node in one["nodes"]
    ]


@pytest.mark.parametrize("language", ["en", "he"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("pages", [PUBLIC, DESK], ids=["public", "desk"])
def test_every_page_is_accessible_and_fits_its_screen(
    prepared: PreparedSite, browser: Browser, pages: dict[str, str], scheme: str, language: str
) -> None:
    site, wrong = prepared.site, []
    context = new_context(browser, site, scheme, language)
    page = context.new_page()
    page.on("pageerror", lambda error: wrong.append(f"{page.url}: {error}"))
    page.on("request", lambda one: None if one.url.startswith((site.url, "data:", "blob:")) else wrong.append(one.url))
    if pages is DESK:
        log_in(page, site)
    else:
        open_my_agent(page, prepared)
    for name, path in pages.items():
        for viewport, (width, height) in VIEWPORTS.items():
            page.set_viewport_size({"width": width, "height": height})
            visit(page, prepared, name, path)
            shoot(page, f"{name}-{viewport}-{scheme}-{language}")
            wide = too_wide(page)
            if wide > 0 and name not in MAY_SCROLL:
                wrong.append(f"{name} on a {viewport} is {wide} px too wide")
            if viewport != "projector":
                wrong += [f"{name} on a {viewport}: {one}" for one in violations(page)]
    context.close()
    assert wrong == [], "\n".join(wrong)
