"""The endpoints that are made from the table of actions, and how gateways are marked through one of them."""

from __future__ import annotations

from typing import Any

import pytest

from agents_registry.addresses import programs
from leaguesite.api.routes import api
from matches.desk.actions import ROWS
from matches.models import AuditEntry, Event
from matches.push import nudge
from tests import factories as make
from tests.leaguesite.script import Script


def test_every_post_that_needs_the_key_is_a_row_of_the_table_of_actions() -> None:
    paths = api.get_openapi_schema()["paths"]
    paths_with_key = {path for path, operations in paths.items() if operations.get("post", {}).get("security")}
    assert paths_with_key == {f"/api{one.api.path}" for one in ROWS if one.api is not None}


def test_every_action_of_the_desk_has_its_endpoint() -> None:
    assert [(one.subject.name, one.name) for one in ROWS if one.api is None] == []
    shared = [one for one in ROWS if sum(other.api is one.api for other in ROWS) > 1]
    assert all(one.api is not None and (one.api.switch or one.api.by_hand) for one in shared)


@pytest.mark.django_db
def test_of_two_actions_that_share_an_endpoint_the_one_that_was_meant_is_on_record(script: Script) -> None:
    make.referee("Student", port=9001, trusted=False)
    made = make.running_league("winter", players=2)
    make.report(made.match("R1M1"), "P01")
    for path, body in (
        ("/gateways", {"host": "192.0.2.7"}),
        ("/gateways", {"host": "192.0.2.7", "gateway": False}),
        ("/referees/REF01/trust", {"trusted": True}),
        ("/referees/REF01/trust", {"trusted": False}),
        ("/leagues/winter/corrections", {"kind": "points", "player_id": "P01", "points": 1, "reason": "because"}),
    ):
        assert script.post(path, body)[0] in (200, 201)
    done = AuditEntry.objects.order_by("id").values_list("action", "account", "via")
    names = ("gateway.mark", "gateway.take-back", "agent.let_judge", "agent.do_not_let_judge", "correction.make")
    assert list(done) == [(name, "", "api") for name in names]


def test_each_action_has_a_name_of_its_own() -> None:
    assert len({(one.subject, one.name) for one in ROWS}) == len(ROWS)


@pytest.mark.django_db
def test_a_gateway_is_marked_listed_and_taken_back(script: Script) -> None:
    assert [Script(key).post("/gateways", {"host": "192.0.2.7"})[0] for key in ("", "wrong")] == [401, 401]
    assert programs.gateways() == frozenset()
    assert script.post("/gateways", {"host": "192.0.2.7"}) == (200, {"host": "192.0.2.7", "gateway": True})
    assert script.get("/gateways") == (200, ["192.0.2.7"])
    status, refused = script.post("/gateways", {"host": "http://x/y"})
    assert (status, refused["field"]) == (422, "host")
    assert script.post("/gateways", {"host": "192.0.2.7", "gateway": False})[0] == 200
    assert programs.gateways() == frozenset()


@pytest.mark.django_db
def test_a_mark_by_script_is_on_record_where_it_counts_and_nudges_the_conductor(
    script: Script, django_capture_on_commit_callbacks: Any
) -> None:
    for league_id, host in (("fall", "192.0.2.7"), ("spring", "192.0.2.8")):
        make.open_league(league_id)
        make.player("Alpha", league_id, endpoint=f"http://{host}:8101/mcp")
    nudges: list[bool] = []
    detach = nudge.attach(nudges.append)
    for _ in range(2):
        with django_capture_on_commit_callbacks(execute=True):
            script.post("/gateways", {"host": "192.0.2.7"})
    detach()
    events = Event.objects.filter(kind="gateway_changed").values_list("league_id", "data")
    assert list(events) == [("fall", {"host": "192.0.2.7", "gateway": True, "user": "api"})]
    assert True in nudges


@pytest.mark.django_db
def test_a_call_may_say_what_it_knows_and_is_refused_if_that_is_no_longer_so(script: Script) -> None:
    made = make.running_league("winter", players=4)
    make.finish_round(made)
    assert script.post("/leagues/winter/rounds/start", {"round": 3})[0] == 409
    assert script.post("/leagues/winter/rounds/start", {"round": 2})[0] == 200
    status, refused = script.post("/leagues/winter/rounds/start", {"round": 2})
    assert status == 409
    assert refused["error"].startswith("Round 2 has been started already (last change on record: API, ")
    assert script.post("/leagues/winter/rounds/start", {"round": "two"})[0] == 422
    assert [script.post("/leagues/winter/pause", {"paused": known})[0] for known in (True, False)] == [409, 200]
    before = script.get("/leagues/winter/settings")[1]["settings"]
    assert script.post("/leagues/winter/settings", {"settings": {"win_points": 5}, "was": before})[0] == 200
    status, refused = script.post("/leagues/winter/settings", {"settings": {"win_points": 7}, "was": before})
    assert status == 409
    assert "win_points: 5" in refused["error"]
    assert script.get("/leagues/winter/settings")[1]["settings"]["win_points"] == 5


@pytest.mark.django_db
@pytest.mark.parametrize("forged", [{}, {"x": 1}, {"win_points": [1]}, None, 5])
def test_no_forged_knowledge_breaks_a_call(script: Script, forged: Any) -> None:
    make.running_league("winter", players=2)
    body = {"settings": {}, "was": forged}
    assert script.post("/leagues/winter/settings", body)[0] in (200, 409, 422)
