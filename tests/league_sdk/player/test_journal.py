"""A player's log and history in the files of 004 chapter 9, in a folder beside its program."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from league_sdk.player.agent import Player
from league_sdk.player.journal import Journal
from league_sdk.player.memory import Memory
from league_sdk.protocol.errors import LeagueError
from league_sdk.repositories import PlayerHistoryRepository
from league_sdk.strategies import Random

TOKENS = "tok_" + "a" * 32, "tok_" + "b" * 32
ACCEPTED = {
    "message_type": "LEAGUE_REGISTER_RESPONSE",
    "sender": "league_manager",
    "player_id": "P01",
    "league_id": "fall",
    "auth_token": TOKENS[0],
    "league_token": TOKENS[1],
}


def message(kind: str, **fields: Any) -> dict[str, Any]:
    return {
        "protocol": "league.v2",
        "message_type": kind,
        "sender": "referee:REF01",
        "timestamp": "2025-01-15T10:15:00Z",
        "conversation_id": "conv-r1m1",
        "auth_token": TOKENS[1],
        "league_id": "fall",
        "round_id": 1,
        "match_id": "R1M1",
        **fields,
    }


def player(folder: Path, **accepted: Any) -> Player:
    one = Player("Alpha", Random(), Memory(folder), journal=Journal(folder))
    one.accept(ACCEPTED | accepted)
    return one


def lines(folder: Path, name: str = "P01.log.jsonl") -> list[dict[str, Any]]:
    text = (folder / "logs" / "agents" / name).read_text(encoding="utf-8")
    assert not [token for token in TOKENS if token in text]
    return [json.loads(line) for line in text.splitlines()]


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


async def test_a_match_is_in_the_log_by_the_names_and_levels_of_the_documents(tmp_path: Path) -> None:
    alpha = player(tmp_path)
    await alpha.call("handle_game_invitation", message("GAME_INVITATION"))
    await alpha.call("choose_parity", message("CHOOSE_PARITY_CALL"))
    result = {"status": "WIN", "winner_player_id": "P01", "choices": {"P01": "even", "P02": "odd"}}
    await alpha.call("notify_match_result", message("GAME_OVER", game_result=result))
    await alpha.call("ping", {})
    log = lines(tmp_path)
    assert [(line["event_type"], line["message_type"], line["level"]) for line in log] == [
        ("MESSAGE_RECEIVED", "LEAGUE_REGISTER_RESPONSE", "DEBUG"),
        ("MESSAGE_RECEIVED", "GAME_INVITATION", "DEBUG"),
        ("MESSAGE_SENT", "GAME_JOIN_ACK", "DEBUG"),
        ("MESSAGE_RECEIVED", "CHOOSE_PARITY_CALL", "DEBUG"),
        ("MESSAGE_SENT", "CHOOSE_PARITY_RESPONSE", "DEBUG"),
        ("MESSAGE_RECEIVED", "GAME_OVER", "DEBUG"),
    ]
    assert {line["component"] for line in log} == {line["agent_id"] for line in log} == {"player:P01"}
    assert (log[1]["sender"], log[2]["recipient"]) == ("referee:REF01", "referee:REF01")
    assert (log[1]["conversation_id"], log[1]["details"]["match_id"]) == ("conv-r1m1", "R1M1")
    assert log[4]["details"]["body"]["parity_choice"] in ("even", "odd")


async def test_the_repository_of_the_course_reads_the_history(tmp_path: Path) -> None:
    alpha = player(tmp_path)
    result = {"status": "WIN", "winner_player_id": "P01", "choices": {"P01": "even", "P02": "odd"}}
    await alpha.call("notify_match_result", message("GAME_OVER", game_result=result))
    data = PlayerHistoryRepository("P01", tmp_path / "data").load()
    assert (data["player_id"], data["stats"]["wins"], data["matches"][0]["opponent_choice"]) == ("P01", 1, "odd")
    assert data["matches"] == alpha.memory.matches


def test_a_history_of_an_earlier_version_is_read_where_it_was(tmp_path: Path) -> None:
    (tmp_path / "P01").mkdir()
    row = {"league_id": "fall", "match_id": "R1M1", "result": "WIN", "status": "WIN", "drawn_number": 8}
    (tmp_path / "P01" / "history.json").write_text(json.dumps({"matches": [row]}))
    assert player(tmp_path).memory.matches == [row]


def test_a_damaged_history_of_an_earlier_version_is_named(tmp_path: Path) -> None:
    earlier = tmp_path / "P01" / "history.json"
    earlier.parent.mkdir()
    earlier.write_text(json.dumps({"matches": 7}))
    with pytest.raises(ValueError, match=re.escape(f"{earlier}: field matches")):
        Memory(tmp_path).load("P01")


async def test_a_message_that_cannot_be_used_is_a_warning(tmp_path: Path) -> None:
    alpha = player(tmp_path)
    with pytest.raises(LeagueError):
        await alpha.call("choose_parity", message("CHOOSE_PARITY_CALL", match_id=7))
    last = lines(tmp_path)[-1]
    assert (last["event_type"], last["level"], last["problem"]) == (
        "MESSAGE_REFUSED",
        "WARNING",
        "match_id is not usable.",
    )


@pytest.mark.parametrize("kind", [["GAME_OVER"], {}, None, 7])
async def test_a_call_is_answered_by_its_method_if_its_message_type_is_unusable(tmp_path: Path, kind: Any) -> None:
    answer = await player(tmp_path).call("handle_game_invitation", message("GAME_INVITATION", message_type=kind))
    assert answer["message_type"] == "GAME_JOIN_ACK"


@pytest.mark.parametrize("hostile", ["../../evil", "/etc/evil", "..", ".", "a/../../evil", "~", "x" * 300])
async def test_a_hostile_id_from_a_server_writes_no_file_outside_the_folder(tmp_path: Path, hostile: str) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    alpha = player(folder, player_id=hostile)
    await alpha.call("notify_match_result", message("GAME_OVER", game_result={"status": "DRAW", "choices": {}}))
    assert names_in(tmp_path) == {"mine"}
    assert names_in(folder) == {"data", "logs"}


def test_strangers_cannot_fill_the_disk(tmp_path: Path) -> None:
    journal = Journal(tmp_path, max_bytes=5000)
    journal.open("P01")
    for _ in range(51):
        journal.received(message("GAME_INVITATION", junk="x" * 3000))
    logs = tmp_path / "logs" / "agents"
    assert names_in(logs) == {"P01.log.jsonl", "P01.log.jsonl.1"}
    assert all(file.stat().st_size < 10_000 for file in logs.iterdir())


async def test_a_log_that_cannot_be_written_keeps_nobody_from_playing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "logs").write_text("a file")
    alpha = player(tmp_path)
    answer = await alpha.call("handle_game_invitation", message("GAME_INVITATION"))
    assert answer["message_type"] == "GAME_JOIN_ACK"
    assert len([one for one in caplog.records if "could not be written" in one.getMessage()]) == 1
