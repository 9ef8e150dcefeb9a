"""``practice_match``: an agent starts practice matches of its own; no other agent can be named."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from matches.models import Check
from tests import factories as make
from tests.leaguesite.mcp.test_mounting import ask, call

pytestmark = pytest.mark.django_db


def refusal(client: Client, token: str, **arguments: Any) -> dict[str, Any]:
    result = ask(client, "tools/call", token, name="practice_match", arguments=arguments)
    assert result["isError"], result
    content: dict[str, Any] = result["structuredContent"]
    return content


def test_the_caller_practises_whichever_agent_the_call_names(client: Client) -> None:
    made = make.league(players=2)
    other = made.players[1].agent
    named = {"endpoint": other.endpoint, "player_id": other.code, "agent_id": other.code}
    answer = call(client, "practice_match", made.players[0].token, opponent="hard", second=True, **named)
    practice = Check.practices.get()
    assert (practice.agent, practice.opponent, practice.second) == (made.players[0].agent, "hard", True)
    assert (answer["practice_id"], answer["state"], answer["report"]) == (str(practice.pk), "WANTED", None)
    again = call(client, "practice_match", made.players[0].token, practice_id=answer["practice_id"])
    assert (again["practice_id"], again["ask_again_after_s"]) == (answer["practice_id"], 2.0)
    assert not Check.objects.exists()


@pytest.mark.parametrize(
    ("wish", "code", "field"),
    [
        ({"opponent": "godlike"}, "E002", "opponent"),
        ({"opponent": 7}, "E002", "opponent"),
        ({"game_type": ["chess"]}, "E002", "game_type"),
        ({"practice_id": "no-id"}, "E002", "practice_id"),
        ({"practice_id": {"$gt": ""}}, "E002", "practice_id"),
    ],
)
def test_a_practice_match_with_an_invalid_argument_is_refused(
    client: Client, wish: dict[str, Any], code: str, field: str
) -> None:
    refused = refusal(client, make.league(players=2).players[0].token, **wish)
    assert (refused["error_code"], refused["context"]["field"]) == (code, field)
    assert not Check.checks_and_practices.exists()


def test_a_practice_match_of_a_referee_is_refused(client: Client) -> None:
    refused = refusal(client, make.league(players=2).referees[0].token)
    assert refused["error_description"]
    assert not Check.checks_and_practices.exists()
