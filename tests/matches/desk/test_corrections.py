"""The desk's pages of corrections: form, preview, confirmation, list, undoing; and who may use them."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from matches.league.corrections import plans
from matches.models import Correction, Role
from matches.view import sight
from tests import factories as make
from tests.matches.correcting import in_round_two, make_correction
from tests.matches.desk.clicking import count_queries, person, sentences_of
from tests.sizes import sampled

pytestmark = pytest.mark.django_db
LIST, NEW = "/admin/matches/league/fall/corrections/", "/admin/matches/league/fall/correct/"
UNDO = f"{LIST}1/undo/"
VOID = {"kind": "void", "match_id": "R1M1", "reason": "wrong game started"}


@pytest.fixture
def made() -> make.MadeLeague:
    """Round 1 is over, round 2 is being played."""
    return in_round_two()


@pytest.fixture
def desk(made: make.MadeLeague) -> Client:
    return person("instructor", "fall")


def fingerprint(page: Any) -> str:
    matched = re.search(r'name="fingerprint" value="(\w+)"', page.content.decode())
    assert matched is not None
    return matched[1]


def confirm(desk: Client, form: dict[str, Any]) -> Any:
    shown = desk.post(NEW, form | {"preview": "1"})
    return desk.post(NEW, form | {"confirm": "1", "fingerprint": fingerprint(shown)})


def test_a_preview_shows_both_tables_and_changes_nothing(desk: Client, made: make.MadeLeague) -> None:
    before = sight.everything(made.league).standings
    answer = desk.post(NEW, VOID | {"preview": "1"})
    page = answer.content.decode()
    assert answer.status_code == 200
    assert sight.everything(made.league).standings == before
    assert not Correction.objects.exists()
    assert re.findall(r"<caption>(\w+)</caption>", page) == ["Now", "Afterwards"]
    assert page.count("<tr data-changed>") == 2 * sum(line.changed for line in answer.context["preview"].after) == 8
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


@pytest.mark.parametrize(("form", "expected"), sampled(FORMS.values(), every=3), ids=FORMS)
def test_a_confirmed_correction_is_made(
    desk: Client, made: make.MadeLeague, form: dict[str, Any], expected: tuple[str, str | None]
) -> None:
    answer = confirm(desk, form)
    assert (answer.status_code, answer["Location"], sentences_of(answer)) == (302, LIST, ["Correction #1 is made."])
    outcome = sight.everything(made.league).outcome("R1M1")
    assert outcome is not None
    assert (outcome.status, outcome.winner) == expected
    assert Correction.objects.get().made_by == "instructor-fall"
    assert f"{form['reason']}." in desk.get(LIST).content.decode()


def test_points_are_taken_and_a_match_is_played_again(desk: Client, made: make.MadeLeague) -> None:
    confirm(desk, {"kind": "points", "player_id": "P02", "points": "-2", "reason": "came late"})
    confirm(desk, VOID | {"kind": "replay"})
    assert [row.points for row in sight.everything(made.league).standings] == [3, 0, 0, -2]
    assert made.match("R1M1").state == "READY"


def test_undoing_a_correction_shows_a_preview_and_needs_a_reason(desk: Client, made: make.MadeLeague) -> None:
    before = sight.everything(made.league).standings
    confirm(desk, VOID)
    shown = desk.get(UNDO)
    assert "<strong>P01 won</strong>" in shown.content.decode()
    refused = desk.post(UNDO, {"reason": "", "fingerprint": fingerprint(shown)})
    assert (refused.status_code, sight.everything(made.league).standings == before) == (200, False)
    answer = desk.post(UNDO, {"reason": "it was right", "fingerprint": fingerprint(shown)})
    assert (answer.status_code, sentences_of(answer)[-1]) == (302, "Correction #1 is undone.")
    assert sight.everything(made.league).standings == before
    page = desk.get(LIST).content.decode()
    assert "data-undone" in page
    assert "it was right" in page
    again = desk.get(UNDO)
    assert (again.status_code, sentences_of(again)[-1]) == (302, "Correction #1 is undone already.")
    assert desk.get(f"{LIST}9/undo/").status_code == 404


def test_the_preview_is_shown_again_when_the_league_has_changed(desk: Client, made: make.MadeLeague) -> None:
    old = fingerprint(desk.post(NEW, VOID | {"preview": "1"}))
    make_correction("points", player_id="P04", points=9, reason="a fine report", by="bob")
    answer = desk.post(NEW, VOID | {"confirm": "1", "fingerprint": old})
    assert (answer.status_code, sentences_of(answer)) == (
        200,
        ["The league has changed since this was shown: look again, then confirm."],
    )
    assert fingerprint(answer) != old
    assert [line.row.points for line in answer.context["preview"].before] == [9, 3, 3, 0]
    assert Correction.objects.count() == 1
    undo = fingerprint(desk.get(UNDO))
    make_correction("points", player_id="P04", points=1, reason="a fine report", by="bob")
    answer = desk.post(UNDO, {"reason": "it was right", "fingerprint": undo}, follow=True)
    assert "undo #2 first" in answer.content.decode()


def test_a_refused_correction_shows_the_error_at_its_field(desk: Client, made: make.MadeLeague) -> None:
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
        assert 'name="fingerprint"' not in answer.content.decode()
        assert answer.context["preview"] is None
    assert desk.get(f"{NEW}?kind=erase").status_code == 404


def test_a_link_preselects_match_and_player_in_the_form(desk: Client) -> None:
    page = desk.get(f"{NEW}?kind=set_result&match=R1M1").content.decode()
    assert re.search(r'<option value="R1M1" selected>', page)
    assert "P02 won" in page
    assert re.search(r'<option value="P03" selected>', desk.get(f"{NEW}?kind=withdraw&player=P03").content.decode())


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=() if kind in ("void", "replay", "withdraw") else pytest.mark.exhaustive)
        for kind in (*plans.OF_MATCH, *plans.OF_PLAYER)
    ],
)
def test_an_assistant_may_only_have_matches_played_again(made: make.MadeLeague, kind: str) -> None:
    assistant = person("assistant", "fall")
    allowed = 200 if kind == "replay" else 403
    assert assistant.get(f"{NEW}?kind={kind}").status_code == allowed
    assert assistant.post(NEW, VOID | {"kind": kind, "confirm": "1"}).status_code == allowed
    assert not Correction.objects.exists()


def test_an_assistant_sees_corrections_and_cannot_undo_them(client: Client, made: make.MadeLeague) -> None:
    make_correction("void", match_id="R1M1", reason="wrong game started", by="bob")
    assistant = person("assistant", "fall")
    page = assistant.get(LIST)
    assert page.status_code == 200
    assert UNDO not in page.content.decode()
    assert assistant.get(UNDO).status_code == 403
    assert assistant.get(NEW).status_code == 200
    Role.objects.all().delete()
    assert [assistant.get(address).status_code for address in (LIST, NEW, UNDO)] == [403, 403, 403]
    client.logout()
    assert [client.get(address).status_code for address in (LIST, NEW, UNDO)] == [302, 302, 302]


def test_the_pages_of_corrections_escape_names_and_reasons(desk: Client, made: make.MadeLeague) -> None:
    player = made.players[0].fresh()
    player.display_name = "<script>alert(1)</script>"
    player.save()
    confirm(desk, VOID | {"reason": "<img src=x onerror=alert(1)> %(player)s"})
    for address in (LIST, f"{NEW}?kind=void", f"{NEW}?kind=withdraw", UNDO):
        page = desk.get(address).content.decode()
        assert "<script>alert(1)" not in page
        assert "<img src=x" not in page
    assert "&lt;img src=x onerror=alert(1)&gt; %(player)s." in desk.get(LIST).content.decode()


def test_the_list_needs_as_many_queries_for_30_corrections_as_for_3(desk: Client, made: make.MadeLeague) -> None:
    for number in range(3):
        make_correction("points", player_id=f"P0{number + 1}", points=1, reason="why")
    desk.get(LIST)
    few = count_queries(desk, LIST)
    for number in range(27):
        make_correction("points", player_id=f"P0{number % 4 + 1}", points=1, reason="why")
    desk.get(LIST)
    assert count_queries(desk, LIST) == few


def test_pages_say_how_many_points_are_by_correction(desk: Client, made: make.MadeLeague) -> None:
    make_correction("points", player_id="P02", points=7, reason="wrong game started")
    sheets = desk.get("/admin/matches/league/fall/papers/evidence/").content.decode()
    assert sheets.count("by correction</span>") == sheets.count("including 7 by correction") == 1
    player = desk.get("/leagues/fall/players/P02/").content.decode()
    assert "The points include +7 by corrections of the instructor." in player
    board = desk.get("/leagues/fall/").content.decode()
    assert "+7 by correction: wrong game started" in board
    make_correction("points", player_id="P02", points=-2, reason="one was right")
    board = desk.get("/leagues/fall/").content.decode()
    assert "+5 by correction: wrong game started; one was right" in board
