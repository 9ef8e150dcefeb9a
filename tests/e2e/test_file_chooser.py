"""The field for a file: in the reader's language, by click, key and drop; it says what is wrong with a file."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Browser, FileChooser, Page, expect
from playwright.sync_api import TimeoutError as TimedOut

from tests.e2e.browser import collect_errors, log_in
from tests.e2e.pictures import shoot, too_wide
from tests.e2e.site import Site
from tests.e2e.test_every_page import violations

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.browser]
LEAGUE = "chooser"
SEND = "form:has([data-file]) button.next"
ROSTER, IMPORT = f"/admin/matches/league/{LEAGUE}/roster/", "/admin/matches/league/import/"
WORDS = {
    "en": ("Choose a file", "no file chosen", "This file is of another kind", "This file is too large: 1.1 MB"),
    "he": ("בחירת קובץ", "לא נבחר קובץ", "הקובץ מסוג אחר", "הקובץ גדול מדי: 1.1 MB"),
}
DROP = """(area, name) => {
  const moved = new DataTransfer();
  moved.items.add(new File(["name,email\\nDana,dana@example.org\\n"], name, { type: "text/csv" }));
  const input = area.querySelector("input[type=file]");
  input.dispatchEvent(new DragEvent("dragenter", { bubbles: true, dataTransfer: moved }));
  const over = area.hasAttribute("data-over");
  input.dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: moved }));
  // What the browser does with a real drop.
  input.files = moved.files;
  input.dispatchEvent(new Event("change", { bubbles: true }));
  return [over, area.hasAttribute("data-over"), document.elementFromPoint(...middle(area)) === input];
  function middle(one) {
    const box = one.getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2];
  }
}"""


def files(folder: Path) -> dict[str, Path]:
    """A file of another kind, one that is too large for a roster, a good one, and an empty one."""
    made = {name: folder / name for name in ("faces.png", "large.csv", "roster.csv", "empty.csv")}
    made["faces.png"].write_bytes(b"\x89PNG")
    made["large.csv"].write_text("x" * 1_000_001)
    made["roster.csv"].write_text("name,email\nDana,dana@example.org\n")
    made["empty.csv"].touch()
    return made


def opened(page: Page, act: Callable[[], None]) -> FileChooser:
    """The browser's file chooser that an act of the user opens.

    The act is repeated: a busy browser ignores an act that comes while it is still closing the last chooser, or before
    it has been told to leave choosers to the test.
    """
    for _ in range(3):
        with suppress(TimedOut):
            with page.expect_file_chooser(timeout=10_000) as coming:
                act()
            return coming.value
    raise AssertionError("no chooser of files opened, asked three times")


@pytest.mark.parametrize(("language", "width"), [("en", 1280), ("he", 390)])
def test_a_file_is_chosen_and_its_problem_is_shown_beside_the_field(
    site: Site, browser: Browser, tmp_path: Path, language: str, width: int
) -> None:
    errors: list[str] = []
    page = instructor(browser, site, errors, language, width)
    league = f"{LEAGUE}-{language}"
    site.create(league)
    made, (choose, none, kind, large) = files(tmp_path), WORDS[language]
    page.goto(site.url + ROSTER.replace(LEAGUE, league))
    area, name = page.locator("[data-file]"), page.locator("[data-file-name]")
    field, problem = page.locator("input[type=file]"), page.locator("[data-file-problem]")
    expect(area).to_contain_text(choose)
    expect(name).to_have_text(none)
    expect(problem).to_be_hidden()
    for file, words in (("faces.png", kind), ("large.csv", large)):
        field.set_input_files(made[file])
        expect(name).to_have_text(file)
        expect(problem).to_contain_text(words)
        expect(field).to_have_attribute("aria-invalid", "true")
        page.locator(SEND).click()
        assert page.url.endswith("/roster/")
        assert field.evaluate("(one) => one.validity.customError") is True
    shoot(page, f"chooser-wrong-{width}-{language}")
    assert (too_wide(page), violations(page)) == (0, [])
    assert area.evaluate(DROP, "dropped.csv") == [True, False, True]
    expect(name).to_have_text("dropped.csv")
    expect(problem).to_be_hidden()
    shoot(page, f"chooser-{width}-{language}")
    opened(page, area.click).set_files(made["empty.csv"])
    expect(problem).to_be_visible()
    field.focus()
    opened(page, lambda: page.keyboard.press("Enter")).set_files(made["roster.csv"])
    expect(problem).to_be_hidden()
    page.locator(SEND).click()
    expect(page.locator("[name=person]")).to_have_count(1)
    page.goto(site.url + IMPORT)
    page.locator("input[type=file]").set_input_files(made["roster.csv"])
    expect(page.locator("[data-file-problem]")).to_contain_text(".json, .zip")
    shoot(page, f"chooser-import-{width}-{language}")
    assert (too_wide(page), errors) == (0, [])


def test_what_the_site_finds_wrong_with_a_file_is_said_at_its_field(
    site: Site, browser: Browser, tmp_path: Path
) -> None:
    errors: list[str] = []
    page = instructor(browser, site, errors, "en", 1280)
    page.goto(site.url + IMPORT)
    wrong = tmp_path / "league.json"
    wrong.write_text("{}")
    page.locator("input[type=file]").set_input_files(wrong)
    page.locator(SEND).click()
    expect(page.locator(".desk-field .errorlist:visible")).to_contain_text("expected leaguesite.league/1")
    expect(page.locator("[data-file-name]")).to_have_text("no file chosen")
    assert errors == []


def instructor(browser: Browser, site: Site, errors: list[str], language: str, width: int) -> Page:
    """A page of the instructor, in a language and of a width."""
    size = {"width": width, "height": 800}
    page = browser.new_context(viewport=size, color_scheme="dark", bypass_csp=True).new_page()  # type: ignore[arg-type]
    page.context.add_cookies([{"name": "django_language", "value": language, "url": site.url}])
    collect_errors(page, errors)
    log_in(page, site)
    return page
