"""The check of an agent: form, report, JSON and API; who may request one, and how often."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from agents_registry.addresses.callers import Caller
from matches.audience import pages
from matches.audience.pages import PageKey
from matches.checks import asking, runs, taking
from matches.checks import report as check_report
from matches.models import Check
from tests import factories as make
from tests.matches.audience.hostile import HOSTILE, assert_harmless
from tests.matches.reports import clause, report

pytestmark = pytest.mark.django_db
UNKNOWN_ID = "80d93c06-b331-407f-b326-546a9336a18a"
OWN = "http://127.0.0.1:8101/mcp"
OTHER = "http://198.51.100.4:8101/mcp"


def finish(check: Check, **how: Any) -> Check:
    """Carry out a check with such a report."""
    [job] = taking.take(now=timezone.now())
    runs.finish(check_id=job.check_id, run=job.run, report=report(**how))
    return Check.objects.get(pk=check.pk)


def new_check(endpoint: str = OWN) -> Check:
    return asking.ask(endpoint=endpoint, caller=Caller("127.0.0.1", instructor=True))


def alerts(answer: Any) -> str:
    """The text of a page's alerts."""
    return " ".join(
        re.sub(
            r"<[^>]+>", " ", " ".join(re.findall(r'role="alert".*?>(.*?)</(?:p|div)>', answer.content.decode(), re.S))
        ).split()
    )


# The form ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/check", "/check/"])
def test_the_form_says_what_localhost_means(client: Client, path: str) -> None:
    text = client.get(path, REMOTE_ADDR="192.0.2.7").content.decode()
    assert 'You call from <span class="pid">192.0.2.7</span>, and localhost means that machine.' in text


@pytest.mark.parametrize("path", ["/check", "/check/"])
def test_requesting_a_check_redirects_to_its_report(client: Client, path: str) -> None:
    answer = client.post(path, {"endpoint": "localhost:8101", "role": "player"}, REMOTE_ADDR="192.0.2.7")
    check = Check.objects.get()
    assert (answer.status_code, answer["Location"]) == (303, f"/check/{check.pk}")
    assert (check.endpoint, check.asked_by, check.state) == ("http://192.0.2.7:8101/mcp", "192.0.2.7", "WANTED")
    assert "address was localhost, called at 192.0.2.7" in client.get(answer["Location"]).content.decode()
    client.cookies["django_language"] = "he"
    assert (
        "הכתובת הייתה \u2068localhost\u2069; הקריאות נשלחות אל \u2068192.0.2.7\u2069"
        in client.get(answer["Location"]).content.decode()
    )


@pytest.mark.parametrize(
    ("form", "status", "sentence"),
    [
        ({"endpoint": OTHER}, 403, "This is not your own address (you call from 192.0.2.7)"),
        ({"endpoint": OTHER, "auth_token": "tok_" + "0" * 32}, 403, "This auth_token belongs to no agent"),
        ({"endpoint": ""}, 422, "Give the address your agent listens at."),
        ({"endpoint": "gopher://192.0.2.7/"}, 422, "This is not an address that can be called."),
        ({"endpoint": "http://192.0.2.7:8101/", "role": "audience"}, 422, "There is no such role."),
        ({"endpoint": "http://192.0.2.7:8101/", "game_type": "chess"}, 422, "Select a valid choice."),
        ({"endpoint": "x" * 301}, 422, "Ensure this value has at most 300 characters"),
        ({"endpoint": "http://192.0.2.7:8101/\x00"}, 422, "Null characters are not allowed."),
    ],
)
def test_a_refused_check_shows_the_reason_on_the_form(
    client: Client, form: dict[str, str], status: int, sentence: str
) -> None:
    answer = client.post("/check", form, REMOTE_ADDR="192.0.2.7")
    assert (answer.status_code, Check.objects.count()) == (status, 0)
    assert sentence in alerts(answer).replace("&#x27;", "'")


