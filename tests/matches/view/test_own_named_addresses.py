"""A person who only named an address reads its answers as the public does, and is told why.

An address is only named by a registration that neither comes from its machine nor has a personal code, until the agent
answers there with the token that it got.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from agents_registry.models import Agent
from league_sdk.protocol import tokens
from league_sdk.protocol.notes import Code, note
from league_sdk.protocol.sentences import say
from league_sdk.protocol.transcript import Wire
from matches.checks import runs, taking
from matches.conducting import outgoing, trials
from matches.models import Check, Match
from matches.view.public_answers import WITHHELD
from tests import factories as make
from tests import wire
from tests.matches.audience.views.test_mine_page import PATH, enter_secret, exchange_of_a_choice, import_roster, text_of
from tests.matches.reports import clause, report

pytestmark = pytest.mark.django_db
SECRET = "AKIA-a-secret-text"
STRANGER, INNER = "192.0.2.66", "192.0.2.7"
ADDRESS = f"http://{INNER}:9200/mcp"
SENTENCE = "What this agent answered is withheld"
REPLY_WITH_SECRET = {"jsonrpc": "2.0", "id": 1, "result": {"AccessKeyId": SECRET, "parity_choice": "even"}}
WIRE = Wire(
    path="/mcp",
    shape="canonical",
    method="choose_parity",
    id=1,
    session=False,
    status=200,
    content_type=SECRET,
    text=SECRET,
)


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    """Forget the trials of other tests."""
    trials._trials.clear()
    yield
    trials._trials.clear()


def register(client: Client, caller: str, **changes: Any) -> str:
    params = wire.player_request("Alpha", endpoint=ADDRESS, **changes)
    answer = wire.ask(client, "register_player", params, caller=caller)
    assert answer["status"] == "ACCEPTED", answer
    return str(answer["auth_token"])


def check(client: Client, token: str, caller: str = STRANGER) -> dict[str, Any]:
    answer = client.post("/api/checks", {"auth_token": token}, content_type="application/json", REMOTE_ADDR=caller)
    assert answer.status_code == 201, answer.content
    report: dict[str, Any] = answer.json()
    return report


def report_that_quotes() -> dict[str, Any]:
    """A report that quotes the answer in each field that may quote one."""
    words = say("The answer was {said}.", said=SECRET)
    why, kind = str(words), say("Content-Type was {type}.", type=SECRET)
    clauses = (
        clause("join.accepts", "fails", why=why, why_words=words, came={"key": SECRET}, http_status=200),
        clause("http.content_type", "tolerated", why=str(kind), why_words=kind, came=None, http_status=200),
        clause("http.reached", "fails", why="nobody listens at its address", came=None, http_status=None),
    )
    whole = {"summary": why, "next_step": why, "summary_words": words, "next_step_words": words}
    return report(passed=False, clauses=clauses, **whole)


def run_waiting_checks() -> None:
    """Have every check that waits run."""
    while jobs := taking.take(now=timezone.now()):
        for job in jobs:
            assert runs.finish(check_id=job.check_id, run=job.run, report=report_that_quotes())


def token_after_an_answer(client: Client, caller: str) -> str:
    """Register an agent at the address, as this caller, and have it answer in a match; returns its token."""
    referee = make.referee()
    make.open_league("fall")
    token = register(client, caller)
    made = make.MadeLeague("fall", [make.RegisteredAgent(Agent.objects.get(name="Alpha"), token)], [referee])
    make.player("Bob", "fall", port=8102)
    make.next_round(made)
    problem = note(Code.ERROR_IN_REPLY, said=SECRET)
    exchange_of_a_choice(
        made,
        REPLY_WITH_SECRET,
        wire=[WIRE],
        notes=[note(Code.DIFFERS, field="id", seen=SECRET, expected=1)],
        problem=problem,
    )
    Agent.objects.update(problem=f"HTTP 500: {SECRET}")
    return token


def test_my_agent_withholds_what_came_from_an_address_that_was_only_named(client: Client) -> None:
    enter_secret(client, token_after_an_answer(client, STRANGER))
    text = text_of(client)
    assert (SECRET in text, SENTENCE in text) == (False, True)
    # Messages of the league, and what everybody may read, are shown: the call, and that the agent chose.
    assert "CHOOSE_PARITY_CALL" in text and "withheld" in text
    assert 'name="entry"' not in text
    answer = client.post(f"{PATH}again", {"agent": "P01", "match": "R1M1", "entry": "1.0"})
    assert (answer.status_code, SENTENCE in answer.content.decode(), len(trials._trials)) == (403, True, 0)


def test_a_person_who_registers_from_the_machine_of_the_agent_reads_everything(client: Client) -> None:
    enter_secret(client, token_after_an_answer(client, INNER))
    text = text_of(client)
    assert (SECRET in text, SENTENCE in text, 'name="entry"' in text) == (True, False, True)
    assert client.post(f"{PATH}again", {"agent": "P01", "match": "R1M1", "entry": "1.0"}).status_code == 409


def test_a_stranger_that_named_an_address_first_reads_nothing_after_the_owner_registers(client: Client) -> None:
    named = token_after_an_answer(client, STRANGER)
    enter_secret(client, named)
    own = register(client, INNER)
    assert "not valid any more" in text_of(client)
    enter_secret(client, own)
    assert SECRET in text_of(client)


@pytest.mark.parametrize("of_site", [True, False])
@pytest.mark.parametrize("player", ["P01", "P02"])
def test_only_a_sites_referee_proves_the_token_and_only_of_the_player_that_answered_with_it(
    client: Client, of_site: bool, player: str
) -> None:
    """The token is P01's; a report of a student's referee proves nothing."""
    token = token_after_an_answer(client, STRANGER)
    Agent.objects.filter(kind="referee").update(site_key=of_site)
    match = Match.objects.get()
    start = outgoing.starts_of([outgoing.Chosen(match, match.referee, named=True)])[0]
    seats = json.loads(start.message)
    assert seats["player_A"]["unproven_sha256"] == [tokens.digest(token)]
    assert "unproven_sha256" not in seats["player_B"]
    make.report(match, "P01", proofs={player: tokens.digest(token)})
    enter_secret(client, token)
    text = text_of(client)
    own = of_site and player == "P01"
    assert (SECRET in text, SENTENCE in text) == (own, not own)


# Checks -----------------------------------------------------------------------------------------


def read(client: Client, found: dict[str, Any]) -> str:
    """Everything of a check that its link opens."""
    paths = (f"/api/checks/{found['check_id']}", found["url"], f"/check/{found['check_id']}.json")
    return "".join(client.get(path).content.decode() for path in paths)


def test_the_report_for_a_token_of_an_address_that_was_only_named_withholds_answers(client: Client) -> None:
    make.open_league("fall")
    report = check(client, register(client, STRANGER))
    assert report["withheld"].startswith(SENTENCE)
    run_waiting_checks()
    text = read(client, report)
    assert (SECRET in text, SENTENCE in text) == (False, True)
    answer = client.get(f"/api/checks/{report['check_id']}").json()
    assert [(one["verdict"], one["why"], one["came"]) for one in answer["report"]["clauses"]] == [
        ("fails", WITHHELD, {"withheld": WITHHELD}),
        ("tolerated", "", None),
        ("fails", "nobody listens at its address", None),
    ]
    assert (answer["passed"], answer["problem"]) == (False, "")


def test_the_report_for_a_token_that_was_registered_from_the_agents_machine_is_whole(client: Client) -> None:
    make.open_league("fall")
    own = register(client, INNER)
    for caller in (INNER, STRANGER):
        report = check(client, own, caller)
        run_waiting_checks()
        text = read(client, report)
        assert (report["withheld"], SECRET in text, SENTENCE in text) == ("", True, False)


def test_with_a_named_agents_token_ones_own_machine_may_be_checked_in_full(client: Client) -> None:
    """For example, the agent was registered through a proxy, and its owner asks from the agent's own machine."""
    make.open_league("fall")
    assert check(client, register(client, STRANGER), INNER)["withheld"] == ""


