"""Roles in a league: given, changed, taken; who opens a league runs it; and nobody outside hears of it."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission as AuthPermission
from django.contrib.auth.models import User
from django.test import Client

from matches.league import lifecycle, staffing
from matches.league.errors import ActionRefused, Invalid, NotFound
from matches.models import Role
from matches.view.roles import Permission, allowed, leagues, may
from tests import factories as make

pytestmark = pytest.mark.django_db
ROLES = "/admin/matches/league/fall/people/"


def staff(name: str, **more: bool) -> User:
    return User.objects.create_user(name, password="x" * 12, **{"is_staff": True, **more})


def roles_of(league_id: str) -> dict[str, str]:
    return dict(Role.objects.filter(league_id=league_id).values_list("user__username", "name"))


def test_a_role_is_given_once_changed_and_taken() -> None:
    league = make.open_league()
    dana, noa = staff("dana"), staff("noa")
    for name in ("assistant", "assistant", "instructor"):
        staffing.give_role(league_id="fall", username=" noa ", name=name)
    assert (roles_of("fall"), allowed(noa, "fall"), may(dana, Permission.WATCH, "fall")) == (
        {"noa": "instructor"},
        frozenset(Permission),
        False,
    )
    role = Role.objects.get()
    assert staffing.take_role(league_id="fall", role_id=role.pk, by=dana) == "noa"
    with pytest.raises(NotFound):
        staffing.take_role(league_id="fall", role_id=role.pk, by=dana)
    events = list(league.events.filter(kind__startswith="role_").order_by("seq").values_list("kind", "data"))
    assert events == [
        ("role_given", {"user": "noa", "role": "assistant"}),
        ("role_given", {"user": "noa", "role": "instructor"}),
        ("role_taken", {"user": "noa", "role": "instructor"}),
    ]


@pytest.mark.parametrize(
    ("username", "name", "error"),
    [
        ("nobody", "assistant", Invalid),
        ("\x00", "assistant", Invalid),
        ("student", "assistant", Invalid),
        ("gone", "assistant", Invalid),
        ("dana", "king", Invalid),
        ("root", "assistant", ActionRefused),
    ],
)
def test_a_role_that_cannot_be_given_is_refused(username: str, name: str, error: type[Exception]) -> None:
    make.open_league()
    staff("dana")
    staff("student", is_staff=False)
    staff("gone", is_active=False)
    User.objects.create_superuser("root", password="x" * 12)
    with pytest.raises(error):
        staffing.give_role(league_id="fall", username=username, name=name)
    assert roles_of("fall") == {}


def test_nobody_takes_their_own_role() -> None:
    make.open_league()
    dana = staff("dana")
    role = staffing.give_role(league_id="fall", username="dana", name="instructor")
    with pytest.raises(ActionRefused, match="your own role"):
        staffing.take_role(league_id="fall", role_id=role.pk, by=dana)


def test_the_user_who_opens_a_league_in_the_admin_runs_it(client: Client) -> None:
    make.open_league("other")
    dana = staff("dana")
    dana.user_permissions.add(AuthPermission.objects.get(codename="add_league"))
    client.force_login(dana)
    form = {"display_name": "Evening", "league_id": "evening", "game_type": "even_odd"}
    answer = client.post("/admin/matches/league/add/", form | {"no_show": "technical_loss", "error_style": "error"})
    assert (answer.status_code, answer["Location"]) == (302, "/admin/matches/league/evening/change/")
    assert (roles_of("evening"), [league.pk for league in leagues(dana, Permission.EDIT)]) == (
        {"dana": "instructor"},
        ["evening"],
    )
    assert client.get(answer["Location"]).status_code == 200


def test_the_page_gives_and_takes_roles_and_says_why_it_refuses(client: Client) -> None:
    make.open_league()
    dana = staff("dana")
    staff("noa")
    staffing.give_role(league_id="fall", username="dana", name="instructor")
    client.force_login(dana)
    wrong = client.post(ROLES, {"username": "<b>nobody", "name": "assistant"})
    assert "There is no user &lt;b&gt;nobody: a superuser makes users" in wrong.content.decode()
    assert client.post(ROLES, {"username": "noa", "name": "assistant"})["Location"] == ROLES
    page = client.get(ROLES).content.decode()
    assert ("noa is assistant of this league." in page, page.count("Take this role away")) == (True, 1)
    client.post(f"{ROLES}{Role.objects.get(name='assistant').pk}/take/")
    assert roles_of("fall") == {"dana": "instructor"}


def test_a_role_in_one_league_says_nothing_in_another() -> None:
    make.open_league("fall")
    make.open_league("winter")
    noa = staff("noa")
    staffing.give_role(league_id="fall", username="noa", name="assistant")
    assert (allowed(noa, "fall"), allowed(noa, "winter")) == (
        frozenset({Permission.WATCH, Permission.RERUN}),
        frozenset(),
    )
    assert [league.pk for league in leagues(noa, Permission.RERUN)] == ["fall"]
    assert not leagues(noa, Permission.EDIT).exists()


def test_the_public_is_not_told_who_has_a_role(client: Client) -> None:
    make.open_league()
    staff("secret-dana")
    staffing.give_role(league_id="fall", username="secret-dana", name="assistant")
    assert lifecycle.get_league("fall").events.filter(kind="role_given").exists()
    for path in ("/leagues/fall/", "/api/leagues/fall", "/api/leagues/fall/events"):
        text = client.get(path).content.decode()
        assert ("secret-dana" in text, "role_given" in text) == (False, False)
