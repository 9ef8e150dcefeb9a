"""On every page, list, form and refusal a reader of Hebrew sees no English but codes and names, and no time without
its zone.

What scripts write on pages is tested by ``tests/e2e/test_hostile_forms.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from html import unescape
from itertools import product
from typing import Any

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import Group, User
from django.contrib.contenttypes.models import ContentType
from django.test import Client
from django.urls import URLPattern, get_resolver, reverse
from django.utils.translation import gettext, override

from agents_registry.models import Agent, RosterEntry
from agents_registry.registering import registration
from league_sdk.conformance.clauses.manager import MANAGER
from league_sdk.conformance.clauses.player import PLAYER
from league_sdk.conformance.clauses.referee import REFEREE
from league_sdk.conformance.clauses.rules import Role
from league_sdk.protocol.faults import Cause, describe
from league_sdk.protocol.notes import Code, in_words, note
from league_sdk.protocol.states import AgentState
from matches.audience import kit
from matches.league import results, series, staffing
from matches.models import Check, League, Match
from tests import factories as make
from tests import rich
from tests.leaguesite.skin.latin import ALLOWED, GAMES, PROTOCOL, latin, texts_of, times_without_zone
from tests.matches.practised import REPORTS, practised
from tests.matches.reports import EXCHANGES, by_the_rules
from tests.matches.view.test_roles import EVERYBODY, LINES
from tests.sizes import sampled

pytestmark = pytest.mark.django_db

LEAGUES = ("fall", "winter", "spring")
CORRECTIONS = ("set_result", "void", "replay", "points", "withdraw")
PAGES = {
    "index": ((),),
    "check": ((),),
    "check_report": (),
    "practice_report": (),
    **{name: tuple((league,) for league in LEAGUES) for name in ("board", "charts", "screen", "replay", "embed")},
    **{name: tuple((league,) for league in LEAGUES) for name in ("join", "mine")},
    "match": tuple((league, match) for league in ("fall", "spring") for match in ("R1M1", "R1M2")),
    "player": tuple((league, player) for league in LEAGUES for player in ("P01", "P02", "P04")),
    **dict.fromkeys(("story", "story_file"), (("fall",),)),
    "series": (("evenings",),),
}
"""The public pages by the name of their route, with the arguments of each."""
NO_PAGES = {
    *("mine_close", "mine_again", "mine_practise", "protocol", "check_json", "practice_json"),
    *("match_messages", "replay_fragments", "join_kit", "story_picture"),
}
"""Routes that answer with no page, or in English only, as the protocol does."""
OWN_TEXTS = (
    "Our evenings",
    "wrong game",
    "both were right",
    "it was the right one",
    "late",
    "Not so",
    "gone",
    "nobody listens at",
)
"""What the instructor and the agents of the tests wrote."""
SAMPLES = ("name,email,code Dana",)
"""The beginning of a CSV file that a form of the desk shows as an example."""


@pytest.fixture
def made() -> make.MadeLeague:
    """A league that is over, one that nobody has started, and one in play; agents in every state."""
    found = rich.over()
    make.open_league("winter")
    members = [make.player(f"Winter {number}", "winter", port=8200 + number) for number in range(1, 7)]
    for member, state in zip(members, AgentState, strict=False):
        Agent.objects.filter(pk=member.agent.pk).update(state=state)
    found_there = str(note(Code.NOBODY_LISTENS))
    for member in members[2:]:
        registration.note_ping(agent_id=member.agent.pk, problem=found_there, found=found_there)
    make.running_league("spring", players=4)
    series.put(league_id="fall", series_id="evenings", series_name="Our evenings")
    User.objects.create_user("staff without a role", password="x" * 12, is_staff=True)
    staffing.give_role(league_id="fall", username="staff without a role", name="assistant")
    Group.objects.create(name="teachers")
    return found


def texts_by_people() -> list[str]:
    """Texts that people and agents wrote themselves, and that may be on any page."""
    languages = [language.name for language in kit.LANGUAGES.values()]
    found = [
        *OWN_TEXTS,
        *SAMPLES,
        *GAMES,
        *languages,
        rich.STAFF,
        rich.TO_ONE,
        rich.TO_ROOM,
        "teachers",
        "staff without a role",
    ]
    for rows in (
        Agent.objects.values_list("display_name", "endpoint"),
        League.objects.values_list("pk", "display_name"),
        RosterEntry.objects.values_list("name", "code"),
    ):
        found += [text for row in rows for text in row]
    return found


def reader() -> Client:
    """The browser of a reader of Hebrew."""
    client = Client()
    client.cookies["django_language"] = "he"
    return client


def instructor() -> Client:
    client = reader()
    user, _made = User.objects.get_or_create(username="עדה", is_staff=True, is_superuser=True)
    client.force_login(user)
    LogEntry.objects.create(
        user=user,
        content_type=ContentType.objects.get_for_model(User),
        object_id=str(user.pk),
        object_repr="עדה",
        action_flag=CHANGE,
        change_message='[{"changed": {"fields": ["Email address", "Staff status"]}}]',
    )
    return client


def untranslated(
    client: Client, own: list[str], method: str, path: str, data: Any = None, *, allowed: Collection[str] = ALLOWED
) -> list[str]:
    """English texts and times without a label in an answer, if it is a page; ``own`` is what people wrote."""
    answer = client.get(path) if method == "GET" else client.post(path, data or {})
    if answer.streaming:
        b"".join(answer.streaming_content)  # which closes the file
        return []
    if not answer["Content-Type"].startswith("text/html"):
        return []
    page = answer.content.decode()
    found = latin(texts_of(page), allowed, own) + [f"no zone: {time}" for time in times_without_zone(page)]
    return [f"{method} {path}: {one}" for one in found]


def addresses_of_the_desk(made: make.MadeLeague) -> Iterator[tuple[str, str]]:
    for name in EVERYBODY - {"jsi18n", "logout", "app_list"}:
        yield "GET", reverse(f"admin:{name}")
    for app in ("matches", "agents_registry", "auth"):
        yield "GET", reverse("admin:app_list", args=[app])
    for league in LEAGUES:
        for name, lines in LINES.items():
            for line in lines:
                path = reverse(f"admin:{name}", args=line.args(make.MadeLeague(league, made.players, made.referees)))
                if line.get == 200:
                    yield "GET", path
                if line.post == 200:
                    yield "POST", path
        path = reverse("admin:matches_league_correct", args=[league])
        yield from (("GET", f"{path}?kind={kind}&match=R1M1") for kind in CORRECTIONS)
    for agent in Agent.objects.all():
        yield "GET", reverse("admin:agents_registry_agent_change", args=[agent.pk])
    yield "GET", reverse("admin:matches_league_correction_undo", args=["fall", 1])


@pytest.mark.exhaustive
def test_no_page_of_the_desk_has_english_in_hebrew(made: make.MadeLeague) -> None:
    client, own, wrong = instructor(), texts_by_people(), []
    for method, path in dict.fromkeys(addresses_of_the_desk(made)):
        wrong += untranslated(client, own, method, path)
    assert wrong == [], "\n".join(wrong)


@pytest.mark.exhaustive
def test_no_public_page_has_english_in_hebrew(made: make.MadeLeague) -> None:
    client, own, wrong = reader(), texts_by_people(), []
    shown = PAGES | {"check_report": tuple((check,) for check in Check.objects.values_list("pk", flat=True))}
    for name, every in shown.items():
        for args in every:
            wrong += untranslated(client, own, "GET", reverse(name, args=args))
    for path in ("/nowhere/", "/leagues/nowhere/", "/admin/login/"):
        wrong += untranslated(client, own, "GET", path)
    for path, data in {
        "/admin/login/": {"username": "nobody", "password": "wrong"},
        "/check": {"endpoint": "ftp://example.org"},
        "/leagues/fall/mine/": {"secret": "wrong"},
    }.items():
        wrong += untranslated(client, own, "POST", path, data)
    for member in made.players:
        owner = reader()
        assert owner.post("/leagues/fall/mine/", {"secret": member.token}).status_code == 303
        wrong += untranslated(owner, own, "GET", "/leagues/fall/mine/")
    assert wrong == [], "\n".join(wrong)


@pytest.mark.parametrize(
    ("role", "what"),
    # Every third of them has each outcome once.
    sampled(product([PLAYER, REFEREE, MANAGER], EXCHANGES), every=3),
    ids=lambda one: getattr(one, "name", one),
)
def test_no_report_of_a_check_has_english_in_hebrew(role: Role, what: str) -> None:
    check = rich.check(make.player("Checked", make.open_league("fall").pk).agent, passed=False)
    Check.objects.filter(pk=check.pk).update(role=role.name, report=by_the_rules(role, what).to_json())
    wrong = untranslated(
        reader(), texts_by_people(), "GET", reverse("check_report", args=[check.pk]), allowed=ALLOWED | PROTOCOL
    )
    assert wrong == [], "\n".join(wrong)


MARKS = frozenset(("X", "O", "KeyError", "x'"))
"""Marks of Tic-Tac-Toe, and words of an agent's own error."""


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=pytest.mark.exhaustive if kind in ("lost", "drawn") else ()) for kind in REPORTS],
)
def test_no_report_of_a_practice_match_has_english_in_hebrew(kind: str) -> None:
    practice = practised(make.league(players=2).players[0].agent, REPORTS[kind]())
    path = reverse("practice_report", args=[practice.pk])
    wrong = untranslated(reader(), texts_by_people(), "GET", path, allowed=ALLOWED | PROTOCOL | MARKS)
    assert wrong == [], "\n".join(wrong)


