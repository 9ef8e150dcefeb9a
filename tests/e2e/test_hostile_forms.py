"""Very long and unusual names on the pages that a form leads to: my agent, the check and its report, the login, the
preview of a correction, and forms of the desk, filled in and refused. Nothing is cut off, too wide, or in English on a
Hebrew page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import collect_errors, log_in
from tests.e2e.hostile_names import CROWD, NAMES, PLAYED, STARTED, WAITING, cut_off, named_players
from tests.e2e.pictures import shoot, too_wide
from tests.e2e.site import Site, wait_for
from tests.e2e.test_every_page import violations
from tests.leaguesite.skin.latin import ALLOWED, GAMES, PROTOCOL, latin, texts_of

pytestmark = [pytest.mark.e2e, pytest.mark.browser, pytest.mark.long, pytest.mark.timeout(900)]
WIDTHS = {390: 844, 1366: 768, 1920: 1080}
DESK = "/admin/matches/league"
LEAGUES = (PLAYED, WAITING, STARTED, CROWD, "Even/Odd League 2025")
UNBROKEN = "Donaudampfschiffahrtsgesellschaftskapitaensmuetzenfabrikantenverband"
WRITTEN = (*NAMES, UNBROKEN, UNBROKEN[:60], UNBROKEN[:38], *GAMES, *LEAGUES, "instructor", "name,email,code Dana")
CODES = ALLOWED | {"I", "name", "email", "code", "login"}
"""Allowed words: also the initial of the user, the columns of a roster, and the name of an action."""


@dataclass(frozen=True)
class PreparedSite:
    """A site whose leagues and players have such names, the players' tokens, and the id of a check of one player."""

    site: Site
    tokens: list[str]
    check: str


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PreparedSite]:
    """A site of its own: on a shared one the log of who did what shows the leagues of other tests, too."""
    with ExitStack() as stack:
        site = stack.enter_context(closing(Site(tmp_path_factory.mktemp("forms") / "data", "--no-demo")))
        players = stack.enter_context(named_players(site))
        check = site.post("/checks", {"endpoint": players[0][1]}, status=201)["check_id"]
        wait_for("the check is done", lambda: site.get(f"/checks/{check}")["state"] == "DONE")
        yield PreparedSite(site, [token for token, _ in players], check)


def fill(path: str, **fields: str) -> Callable[[Page, PreparedSite], None]:
    """Opens a page and sends its form with these fields, also wrong ones: the browser does not validate them."""

    def do(page: Page, prepared: PreparedSite) -> None:
        page.goto(prepared.site.url + path)
        form = page.locator("form:has([name=csrfmiddlewaretoken])", has=page.locator(f"[name={next(iter(fields))}]"))
        for name, value in fields.items():
            field = form.locator(f"[name={name}]").first
            if field.get_attribute("type") == "radio":
                # The last choice: no match has this result already, and setting the same result again is refused.
                form.locator(f"[name={name}]").last.check()
            elif field.evaluate("(one) => one.tagName") == "SELECT":
                field.select_option(value)
            else:
                field.evaluate("(one) => one.removeAttribute('maxlength')")
                field.fill(value)
        form.evaluate("(one) => { one.noValidate = true; one.requestSubmit(one.querySelector('[type=submit]')); }")
        page.wait_for_load_state("networkidle")

    return do


def show(path: str) -> Callable[[Page, PreparedSite], None]:
    """Opens a page."""

    def do(page: Page, prepared: PreparedSite) -> None:
        page.goto(prepared.site.url + path.replace("{check}", prepared.check))
        page.wait_for_load_state("networkidle")

    return do


def my_agent(number: int) -> Callable[[Page, PreparedSite], None]:
    """Opens the page of one of the players, as its owner."""

    def do(page: Page, prepared: PreparedSite) -> None:
        fill(f"/leagues/{PLAYED}/mine/", secret=prepared.tokens[number])(page, prepared)
        page.wait_for_selector(".match-list")

    return do


def leave_my_agent(page: Page, prepared: PreparedSite) -> None:
    """Leaves the page of one's own agent, so that the page of another one can be opened."""
    page.context.clear_cookies(name="sessionid")


