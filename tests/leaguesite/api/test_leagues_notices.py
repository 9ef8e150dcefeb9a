"""Notices of the instructor: those to the room are public; of the class, only the student sees those to one student."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from matches.audience import pages
from matches.audience.pages import PageKey
from matches.audience.pages import notices as shown
from matches.league import lifecycle, notices, opening
from matches.league.errors import ActionRefused, Invalid, NotFound
from matches.models import Event, Notice
from tests import factories as make
from tests.leaguesite.script import Script

pytestmark = pytest.mark.django_db
DESK = "/admin/matches/league/fall/notices/"


@pytest.fixture
def made() -> make.MadeLeague:
    return make.league(players=3)


@pytest.fixture
def desk(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("ada", password="x" * 12))
    return client


def say(text: str = "We begin at six", **to: Any) -> Notice:
    return notices.say(league_id="fall", text=text, by="ada", **to)


def board() -> str:
    fragments = pages.fragments(PageKey("board", "fall"), "en")
    assert fragments is not None
    return fragments["notices"]


def feed(client: Client) -> str:
    return client.get("/api/leagues/fall/events").content.decode()


def test_a_notice_to_the_room_is_shown_on_the_board_the_screen_and_in_the_feed(
    made: make.MadeLeague, client: Client
) -> None:
    say("  We begin <b>at</b> six \n")
    screen = pages.fragments(PageKey("screen", "fall"), "en")
    assert screen is not None
    for text in (board(), screen["screen_notice"]):
        assert "We begin &lt;b&gt;at&lt;/b&gt; six</p>" in text
    assert Event.objects.get(kind="notice").data["text"] == "We begin <b>at</b> six"
    assert "From the instructor: We begin <b>at</b> six" in feed(client)


def test_the_board_shows_the_last_three_notices(made: make.MadeLeague) -> None:
    for number in range(5):
        say(f"number {number}")
    assert [f"number {number}" in board() for number in range(5)] == [False, False, True, True, True]


def test_a_notice_to_one_player_is_shown_to_its_owner_alone(made: make.MadeLeague, client: Client) -> None:
    say("you are slow", player_id="P02")
    first, second = (member.fresh() for member in made.players[:2])
    assert list(shown.for_owner(made.league, first)) == []
    assert [(one.text, one.agent) for one in shown.for_owner(made.league, second)] == [("you are slow", second)]
    assert "slow" not in board() + feed(client) + client.get("/api/leagues/fall/notices").content.decode()
    assert not Event.objects.filter(kind="notice").exists()


def test_a_notice_that_is_withdrawn_is_shown_nowhere_any_more(made: make.MadeLeague, client: Client) -> None:
    notice = say("the password is 1234")
    say("We begin at six")
    notices.withdraw(league_id="fall", number=notice.pk)
    assert "1234" not in board() + feed(client) + client.get("/leagues/fall/").content.decode()
    assert "1234" not in client.get("/api/leagues/fall/notices").content.decode()
    assert list(Event.objects.filter(kind__startswith="notice").order_by("seq").values_list("kind", flat=True)) == [
        "notice_withdrawn",
        "notice",
    ]
    with pytest.raises(ActionRefused, match="already"):
        notices.withdraw(league_id="fall", number=notice.pk)
    with pytest.raises(NotFound):
        notices.withdraw(league_id="other", number=notice.pk)


@pytest.mark.parametrize("text", ["", " \n\t", "x" * 501, "a\x00b", "a\ud800b", None, 7])
def test_a_text_that_cannot_be_shown_is_refused(made: make.MadeLeague, text: Any) -> None:
    with pytest.raises(Invalid) as refused:
        say(text)
    assert (refused.value.field, Notice.objects.count(), Event.objects.filter(kind="notice").count()) == ("text", 0, 0)


def test_a_notice_to_a_player_that_does_not_exist_is_refused(made: make.MadeLeague) -> None:
    for player in ("P99", "P0\x001", "REF01"):
        with pytest.raises(Invalid):
            say(player_id=player)
    with pytest.raises(NotFound):
        notices.say(league_id="none", text="hello", by="ada")


def test_a_notice_in_the_demo_league_is_refused() -> None:
    opening.create_league(league_id="demo", display_name="Demo", demo=True)
    with pytest.raises(ActionRefused):
        notices.say(league_id="demo", text="hello", by="ada")


def test_a_frozen_board_shows_a_notice_and_the_replay_of_an_earlier_moment_does_not(client: Client) -> None:
    made = make.league_before_freeze()
    lifecycle.start_league(league_id="fall")
    before = made.league.frozen_seq
    say("The reveal is at eight")
    assert "The reveal is at eight" in client.get("/leagues/fall/").content.decode()
    assert "The reveal" not in client.get("/leagues/fall/replay/?at=3").content.decode()
    assert made.league.frozen_seq == before


# The desk and the API ---------------------------------------------------------------------------


def test_the_desk_posts_and_withdraws_notices(made: make.MadeLeague, desk: Client) -> None:
    answer = desk.post(DESK, {"text": "We begin at six", "player_id": ""}, follow=True)
    assert "The room sees it now" in answer.content.decode()
    answer = desk.post(DESK, {"text": "You are slow", "player_id": "P02"}, follow=True)
    assert "Only the owner of P02 sees it" in answer.content.decode()
    assert list(Notice.objects.order_by("pk").values_list("text", "made_by", "agent__code")) == [
        ("We begin at six", "ada", None),
        ("You are slow", "ada", "P02"),
    ]
    number = Notice.objects.order_by("pk")[0].pk
    answer = desk.post(f"{DESK}{number}/withdraw/", follow=True)
    assert "nobody is shown it any more" in answer.content.decode()
    assert "We begin" not in board()
    assert desk.get(f"{DESK}{number}/withdraw/").status_code == 405


@pytest.mark.parametrize(
    "form", [{"text": ""}, {"text": "x" * 501}, {"text": "a", "player_id": "P99"}, {"text": "a\x00"}]
)
def test_the_desk_says_what_is_wrong_with_a_notice(made: make.MadeLeague, desk: Client, form: dict[str, str]) -> None:
    page = desk.post(DESK, form)
    assert (page.status_code, "errorlist" in page.content.decode(), Notice.objects.count()) == (200, True, 0)


@pytest.mark.parametrize(("role", "status"), [("instructor", 200), ("assistant", 403), (None, 403)])
def test_who_may_see_the_page_of_notices(made: make.MadeLeague, client: Client, role: str | None, status: int) -> None:
    user = User.objects.create_user("grace", is_staff=True)
    if role is not None:
        made.league.roles.create(user=user, name=role)
    client.force_login(user)
    assert client.get(DESK).status_code == status


def test_the_page_of_the_desk_costs_the_same_for_3_and_for_300(made: make.MadeLeague, desk: Client) -> None:
    counts = []
    for more in (3, 297):
        for number in range(more):
            say(f"number {number}", player_id=("P01", "")[number % 2])
        with make.counting_queries(counts):
            assert desk.get(DESK).status_code == 200
    assert counts[0] == counts[1]


def test_the_api_posts_notices_and_lists_those_to_the_room(
    made: make.MadeLeague, script: Script, public: Script
) -> None:
    status, notice = script.post("/leagues/fall/notices", {"text": "We begin at six"})
    assert (status, notice["text"], notice["player_id"]) == (201, "We begin at six", None)
    assert script.post("/leagues/fall/notices", {"text": "You are slow", "player_id": "P02"})[0] == 201
    status, listed_notices = public.get("/leagues/fall/notices")
    assert (status, [one["text"] for one in listed_notices]) == (200, ["We begin at six"])
    assert public.post("/leagues/fall/notices", {"text": "I am the teacher"})[0] == 401
    assert script.post("/leagues/fall/notices", {"text": ""})[0] == 422
    assert script.post("/leagues/fall/notices", {"text": "x", "to": "P02"})[0] == 422
    assert script.post("/leagues/none/notices", {"text": "x"})[0] == 404
    assert public.get("/leagues/none/notices")[0] == 404
