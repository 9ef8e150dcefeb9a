"""Practice matches by the API: with the agent's token alone, and at no address that a caller names."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from matches.checks import runs, taking
from matches.models import Check
from tests import factories as make

pytestmark = pytest.mark.django_db
URL = "/api/practice"


def post(client: Client, **body: Any) -> Any:
    return client.post(URL, body, content_type="application/json")


def test_an_agent_practises_and_its_report_is_read_by_its_id(client: Client) -> None:
    made = make.league(players=2)
    answer = post(client, auth_token=made.players[0].token, opponent="hard", second=True)
    assert answer.status_code == 201
    row = answer.json()
    expected = {"state": "WANTED", "player_id": "P01", "game_type": "even_odd", "opponent": "hard", "second": True}
    assert expected.items() <= row.items()
    assert (row["url"], row["report"]) == (f"/practice/{row['practice_id']}", None)
    [job] = taking.take(now=timezone.now())
    steps = [{"message_type": "", "move": 3}]
    runs.progress(check_id=job.check_id, run=1, steps=steps, view={})
    shown = client.get(f"{URL}/{row['practice_id']}").json()
    assert (shown["state"], shown["report"]["steps"], shown["ask_again_after_s"]) == ("RUNNING", steps, 2.0)


@pytest.mark.parametrize(
    ("wish", "status", "field"),
    [
        ({"auth_token": "tok_nobody"}, 403, None),
        ({"opponent": "godlike"}, 422, "opponent"),
        ({"game_type": "chess"}, 422, "game_type"),
        ({"endpoint": "http://127.0.0.1:8102/mcp"}, 422, "endpoint"),
        ({"second": "perhaps"}, 422, "second"),
    ],
)
def test_a_practice_match_is_refused_with_the_field_that_is_wrong(
    client: Client, wish: dict[str, Any], status: int, field: str | None
) -> None:
    made = make.league(players=2)
    refused = post(client, **{"auth_token": made.players[0].token} | wish)
    assert (refused.status_code, refused.json()["field"]) == (status, field)
    assert not Check.checks_and_practices.exists()


def test_a_caller_that_asks_too_soon_is_told_in_how_many_seconds_to_ask_again(client: Client) -> None:
    token = make.league(players=2).players[0].token
    assert post(client, auth_token=token).status_code == 201
    refused = post(client, auth_token=token, opponent="hard")
    assert (refused.status_code, refused["Retry-After"]) == (429, "5")


def test_a_check_is_not_a_practice_match_and_the_other_way_round(client: Client) -> None:
    made = make.league(players=2)
    practice = post(client, auth_token=made.players[0].token).json()["practice_id"]
    check = client.post("/api/checks", {"auth_token": made.players[1].token}, content_type="application/json").json()
    for path in (f"/api/checks/{practice}", f"/api/practice/{check['check_id']}", f"{URL}/no-id"):
        assert client.get(path).status_code == 404
    for path in (f"/check/{practice}", f"/check/{practice}.json", f"/practice/{check['check_id']}.json"):
        assert client.get(path).status_code == 404
