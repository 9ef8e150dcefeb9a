"""What somebody behind the same address sends on purpose keeps nobody else there from registering."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from agents_registry.attempts import SAME_SECRET, attempts
from tests import factories as make
from tests import wire
from tests.agents_registry.test_attempts import SCHOOL, Clock
from tests.leaguesite.test_limits import asked

pytestmark = pytest.mark.django_db
CODE = "cs101"


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(attempts, "_clock", clock)
    return clock


def status(answer: Any) -> Any:
    return answer.status_code, answer.json().get("result", {}).get("status")


def test_the_classs_code_at_a_door_that_wants_another_keeps_nobody_out(client: Client) -> None:
    """The page of one's own agent takes personal codes; a student takes it for the place of the class's code."""
    make.open_league("fall", registration_code=CODE)
    for _ in range(SAME_SECRET.amount + 1):
        assert client.post("/leagues/fall/mine/", {"secret": CODE}, REMOTE_ADDR=SCHOOL).status_code == 403
    mine = wire.player_request("Ada", port=8101, code=CODE, league_id="fall")
    assert status(asked(client, "register_player", mine)) == (200, "ACCEPTED")


def test_nor_does_the_code_of_one_league_at_another(client: Client) -> None:
    make.open_league("fall", registration_code=CODE)
    make.open_league("spring", registration_code="another")
    for number in range(SAME_SECRET.amount + 1):
        other = wire.player_request(f"Mallory {number}", port=9000 + number, code=CODE, league_id="spring")
        assert status(asked(client, "register_player", other)) == (200, "REJECTED")
    mine = wire.player_request("Ada", port=8101, code=CODE, league_id="fall")
    assert status(asked(client, "register_player", mine)) == (200, "ACCEPTED")