def test_the_sixth_check_within_a_minute_is_refused(client: Client) -> None:
    def ask(number: int) -> Any:
        return client.post("/check", {"endpoint": f"localhost:{8100 + number}"}, REMOTE_ADDR="192.0.2.7")

    assert [ask(number).status_code for number in range(5)] == [303] * 5
    refused = ask(5)
    assert refused.status_code == 429
    assert alerts(refused).startswith("You have asked for 5 checks within a minute: wait a moment")
    other_caller = client.post("/check", {"endpoint": "localhost:8101"}, REMOTE_ADDR="192.0.2.8")
    assert other_caller.status_code == 303
    for check in Check.objects.filter(asked_by="192.0.2.7"):
        Check.objects.filter(pk=check.pk).update(created_at=check.created_at - timedelta(minutes=1))
    assert ask(5).status_code == 303


def test_checks_with_a_token_are_limited_per_agent_and_not_per_address(client: Client) -> None:
    make.open_league("fall")
    members = [make.player(f"Agent {n}", "fall", endpoint=f"http://198.51.100.{n}:8101/mcp") for n in range(1, 11)]
    tokens = [member.token for member in members]

    def ask(token: str) -> int:
        return client.post("/check", {"endpoint": "", "auth_token": token}, REMOTE_ADDR="192.0.2.7").status_code

    assert [ask(token) for token in tokens] == [303] * 10
    Check.objects.update(state="FAILED")
    for _ in range(4):
        assert ask(tokens[0]) == 303
        Check.objects.update(state="FAILED")
    assert [ask(tokens[0]), ask(tokens[1])] == [429, 303]


def test_repeated_wrong_tokens_are_refused_with_429(client: Client) -> None:
    form = {"endpoint": "", "auth_token": "tok_" + "0" * 32}
    status_codes = [client.post("/check", form, REMOTE_ADDR="192.0.2.7").status_code for _ in range(21)]
    assert status_codes == [403] * 20 + [429]


def test_an_agents_token_allows_a_check_of_its_address_from_elsewhere(client: Client) -> None:
    make.open_league("fall")
    member = make.player("Ada", "fall", endpoint=OTHER)
    answer = client.post("/check", {"endpoint": "", "auth_token": member.token}, REMOTE_ADDR="192.0.2.7")
    assert (answer.status_code, Check.objects.get().endpoint) == (303, OTHER)
    allowed = client.post("/check", {"endpoint": OWN, "auth_token": member.token}, REMOTE_ADDR="192.0.2.7")
    # Not the address of the token's agent, but the caller's own: from 192.0.2.7, 127.0.0.1 means 192.0.2.7.
    assert (allowed.status_code, Check.objects.count()) == (303, 2)
    foreign = client.post("/check", {"endpoint": "http://198.51.100.9/", "auth_token": member.token})
    assert foreign.status_code == 403
    assert member.token not in foreign.content.decode()


def test_the_instructor_may_check_any_address_from_the_page(client: Client) -> None:
    client.force_login(User.objects.create_superuser("instructor", password="x" * 12))
    assert "As the instructor you may check any address." in client.get("/check").content.decode()
    assert client.post("/check", {"endpoint": OTHER}, REMOTE_ADDR="192.0.2.7").status_code == 303
    assert Check.objects.get().asked_by == "instructor"
    # In the API, which needs no form of the site, the session cookie alone is not enough.
    assert post(client, {"endpoint": "http://198.51.100.9:8101/mcp"}, REMOTE_ADDR="192.0.2.7").status_code == 403


def test_a_caller_behind_a_proxy_has_no_own_address(client: Client) -> None:
    answer = client.post("/check", {"endpoint": OWN}, headers={"X-Forwarded-For": "192.0.2.7"})
    assert (answer.status_code, Check.objects.count()) == (403, 0)
    text = client.get("/check", headers={"X-Forwarded-For": "192.0.2.7"}).content.decode()
    assert "cannot be seen behind this site" in text


def test_the_check_pages_refuse_other_methods(client: Client) -> None:
    check = new_check()
    assert [client.put("/check").status_code, client.post(f"/check/{check.pk}").status_code] == [405, 405]


def test_requesting_a_check_needs_a_csrf_token() -> None:
    assert Client(enforce_csrf_checks=True).post("/check", {"endpoint": OWN}).status_code == 403


# The report -------------------------------------------------------------------------------------


def text_of(client: Client, check: Check) -> str:
    return client.get(f"/check/{check.pk}").content.decode()