def test_every_public_route_is_in_pages_or_no_pages() -> None:
    names = {one.name for one in get_resolver("matches.audience.urls").url_patterns if isinstance(one, URLPattern)}
    assert names - {None} == set(PAGES) | NO_PAGES


# Notes on registrations, refused moves, reasons -------------------------------------------------------------------

REGISTRATION_NOTES = [
    one
    for one in Code
    if {"field", "league", "wanted", "kind"} & one.names or one.name.startswith(("NAMED", "ADDRESS"))
]
FILLED = {"field": "player_meta.v", "used": "R1M1", "kind": "GAME_OVER", "expected": "P01", "id": "P02"}
REFUSED_MOVES = [
    ("tic_tac_toe", "cell 3 is taken"),
    ("tic_tac_toe", "move_data.choice must be a cell: an integer from 0 to 8"),
    ("connect_four", "column 3 is full"),
    ("connect_four", "move_data.choice must be a column: an integer from 0 to 6"),
    ("even_odd_numbers", "move_data.choice must be a number: an integer from 1 to 10"),
    ("even_odd", 'parity_choice must be exactly "even" or "odd"'),
    ("even_odd", "The answer has no parity_choice"),
]
REASONS = (
    ("cancelled by the instructor", "בוטל על ידי המרצה"),
    ("held for 60 s after 3 lost referees", "הוחזק 60 שנ׳ אחרי אובדן 3 שופטים"),
    ("P01 was withdrawn: not called", "השחקן P01 הוצא מהליגה: לא נשלחה אליו פנייה"),
    ("P01 was disqualified: פגש את עצמו", "השחקן P01 נפסל: \u2068פגש את עצמו\u2069"),
)
WORDS = PROTOCOL | {"sender", "meta", "YYYY-MM-DDTHH", "name"}


