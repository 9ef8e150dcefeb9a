"""The desk's pages of corrections: form, preview, confirmation, list, undoing; and who may."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.messages import get_messages
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from matches.league.corrections import plans
from matches.models import Correction, Role
from matches.view import sight
from tests import factories as make
from tests.matches.correcting import do

pytestmark = pytest.mark.django_db
LIST, NEW = "/admin/matches/league/fall/corrections/", "/admin/matches/league/fall/correct/"
UNDO = f"{LIST}1/undo/"
VOID = {"kind": "void", "match_id": "R1M1", "reason": "wrong game started"}


@pytest.fixture
def place() -> make.Setting:
    """Round 1 is over, round 2 is being played."""
    found = make.playing(players=4)
    make.finish_round(found)
    make.playing_on(found)
    return found


def person(client: Client, role: str | None) -> Client:
    """Someone of the staff with a role in the league: instructor, assistant, none; ``root`` is a superuser."""
    if role == "root":
        client.force_login(User.objects.create_superuser("root", password="x" * 12))
        return client
    user = User.objects.create_user("ada", password="x" * 12, is_staff=True)
    if role is not None:
        Role.objects.create(league_id="fall", user=user, name=role)
    client.force_login(user)
    return client


@pytest.fixture
def desk(client: Client, place: make.Setting) -> Client:
    return person(client, "instructor")


def fingerprint(page: Any) -> str:
    found = re.search(r'name="fingerprint" value="(\w+)"', page.content.decode())
    assert found is not None
    return found[1]


def said(answer: Any) -> list[str]:
    return [str(message) for message in get_messages(answer.wsgi_request)]


def confirm(desk: Client, form: dict[str, Any]) -> Any:
    shown = desk.post(NEW, form | {"preview": "1"})
    return desk.post(NEW, form | {"confirm": "1", "fingerprint": fingerprint(shown)})


def test_a_preview_shows_both_tables_and_changes_nothing(desk: Client, place: make.Setting) -> None:
    before = sight.everything(place.league).standings
    answer = desk.post(NEW, VOID | {"preview": "1"})
    page = answer.content.decode()
    assert answer.status_code == 200
    assert sight.everything(place.league).standings == before
    assert not Correction.objects.exists()
    assert re.findall(r"<caption>(\w+)</caption>", page) == ["Now", "Afterwards"]
    assert page.count("<tr data-changed>") == 2 * sum(line.changed for line in answer.context["preview"].after) == 6
    assert '<b class="correct-down" dir="ltr">-3</b>' in page
    assert "<s>P01 won</s>" in page
    assert "<strong>cancelled</strong>" in page
    assert "Round 2 is still on" in page


FORMS: dict[str, tuple[dict[str, Any], tuple[str, str | None]]] = {
    "void": (VOID, ("CANCELLED", None)),
    "won by the other": (VOID | {"kind": "set_result", "outcome": "won_b"}, ("WIN", "P02")),
    "draw": (VOID | {"kind": "set_result", "outcome": "draw"}, ("DRAW", None)),
    "technical loss": (VOID | {"kind": "set_result", "outcome": "tech_a"}, ("TECHNICAL_LOSS", "P02")),
    "of the other": (VOID | {"kind": "set_result", "outcome": "tech_b"}, ("TECHNICAL_LOSS", "P01")),
    "both absent": (VOID | {"kind": "set_result", "outcome": "absent"}, ("TECHNICAL_LOSS", None)),
    "withdrawn": (
        {"kind": "withdraw", "player_id": "P01", "matches_become": "void", "reason": "gone home"},
        ("CANCELLED", None),
    ),
    "disqualified": (
        {"kind": "disqualify", "player_id": "P01", "matches_become": "lose", "reason": "gone home"},
        ("TECHNICAL_LOSS", "P02"),
    ),
}


@pytest.mark.parametrize(("form", "expected"), FORMS.values(), ids=FORMS)
def test_what_was_confirmed_is_done(
    desk: Client, place: make.Setting, form: dict[str, Any], expected: tuple[str, str | None]
) -> None:
    answer = confirm(desk, form)
    assert (answer.status_code, answer["Location"], said(answer)) == (302, LIST, ["Correction #1 is made."])
    outcome = sight.everything(place.league).outcome("R1M1")
    assert outcome is not None
    assert (outcome.status, outcome.winner) == expected
    assert Correction.objects.get().made_by == "ada"
    assert f"{form['reason']}." in desk.get(LIST).content.decode()


def test_points_and_a_replay(desk: Client, place: make.Setting) -> None:
    confirm(desk, {"kind": "points", "player_id": "P02", "points": "-2", "reason": "came late"})
    confirm(desk, VOID | {"kind": "replay"})
    assert [row.points for row in sight.everything(place.league).standings] == [3, 0, 0, -2]
    assert place.match("R1M1").state == "READY"


def test_undoing_shows_what_it_does_and_asks_why(desk: Client, place: make.Setting) -> None:
    before = sight.everything(place.league).standings
    confirm(desk, VOID)
    shown = desk.get(UNDO)
    assert "<strong>P01 won</strong>" in shown.content.decode()
    refused = desk.post(UNDO, {"reason": "", "fingerprint": fingerprint(shown)})
    assert (refused.status_code, sight.everything(place.league).standings == before) == (200, False)
    answer = desk.post(UNDO, {"reason": "it was right", "fingerprint": fingerprint(shown)})
    assert (answer.status_code, said(answer)[-1]) == (302, "Correction #1 is undone.")
    assert sight.everything(place.league).standings == before
    page = desk.get(LIST).content.decode()
    assert "data-undone" in page
    assert "it was right" in page
    again = desk.get(UNDO)
    assert (again.status_code, said(again)[-1]) == (302, "Correction #1 is undone already.")
    assert desk.get(f"{LIST}9/undo/").status_code == 404


def test_when_the_league_has_moved_on_it_is_shown_anew(desk: Client, place: make.Setting) -> None:
    old = fingerprint(desk.post(NEW, VOID | {"preview": "1"}))
    do("points", player_id="P04", points=9, reason="a fine report", by="bob")
    answer = desk.post(NEW, VOID | {"confirm": "1", "fingerprint": old})
    assert (answer.status_code, said(answer)) == (
        200,
        ["The league has moved on since this was shown: look again, then confirm."],
    )
    assert fingerprint(answer) != old
    assert [line.row.points for line in answer.context["preview"].before] == [9, 3, 3, 0]
    assert Correction.objects.count() == 1
    undo = fingerprint(desk.get(UNDO))
    do("points", player_id="P04", points=1, reason="a fine report", by="bob")
    answer = desk.post(UNDO, {"reason": "it was right", "fingerprint": undo}, follow=True)
    assert "undo #2 first" in answer.content.decode()


def test_what_cannot_be_done_is_said_at_its_field(desk: Client, place: make.Setting) -> None:
    same = desk.post(NEW, VOID | {"kind": "set_result", "outcome": "won_a", "preview": "1"})
    assert "R1M1 has this result already." in same.content.decode()
    for form in (
        VOID | {"match_id": "R9M9"},
        VOID | {"reason": "no"},
        VOID | {"reason": "nul \x00 here"},
        {"kind": "points", "player_id": "P01", "points": "0", "reason": "why not"},
        {"kind": "withdraw", "player_id": "P01", "reason": "why not"},
    ):
        answer = desk.post(NEW, form | {"preview": "1"})
        assert (answer.status_code, bool(answer.context["form"].errors)) == (200, True), form
        assert "preview.plan" not in answer.content.decode()
        assert answer.context["preview"] is None
    assert desk.get(f"{NEW}?kind=erase").status_code == 404


def test_a_form_is_filled_in_by_its_link(desk: Client) -> None:
    page = desk.get(f"{NEW}?kind=set_result&match=R1M1").content.decode()
    assert re.search(r'<option value="R1M1" selected>', page)
    assert "P02 won" in page
    assert re.search(r'<option value="P03" selected>', desk.get(f"{NEW}?kind=withdraw&player=P03").content.decode())


@pytest.mark.parametrize("kind", [*plans.OF_MATCH, *plans.OF_PLAYER])
def test_who_may_make_which(client: Client, place: make.Setting, kind: str) -> None:
    assistant = person(client, "assistant")
    allowed = 200 if kind == "replay" else 403
    assert assistant.get(f"{NEW}?kind={kind}").status_code == allowed
    assert assistant.post(NEW, VOID | {"kind": kind, "confirm": "1"}).status_code == allowed
    assert not Correction.objects.exists()


def test_who_may_look_and_undo(client: Client, place: make.Setting) -> None:
    do("void", match_id="R1M1", reason="wrong game started", by="bob")
    assistant = person(client, "assistant")
    page = assistant.get(LIST)
    assert page.status_code == 200
    assert UNDO not in page.content.decode()
    assert assistant.get(UNDO).status_code == 403
    assert assistant.get(NEW).status_code == 200
    Role.objects.all().delete()
    assert [assistant.get(address).status_code for address in (LIST, NEW, UNDO)] == [403, 403, 403]
    client.logout()
    assert [client.get(address).status_code for address in (LIST, NEW, UNDO)] == [302, 302, 302]


def test_hostile_names_and_reasons_are_only_text(client: Client, place: make.Setting) -> None:
    desk = person(client, "root")
    player = place.players[0].fresh()
    player.display_name = "<script>alert(1)</script>"
    player.save()
    confirm(desk, VOID | {"reason": "<img src=x onerror=alert(1)> %(player)s"})
    for address in (LIST, f"{NEW}?kind=void", f"{NEW}?kind=withdraw", UNDO):
        page = desk.get(address).content.decode()
        assert "<script>alert(1)" not in page
        assert "<img src=x" not in page
    assert "&lt;img src=x onerror=alert(1)&gt; %(player)s." in desk.get(LIST).content.decode()


def test_the_list_costs_the_same_for_three_and_for_thirty(desk: Client, place: make.Setting) -> None:
    def cost() -> int:
        with CaptureQueriesContext(connection) as seen:
            desk.get(LIST)
        return len(seen)

    for number in range(3):
        do("points", player_id=f"P0{number + 1}", points=1, reason="why")
    desk.get(LIST)
    few = cost()
    for number in range(27):
        do("points", player_id=f"P0{number % 4 + 1}", points=1, reason="why")
    desk.get(LIST)
    assert cost() == few