def headline(client: Client, check: Check) -> str:
    [found] = re.findall(r"<span data-headline>(.*?)</span>", text_of(client, check))
    return str(found)


def test_the_headline_of_a_report_follows_the_state_of_the_check(client: Client) -> None:
    check = new_check()
    seen = [headline(client, check)]
    [job] = taking.take(now=timezone.now())
    runs.progress(check_id=check.pk, run=job.run, clauses=[clause().to_json()])
    seen.append(headline(client, check))
    runs.finish(check_id=check.pk, run=job.run, report=report(passed=False))
    seen.append(headline(client, check))
    seen.append(headline(client, finish(new_check())))
    failed_check = new_check()
    [job] = taking.take(now=timezone.now())
    runs.fail(check_id=failed_check.pk, run=job.run, problem="The check did not end within 120 s.")
    seen.append(headline(client, failed_check))
    assert seen == [
        "Waiting for its turn: one check at a time per address, and none during a match.",
        "Running: 1 clause so far.",
        "Wrong answers: This agent cannot play here yet.",
        "Ready: This agent can play here as it is.",
        "The check could not be carried out. That says nothing about the agent.",
    ]
    assert "The check did not end within 120 s." in text_of(client, failed_check)


def test_a_failed_report_names_what_to_mend_first_and_links_its_clause(client: Client) -> None:
    failed = clause(
        "choice.legal", "fails", why="parity_choice was maybe.", came={"result": {"parity_choice": "maybe"}}
    )
    check = finish(
        new_check(), passed=False, next_step="parity_choice was maybe. (004 4.5.2)", clauses=(clause(), failed)
    )
    text = text_of(client, check)
    [mend] = re.findall(r"<h2>\s*Mend this first\s*</h2>\s*<p><bdi>(.*?)</bdi>\s*<a href=\"#(.*?)\"", text)
    assert mend == ("parity_choice was maybe. (004 4.5.2)", "body-choice.legal")
    assert text.count('id="body-choice.legal"') == 1
    assert re.findall(r'id="clause-(\S+)" class="clause" data-verdict="(\w+)"', text) == [
        ("join.accepts", "conforms"),
        ("choice.legal", "fails"),
    ]


def test_the_first_load_and_the_live_push_are_the_same_text(client: Client) -> None:
    check = new_check()

    def compare() -> bool:
        """Whether the page has a socket."""
        fragments = pages.fragments(PageKey("check", item=str(check.pk)), "en")
        assert fragments is not None
        text = text_of(client, check)
        assert [name for name, html in fragments.items() if html.strip() not in text] == []
        return f'data-socket="/ws/checks/{check.pk}/?language=en"' in text

    seen = [compare()]
    [job] = taking.take(now=timezone.now())
    runs.progress(check_id=check.pk, run=job.run, clauses=[clause().to_json()])
    seen.append(compare())
    runs.finish(check_id=check.pk, run=job.run, report=report())
    # A finished report is rendered once and then stored, so compare twice.
    seen += [compare(), compare()]
    assert seen == [True, True, False, False]


def test_hostile_texts_do_not_break_out_of_a_report(client: Client) -> None:
    odd = clause(
        "x", "fails", title=HOSTILE, why=HOSTILE, expected=HOSTILE, source=HOSTILE, sent={HOSTILE: 1}, came=HOSTILE
    )
    check = finish(
        new_check(),
        passed=False,
        clauses=(odd,),
        next_step=HOSTILE,
        summary=HOSTILE,
        dialect=HOSTILE,
        spoken={HOSTILE: HOSTILE},
    )
    assert_harmless(text_of(client, check))
    assert_harmless(client.get("/check", {"address": HOSTILE}).content.decode(), shown=False)


@pytest.mark.parametrize(
    "path", [f"/check/{UNKNOWN_ID}", f"/check/{UNKNOWN_ID}.json", "/check/1", "/check/%00", "/check/x.json"]
)
def test_an_unknown_check_page_is_a_404(client: Client, path: str) -> None:
    assert client.get(path).status_code == 404


