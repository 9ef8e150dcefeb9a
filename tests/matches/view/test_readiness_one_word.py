"""One agent has one word on every page and in the API, whatever its check and its league's limits are."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from matches.audience.pages import mine
from matches.desk import overview
from matches.models import League
from matches.view import readiness
from matches.view.wall import wall
from tests import factories as make
from tests.matches.reports import clause
from tests.matches.view.test_readiness_wall import failing, store_check

pytestmark = pytest.mark.django_db
SLOW = {"clauses": (clause("join.in_time", elapsed_ms=20), clause("choice.in_time", elapsed_ms=9000))}
CASES: list[Any] = [
    ({}, 30, "ready"),
    pytest.param(SLOW, 30, "ready", marks=pytest.mark.exhaustive),
    (SLOW, 10, "slow"),
    (SLOW, 2, "too_slow"),
    pytest.param(failing("choice.in_time"), 2, "too_slow", marks=pytest.mark.exhaustive),
    (failing("join.accepts"), 30, "wrong_answers"),
    (failing("http.reached", came=None), 30, "unreachable"),
]


@pytest.mark.parametrize(("how", "limit_s", "word"), CASES)
def test_every_page_has_the_same_word(client: Client, how: dict[str, Any], limit_s: float, word: str) -> None:
    made = make.league(players=2, move_timeout_s=limit_s)
    agent = made.players[0].agent
    check = store_check(agent, **how)
    known = readiness.readiness([agent])[agent.pk]
    label = known.label
    assert known.word == word
    assert known.passed is (word in ("ready", "slow"))
    assert next(tile.state for tile in wall(made.league)) == word
    assert client.get("/api/leagues/fall/agents").json()[0]["ready"] == word
    assert client.get(f"/api/checks/{check.pk}").json()["verdict"] == word
    assert f"{label[:1].upper()}{label[1:]}: " in client.get(f"/check/{check.pk}").content.decode()
    assert f'data-ready="{word}"' in client.get("/leagues/fall/").content.decode()
    assert mine.verdict(made.league, agent, known).headline.lower() == label
    [row, _other] = overview.context(made.league)["desk"]["players"]["rows"]
    assert row["ready"].label == label


@pytest.mark.parametrize(("how", "limit_s", "word"), CASES)
def test_the_desk_names_a_player_that_would_lose_every_match(how: dict[str, Any], limit_s: float, word: str) -> None:
    made = make.league(players=2, move_timeout_s=limit_s)
    store_check(made.players[0].agent, **how)
    sentences = [problem.text for problem in overview.context(made.league)["desk"]["problems"]]
    named = [text for text in sentences if "lose every match" in text and "P01" in text]
    assert len(named) == (word in ("too_slow", "wrong_answers", "unreachable"))


def test_other_limits_change_the_word_of_a_report(client: Client) -> None:
    made = make.league(players=1, move_timeout_s=30)
    check = store_check(made.players[0].agent, **SLOW)
    assert "Ready: " in client.get(f"/check/{check.pk}").content.decode()
    League.objects.update(settings=made.league.settings | {"move_timeout_s": 2})
    assert "Too slow: " in client.get(f"/check/{check.pk}").content.decode()
