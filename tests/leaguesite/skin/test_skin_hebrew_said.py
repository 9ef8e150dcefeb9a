"""Texts that games, referees and earlier versions stored in English are shown in Hebrew, or as quotations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from html import unescape
from itertools import product
from typing import Any

import pytest
from django.test import RequestFactory
from django.urls import get_resolver, reverse
from django.utils import timezone
from django.utils.translation import override

from agents_registry.models import Agent
from league_sdk.protocol.notes import Code, note
from league_sdk.protocol.states import AgentState
from league_sdk.rules import registry
from league_sdk.rules.tic_tac_toe import TicTacToe
from matches.league import planned, results
from matches.models import League, Match
from tests import factories as make
from tests.leaguesite.skin.latin import ALLOWED, PROTOCOL, latin, texts_of
from tests.leaguesite.skin.test_skin_hebrew import instructor, reader, texts_by_people, untranslated
from tests.matches.correcting import make_correction
from tests.sizes import sampled

pytestmark = pytest.mark.django_db
MATCH = ("match", ["fall", "R1M1"])
ACTS = ("withdraw", "disqualify", "shut")


def page_of_the_match(made: make.MadeLeague, *own: str) -> str:
    """The page of R1M1 in Hebrew, whose only English is quoted or allowed."""
    names = [*texts_by_people(), *own, *(member.agent.display_name for member in made.players)]
    path = reverse(MATCH[0], args=MATCH[1])
    assert untranslated(reader(), names, "GET", path, allowed=ALLOWED | PROTOCOL) == []
    return unescape(reader().get(path).content.decode())


# Matches whose players are both out ---------------------------------------------------------------------------


@pytest.mark.parametrize(("second", "first"), sampled(product(ACTS, repeat=2), every=2))
def test_why_a_match_of_two_absent_players_was_not_played_is_shown_in_hebrew(first: str, second: str) -> None:
    made = make.league("fall", players=4, no_show="cancel")
    make.next_round(made)
    match = Match.objects.filter(round__number=2).order_by("pk").first()
    assert match is not None
    for player, how in zip((match.player_a, match.player_b), (first, second), strict=True):
        if how == "shut":
            Agent.objects.filter(pk=player.pk).update(state=AgentState.SHUTDOWN)
        else:
            make_correction(how, player_id=player.code, matches_become="void", reason="פגש את עצמו")
    match = made.match(match.match_id)
    assert results.decide_absent(match)
    names = [*texts_by_people(), *(member.agent.display_name for member in made.players)]
    path = reverse("match", args=["fall", match.match_id])
    assert untranslated(reader(), names, "GET", path) == []
    [why] = re.findall(r'<span class="why">(.*?)</span>', reader().get(path).content.decode())
    acts = {match.player_a.code: first, match.player_b.code: second}
    # Of a player that was shut down and one that was taken out, the page names the former.
    named = [code for code, how in acts.items() if how == "shut"] or list(acts)
    assert "לא נשלחה אלי" in why and [code for code in acts if code in why] == named


# A game of another package --------------------------------------------------------------------------

REFUSAL, REASON = "the field is mined", "P01 reached 10 at last"


class GameOfAPackage(TicTacToe):
    """A game that another package has installed; it brings no Hebrew translations."""

    game_type = "race_to_ten"
    display_name = "מרוץ לעשר"


class GameWithHebrew(GameOfAPackage):
    """A game of a package, with Hebrew texts of its own."""

    translations = {
        "he": {
            "the field is mined": "השדה ממוקש",
            "%(player)s reached %(total)s at last.": "%(player)s הגיע ל־%(total)s",
        }
    }


@pytest.fixture
def game(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[TicTacToe]:
    """A game that a package has added."""
    added = request.param()
    monkeypatch.setitem(registry.games(), added.game_type, added)
    yield added


def match_lost_by_refusal() -> make.MadeLeague:
    """A match that P02 has lost for an illegal move."""
    made = make.running_league("fall", players=2)
    make.look()
    League.objects.update(game_type=GameOfAPackage.game_type)
    fault = {"player_id": "P02", "error_code": "E004", "message_type": "GAME_MOVE_CALL", "tries": 4, "limit_s": 30}
    fault |= {"cause": "ILLEGAL_MOVE", "sentence": "P02 answered with no legal move"}
    fault |= {"note": note(Code.NOT_WANTED, sentence=REFUSAL, seen="7").to_json()}
    match = Match.objects.get()
    make.report(match, "P01", **make.no_answer_from(match, "P02") | {"faults": [fault]})
    return made


def match_won() -> make.MadeLeague:
    """A match that P01 has won."""
    made = make.running_league("fall", players=2)
    make.look()
    League.objects.update(game_type=GameOfAPackage.game_type)
    result = {"winner": "P01", "score": {}, "details": {"total": 10, "reason": REASON}}
    make.report(Match.objects.get(), "P01", result=result)
    return made


@pytest.mark.parametrize("game", [GameOfAPackage], indirect=True)
def test_what_a_game_says_without_hebrew_is_quoted(game: TicTacToe) -> None:
    assert f"כלשונו: “\u2068{REFUSAL}\u2069”" in page_of_the_match(match_lost_by_refusal())


@pytest.mark.parametrize("game", [GameWithHebrew], indirect=True)
def test_what_a_game_says_is_told_in_the_hebrew_that_it_brings(game: TicTacToe) -> None:
    page = page_of_the_match(match_lost_by_refusal())
    assert "השדה ממוקש" in page and REFUSAL not in page


@pytest.mark.parametrize(
    ("game", "expected"),
    [(GameOfAPackage, f"כלשונו: “\u2068{REASON}\u2069”"), (GameWithHebrew, "\u2068P01\u2069 הגיע ל־\u206810\u2069")],
    indirect=["game"],
)
def test_why_a_match_was_won_is_told_in_the_games_hebrew_or_quoted(game: TicTacToe, expected: str) -> None:
    assert expected in page_of_the_match(match_won())


@pytest.mark.parametrize("text", ["\u2069</span><b>now\u2069", "\u202eevil", "P02 gave up; P01\u2066"])
def test_a_reason_that_is_no_sentence_of_ours_stays_in_its_quotation(text: str) -> None:
    made = make.running_league("fall", players=2)
    make.look()
    results.cancel(league_id="fall", match_id="R1M1", why=text)
    page = page_of_the_match(made)
    assert "<b>now" not in reader().get(reverse(MATCH[0], args=MATCH[1])).content.decode()
    assert page.count("\u2068") == page.count("\u2069") > 0 and "\u202e" not in page


# What earlier versions have stored ------------------------------------------------------------------

OLD_NOTES = (
    (
        'stayed in the lobby: in fall, The name "Dana" looks like "Dаna" (P03), who has registered already. Choose a '
        "name that nobody takes for that one. If both are yours, send the auth_token of P03, or your personal code "
        "where the league has a roster. Otherwise ask the instructor: one click on the desk lets this name in.",
        "שכבר נרשם. כלשונו: “\u2068Choose a name",
    ),
    ("stayed in the lobby: fall has an agent of this id or name already", "כבר יש סוכן עם המזהה או השם הזה"),
    ("stayed in the lobby: Dana has registered at its address since", "נרשם מאז בכתובת שלו"),
    ("stayed in the lobby: its address is that of Dana", "הכתובת שלו היא הכתובת של \u2068Dana\u2069"),
    ("protocol was 'league.v1', expected league.v2", "הערך של protocol היה"),
    ("protocol was not a text, expected league.v2", "הערך של protocol לא היה טקסט"),
    ("sender was 'x', expected player:<name>", "הערך של sender היה"),
    ("the address was given in parts, http://192.0.2.7:8101/mcp is used", "הכתובת נמסרה בחלקים"),
    ("asked for P07, which is taken; is P02", "ביקש את המזהה P07, שכבר תפוס"),
    ("asked for P07, but was known before; is P02", "ביקש את המזהה P07, אבל כבר היה רשום"),
    ("something that nobody says any more", "כלשונו: “\u2068something that nobody says any more\u2069”"),
)
"""Notes as earlier versions stored them, each with a part of what the pages show of it."""


@pytest.mark.parametrize(("note_text", "shown"), sampled(OLD_NOTES))
def test_what_earlier_versions_noted_is_told_in_hebrew_or_quoted(note_text: str, shown: str) -> None:
    made = make.league("fall", players=1)
    Agent.objects.filter(pk=made.players[0].agent.pk).update(notes=[note_text])
    words = ALLOWED | PROTOCOL | {"name"}
    for path in (
        f"/admin/agents_registry/agent/{made.players[0].agent.pk}/change/",
        "/admin/matches/league/fall/change/",
    ):
        assert untranslated(instructor(), texts_by_people(), "GET", path, allowed=words) == []
        assert shown in unescape(instructor().get(path).content.decode())


@pytest.mark.parametrize(
    "why",
    [
        "No referee may judge even_odd now: start one (manage.py referee), or tick “may judge” at a registered one.",
        "Round 1 is still running (2 matches open): wait until it has ended.",
        "a refusal of another version",
        *(
            pytest.param(why, marks=pytest.mark.exhaustive)
            for why in (
                "Fall has 1 of at least 2 players: wait until more have registered.",
                "Round 1 is still running (1 match open): wait until it has ended.",
                "the site was not running at that time",
                "the site was not running at that time, or no referee was there in the ten minutes after it",
            )
        ),
    ],
)
def test_why_a_planned_start_was_refused_is_told_in_hebrew_or_quoted(why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = make.league("fall", players=1)
    at = timezone.now() + timedelta(hours=1)
    planned.plan_start(league_id="fall", at=at, all_rounds=False, now=timezone.now())

    def refuse(**_: Any) -> None:
        raise planned.ActionRefused(why)

    monkeypatch.setattr(planned.lifecycle, "start_league", refuse)
    planned.begin_due(at)
    assert made.events()[-1] == "start_failed"
    assert untranslated(instructor(), texts_by_people(), "GET", "/admin/matches/league/fall/change/") == []
    page = instructor().get("/admin/matches/league/fall/change/").content.decode()
    assert re.search("ההתחלה שתוכננה ל-.* לא בוצעה: [\\w:]", page)


@pytest.mark.parametrize(
    ("problem", "state"),
    sampled(
        product(
            ["no answer in R1M1", str(note(Code.NOBODY_LISTENS)), "it says something else"],
            ["SUSPENDED", "SHUTDOWN", "ACTIVE"],
        ),
        every=2,
    ),
)
def test_that_an_agent_is_silent_is_told_in_hebrew_to_its_owner(state: str, problem: str) -> None:
    made = make.running_league("fall", players=2)
    member = made.players[0]
    Agent.objects.filter(pk=member.agent.pk).update(state=state, problem=problem, ping_wanted=False)
    owner = reader()
    owner.post("/leagues/fall/mine/", {"secret": member.token})
    assert untranslated(owner, texts_by_people(), "GET", "/leagues/fall/mine/") == []
    assert "הסוכן לא ענה" in owner.get("/leagues/fall/mine/").content.decode()


# Refusals of forms ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "form",
    [
        {"name": "", "endpoint": "http://192.0.2.7:8101"},
        {"name": "דנה", "endpoint": "gopher://x"},
        {"name": "דנה", "endpoint": "http://192.0.2.7:22/"},
        {"name": "דנה", "endpoint": "http://224.0.0.1:8101/"},
        {"name": "דנה", "endpoint": "http://169.254.169.254/"},
        {"name": "דנה", "endpoint": "http://192.0.2.7:8101", "wanted_id": "!!"},
        {"name": "דנה", "endpoint": "http://192.0.2.7:8101", "wanted_id": "P01"},
    ],
)
def test_a_player_that_cannot_be_added_is_refused_in_hebrew(form: dict[str, str]) -> None:
    make.league("fall", players=1)
    path, data = reverse("admin:matches_league_add_player"), {"league": "fall", "league_id": "fall", **form}
    assert untranslated(instructor(), texts_by_people(), "POST", path, data, allowed=ALLOWED | {"endpoint"}) == []


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:22/", "gopher://127.0.0.1/", "http://127.0.0.1:8101\\x"])
def test_an_address_that_cannot_be_checked_is_refused_in_hebrew(endpoint: str) -> None:
    form = {"endpoint": endpoint, "role": "player"}
    assert reader().post("/check", form).status_code == 422
    assert untranslated(reader(), [*texts_by_people(), endpoint], "POST", "/check", form) == []


# Error pages ------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [400, 403, 404, 500])
def test_a_page_of_an_error_is_in_hebrew(status: int, rf: RequestFactory) -> None:
    handler = get_resolver().resolve_error_handler(status)
    request = rf.get("/nowhere/", headers={"accept-language": "he"})
    with override("he"):
        answer = handler(request) if status == 500 else handler(request, exception=Exception("no word of this"))
    page = answer.content.decode()
    assert (answer.status_code, '<html lang="he" dir="rtl">' in page) == (status, True)
    assert latin(texts_of(page), ALLOWED) == []


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ({"headers": {"host": "evil.example"}}, "לא נועדה לאתר הזה"),
        ({"data": {str(n): 1 for n in range(2000)}}, "גדולה מדי"),
    ],
)
def test_a_request_that_django_refuses_early_is_answered_in_the_readers_language(
    request_: dict[str, Any], expected: str
) -> None:
    client = reader()
    client.raise_request_exception = False
    answer = client.post("/check", **request_)
    assert (answer.status_code, expected in answer.content.decode()) == (400, True)
    assert latin(texts_of(answer.content.decode()), ALLOWED) == []
