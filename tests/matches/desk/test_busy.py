"""An instructor's action that the database ends: a deadlock, a lost connection. On the desk, in its forms, by API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.messages import get_messages
from django.db import InterfaceError, OperationalError
from django.test import Client

from matches.desk import acting, busy
from matches.league import opening
from matches.models import League
from tests import factories as make
from tests.leaguesite.script import Script

pytestmark = pytest.mark.django_db
SENTENCE = "The database was busy or away. See whether it has been done, then try again."


class FromPostgres(Exception):
    """What the driver raises, with PostgreSQL's state."""

    def __init__(self, sqlstate: str) -> None:
        super().__init__(sqlstate)
        self.sqlstate = sqlstate


def ended(sqlstate: str) -> OperationalError:
    """As Django hands it on."""
    error = OperationalError("server at 10.0.0.7: ended")
    error.__cause__ = FromPostgres(sqlstate)
    return error


def failing(
    *errors: Exception, then: Callable[..., Any] = lambda *_, **__: None
) -> tuple[Callable[..., Any], list[int]]:
    """A verb that fails with these, one at a time, and is carried out after them; and how often it was asked for."""
    left, asked = list(errors), []

    def verb(*row: Any, **given: Any) -> Any:
        asked.append(1)
        if left:
            raise left.pop(0)
        return then(*row, **given)

    return verb, asked


@pytest.fixture
def desk(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("instructor", password="x" * 12))
    make.playing()
    return client


def press(desk: Client, monkeypatch: pytest.MonkeyPatch, *errors: Exception) -> tuple[str, int, bool]:
    """Pause with the button: what is said, how often the verb was asked for, whether the league is paused."""
    verb, asked = failing(*errors, then=acting.carry_out)
    monkeypatch.setattr(acting, "carry_out", verb)
    answer = desk.post("/admin/matches/league/fall/do/pause/")
    assert (answer.status_code, answer["Location"]) == (302, "/admin/matches/league/fall/change/")
    *_, said = map(str, get_messages(answer.wsgi_request))
    return said, len(asked), League.objects.get(pk="fall").paused


@pytest.mark.parametrize("sqlstate", ["40001", "40P01"])
def test_a_button_is_pressed_once_more_after_a_deadlock(
    desk: Client, monkeypatch: pytest.MonkeyPatch, sqlstate: str
) -> None:
    assert press(desk, monkeypatch, ended(sqlstate)) == ("Paused: matches in play finish, no other starts.", 2, True)


def test_not_for_ever(desk: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    assert press(desk, monkeypatch, ended("40P01"), ended("40P01")) == (SENTENCE, 2, False)


@pytest.mark.parametrize("error", [ended("57P01"), OperationalError("database is locked"), InterfaceError("closed")])
def test_what_may_have_been_done_is_not_repeated(
    desk: Client, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """A connection that is lost may be so after the commit; a lock of SQLite has been waited for already."""
    assert press(desk, monkeypatch, error) == (SENTENCE, 1, False)


def test_the_same_from_the_list_of_leagues(desk: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    verb, asked = failing(InterfaceError("closed"))
    monkeypatch.setattr(acting, "carry_out", verb)
    sent = {"action": "pause_leagues", "_selected_action": ["fall"]}
    answer = desk.post("/admin/matches/league/", sent)
    said = list(map(str, get_messages(answer.wsgi_request)))
    assert (answer.status_code, said, len(asked)) == (302, [f"Fall: {SENTENCE}"], 1)


def test_a_form_of_the_desk_is_a_page_that_can_be_sent_again(desk: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    verb, _asked = failing(ended("40P01"))
    monkeypatch.setattr(acting, "carry_out", verb)
    address, sent = "/admin/matches/league/fall/roster/", {"text": "name,email,code\nDana,,"}
    answer = desk.post(address, sent)
    assert (answer.status_code, answer["Retry-After"]) == (503, "1")
    assert f"<p>{SENTENCE}</p>" in answer.content.decode()
    assert "10.0.0.7" not in answer.content.decode()


@pytest.mark.parametrize("error", [ended("40P01"), OperationalError("database is locked"), InterfaceError("closed")])
def test_a_script_is_told_to_try_again(api_key: str, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    make.playing()
    script = Script(api_key)
    verb, asked = failing(error, then=acting.carry_out)
    monkeypatch.setattr(acting, "carry_out", verb)
    assert script.post("/leagues/fall/pause") == (503, {"error": SENTENCE, "field": None})
    assert (script.post("/leagues/fall/pause")[0], len(asked)) == (200, 2)


def test_a_refusal_is_not_tried_again() -> None:
    make.playing()
    verb, asked = failing(then=opening.close_registration)
    with pytest.raises(Exception, match="is made already"):
        busy.once_more(lambda: verb(league_id="fall"))
    assert len(asked) == 1