def test_a_redacted_and_a_whole_check_of_an_address_are_separate(client: Client) -> None:
    make.open_league("fall", require_check=True)
    token = register(client, STRANGER)
    report = check(client, token)
    whole = client.post("/api/checks", {"endpoint": ADDRESS}, content_type="application/json", REMOTE_ADDR=INNER).json()
    assert len({report["check_id"], whole["check_id"], check(client, token)["check_id"]}) == 2
    assert sorted(Check.objects.values_list("withheld", flat=True)) == [False, True]
    # *My agent* does not link to the whole check, but to the redacted one.
    Check.objects.filter(withheld=True).delete()
    run_waiting_checks()
    enter_secret(client, token)
    text = text_of(client)
    assert (whole["check_id"] in text, SECRET in text) == (False, False)
    again = check(client, token)
    run_waiting_checks()
    assert again["check_id"] in text_of(client)


def test_a_referee_that_moves_to_another_address_has_to_prove_that_it_is_there(client: Client) -> None:
    def register_referee(caller: str, host: str, **more: str) -> str:
        params = wire.referee_request("Judge", endpoint=f"http://{host}:9200/mcp", **more)
        return str(wire.ask(client, "register_referee", params, caller=caller)["auth_token"])

    own = register_referee(STRANGER, STRANGER)
    assert check(client, own)["withheld"] == ""
    moved = register_referee(STRANGER, INNER, auth_token=own)
    for token in (own, moved):
        assert check(client, token)["withheld"].startswith(SENTENCE)


def test_a_personal_code_proves_who_owns_an_agent(client: Client) -> None:
    make.open_league("fall")
    import_roster()
    token = register(client, STRANGER, code="dana-code")
    assert check(client, token)["withheld"] == ""
    run_waiting_checks()
    enter_secret(client, "dana-code")
    assert (SECRET in text_of(client), SENTENCE in text_of(client)) == (True, False)
