"""Two tabs with one form: what only one of them changed is saved, and where both changed a field, nothing is."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from agents_registry.models import Agent
from matches.models import League
from tests import factories as make
from tests.matches.desk.clicking import LEAGUES

pytestmark = pytest.mark.django_db


class Tabs(NamedTuple):
    """A form, two of its fields with a new value each, and another value for the first."""

    address: str
    first: tuple[str, Any]
    second: tuple[str, Any]
    other: Any
    read: Callable[[], tuple[Any, Any]]
    said: str
    """What is said of the value that the other tab has set."""


def settings() -> Tabs:
    make.open_league()

    def read() -> tuple[Any, Any]:
        rules = League.objects.get(pk="fall").rules
        return rules.move_timeout_s, rules.max_retries

    said = "Set to “20” meanwhile"
    return Tabs(f"{LEAGUES}fall/settings/", ("move_timeout_s", "20"), ("max_retries", "7"), "15", read, said)


def name_and_setting() -> Tabs:
    make.open_league()

    def read() -> tuple[Any, Any]:
        league = League.objects.get(pk="fall")
        return league.display_name, league.rules.auto_advance

    said = "Set to “Autumn” meanwhile"
    return Tabs(f"{LEAGUES}fall/settings/", ("display_name", "Autumn"), ("auto_advance", "on"), "Herbst", read, said)


def agent() -> Tabs:
    make.open_league()
    pk = make.player("Alpha", "fall").agent.pk

    def read() -> tuple[Any, Any]:
        row = Agent.objects.get(pk=pk)
        return row.display_name, row.readmit

    address = f"/admin/agents_registry/agent/{pk}/change/"
    return Tabs(address, ("display_name", "Beta"), ("readmit", "on"), "Gamma", read, "Set to “Beta” meanwhile")


def account() -> Tabs:
    pk = User.objects.create_user("grace").pk

    def read() -> tuple[Any, Any]:
        row = User.objects.get(pk=pk)
        return row.first_name, row.last_name

    address = f"/admin/auth/user/{pk}/change/"
    return Tabs(address, ("first_name", "G"), ("last_name", "H"), "Grace", read, "Set to “G” meanwhile")


def group() -> Tabs:
    pk = Group.objects.create(name="staff").pk
    return Tabs(
        f"/admin/auth/group/{pk}/change/",
        ("name", "first"),
        ("permissions", None),
        "other",
        lambda: (Group.objects.get(pk=pk).name, None),
        "Set to “first” meanwhile",
    )


FORMS = [settings, name_and_setting, agent, account, group]


def fields_of(desk: Client, address: str) -> dict[str, Any]:
    """What a browser would send of the change form as it is shown."""
    form = desk.get(address).context["adminform"].form
    return posted(form)


def posted(form: Any) -> dict[str, Any]:
    page = "".join(str(field) for field in form)
    sent: dict[str, Any] = {}
    for tag in re.findall(r"<(?:input|select|textarea)[^>]*>(?:[^<]*</textarea>)?", page):
        name, value = (re.search(rf'\b{one}="([^"]*)"', tag) for one in ("name", "value"))
        if name is None or ('type="checkbox"' in tag and "checked" not in tag):
            continue
        area = re.search(r">([^<]*)</textarea>", tag)
        text = area[1] if area else value[1] if value else ("on" if "checkbox" in tag else "")
        if tag.startswith("<select"):
            chosen = form[name[1]].value()
            text = "" if chosen is None else chosen
        sent.setdefault(name[1], text)
    return sent


@pytest.fixture(params=FORMS, ids=lambda made: made.__name__)
def tabs(request: pytest.FixtureRequest) -> Tabs:
    made: Tabs = request.param()
    return made


def test_each_tab_saves_only_what_it_has_changed(desk: Client, tabs: Tabs) -> None:
    one, two = fields_of(desk, tabs.address), fields_of(desk, tabs.address)
    if tabs.second[1] is None:
        pytest.skip("one field to be typed into")
    assert desk.post(tabs.address, one | dict([tabs.first])).status_code == 302
    assert desk.post(tabs.address, two | dict([tabs.second])).status_code == 302
    assert [str(value) for value in tabs.read()] in (
        [tabs.first[1], tabs.second[1]],
        [tabs.first[1], "True"],
        [f"{tabs.first[1]}.0", tabs.second[1]],
    )


def test_where_both_changed_a_field_nothing_is_saved_until_it_is_saved_again(desk: Client, tabs: Tabs) -> None:
    one, two = fields_of(desk, tabs.address), fields_of(desk, tabs.address)
    name = tabs.first[0]
    assert desk.post(tabs.address, one | dict([tabs.first])).status_code == 302
    after_one = tabs.read()
    answer = desk.post(tabs.address, two | {name: tabs.other})
    assert (answer.status_code, tabs.read()) == (200, after_one)
    form = answer.context["adminform"].form
    [error] = form.errors[name]
    assert tabs.said in error
    assert re.search(r"\(.?instructor.?, \d\d:\d\d:\d\d UTC\)", error)
    assert f"you wanted “{tabs.other}”" in error
    again = posted(form)
    assert again[name] == tabs.other
    assert desk.post(tabs.address, again).status_code == 302
    assert str(tabs.read()[0]) in (tabs.other, f"{tabs.other}.0")


def test_a_tampered_initial_value_bypasses_no_check(desk: Client) -> None:
    made = settings()
    sent = fields_of(desk, made.address)
    for initial in ("-5", "x", "\x00", "9" * 400):
        changed = sent | {"move_timeout_s": "-5", "initial-move_timeout_s": initial}
        assert desk.post(made.address, changed).status_code == 200
    assert made.read() == (30.0, 3)
