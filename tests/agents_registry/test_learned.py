"""What referees find out of agents is kept with them (ruling, section 3)."""

import pytest

from agents_registry import learned
from matches.models import Match
from tests import factories as make

pytestmark = pytest.mark.django_db


def test_a_server_at_another_path_is_called_there_and_stays_who_it_is() -> None:
    make.open_league("fall")
    player = make.join("Alpha", "fall", endpoint="http://127.0.0.1:8101")
    before = player.fresh()
    learned.learn_path(agent_id=before.pk, path="/")
    learned.learn_path(agent_id=before.pk, path="/")
    after = player.fresh()
    assert (after.endpoint, after.endpoint_key) == ("http://127.0.0.1:8101/", before.endpoint_key)
    assert after.notes == [*before.notes, "address was http://127.0.0.1:8101/mcp, found at http://127.0.0.1:8101/"]
    again = make.join("Alpha", "fall", endpoint="http://127.0.0.1:8101").fresh()
    assert (again.pk, again.endpoint) == (before.pk, "http://127.0.0.1:8101/mcp")


def test_what_a_report_tells_is_kept() -> None:
    place = make.playing(players=2)
    match = Match.objects.get(league_id="fall", match_id="R1M1")
    make.report(match, "P01", spoken={"P01": {"GAME_INVITATION": "flat"}}, found_at={"P02": "/mcp/"})
    first, second = (one.fresh() for one in place.players)
    assert (first.spoken, first.endpoint) == ({"GAME_INVITATION": "flat"}, "http://localhost:8101/mcp")
    assert (second.spoken, second.endpoint) == ({}, "http://localhost:8102/mcp/")
