"""Actions of the instructor that the database aborts, by a deadlock or a lost connection: desk, forms, API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import InterfaceError, OperationalError, connection
from django.test import Client

from matches.desk import acting, busy
from matches.league import opening
from matches.models import League
from tests import factories as make
from tests.leaguesite.script import Script
from tests.matches.desk.clicking import post, sentences_of

# With transactions of their own: inside that of a test nothing is tried again.
pytestmark = pytest.mark.django_db(transaction=True)
SENTENCE = "The database was busy or away. See whether it has been done, then try again."
Aborting = Callable[..., list[int]]


class FromPostgres(Exception):
    """An error of the database driver, with PostgreSQL's SQLSTATE."""

    def __init__(self, sqlstate: str) -> None:
        super().__init__(sqlstate)
        self.sqlstate = sqlstate


def aborted_with(sqlstate: str) -> OperationalError:
    """The error as Django raises it."""
    error = OperationalError("server at 10.0.0.7: ended")
    error.__cause__ = FromPostgres(sqlstate)
    return error


def failing(
    *errors: Exception, then: Callable[..., Any] = lambda *_, **__: None
) -> tuple[Callable[..., Any], list[int]]:
    """A verb that raises these errors, one at each call, then does its work; and a list with an entry for each call."""
    pending_errors, calls = list(errors), []

    def verb(*row: Any, **arguments: Any) -> Any:
        calls.append(1)
        if pending_errors:
            raise pending_errors.pop(0)
        return then(*row, **arguments)

    return verb, calls


@pytest.fixture(autouse=True)
def _league() -> None:
    make.running_league()


@pytest.fixture
def abort_actions(monkeypatch: pytest.MonkeyPatch) -> Aborting:
    """Have every action fail with the given errors, one at a time; returns a list with an entry for each try."""

    def begin(*errors: Exception) -> list[int]:
        verb, calls = failing(*errors, then=acting._carry_out)
        monkeypatch.setattr(acting, "_carry_out", verb)
        return calls

    return begin


def press(desk: Client, abort_actions: Aborting, *errors: Exception) -> tuple[str, int, bool]:
    """Pause with the button: the sentence, how often the action was tried, whether the league is paused."""
    calls = abort_actions(*errors)
    return post(desk, "do/pause"), len(calls), League.objects.get(pk="fall").paused


@pytest.mark.parametrize("sqlstate", ["40001", "40P01", "55P03", "25P03"])
def test_a_button_is_retried_once_if_its_transaction_was_certainly_rolled_back(
    desk: Client, abort_actions: Aborting, sqlstate: str
) -> None:
    assert press(desk, abort_actions, aborted_with(sqlstate)) == (
        "Paused: matches in play finish, no other starts.",
        2,
        True,
    )


def test_a_button_is_retried_only_once(desk: Client, abort_actions: Aborting) -> None:
    assert press(desk, abort_actions, aborted_with("40P01"), aborted_with("40P01")) == (SENTENCE, 2, False)


@pytest.mark.parametrize(
    "error", [aborted_with("57P01"), OperationalError("database is locked"), InterfaceError("closed")]
)
def test_a_button_is_not_retried_after_any_other_error_of_the_database(
    desk: Client, abort_actions: Aborting, error: Exception
) -> None:
    """A connection may be lost after the commit; for a lock of SQLite the site has waited already."""
    assert press(desk, abort_actions, error) == (SENTENCE, 1, False)


def test_an_action_of_the_list_of_leagues_says_that_the_database_aborted_it(
    desk: Client, abort_actions: Aborting
) -> None:
    calls = abort_actions(InterfaceError("closed"))
    sent = {"action": "pause_leagues", "_selected_action": ["fall"]}
    answer = desk.post("/admin/matches/league/", sent)
    assert (answer.status_code, sentences_of(answer), len(calls)) == (302, [f"Fall: {SENTENCE}"], 1)


def test_a_form_of_the_desk_is_answered_with_503_when_the_database_aborts_it(
    desk: Client, abort_actions: Aborting
) -> None:
    abort_actions(aborted_with("40P01"), aborted_with("40P01"))
    address, sent = "/admin/matches/league/fall/roster/", {"text": "name,email,code\nDana,,"}
    desk.raise_request_exception = False
    answer = desk.post(address, sent)
    assert (answer.status_code, answer["Retry-After"]) == (503, "3")
    assert f"<p>{SENTENCE}</p>" in answer.content.decode()
    assert "10.0.0.7" not in answer.content.decode()


@pytest.mark.parametrize(
    "error", [aborted_with("57P01"), OperationalError("database is locked"), InterfaceError("closed")]
)
def test_the_api_answers_503_when_the_database_aborts_an_action(
    api_key: str, abort_actions: Aborting, error: Exception
) -> None:
    script = Script(api_key)
    calls = abort_actions(error)
    assert script.post("/leagues/fall/pause") == (503, {"error": SENTENCE, "field": None})
    assert (script.post("/leagues/fall/pause")[0], len(calls)) == (200, 2)


def test_a_call_of_the_api_is_retried_once_after_a_deadlock(api_key: str, abort_actions: Aborting) -> None:
    calls = abort_actions(aborted_with("40P01"))
    assert (Script(api_key).post("/leagues/fall/pause")[0], len(calls)) == (200, 2)


def test_a_refusal_is_not_tried_again() -> None:
    verb, calls = failing(then=opening.close_registration)
    with pytest.raises(Exception, match="is made already"):
        busy.retry_once(lambda: verb(league_id="fall"))
    assert len(calls) == 1


@pytest.mark.parametrize("language", ["en", "he"])
@pytest.mark.parametrize("address", ["/", "/admin/matches/league/", "/leagues/fall/"])
def test_a_page_says_that_the_database_is_away_and_tries_again_by_itself(
    desk: Client, monkeypatch: pytest.MonkeyPatch, address: str, language: str
) -> None:
    def away(*_: Any) -> None:
        raise aborted_with("57P01")

    monkeypatch.setattr(connection, "cursor", away)
    desk.raise_request_exception = False
    answer = desk.get(address, HTTP_ACCEPT_LANGUAGE=language)
    page = answer.content.decode()
    assert (answer.status_code, answer["Retry-After"]) == (503, "3")
    assert '<meta http-equiv="refresh" content="3">' in page
    assert ("Nothing is lost" in page, f'lang="{language}"' in page, "10.0.0.7" in page) == (
        language == "en",
        True,
        False,
    )


def test_an_agent_and_a_client_of_mcp_are_told_to_try_again_while_the_database_is_away(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: Any) -> None:
        raise aborted_with("57P01")

    monkeypatch.setattr(connection, "cursor", away)
    client.raise_request_exception = False
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "league_query",
        "params": {"league_id": "fall", "auth_token": "x" * 32},
    }
    answer = client.post("/mcp", call, content_type="application/json")
    error = answer.json()["error"]
    assert (answer.status_code, answer["Retry-After"], error["code"]) == (503, "3", -32603)
    assert (error["data"]["error_code"], error["data"]["retryable"]) == ("E009", True)
    inbox = client.get("/inbox", headers={"Authorization": f"Bearer {'x' * 32}"})
    assert (inbox.status_code, inbox["Retry-After"]) == (503, "3")
