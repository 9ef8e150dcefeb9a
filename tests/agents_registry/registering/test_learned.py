"""What referees find out about agents is stored (ruling, section 3)."""

import pytest

from agents_registry.models import Agent
from agents_registry.registering import learned
from agents_registry.requests.reading import MAX_NOTES
from league_sdk.dialects.memory import MAX_SHARED_BYTES
from league_sdk.protocol import rpc
from league_sdk.protocol.messages import MessageType
from matches.models import Match
from tests import factories as make

pytestmark = pytest.mark.django_db


def test_a_server_at_another_path_is_called_there_and_keeps_its_identity() -> None:
    make.open_league("fall")
    player = make.player("Alpha", "fall", endpoint="http://127.0.0.1:8101")
    before = player.fresh()
    learned.learn_path(agent_id=before.pk, path="/")
    learned.learn_path(agent_id=before.pk, path="/")
    after = player.fresh()
    assert (after.endpoint, after.endpoint_key) == ("http://127.0.0.1:8101/", before.endpoint_key)
    assert after.notes == [*before.notes, "address was http://127.0.0.1:8101/mcp, found at http://127.0.0.1:8101/"]
    again = make.player("Alpha", "fall", endpoint="http://127.0.0.1:8101").fresh()
    assert (again.pk, again.endpoint) == (before.pk, "http://127.0.0.1:8101/mcp")


def test_a_match_report_stores_shapes_and_paths_of_the_players() -> None:
    made = make.running_league(players=2)
    match = Match.objects.get(league_id="fall", match_id="R1M1")
    make.report(match, "P01", spoken={"P01": {"GAME_INVITATION": "flat"}}, found_at={"P02": "/mcp/"})
    first, second = (one.fresh() for one in made.players)
    assert (first.spoken, first.endpoint) == ({"GAME_INVITATION": "flat"}, "http://localhost:8101/mcp")
    assert (second.spoken, second.endpoint) == ({}, "http://localhost:8102/mcp/")


OWN = {
    "own": {"LEAGUE_STANDINGS_UPDATE": {"name": "notify_standings", "arguments": [["rows", "array", True, []]]}},
    "session": True,
}


def test_a_match_report_stores_the_own_names_of_an_agents_tools() -> None:
    made = make.running_league(players=2)
    match = Match.objects.get(league_id="fall", match_id="R1M1")
    first = made.players[0].fresh()
    odd = {"own": {"GAME_OVER": {"name": 7}, "SONG": {"name": "x"}}, "calls_back": ["GAME_INVITATION"], "session": "no"}
    registrations = {"P01": first.registration}
    make.report(match, "P01", learned={"P01": OWN, "P02": odd}, registrations=registrations)
    assert [one.fresh().learned for one in made.players] == [OWN, {}]


def test_a_students_referee_changes_neither_where_nor_how_others_are_called() -> None:
    made = make.running_league(players=2)
    Agent.objects.filter(kind="referee").update(site_key=False)
    match = Match.objects.get(league_id="fall", match_id="R1M1")
    before = made.players[1].fresh()
    claims = {"P02": OWN | {"mcp": "2026-07-28"}}
    make.report(match, "P01", found_at={"P02": "/nobody"}, learned=claims, registrations={"P02": before.registration})
    after = made.players[1].fresh()
    assert (after.endpoint, after.learned) == (before.endpoint, {})


def test_tools_learned_in_many_reports_take_no_more_room_than_those_of_one() -> None:
    make.open_league("fall")
    player = make.player("Alpha", "fall").fresh()
    arguments = [["a" * 50 + str(n), "string", True, []] for n in range(30)]
    for kind in MessageType:
        own = {str(kind): {"name": f"tool{kind}", "arguments": arguments}}
        learned.learn_dialect(agent_id=player.pk, spoken={}, learned={"own": own})
    player.refresh_from_db()
    assert 0 < sum(len(rpc.dumps(tool)) for tool in player.learned["own"].values()) <= MAX_SHARED_BYTES


def test_the_newest_notes_of_a_registration_are_kept_without_duplicates() -> None:
    make.open_league("fall")
    player = make.player("Alpha", "fall").fresh()
    before = list(player.notes)
    learned.add_notes(agent_id=player.pk, notes=["one", "two", "one"], registration=player.registration)
    learned.add_notes(agent_id=player.pk, notes=["one"], registration=player.registration)
    learned.add_notes(agent_id=player.pk, notes=["of another"], registration=f"{player.pk}.9")
    learned.add_notes(agent_id=player.pk, notes=[])
    player.refresh_from_db()
    assert player.notes == [*before, "one", "two"]
    learned.add_notes(agent_id=player.pk, notes=[str(number) for number in range(MAX_NOTES)])
    player.refresh_from_db()
    assert player.notes == [str(number) for number in range(MAX_NOTES)]


def test_facts_about_an_earlier_registration_are_not_stored() -> None:
    made = make.running_league(players=2)
    match = Match.objects.get(league_id="fall", match_id="R1M1")
    earlier = made.players[0].fresh().registration
    make.player(made.players[0].fresh().name, "fall", port=8101)
    spoken = {"P01": {"GAME_INVITATION": "flat"}}
    make.report(match, "P01", spoken=spoken, learned={"P01": OWN}, registrations={"P01": earlier})
    assert [(one.spoken, one.learned) for one in [made.players[0].fresh()]] == [({}, {})]


def test_a_player_that_registers_again_starts_without_learned_facts() -> None:
    who = make.player("Alpha")
    learned.learn_dialect(agent_id=who.fresh().pk, spoken={"GAME_INVITATION": "flat"}, learned=OWN)
    assert who.fresh().learned == OWN
    again = make.player("Alpha").fresh()
    assert (again.pk, again.spoken, again.learned, again.registrations) == (who.fresh().pk, {}, {}, 2)
