"""A player registers at another address: it is the same player, and the move counts once an answer proves it."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client

from agents_registry.models import Agent, AgentToken
from agents_registry.registering import moving, registration
from agents_registry.rosters import roster
from league_sdk.protocol.states import AgentState, MatchState
from matches.conducting import due
from matches.league import moves, opening, refusing, seasons
from matches.models import League, Match
from tests import factories as make
from tests import wire
from tests.matches.desk import clicking

pytestmark = pytest.mark.django_db
HOME, NEW_HOME, ELSEWHERE = "203.0.113.5", "203.0.113.9", "198.51.100.7"


def at(host: str, port: int = 8101) -> str:
    return f"http://{host}:{port}/mcp"


def register(
    client: Client, name: str = "Ada", *, caller: str = HOME, path: str = "/mcp", **how: Any
) -> dict[str, Any]:
    return wire.ask(client, "register_player", wire.player_request(name, **how), path=path, caller=caller)


def row(name: str = "Ada") -> Agent:
    return Agent.objects.get(name=name)


def prove(name: str = "Ada", *, answered: bool = True) -> None:
    """The new address of a player was called."""
    agent = row(name)
    moving.note_call(agent_id=agent.pk, endpoint=agent.moving["row"]["endpoint"], answered=answered)
    moves.settle()


@pytest.fixture
def ada(client: Client) -> dict[str, Any]:
    """A player of an open league, registered from its own machine."""
    make.open_league("fall")
    return register(client, endpoint=at(HOME))


def events(kind: str = "player_moved") -> list[dict[str, Any]]:
    return [event.data for event in League.objects.get(pk="fall").events.filter(kind=kind)]


def start(client: Client) -> Match:
    """The league plays its only match: Ada against Bob."""
    register(client, "Bob", caller=ELSEWHERE, endpoint=at(ELSEWHERE), league_id="fall")
    make.referee()
    opening.close_registration(league_id="fall")
    return Match.objects.get()


# Where a token registers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("paused", [False, True])
@pytest.mark.parametrize("how", [{}, {"league_id": "fall"}, {"league_id": "over"}], ids=["unnamed", "named", "stale"])
def test_a_player_of_a_running_league_comes_back_to_it_although_another_one_is_open(
    client: Client, ada: dict[str, Any], paused: bool, how: dict[str, str]
) -> None:
    start(client)
    League.objects.filter(pk="fall").update(state="RUNNING", paused=paused)
    make.open_league("next")
    make.open_league("over")
    League.objects.filter(pk="over").update(state="COMPLETED")
    back = register(client, endpoint=at(NEW_HOME), caller=NEW_HOME, auth_token=ada["auth_token"], **how)
    assert (back["status"], back["league_id"], back["player_id"]) == ("ACCEPTED", "fall", ada["player_id"])
    assert not Agent.objects.filter(league_id__in=("next", "over")).exists()


@pytest.mark.parametrize(
    ("path", "how"),
    [("/leagues/next/mcp", {}), ("/mcp", {"league_id": "next"}), ("/leagues/next/mcp", {"name": "Someone else"})],
)
def test_a_token_of_a_league_that_is_not_over_registers_in_no_other_one(
    client: Client, ada: dict[str, Any], path: str, how: dict[str, str]
) -> None:
    make.open_league("next")
    tried = register(client, caller=NEW_HOME, path=path, endpoint=at(NEW_HOME), auth_token=ada["auth_token"], **how)
    assert (tried["status"], tried["league_id"], tried["legacy_code"]) == ("REJECTED", "fall", "L003")
    assert "/leagues/fall/mcp" in tried["reason"]
    assert Agent.objects.count() == 1


def test_neither_another_name_nor_a_closed_site_leads_a_token_elsewhere(client: Client, ada: dict[str, Any]) -> None:
    start(client)
    # No league is open: without its token it would wait in the lobby for the next one.
    back = register(client, "Another name", caller=NEW_HOME, endpoint=at(NEW_HOME), auth_token=ada["auth_token"])
    assert (back["status"], back["league_id"], back["player_id"]) == ("ACCEPTED", "fall", ada["player_id"])
    assert Agent.objects.filter(league_id=None, kind="player").count() == 0
    assert (row().display_name, any("Another name" in note for note in row().notes)) == ("Ada", True)


def test_a_token_of_a_league_that_is_over_or_archived_binds_nobody(client: Client, ada: dict[str, Any]) -> None:
    League.objects.filter(pk="fall").update(state="STOPPED")
    seasons.archive(league_id="fall")
    make.open_league("next")
    new = register(client, caller=NEW_HOME, endpoint=at(NEW_HOME), auth_token=ada["auth_token"])
    assert (new["status"], new["league_id"]) == ("ACCEPTED", "next")


def test_a_token_of_the_demo_registers_nowhere(client: Client) -> None:
    make.open_league("next")
    League.objects.filter(pk="next").update(demo=True)
    house = Agent.objects.create(
        kind="player", league_id="next", name="House", display_name="House", code="P01", endpoint=at(HOME),
        endpoint_key="x", registered_at=League.objects.get().created_at,
    )  # fmt: skip
    token = "tok_" + "0" * 32
    AgentToken.objects.create(agent=house, sha256=moving.tokens.digest(token), created_at=house.registered_at)
    make.open_league("fall")
    tried = register(client, endpoint=at(HOME), auth_token=token)
    assert (tried["status"], Agent.objects.count()) == ("REJECTED", 1)


def test_who_was_taken_out_does_not_come_back_by_moving(client: Client, ada: dict[str, Any]) -> None:
    start(client)
    League.objects.filter(pk="fall").update(state="RUNNING", out={ada["player_id"]: {"word": "disqualified"}})
    make.open_league("next")
    tried = register(client, caller=NEW_HOME, endpoint=at(NEW_HOME), auth_token=ada["auth_token"])
    assert tried["status"] == "REJECTED"
    assert "disqualified" in tried["reason"]
    assert row().moving == {}


def test_owner_and_desk_read_that_a_move_waits_and_the_public_reads_no_address(
    client: Client, desk: Client, ada: dict[str, Any]
) -> None:
    back = register(client, caller=HOME, endpoint=at(NEW_HOME), auth_token=ada["auth_token"])
    answer = Client().post("/leagues/fall/mine/", {"secret": back["auth_token"]}, follow=True)
    page = answer.content.decode()
    assert at(NEW_HOME) in page and "from which no answer has come yet" in page
    assert at(NEW_HOME) in desk.get(f"{clicking.LEAGUES}fall/change/").content.decode()
    register(client, "Rival", caller=NEW_HOME, endpoint=at(NEW_HOME))
    prove()
    answer = Client().post("/leagues/fall/mine/", {"secret": back["auth_token"]}, follow=True)
    assert "start it at another port" in answer.content.decode()
    assert "it has to start at another port" in desk.get(f"{clicking.LEAGUES}fall/change/").content.decode()


# When a move counts -------------------------------------------------------------------------------------------


def test_until_an_answer_proves_it_the_old_address_is_called_and_everything_is_as_it_was(
    client: Client, ada: dict[str, Any]
) -> None:
    Agent.objects.update(spoken={"GAME_INVITATION": "canonical"}, learned={"mcp": ""}, silences=1)
    before = row()
    register(client, caller=NEW_HOME, endpoint=at(NEW_HOME), auth_token=ada["auth_token"])
    prove(answered=False)
    same = ("endpoint", "endpoint_key", "spoken", "learned", "registration", "shown_at", "silences", "dialect")
    assert [getattr(row(), name) for name in same] == [getattr(before, name) for name in same]
    assert events() == []
    prove()
    moved = row()
    assert (moved.endpoint, moved.learned, moved.silences, moved.moving) == (at(NEW_HOME), {}, 1, {})
    assert "GAME_INVITATION" not in moved.spoken
    assert (moved.registration, moved.shown_at is not None) != (before.registration, False)
    assert [event.keys() & {"player_id", "name"} for event in events()] == [{"player_id", "name"}]
    assert any(at(HOME) in note for note in moved.notes)


def test_addresses_are_in_the_private_part_of_the_event(client: Client, ada: dict[str, Any]) -> None:
    register(client, caller=NEW_HOME, endpoint=at(NEW_HOME), auth_token=ada["auth_token"])
    prove()
    feed = client.get("/api/leagues/fall/events").json()["events"]
    [shown] = [event for event in feed if event["kind"] == "player_moved"]
    assert shown["data"] == {"player_id": ada["player_id"], "name": "Ada"}
    assert "203.0.113" not in client.get("/leagues/fall/").content.decode()
    assert "203.0.113" not in client.get("/api/leagues/fall/ledger").content.decode()


def test_a_move_waits_for_the_end_of_the_match(client: Client, ada: dict[str, Any]) -> None:
    match = start(client)
    Match.objects.update(state=MatchState.COLLECTING_CHOICES, attempt=1)
    register(client, caller=NEW_HOME, endpoint=at(NEW_HOME), auth_token=ada["auth_token"])
    prove()
    assert (row().endpoint, row().moving["proven"]) == (at(HOME), True)
    Match.objects.filter(pk=match.pk).update(state=MatchState.READY)
    # Before the conductor assigns a match again.
    due.look(busy_agents=(), draining=False)
    assert row().endpoint == at(NEW_HOME)


@pytest.mark.parametrize("proof", ["its own machine", "an answer with its token", "an answer in a match", "by hand"])
def test_nobody_moves_to_an_address_that_another_player_of_the_league_has_proved(
    client: Client, ada: dict[str, Any], proof: str
) -> None:
    register(client, "Rival", caller=NEW_HOME if proof == "its own machine" else ELSEWHERE, endpoint=at(NEW_HOME))
    if proof == "an answer with its token":
        AgentToken.objects.update(proven=True)
    if proof == "an answer in a match":
        Agent.objects.filter(name="Rival").update(spoken={"GAME_INVITATION": "canonical"})
    Agent.objects.filter(name="Rival").update(by_hand=proof == "by hand")
    # The same program answers at every path. From its machine nobody comes to an address that the instructor gave.
    caller = NEW_HOME if proof == "by hand" else ELSEWHERE
    back = register(client, caller=caller, endpoint=f"{at(NEW_HOME)}/x", auth_token=ada["auth_token"])
    assert back["player_id"] == ada["player_id"]
    assert row().moving["taken"]
    assert moves.settle() == []
    prove()
    assert row().endpoint == at(HOME)


def test_two_players_do_not_move_to_one_address_and_one_that_only_names_it_keeps_nobody_out(
    client: Client, ada: dict[str, Any]
) -> None:
    register(client, "Squatter", caller=ELSEWHERE, endpoint=at(NEW_HOME))
    bob = register(client, "Bob", caller=ELSEWHERE, endpoint=at(ELSEWHERE))
    for name, token in (("Ada", ada["auth_token"]), ("Bob", bob["auth_token"])):
        register(client, name, caller=ELSEWHERE, endpoint=at(NEW_HOME), auth_token=token)
    prove("Ada")
    prove("Bob")
    assert (row("Ada").endpoint, row("Bob").endpoint) == (at(NEW_HOME), at(ELSEWHERE))
    assert row("Bob").moving["taken"]


def test_nobody_moves_to_a_referee_of_the_site(client: Client, ada: dict[str, Any]) -> None:
    judge = make.referee(endpoint=at(NEW_HOME, 8001))
    register(client, caller=HOME, endpoint=judge.agent.endpoint, auth_token=ada["auth_token"])
    assert row().moving["taken"]


def test_a_move_by_token_alone_proves_no_token_and_one_from_the_new_machine_does(
    client: Client, ada: dict[str, Any]
) -> None:
    register(client, caller=ELSEWHERE, endpoint=at(NEW_HOME), auth_token=ada["auth_token"])
    assert all(AgentToken.objects.values_list("proven", flat=True))
    prove()
    assert not any(AgentToken.objects.values_list("proven", flat=True))
    assert row().shown_at is None
    there = register(client, caller=ELSEWHERE, endpoint=at(ELSEWHERE), auth_token=ada["auth_token"])
    prove()
    assert AgentToken.objects.get(proven=True).sha256 == moving.tokens.digest(there["auth_token"])
    assert row().shown_at is not None


def test_registering_at_the_old_address_again_takes_a_move_back(client: Client, ada: dict[str, Any]) -> None:
    register(client, caller=NEW_HOME, endpoint=at(NEW_HOME), auth_token=ada["auth_token"])
    register(client, endpoint=at(HOME))
    assert (row().moving, row().endpoint) == ({}, at(HOME))


def test_moving_back_and_forth_is_limited_and_so_are_calls_at_new_addresses(
    client: Client, ada: dict[str, Any]
) -> None:
    token = ada["auth_token"]
    for number in range(moves.MAX_MOVES_PER_HOUR + 3):
        token = register(client, endpoint=at(HOME, 9000 + number), auth_token=token)["auth_token"]
        prove()
    assert len(events()) == moves.MAX_MOVES_PER_HOUR
    assert row().endpoint == at(HOME, 9000 + moves.MAX_MOVES_PER_HOUR - 1)
    prove(answered=False)
    assert moves.settle() == []
    register(client, endpoint=at(HOME, 9900), auth_token=token)
    # One second after the last call at the earliest, wherever the new address is.
    assert moves.settle() == []


def test_a_player_that_was_shut_down_comes_back_and_a_suspended_one_stays_suspended(
    client: Client, ada: dict[str, Any]
) -> None:
    for before, after in ((AgentState.SHUTDOWN, AgentState.REGISTERED), (AgentState.SUSPENDED, AgentState.SUSPENDED)):
        Agent.objects.update(state=before, silences=4)
        register(client, caller=NEW_HOME, endpoint=at(NEW_HOME), auth_token=ada["auth_token"])
        assert row().state == after
    assert row().silences == 4


def test_a_player_of_the_lobby_moves_too_and_joins_a_league_before_its_move_counts(client: Client) -> None:
    first = register(client, endpoint=at(HOME))
    again = register(client, caller=NEW_HOME, endpoint=at(NEW_HOME), auth_token=first["auth_token"])
    assert again["player_id"] == first["player_id"]
    make.open_league("fall")
    assert (row().league_id, row().endpoint) == ("fall", at(HOME))
    prove()
    assert row().endpoint == at(NEW_HOME)


# Personal codes -----------------------------------------------------------------------------------------------


def test_a_personal_code_moves_a_player_whose_owner_has_one(client: Client) -> None:
    make.open_league("fall")
    roster.import_csv(league_id="fall", text="name,email,code\nAda,ada@example.org,ada-7\n")
    first = register(client, endpoint=at(HOME), code="ada-7")
    moved = register(client, caller=NEW_HOME, endpoint=at(NEW_HOME), code="ada-7")
    assert (moved["player_id"], Agent.objects.count()) == (first["player_id"], 1)
    prove()
    assert row().endpoint == at(NEW_HOME)
    register(client, "Another", endpoint=at(HOME, 8200), code="ada-7")
    second = register(client, caller=ELSEWHERE, endpoint=at(ELSEWHERE), code="ada-7")
    assert Agent.objects.get(code=second["player_id"]).display_name == "Ada (2)"


def test_a_personal_code_registers_as_many_agents_as_the_league_takes_for_each_person(client: Client) -> None:
    make.open_league("fall", agents_per_person=1, registration_code="for-all")
    roster.import_csv(league_id="fall", text="name,email,code\nAda,ada@example.org,ada-7\n")
    first = register(client, endpoint=at(HOME), code="ada-7")
    refused = register(client, "Second", endpoint=at(HOME, 8102), code="ada-7")
    assert (refused["status"], refused["legacy_code"]) == ("REJECTED", "L003")
    assert f"{first['player_id']} (Ada)" in refused["reason"]
    # Nor does the code of the class bring more, or one become theirs that had no owner.
    third = register(client, "Third", endpoint=at(HOME, 8103), code="for-all")
    assert (third["status"], "the code of the class lets nobody in" in third["reason"]) == ("REJECTED", True)
    League.objects.update(settings={"registration_code": "for-all"})
    assert register(client, "Third", endpoint=at(HOME, 8103), code="for-all")["status"] == "ACCEPTED"
    League.objects.update(settings={"registration_code": "for-all", "agents_per_person": 1})
    assert register(client, "Third", endpoint=at(HOME, 8103), code="ada-7")["status"] == "REJECTED"
    assert register(client, endpoint=at(HOME), code="ada-7")["player_id"] == first["player_id"]
    # One that was taken out counts, too.
    League.objects.update(out={first["player_id"]: {"word": "withdrawn"}})
    assert register(client, "Fourth", endpoint=at(HOME, 8104), code="ada-7")["status"] == "REJECTED"


# Many players from one address --------------------------------------------------------------------------------


def test_one_click_lets_more_players_in_than_one_address_may_bring(
    client: Client, desk: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refusing, "MAX_FROM_ONE_ADDRESS", 3)
    make.open_league("fall")
    roster.import_csv(league_id="fall", text="name,email,code\nAda,ada@example.org,ada-7\n")
    League.objects.update(settings={"registration_code": "for-all"})
    for number in range(3):
        register(client, f"Player {number}", endpoint=at(HOME, 9000 + number), code="for-all")
    refused = register(client, "One more", endpoint=at(HOME), code="for-all")
    assert (refused["status"], refused["legacy_code"]) == ("REJECTED", "L002")
    assert "203.0.113.5" in refused["reason"]
    # A person, a known player and a caller elsewhere come in.
    assert register(client, "Of a person", endpoint=at(HOME), code="ada-7")["status"] == "ACCEPTED"
    assert register(client, "Player 0", endpoint=at(HOME, 9000))["status"] == "ACCEPTED"
    assert register(client, "Far", caller=ELSEWHERE, endpoint=at(ELSEWHERE), code="for-all")["status"] == "ACCEPTED"
    [problem] = [one for one in clicking.shown(desk)["problems"] if "3 players of this league" in one.text]
    assert [button.value for button in problem.remedies] == ["203.0.113.5"]
    clicking.post(desk, "crowd/let-in", address="203.0.113.5")
    assert register(client, "One more", endpoint=at(HOME), code="for-all")["status"] == "ACCEPTED"
    assert not [one for one in clicking.shown(desk)["problems"] if "3 players of this league" in one.text]


def test_callers_whom_a_header_hides_count_as_one_address(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusing, "MAX_FROM_ONE_ADDRESS", 2)
    make.open_league("fall")
    answers = []
    for number in range(3):
        params = wire.request("register_player", wire.player_request(f"Player {number}", endpoint=at(HOME, number + 1)))
        answer = client.post("/mcp", params, "application/json", HTTP_X_FORWARDED_FOR=f"192.0.2.{number}")
        answers.append(answer.json()["result"]["status"])
    assert answers == ["ACCEPTED", "ACCEPTED", "REJECTED"]


def test_an_agent_of_a_process_of_the_version_before_has_no_move() -> None:
    make.open_league("fall")
    make.player("Ada", "fall")
    names = [field.column for field in Agent._meta.concrete_fields if field.column not in ("id", "moving")]
    columns = ", ".join(names)
    with connection.cursor() as cursor:
        values = ", ".join({"code": "'P09'", "endpoint_key": "'other'"}.get(name, name) for name in names)
        cursor.execute(f"INSERT INTO agents_registry_agent ({columns}) SELECT {values} FROM agents_registry_agent")  # noqa: S608 - names of columns
    assert Agent.objects.get(code="P09").moving == {}
    registration.want_ping(agent_ids=[Agent.objects.get(code="P09").pk])
    assert len(due.look(busy_agents=(), draining=True).pings) == 1
