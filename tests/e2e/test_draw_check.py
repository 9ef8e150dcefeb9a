"""The check of a committed draw in a browser: each step, a number that was tampered with, and plain http.

The test renders the pages and gives them to the browser with their own headers, so that they can be opened under any
address: browsers have WebCrypto on 127.0.0.1, and not over plain http at a classroom's address.
"""

from __future__ import annotations

import hashlib
import hmac
import mimetypes
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import Browser, Page, Route, expect

from matches.models import Event
from tests import factories as make
from tests.e2e.browser import chromium
from tests.e2e.pictures import VIEWPORTS, shoot, too_wide
from tests.matches.audience.pages.test_draw_page import PATH, SEED, amend, publish_commitment
from tests.paths import ROOT

pytestmark = [pytest.mark.e2e, pytest.mark.browser, pytest.mark.django_db]
STATIC = ROOT / "static"
SECURE, PLAIN = "http://127.0.0.1:9", "http://classroom.example"
STEPS = ["commitment", "message", "hmac", "byte", "number", "parity", "winner"]


@dataclass
class Drawn:
    """The draw of a match, computed here from its seed without the site's code."""

    choices: tuple[str, str] = ("even", "odd")

    def __post_init__(self) -> None:
        self.message = "|".join(["fall", "R1M1", "1", *self.choices])
        self.digest = hmac.new(SEED, self.message.encode(), hashlib.sha256).digest()
        self.byte = next(one for one in self.digest if one < 250)
        self.number = 1 + self.byte % 10
        self.parity = ("even", "odd")[self.number % 2]
        right = [player for player, one in zip(("P01", "P02"), self.choices, strict=True) if one == self.parity]
        self.winner = right[0] if len(right) == 1 else None


def finished(client: Client, language: str = "en", **changes: Any) -> tuple[bytes, dict[str, str]]:
    """The page of a finished match, and its headers; ``changes`` are made to the details of the reported result."""
    drawn = Drawn()
    made = make.running_league(players=2)
    publish_commitment()
    make.report(made.match("R1M1"), drawn.winner)
    event = Event.objects.get(kind="match_finished")
    facts = {"drawn_number": drawn.number, "number_parity": drawn.parity}
    amend("match_finished", details=event.data["details"] | facts | changes, draw_seed=SEED.hex(), play=1, sealed=True)
    return page_of(client, language)


def page_of(client: Client, language: str = "en") -> tuple[bytes, dict[str, str]]:
    answer = client.get(PATH, headers={"accept-language": language})
    assert answer.status_code == 200
    return answer.content, dict(answer.items())


def opened(
    browser: Browser, origin: str, shown: tuple[bytes, dict[str, str]], **context_options: Any
) -> tuple[Page, list[str]]:
    page = browser.new_context(**context_options).new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda line: errors.append(line.text) if "Content Security Policy" in line.text else None)

    def answer(route: Route) -> None:
        path = route.request.url.removeprefix(origin).partition("?")[0]
        if path == PATH:
            route.fulfill(status=200, headers=shown[1], body=shown[0])
        elif path.startswith("/static/"):
            file = STATIC / path.removeprefix("/static/")
            route.fulfill(status=200, content_type=mimetypes.guess_type(file)[0] or "", body=file.read_bytes())
        else:
            route.abort()

    page.route("**/*", answer)
    # Nothing listens at these addresses, so the live socket is closed.
    page.route_web_socket("**/*", lambda live: live.close())
    page.goto(origin + PATH)
    return page, errors


def check_draw(page: Page) -> dict[str, str]:
    """Press the button; returns the verdict of each step that is shown."""
    page.locator("[data-draw-go]").click()
    expect(page.locator(".draw-sum")).not_to_be_empty()
    steps = page.locator(".draw-steps li:visible")
    return {str(one.get_attribute("data-step")): str(one.get_attribute("data-verdict")) for one in steps.all()}