def test_a_report_makes_as_many_queries_for_3_clauses_as_for_150(client: Client) -> None:
    query_counts = []
    for count in (3, 3, 150):
        Check.objects.all().delete()
        check = finish(new_check(), clauses=tuple(clause(f"c.{number}") for number in range(count)))
        with make.counting_queries(query_counts):
            text_of(client, check)
    assert query_counts == [2, 2, 2]


def test_the_json_of_a_report_equals_that_of_the_api(client: Client) -> None:
    check = finish(new_check(), passed=False)
    answer = client.get(f"/check/{check.pk}.json").json()
    assert answer["report"] == report(passed=False)
    assert (answer["state"], answer["passed"], answer["endpoint"], answer["url"]) == (
        "DONE",
        False,
        OWN,
        f"/check/{check.pk}",
    )
    assert client.get(f"/api/checks/{check.pk}").json() == answer


# The API ----------------------------------------------------------------------------------------


def post(client: Client, body: Any, key: str = "", **how: Any) -> Any:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return client.post("/api/checks", body, content_type="application/json", headers=headers, **how)


def test_the_api_lets_the_instructor_check_any_address(client: Client, api_key: str) -> None:
    for number in range(7):
        assert post(client, {"endpoint": f"http://198.51.100.4:{8100 + number}/mcp"}, api_key).status_code == 201
    answer = post(client, {"endpoint": "http://198.51.100.4:8100/mcp"}, api_key).json()
    assert answer == client.get(f"/api/checks/{answer['check_id']}").json()
    assert (answer["state"], answer["report"], answer["clauses"]) == ("WANTED", None, 0)
    assert Check.objects.count() == 7


def test_the_api_lets_the_public_check_only_its_own_address(client: Client) -> None:
    assert post(client, {"endpoint": OWN}).status_code == 201
    refused = post(client, {"endpoint": OTHER})
    assert (refused.status_code, refused.json()["field"]) == (403, None)
    assert refused.json()["error"].startswith("This is not your own address (you call from 127.0.0.1)")


def test_the_api_refuses_a_wrong_key(client: Client, api_key: str) -> None:
    assert post(client, {"endpoint": OWN}, "wrong").status_code == 401
    assert Check.objects.count() == 0


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"endpoint": OWN, "role": "audience"}, 422, "role"),
        ({"endpoint": OWN, "game_type": "chess"}, 422, "game_type"),
        ({"endpoint": OWN, "colour": "red"}, 422, "colour"),
        ({"endpoint": 5}, 422, "endpoint"),
        ({"endpoint": "\ud800"}, 422, "endpoint"),
        ({}, 422, "endpoint"),
    ],
)
def test_the_api_names_the_invalid_field(client: Client, body: Any, status: int, field: str) -> None:
    refused = post(client, body)
    assert (refused.status_code, refused.json()["field"]) == (status, field)


def test_the_api_refuses_the_sixth_check_within_a_minute(client: Client) -> None:
    assert [post(client, {"endpoint": f"localhost:{8100 + n}"}).status_code for n in range(6)] == [201] * 5 + [429]


@pytest.mark.parametrize("check_id", [UNKNOWN_ID, "1", "%00"])
def test_an_unknown_check_in_the_api_is_a_404(client: Client, check_id: str) -> None:
    assert client.get(f"/api/checks/{check_id}").status_code == 404


def test_a_report_has_no_token(client: Client) -> None:
    check = finish(new_check(), clauses=(clause(came={"result": {"auth_token": "tok_" + "a" * 32}}),))
    assert re.findall(r"tok_[0-9a-f]{8,}", text_of(client, check)) == []
    assert re.findall(r"tok_[0-9a-f]{8,}", str(check_report.api_row(check))) == []


def test_the_report_of_a_players_check_links_where_it_can_practise(client: Client) -> None:
    made = make.league(players=1)
    mine = finish(asking.ask(endpoint="", token=made.players[0].token, caller=Caller("127.0.0.1")))
    text = client.get(f"/check/{mine.pk}").content.decode()
    assert '<a href="/leagues/fall/mine/?agent=P01#practice">Play a practice match</a>' in text
    text = client.get(f"/check/{finish(new_check(OTHER)).pk}").content.decode()
    assert "#practice" not in text
