"""The link from public pages to the desk, for users who are logged in; and the switch of the language."""

from __future__ import annotations

import pytest
from django.test import Client

from tests import factories as make

pytestmark = pytest.mark.django_db


def link(client: Client, path: str) -> str:
    """The target of the page's link to the desk; empty if there is none."""
    _before, separator, after = client.get(path).content.decode().partition('<a class="bar-desk" href="')
    return after.partition('"')[0] if separator else ""


def test_only_users_who_are_logged_in_have_a_link_to_the_desk(client: Client, admin_client: Client) -> None:
    make.open_league("fall")
    assert [link(client, path) for path in ("/", "/leagues/fall/", "/check")] == [""] * 3
    assert link(admin_client, "/") == "/admin/"
    assert link(admin_client, "/leagues/fall/") == "/admin/matches/league/fall/change/"
    assert link(admin_client, "/leagues/fall/join/") == "/admin/matches/league/fall/change/"


def test_a_language_is_switched_without_a_script_and_kept(client: Client) -> None:
    strict = Client(enforce_csrf_checks=True)
    assert 'lang="he">עברית</button>' in strict.get("/check?x=1").content.decode()
    answer = strict.post("/language/", {"language": "he", "next": "/check?x=1"})
    assert (answer.status_code, answer["Location"]) == (302, "/check?x=1")
    assert strict.cookies["django_language"]["max-age"] == 365 * 86400
    page = strict.get("/check?x=1").content.decode()
    assert '<html lang="he" dir="rtl"' in page
    assert 'lang="en">English</button>' in page
    assert strict.post("/language/", {"language": "en", "next": "https://evil.example/"})["Location"] == "/"


@pytest.mark.parametrize("path", ["/admin/", "/admin/matches/league/", "/admin/matches/league/add/"])
def test_every_page_of_the_admin_has_the_language_switch(admin_client: Client, path: str) -> None:
    assert 'lang="he">עברית</button>' in admin_client.get(path).content.decode()


def test_the_login_has_the_language_switch(client: Client) -> None:
    assert 'lang="he">עברית</button>' in client.get("/admin/login/").content.decode()