@pytest.mark.parametrize("origin", [SECURE, pytest.param(PLAIN, marks=pytest.mark.long)])
def test_every_step_of_a_true_draw_is_shown(client: Client, origin: str) -> None:
    shown, drawn = finished(client), Drawn()
    with chromium() as browser:
        page, errors = opened(browser, origin, shown)
        assert page.evaluate("Boolean(globalThis.crypto?.subtle)") is (origin == SECURE)
        verdicts = check_draw(page)
        assert list(verdicts) == STEPS
        assert verdicts == dict.fromkeys(STEPS, "ok") | dict.fromkeys(["hmac", "byte"], "computed")
        values = dict(zip(STEPS, page.locator(".step-value").all_text_contents(), strict=True))
        assert values == {
            "commitment": hashlib.sha256(SEED).hexdigest(),
            "message": drawn.message,
            "hmac": drawn.digest.hex(),
            "byte": f"byte {drawn.digest.index(drawn.byte) + 1} is {drawn.byte}",
            "number": f"1 + {drawn.byte} mod 10 = {drawn.number}",
            "parity": drawn.parity,
            "winner": drawn.winner or "nobody: a draw",
        }
        expect(page.locator(".draw-sum")).to_have_text("The draw holds: every step agrees with what the league says.")
        expect(page.locator(".draw-proves")).to_contain_text("no number was chosen after the choices")
        expect(page.locator(".draw-proves")).to_contain_text("does not bind a referee or operator that colludes")
        assert errors == []


@pytest.mark.long
def test_a_number_that_was_tampered_with_is_shown_as_wrong(client: Client) -> None:
    drawn = Drawn()
    other = 1 + drawn.number % 10
    shown = finished(client, drawn_number=other, number_parity=("even", "odd")[other % 2])
    with chromium() as browser:
        page, _ = opened(browser, SECURE, shown)
        verdicts = check_draw(page)
        assert {step for step, verdict in verdicts.items() if verdict == "wrong"} == {"number", "parity"}
        expect(page.locator('[data-step="number"] .step-said')).to_have_text(f"the league says {other}")
        expect(page.locator(".draw-sum")).to_contain_text("The draw does not hold")


@pytest.mark.long
def test_another_seed_and_another_winner_are_shown_as_wrong(client: Client) -> None:
    finished(client)
    amend("match_finished", draw_seed=bytes(32).hex(), winner_id=None)
    shown = page_of(client)
    with chromium() as browser:
        page, _ = opened(browser, PLAIN, shown)
        verdicts = check_draw(page)
        assert (verdicts["commitment"], verdicts["winner"]) == ("wrong", "wrong")
        # When the facts of the match are replaced, the verdicts about the old ones disappear.
        page.evaluate("document.getElementById('fragment-match_draw').removeAttribute('data-check')")
        expect(page.locator("[data-draw]")).to_be_hidden()


@pytest.mark.long
def test_a_commitment_that_differs_is_shown_whole_and_from_left_to_right(client: Client) -> None:
    finished(client)
    amend("match_finished", draw_seed=bytes(32).hex())
    shown = page_of(client, "he")
    with chromium() as browser:
        page, _ = opened(browser, SECURE, shown, viewport={"width": 390, "height": 844})
        check_draw(page)
        shown_hash = page.locator('[data-step="commitment"] .step-said code')
        expect(shown_hash).to_have_text(hashlib.sha256(SEED).hexdigest())
        assert shown_hash.get_attribute("dir") == "ltr"
        assert too_wide(page) == 0