def test_the_notes_on_a_registration_are_shown_in_hebrew() -> None:
    made = make.league("fall", players=1)
    notes = [str(note(one, **{name: FILLED.get(name, "42") for name in one.names})) for one in REGISTRATION_NOTES]
    Agent.objects.filter(pk=made.players[0].agent.pk).update(notes=notes)
    client, own, wrong = instructor(), texts_by_people(), []
    for path in (
        f"/admin/agents_registry/agent/{made.players[0].agent.pk}/change/",
        "/admin/matches/league/fall/change/",
    ):
        page = client.get(path).content.decode()
        assert page.count("42") >= len(REGISTRATION_NOTES) / 2, path
        wrong += untranslated(client, own, "GET", path, allowed=ALLOWED | WORDS)
    assert wrong == [], "\n".join(wrong)


@pytest.mark.parametrize(("game", "refusal"), sampled(REFUSED_MOVES, every=3))
def test_a_games_refusal_of_a_move_is_shown_in_hebrew(game: str, refusal: str) -> None:
    made = make.running_league("fall", players=2)
    make.look()
    League.objects.update(game_type=game)
    fault = {
        "player_id": "P02",
        "error_code": "E004",
        "message_type": "CHOOSE_MOVE_CALL",
        "tries": 4,
        "limit_s": 30,
        "cause": "ILLEGAL_MOVE",
        "sentence": "P02 answered with no legal move",
        "note": note(Code.NOT_WANTED, sentence=refusal, seen="7").to_json(),
    }
    match = Match.objects.get()
    make.report(match, "P01", **make.no_answer_from(match, "P02") | {"faults": [fault]})
    page = reverse("match", args=["fall", "R1M1"])
    with override("he"):
        sentence = in_words(refusal, gettext)
    assert sentence in unescape(reader().get(page).content.decode())
    own = [*texts_by_people(), *(member.agent.display_name for member in made.players)]
    assert untranslated(reader(), own, "GET", page, allowed=ALLOWED | PROTOCOL) == []


@pytest.mark.parametrize(("reason", "shown"), sampled(REASONS, every=3))
def test_why_a_match_was_not_played_is_shown_in_hebrew(reason: str, shown: str) -> None:
    made = make.running_league("fall", players=2)
    make.look()
    results.cancel(league_id="fall", match_id="R1M1", why=reason)
    own = [*texts_by_people(), *(member.agent.display_name for member in made.players)]
    path = reverse("match", args=["fall", "R1M1"])
    assert untranslated(reader(), own, "GET", path) == []
    assert shown in unescape(reader().get(path).content.decode())


def test_why_a_player_is_silent_is_shown_in_hebrew_on_the_desk() -> None:
    made = make.running_league("fall", players=2)
    fault = {"cause": Cause.ILLEGAL_MOVE, "player_id": "P02", "message_type": "GAME_OVER", "tries": 4, "limit_s": 2.5}
    sentence = describe({**fault, "detail": str(note(Code.NOT_WANTED, sentence="cell 3 is taken", seen="3"))})
    Agent.objects.filter(pk=made.players[1].agent.pk).update(problem=f"it said “42”; {sentence}", ping_wanted=False)
    path = "/admin/matches/league/fall/change/"
    assert "תא 3 תפוס" in instructor().get(path).content.decode()
    assert untranslated(instructor(), texts_by_people(), "GET", path) == []
