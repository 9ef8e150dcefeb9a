"""The page of a practice match: the result in one sentence first, the board, then every message."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse
from django.utils import translation

from matches.audience import pages
from matches.audience.pages import PageKey, practice
from matches.checks import practising, runs, taking
from matches.models import Check
from tests import factories as make
from tests.matches.audience.hostile import HOSTILE, assert_harmless
from tests.matches.practised import REPORTS, failed, played, practised, step

pytestmark = pytest.mark.django_db


def shown(report: dict[str, Any], **how: Any) -> dict[str, Any]:
    """The context of the page of an ended match."""
    context = practice.context(str(practised(make.league(players=2).players[0].agent, report, **how).pk))
    assert context is not None
    return context


def text_of(text: object) -> str:
    """A text without its tags and without the direction marks around names."""
    return re.sub(r"<[^>]+>|[\u2066-\u2069]", "", str(text))


@pytest.mark.parametrize(
    ("kind", "headline", "why", "outcome"),
    [
        ("won", "Your agent won against the house's medium agent: P01 has 3 in a row. Moves: 5.", "", "PASSED"),
        ("lost", "Your agent lost against the house's medium agent: P02 has 3 in a row. Moves: 6.", "", "LOST"),
        ("drawn", "A draw with the house's medium agent.", "The board is full, and nobody has a row.", "PASSED"),
        (
            "silent",
            "Your agent lost against the house's medium agent, technically.",
            "P01 did not answer GAME_MOVE_CALL in 30 s (tries: 4): technical loss.",
            "NOT_PASSED",
        ),
        ("unreached", "Your agent could not be played with.", "The address cannot be reached.", "FAILED"),
    ],
)
def test_the_result_comes_first_in_one_sentence(kind: str, headline: str, why: str, outcome: str) -> None:
    context = shown(REPORTS[kind]())["practice"]
    assert (text_of(context["headline"]), text_of(context["why"]), context["outcome"]) == (headline, why, outcome)


def test_what_the_agent_said_itself_comes_before_why_it_lost() -> None:
    text = render_to_string("practice/fragments/practice_head.html", shown(failed("KeyError: 'x'")))
    assert text_of(text).index("Your agent said: KeyError: &#x27;x&#x27;") < text_of(text).index("P01 ")


def test_the_board_and_the_house_agents_moves_stand_between_the_messages() -> None:
    context = shown(played())
    assert [cell.mark for cell in context["match"]["board"].rows[0]] == ["X", "X", "X"]
    kinds = [text_of(step.text) if isinstance(step, practice.HouseMove) else step.kind for step in context["steps"]]
    move = "GAME_MOVE_CALL"
    assert kinds == ["GAME_INVITATION", move, "Move of P02: 3", move, "Move of P02: 4", move, "GAME_OVER"]


def test_the_failed_exchange_is_unfolded_and_its_problem_said_in_words() -> None:
    exchanges = [one for one in shown(failed())["steps"] if not isinstance(one, practice.HouseMove)]
    assert [(one.opened, one.answers[0].problem) for one in exchanges] == [
        (False, ""),
        (True, "no answer within 30 s"),
    ]
    assert not any(one.again for one in exchanges)


def test_hostile_texts_become_no_html(client: Client) -> None:
    report = failed(HOSTILE)
    report["steps"].append(step(report["steps"][0]["sent"] | {"match_id": HOSTILE}, {HOSTILE: HOSTILE}))
    report["view"] = {"board": [[HOSTILE]], "moves": [HOSTILE]}
    check = practised(make.league(players=2).players[0].agent, report)
    assert_harmless(client.get(reverse("practice_report", args=[check.pk])).content.decode())


def test_the_page_says_how_far_a_match_is_while_it_waits_and_is_played(client: Client) -> None:
    made = make.league(players=2)
    first, second = (
        practising.ask(agent=player.agent, proven=True, asked_by="127.0.0.1", opponent="hard")
        for player in made.players
    )
    path = reverse("practice_report", args=[second.pk])
    text = client.get(path).content.decode()
    assert "Waiting for its turn: checks and matches of the league come first." in text
    assert "1 practice match is before it." in text
    assert f'data-socket="/ws/practice/{second.pk}/?language=en"' in text
    [job] = taking.take(now=first.due_at)
    assert job.check_id == first.pk
    [job] = taking.take(now=second.due_at)
    runs.progress(check_id=second.pk, run=job.run, steps=[step({"message_type": "GAME_INVITATION"}, {})], view={})
    fragments = pages.fragments(PageKey("practice", item=str(second.pk)), "en")
    assert fragments is not None
    assert tuple(fragments) == practice.FRAGMENTS
    assert "Playing against the house&#x27;s hard agent." in fragments["practice_head"]
    assert "GAME_INVITATION" in fragments["practice_steps"]
    assert PageKey("practice", item=str(second.pk)).topic == runs.topic(second.pk)


def test_an_ended_match_is_rendered_once(django_assert_num_queries: Any) -> None:
    check = practised(make.league(players=2).players[0].agent)
    key = PageKey("practice", item=str(check.pk))
    before = pages.fragments(key, "en")
    with django_assert_num_queries(1):
        assert pages.fragments(key, "en") == before


def test_an_unknown_match_has_no_page(client: Client) -> None:
    unknown = "80d93c06-b331-407f-b326-546a9336a18a"
    assert client.get(f"/practice/{unknown}").status_code == 404
    assert client.get(f"/practice/{unknown}.json").status_code == 404
    assert pages.fragments(PageKey("practice", item=unknown), "en") is None


def test_the_report_stays_when_its_agent_is_deleted(client: Client) -> None:
    check = practised(make.league(players=2).players[0].agent)
    Check.practices.filter(pk=check.pk).update(agent=None)
    assert client.get(f"/practice/{check.pk}").status_code == 200
    assert client.get(f"/practice/{check.pk}.json").json()["report"]["status"] == "WIN"


@pytest.mark.parametrize("kind", REPORTS)
def test_the_result_of_every_report_is_in_hebrew(kind: str) -> None:
    check = practised(make.league(players=2).players[0].agent, REPORTS[kind]())
    with translation.override("he"):
        context = practice.context(str(check.pk))
    assert context is not None
    text = f"{context['practice']['headline']} {context['practice']['why']}"
    assert re.findall(r"[A-Za-z]{3,}", text_of(text).replace("GAME_MOVE_CALL", "")) == []
