"""The menu of the admin: what it offers opens, for every role, also on a site without a league."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from agents_registry.models import Agent
from tests import factories as make
from tests.matches.view.test_roles import rows

pytestmark = pytest.mark.django_db
LISTS = {"/admin/matches/league/", "/admin/agents_registry/agent/", "/admin/matches/match/"}
WHO = {"superuser": LISTS, "instructor": LISTS, "staff": set()}
"""Who opens the admin before there is a league, and which of these lists the menu offers them."""


def browser_of(who: str) -> Client:
    user = User.objects.create_user(who, password="x", is_staff=True, is_superuser=who == "superuser")
    if who == "instructor":
        user.user_permissions.add(Permission.objects.get(codename="add_league"))
    client = Client()
    client.force_login(user)
    return client


@pytest.mark.parametrize("who", WHO)
def test_everything_in_the_menu_opens_on_an_empty_site(who: str) -> None:
    client = browser_of(who)
    groups = client.get("/admin/").context["sidebar_navigation"]
    links = {str(item["link"]) for group in groups for item in group["items"] if item["has_permission"]}
    assert links & LISTS == WHO[who]
    assert {link: client.get(link).status_code for link in links} == dict.fromkeys(links, 200)


def test_an_instructor_without_a_league_sees_who_waits_in_the_lobby() -> None:
    waiting = make.player("Alpha", league_id=None)
    client = browser_of("instructor")
    assert rows(client, "agents_registry/agent") == [str(Agent.objects.get(pk=waiting.agent.pk))]
    page = client.get(f"/admin/agents_registry/agent/{waiting.agent.pk}/change/")
    assert (page.status_code, page.context["has_change_permission"]) == (200, False)
