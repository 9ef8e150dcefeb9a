"""A login leads back to where the browser came from or to the desk, never to another site."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

pytestmark = pytest.mark.django_db
LOGIN, CREDENTIALS = "/admin/login/", {"username": "instructor", "password": "x" * 12}
DESK = "/admin/matches/league/"


@pytest.fixture(autouse=True)
def instructor() -> None:
    User.objects.create_superuser(**CREDENTIALS)


def after_login(target: str | None) -> str:
    """The redirect after a login with this ``next``, in the address and in the form."""
    query = {} if target is None else {"next": target}
    address = f"{LOGIN}?{urlencode(query)}" if query else LOGIN
    answers = [Client().post(LOGIN, CREDENTIALS | query), Client().post(address, CREDENTIALS)]
    assert [answer.status_code for answer in answers] == [302, 302]
    assert answers[0]["Location"] == answers[1]["Location"]
    return str(answers[0]["Location"])


def test_the_desk_is_the_page_of_leagues() -> None:
    assert reverse("admin:matches_league_changelist") == DESK


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example/",
        "http://evil.example/admin/",
        "//evil.example/",
        "///evil.example/",
        "/\\evil.example/",
        "\\\\evil.example\\",
        "http:\\\\evil.example",
        "https:/\\evil.example/",
        "javascript:alert(1)",
        "data:text/html,x",
        "https:evil.example",
        "http:///evil.example",
        "http://testserver@evil.example/",
        "http://testserver.evil.example/",
        "\x08//evil.example/",
        "ftp://testserver/",
    ],
)
def test_a_login_does_not_redirect_to_another_site(target: str) -> None:
    assert after_login(target) == DESK


def test_a_login_redirects_to_an_address_of_the_site() -> None:
    assert after_login(f"{DESK}fall/change/?_=1") == f"{DESK}fall/change/?_=1"


def test_a_login_without_next_leads_to_the_desk() -> None:
    assert after_login(None) == DESK


def test_a_user_who_is_logged_in_already_is_not_redirected_to_another_site() -> None:
    client = Client()
    client.force_login(User.objects.get())
    answer = client.get(LOGIN, {"next": "https://evil.example/"})
    assert (answer.status_code, answer["Location"]) == (302, "/admin/")