CORRECT = f"{DESK}/{PLAYED}/correct/"
STRANGER: dict[str, Callable[[Page, PreparedSite], None]] = {
    "login": show("/admin/login/"),
    "login-refused": fill("/admin/login/", username=UNBROKEN, password="wrong"),
    "check": show("/check"),
    "check-refused": fill("/check", endpoint=f"http://{UNBROKEN}.example:1/{UNBROKEN}", auth_token="x"),
    "check-report": show("/check/{check}"),
    "mine-refused": fill(f"/leagues/{WAITING}/mine/", secret=UNBROKEN),
    **{f"mine-{number}": my_agent(number) for number in range(len(NAMES))},
}
INSTRUCTOR: dict[str, Callable[[Page, PreparedSite], None]] = {
    "preview-result": fill(f"{CORRECT}?kind=set_result&match=R1M1", outcome="", reason=UNBROKEN),
    "preview-void": fill(f"{CORRECT}?kind=void&match=R1M2", reason=UNBROKEN),
    "preview-points": fill(f"{CORRECT}?kind=points", player_id="P01", points="3", reason=UNBROKEN),
    "preview-withdraw": fill(f"{CORRECT}?kind=withdraw", player_id="P03", matches_become="", reason=UNBROKEN),
    "correction-refused": fill(f"{CORRECT}?kind=points", player_id="P01", points="99999999999", reason=""),
    "new-league": fill(f"{DESK}/add/", display_name=UNBROKEN * 2, league_id=f"{UNBROKEN}!"),
    "settings": fill(f"{DESK}/{WAITING}/settings/", display_name=""),
    "add-player": fill(f"{DESK}/add-player/", name=UNBROKEN, endpoint=f"ftp://{UNBROKEN}"),
    "role": fill(f"{DESK}/{PLAYED}/people/", username=UNBROKEN),
    "notice": fill(f"{DESK}/{PLAYED}/notices/", text=f"{UNBROKEN} " * 2),
    "roster-refused": fill(f"{DESK}/{WAITING}/roster/", text=f"name,{UNBROKEN}\n{UNBROKEN},x"),
    "roster-lines-refused": fill(f"{DESK}/{WAITING}/roster/", text=f"name,email\n{UNBROKEN},{UNBROKEN}\n,"),
    "import": show(f"{DESK}/import/"),
    "plan": fill(f"{DESK}/{WAITING}/change/", when="2031-01-01T10:00"),
    "user-refused": fill("/admin/auth/user/add/", username=f"{UNBROKEN} {UNBROKEN}", password1="a", password2="b"),
    "user-added": fill(
        "/admin/auth/user/add/", username=UNBROKEN, password1="a long password", password2="a long password"
    ),
    "users": show("/admin/auth/user/"),
    "group-added": fill("/admin/auth/group/add/", name=UNBROKEN),
    "groups": show("/admin/auth/group/"),
    "password": fill("/admin/password_change/", old_password="x", new_password1="a", new_password2="b"),
    "log": show("/admin/matches/auditentry/"),
    "search": show(f"/admin/matches/league/?q={UNBROKEN}"),
    "no-page": show(f"/leagues/{UNBROKEN}/"),
}


def wrong_on(page: Page, where: str, language: str) -> list[str]:
    """Faults of the open page: what does not fit at some width, what axe finds, and English text on a Hebrew page."""
    wrong = []
    for width, height in WIDTHS.items():
        page.set_viewport_size({"width": width, "height": height})
        shoot(page, f"forms-{where}-{width}-{language}")
        wide = too_wide(page)
        found = [f"{wide} px too wide"] if wide else []
        wrong += [f"{where} at {width} px: {one}" for one in found + cut_off(page)]
    wrong += [f"{where}: {one}" for one in violations(page)]
    if language == "he":
        allowed = CODES | PROTOCOL if where == "check-report" else CODES
        wrong += [f"{where}: {one}" for one in latin(texts_of(page.content()), allowed, WRITTEN)]
    return wrong


@pytest.mark.parametrize(("scheme", "language"), [("light", "en"), ("dark", "he")])
@pytest.mark.parametrize("who", ["stranger", "instructor"])
def test_no_name_breaks_a_form(prepared: PreparedSite, browser: Browser, who: str, scheme: str, language: str) -> None:
    errors: list[str] = []
    how = {"color_scheme": scheme, "reduced_motion": "reduce", "bypass_csp": True}
    context = browser.new_context(**how)  # type: ignore[arg-type]
    page, wrong = context.new_page(), []
    collect_errors(page, errors)
    if who == "instructor":
        log_in(page, prepared.site)
    context.add_cookies([{"name": "django_language", "value": language, "url": prepared.site.url}])
    for name, do in (INSTRUCTOR if who == "instructor" else STRANGER).items():
        do(page, prepared)
        if name.startswith("preview-"):
            expect(page.locator("[name=fingerprint]")).to_be_attached()
        wrong += wrong_on(page, name, language)
        if who == "stranger":
            leave_my_agent(page, prepared)
    context.close()
    other_errors = [one for one in errors if "the server responded with a status of 4" not in one]
    assert (wrong, other_errors) == ([], []), "\n".join(wrong)
