"""Players of the lobby that are gone: another player has registered at their address since."""

from __future__ import annotations

import pytest

from agents_registry.models import Agent, RosterEntry
from tests import factories as make

pytestmark = pytest.mark.django_db


def names_in(league_id: str) -> list[str]:
    return sorted(Agent.objects.filter(league_id=league_id).values_list("name", flat=True))


def test_a_player_at_whose_address_another_has_registered_since_does_not_enter_the_league() -> None:
    ghost = make.player("Ghost", port=8101)
    make.player("Living", port=8101)
    make.player("Neighbour", port=8102)
    make.open_league("fall")
    assert names_in("fall") == ["Living", "Neighbour"]
    assert ghost.fresh().notes[-1] == "stayed in the lobby: Living has registered at its address since"


def test_the_player_that_registered_last_at_an_address_enters_the_league() -> None:
    make.player("Alpha", port=8101)
    make.player("Beta", port=8101)
    make.player("Alpha", port=8101)
    make.open_league("fall")
    assert names_in("fall") == ["Alpha"]


def test_one_program_under_several_paths_has_a_seat_for_each() -> None:
    make.player("Alpha", endpoint="http://127.0.0.1:8101/one")
    make.player("Beta", endpoint="http://127.0.0.1:8101/two")
    make.open_league("fall")
    assert names_in("fall") == ["Alpha", "Beta"]


def test_several_names_of_one_owner_all_enter() -> None:
    make.player("Alpha", port=8101)
    make.player("Beta", port=8101)
    make.open_league("other", registration_code="none")
    person = RosterEntry.objects.create(league_id="other", name="Ada", email="ada@example.com", code="ada-1")
    Agent.objects.filter(league=None).update(owner=person)
    make.open_league("fall")
    assert names_in("fall") == ["Alpha", "Beta"]
