"""A league that is deleted is hidden at once, and its rows go in pieces; stopping one writes no match to come."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.utils import timezone

from agents_registry.models import Agent, AgentToken, RosterEntry
from league_sdk.protocol.states import OPEN, AgentState, MatchState
from matches.conducting import due
from matches.desk import acting
from matches.desk.actions import ACTIONS
from matches.league import lifecycle, making, notices, opening, removing, seasons, series
from matches.league.errors import ActionRefused, NotFound
from matches.models import AuditEntry, Broadcast, Event, League, Match, Message, Round, Series
from matches.view import queries, roles
from tests import factories as make
from tests import rich, wire

pytestmark = pytest.mark.django_db
PIECE = 4


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = tuple((model, path, PIECE) for model, path, _rows in removing._ROWS)
    monkeypatch.setattr(removing, "_ROWS", rows)
    for name in ("ROWS_PER_PIECE", "LARGE_ROWS_PER_PIECE"):
        monkeypatch.setattr(removing, name, PIECE)


@contextmanager
def writing(seen: list[tuple[str, int]]) -> Iterator[None]:
    """Append the verb of each statement that writes, and how many rows it changed."""

    def note(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        result = execute(sql, params, many, context)
        verb = sql.split(maxsplit=1)[0]
        if verb in ("DELETE", "UPDATE", "INSERT"):
            seen.append((verb, context["cursor"].rowcount))
        return result

    with connection.execute_wrapper(note):
        yield


def look() -> bool:
    return due.look(busy_agents=[], draining=False).pieces


def look_until_gone() -> int:
    looks = 0
    while look():
        looks += 1
    return looks


def rows_of(league_id: str) -> dict[str, int]:
    """How many rows each table has that leads to a league."""
    paths = ["league", "match__league", "agent__league", "broadcast__league"]
    counted = {}
    for model in apps.get_models():
        names = {field.name for field in model._meta.get_fields()}
        for path in paths:
            if path.split("__")[0] in names and model is not AuditEntry:
                counted[f"{model.__name__} {path}"] = model._base_manager.filter(**{path: league_id}).count()
    return {name: count for name, count in counted.items() if count}


def test_a_deleted_league_goes_in_pieces_and_nothing_of_it_is_left() -> None:
    made = rich.over()
    other = make.league("other", players=2)
    kept = rows_of("other")
    before = rows_of(made.league_id)
    assert before["Message match__league"] > 2 * PIECE
    seasons.delete(league_id=made.league_id, typed=made.league_id)
    seen: list[tuple[str, int]] = []
    with writing(seen):
        looks = look_until_gone()
    assert looks > 8
    assert [pair for pair in seen if pair[1] > PIECE] == []
    assert rows_of(made.league_id) == {}
    assert not League.with_hidden.filter(pk=made.league_id).exists()
    assert rows_of("other") == kept
    assert other.league.pk == "other"


def test_no_match_of_a_deleted_league_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    made = rich.over()
    seasons.delete(league_id=made.league_id, typed=made.league_id)
    monkeypatch.setattr(Match, "from_db", None)
    monkeypatch.setattr(Message, "from_db", None)
    look_until_gone()
    assert not Match.objects.exists()


def test_the_next_conductor_goes_on_after_a_stop_in_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    make.league(players=5)
    opening.close_registration(league_id="fall")
    seasons.delete(league_id="fall", typed="fall")
    look()
    assert Match.objects.count() == 10 - PIECE
    with monkeypatch.context() as broken:
        broken.setattr(removing, "delete_rows", lambda *_: (_ for _ in ()).throw(RuntimeError("killed")))
        with pytest.raises(RuntimeError, match="killed"):
            look()
    look_until_gone()
    assert (Match.objects.count(), Round.objects.count(), Agent.objects.filter(kind="player").count()) == (0, 0, 0)


def test_nothing_of_a_league_that_is_being_deleted_is_seen(client: Client, admin_client: Client) -> None:
    made = rich.over()
    make.open_league("other")
    series.put(league_id=made.league_id, series_id="course")
    token = made.players[0].token
    code = RosterEntry.objects.filter(league_id=made.league_id).values_list("code", flat=True)[0]
    acting.carry_out(ACTIONS[acting.LEAGUE, "delete"], by=None, league_id=made.league_id, typed=made.league_id)
    assert rows_of(made.league_id)["Match league"] > 0
    name = made.league_id
    for path in ("", "screen/", "players/P01/", "join/", "mine/", "matches/R1M1/"):
        assert client.get(f"/leagues/{name}/{path}").status_code == 404, path
    for path in ("", "/standings", "/rounds", "/matches", "/ledger", "/events", "/agents"):
        assert client.get(f"/api/leagues/{name}{path}").status_code == 404, path
    assert name not in client.get("/api/leagues").content.decode()
    assert name not in client.get("/").content.decode()
    assert client.get("/series/course/").status_code == 404
    assert not Series.objects.exists()
    for page in ("matches/league/", "agents_registry/agent/", "matches/match/"):
        shown = admin_client.get(f"/admin/{page}")
        assert (shown.status_code, made.players[0].agent.display_name in shown.content.decode()) == (200, False), page
    assert admin_client.get(f"/admin/matches/league/{name}/change/").status_code == 404
    asked = wire.post(client, wire.request("get_standings", {"league_id": name})).json()
    assert asked["error"]["data"]["error_code"] == "E014"
    told = wire.request("get_next_match", {"auth_token": token, "league_id": "other"})
    assert wire.post(client, told).json()["error"]["data"]["error_code"] == "E012"
    request = wire.player_request("New", league_id=name, code=code)
    registered = wire.post(client, wire.request("register_player", request)).json()
    assert "error" in registered or registered["result"]["status"] == "REJECTED"
    assert not AgentToken.objects.filter(agent__league_id=name).exists()
    boss = User.objects.get(username="admin")
    assert [league.pk for league in roles.leagues(boss, roles.Permission.WATCH)] == ["other"]


def test_its_id_is_free_only_when_it_is_gone(admin_client: Client) -> None:
    make.league(players=3)
    seasons.delete(league_id="fall", typed="fall")
    sentence = "is being deleted or imported: wait until that is done, or choose another id"
    with pytest.raises(ActionRefused, match=sentence):
        make.open_league("fall")
    form = {"league_id": "fall", "display_name": "F", "game_type": "even_odd"}
    page = admin_client.post("/admin/matches/league/add/", form)
    assert sentence in page.content.decode()
    with pytest.raises(NotFound, match="There is no league"):
        seasons.delete(league_id="fall", typed="fall")
    for verb in (lifecycle.stop, lifecycle.start_league, seasons.archive):
        with pytest.raises(NotFound):
            verb(league_id="fall")
    look_until_gone()
    make.open_league("fall")
    assert not Agent.objects.filter(league_id="fall").exists()


def test_nothing_of_it_is_played_or_told_any_more() -> None:
    made = make.finished_league(players=2) if hasattr(make, "finished_league") else rich.over()
    Match.objects.filter(league_id=made.league_id).update(
        state=MatchState.READY, status="", finished_at=None, winner=None
    )
    seasons.delete(league_id=made.league_id, typed=made.league_id)
    assert set(Match.objects.values_list("state", flat=True)) == {"PENDING"}
    plan = due.look(busy_agents=[], draining=False, pieces=False)
    assert (plan.starts, plan.parcels, plan.pings) == ([], {}, [])
    states = Agent.objects.filter(league_id=made.league_id, kind="player").values_list("state", flat=True)
    assert set(states) == {AgentState.SHUTDOWN}
    assert not Broadcast.objects.filter(deliveries__state="PENDING").exists()


def test_a_schedule_that_is_being_made_is_made_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "MAX_MATCHES_AT_ONCE", 5)
    monkeypatch.setattr(making, "MATCHES_PER_PIECE", 2)
    make.league(players=7)
    opening.close_registration(league_id="fall")
    look()
    seasons.delete(league_id="fall", typed="fall")
    look_until_gone()
    assert not Round.objects.exists()
    assert not Event.objects.filter(league_id="fall").exists()


def test_a_hidden_league_whose_time_has_not_come_stays() -> None:
    """As one that is being imported does, until its import is given up."""
    make.league(players=3)
    League.objects.filter(pk="fall").update(remove_at=timezone.now() + timedelta(minutes=5))
    assert look() is False
    assert Agent.objects.filter(league_id="fall", kind="player").count() == 3


# Stopping ---------------------------------------------------------------------------------------


def test_a_stop_writes_a_bounded_number_of_matches() -> None:
    """It was every match of the league: two million of 2,000 players."""
    make.referee()
    for players in (6, 24):
        name = f"of{players}"
        make.insert_players(make.open_league(name).pk, players)
        lifecycle.start_league(league_id=name)
        pending = Match.objects.filter(league_id=name, state="PENDING").count()
        assert pending == players * (players - 1) // 2 - players // 2
        seen: list[tuple[str, int]] = []
        with writing(seen):
            lifecycle.stop(league_id=name)
        # The most rows are those of its players and of what waited to be told to them.
        assert max(rows for _verb, rows in seen) <= players + 1
        assert set(Match.objects.filter(league_id=name).values_list("state", flat=True)) == {"PENDING"}


# Finding matches --------------------------------------------------------------------------------


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL chooses by statistics, of which a test has none")
def test_matches_of_a_player_and_open_ones_are_found_without_looking_at_every_match_of_the_league() -> None:
    made = make.running_league(players=4)
    wanted = [
        queries.matches_of_player(made.league, "P01"),
        Match.objects.filter(round__league=made.league, state__in=OPEN),
        Match.objects.filter(round__league=made.league).exclude(state=MatchState.FINISHED),
    ]
    for rows in wanted:
        searched = [line for line in rows.explain().splitlines() if "matches_match " in line]
        assert searched != []
        assert [line for line in searched if "(league_id=?)" in line or "SCAN" in line] == []
    assert [match.match_id for match in wanted[0]] == ["R1M1", "R2M1", "R3M1"]


def test_a_player_that_was_moving_ends_no_look_of_the_conductor() -> None:
    """A conductor whose look fails starts no match of any league."""
    made = make.league(players=2, league_id="gone")
    move = {"proven": True, "taken": False, "next_at": 0.0, "since": 0.0, "row": {"endpoint": "http://127.0.0.1:9/mcp"}}
    made.league.agents.filter(kind="player").update(moving=move)
    removing.hide(made.league)
    assert not Agent.objects.exclude(moving={}).exists()
    assert look_until_gone() > 0
    assert not League.with_hidden.filter(pk="gone").exists()


def test_no_notice_of_a_deleted_league_is_withdrawn() -> None:
    rich.over()
    said = notices.say(league_id="fall", text="Welcome", by="ann")
    seasons.delete(league_id="fall", typed="fall")
    with pytest.raises(NotFound):
        notices.withdraw(league_id="fall", number=said.pk)