@pytest.mark.long
def test_the_draw_is_checked_by_keyboard_and_the_verdict_read_aloud(client: Client) -> None:
    shown = finished(client)
    with chromium() as browser:
        page, _ = opened(browser, PLAIN, shown, reduced_motion="reduce")
        button = page.get_by_role("button", name="Check the draw")
        # Screen readers speak what is added to a status element, so it has to be there, empty, before.
        expect(page.locator("[data-draw]").get_by_role("status")).to_have_text("")
        expect(button).to_have_attribute("aria-expanded", "false")
        button.focus()
        page.keyboard.press("Enter")
        expect(page.locator("[data-draw]").get_by_role("status")).to_contain_text("The draw holds")
        expect(button).to_be_focused()
        expect(button).to_have_attribute("aria-expanded", "true")
        # The verdict comes first, and each step says what it checks.
        assert page.evaluate("document.querySelector('.draw-sum').nextElementSibling.id") == "draw-found"
        expect(page.locator('[data-step="commitment"] .step-why')).to_contain_text("does not show who knew the seed")
        assert page.evaluate("document.getAnimations().length") == 0


@pytest.mark.long
def test_a_browser_that_cannot_compute_the_check_says_so(client: Client) -> None:
    shown = finished(client)
    with chromium() as browser:
        page, _ = opened(browser, PLAIN, shown)
        page.route("**/vendor/noble-hashes-*/**", lambda route: route.abort())
        page.locator("[data-draw-go]").click()
        expect(page.locator(".draw-sum")).to_contain_text("This browser could not compute the check")
        expect(page.locator("[data-draw-found]")).to_be_hidden()


@pytest.mark.long
def test_the_check_of_even_odd_numbers_decides_by_the_sum(client: Client) -> None:
    shown = finished(client)
    digest = hmac.new(SEED, b"fall|R1M1|1|4|5", hashlib.sha256).digest()
    number = 1 + next(one for one in digest if one < 250) % 10
    total = 4 + 5 + number
    winner, parity = ("P01", "even") if total % 2 == 0 else ("P02", "odd")
    facts = {"game": "even_odd_numbers", "choices": ["4", "5"], "number": number, "parity": None, "winner": winner}
    with chromium() as browser:
        page, errors = opened(browser, SECURE, shown)
        page.evaluate(
            """changes => {
              const facts = document.getElementById("fragment-match_draw");
              facts.dataset.check = JSON.stringify({ ...JSON.parse(facts.dataset.check), ...changes });
            }""",
            facts,
        )
        verdicts = check_draw(page)
        assert verdicts == dict.fromkeys(STEPS, "ok") | dict.fromkeys(["hmac", "byte", "parity"], "computed")
        expect(page.locator('[data-step="winner"] .step-value')).to_have_text(f"the sum {total} is {parity} → {winner}")
        assert errors == []


@pytest.mark.long
def test_only_the_seed_of_a_technical_loss_is_checked(client: Client) -> None:
    made = make.running_league(players=2)
    publish_commitment()
    match = made.match("R1M1")
    make.report(match, None, **make.no_answer_from(match, "P02"))
    amend("match_finished", draw_seed=SEED.hex())
    shown = page_of(client)
    with chromium() as browser:
        page, _ = opened(browser, SECURE, shown)
        assert check_draw(page) == {"commitment": "ok"}
        expect(page.locator(".draw-sum")).to_have_text(
            "No number was drawn. The seed is the one that was committed to."
        )


@pytest.mark.long
def test_the_draw_page_fits_every_screen_in_both_directions(client: Client) -> None:
    first = finished(client)
    pages = {"en": first, "he": page_of(client, "he")}
    with chromium() as browser:
        for language, shown in pages.items():
            for name, (width, height) in VIEWPORTS.items():
                for scheme in ("light", "dark"):
                    size = {"width": width, "height": height}
                    page, errors = opened(browser, SECURE, shown, viewport=size, color_scheme=scheme)
                    check_draw(page)
                    assert page.locator("html").get_attribute("dir") == ("rtl" if language == "he" else "ltr")
                    assert too_wide(page) == 0
                    assert errors == []
                    page.locator(".draw-proves").scroll_into_view_if_needed()
                    shoot(page, f"draw-{language}-{name}-{scheme}")
                    page.context.close()
