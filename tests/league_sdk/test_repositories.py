"""The JSON repositories (004 9.4, 10.5)."""

import json
import os
from pathlib import Path

import pytest

from league_sdk import MatchRepository, PlayerHistoryRepository, RoundsRepository, StandingsRepository
from league_sdk.protocol.envelope import parse_stamp
from league_sdk.repositories import write_json

LEAGUE = "league_2025_even_odd"


def test_update_player_counts_and_ranks(tmp_path: Path) -> None:
    table = StandingsRepository(LEAGUE, tmp_path)
    assert table.load()["standings"] == []
    table.update_player("P10", "DRAW", 1)
    table.update_player("P2", "DRAW", 1)
    table.update_player("P01", "WIN", 3, "Agent Alpha")
    table.update_player("P02", "TECHNICAL_LOSS", 0)
    data = json.loads((tmp_path / "leagues" / LEAGUE / "standings.json").read_text(encoding="utf-8"))
    # P2 comes before P10, because digits are compared as numbers.
    assert [(row["rank"], row["player_id"]) for row in data["standings"]] == [
        (1, "P01"), (2, "P2"), (3, "P10"), (4, "P02"),
    ]  # fmt: skip
    assert data["standings"][0] == {
        "rank": 1, "player_id": "P01", "display_name": "Agent Alpha", "played": 1, "wins": 1, "points": 3,
        "draws": 0, "losses": 0,
    }  # fmt: skip
    assert (data["league_id"], data["version"], data["standings"][3]["losses"]) == (LEAGUE, 4, 1)
    assert data["last_updated"].endswith("Z")
    parse_stamp(data["last_updated"])


def test_update_player_refuses_an_unknown_result(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'VICTORY'"):
        StandingsRepository(LEAGUE, tmp_path).update_player("P01", "VICTORY", 3)
    assert list(tmp_path.iterdir()) == []


def test_add_round_keeps_the_order_and_replaces_a_round(tmp_path: Path) -> None:
    rounds = RoundsRepository(LEAGUE, tmp_path)
    rounds.add_round(2, matches=["R2M1"])
    rounds.add_round(1, matches=["R1M1"])
    rounds.add_round(2, matches=["R2M1"], status="COMPLETED")
    assert [row["round_id"] for row in rounds.load()["rounds"]] == [1, 2]
    assert rounds.get_round(2) == {"matches": ["R2M1"], "status": "COMPLETED", "round_id": 2}
    assert rounds.get_round(3) is None


def test_a_match_file_has_transcript_and_result_and_no_token(tmp_path: Path) -> None:
    matches = MatchRepository(LEAGUE, tmp_path)
    secret = "tok_" + "0" * 32
    matches.append_message("R1M1", {"message_type": "GAME_JOIN_ACK", "auth_token": secret, "note": f"my {secret}"})
    matches.set_result("R1M1", {"status": "DRAW", "winner_player_id": None})
    data = matches.load("R1M1")
    assert [message["message_type"] for message in data["transcript"]] == ["GAME_JOIN_ACK"]
    assert (data["lifecycle"]["state"], data["result"]["status"]) == ("FINISHED", "DRAW")
    assert matches.list_matches() == ["R1M1"]
    assert secret not in (tmp_path / "matches" / LEAGUE / "R1M1.json").read_text(encoding="utf-8")


def test_add_match_computes_the_totals(tmp_path: Path) -> None:
    history = PlayerHistoryRepository("P01", tmp_path)
    history.add_match("R1M1", opponent_id="P02", result="WIN", my_choice="even", opponent_choice="odd")
    history.add_match("R2M1", opponent_id="P03", result="DRAW")
    history.add_match("R1M1", opponent_id="P02", result="LOSS")
    data = history.load()
    assert data["stats"] == {"total_matches": 2, "wins": 0, "losses": 1, "draws": 1}
    assert [match["match_id"] for match in data["matches"]] == ["R2M1", "R1M1"]


def test_files_are_utf8_and_keep_unknown_fields(tmp_path: Path) -> None:
    table = StandingsRepository(LEAGUE, tmp_path)
    table.save({"standings": [], "מפתח": "ערך"})
    table.update_player("P01", "WIN", 3)
    assert table.load()["מפתח"] == "ערך"
    assert "ערך" in table.path.read_text(encoding="utf-8")


def test_a_failed_write_leaves_the_old_file_and_no_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file.json"
    write_json(path, {"a": 1})
    with pytest.raises(TypeError):
        write_json(path, {"a": object()})

    def fail(source: str, target: Path) -> None:
        assert json.loads(Path(source).read_text(encoding="utf-8")) == {"a": 2}
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        with pytest.raises(OSError, match="No space"):
            write_json(path, {"a": 2})
    assert json.loads(path.read_text(encoding="utf-8")) == {"a": 1}
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("[]", "must be an object"),
        ("{}", "field standings is missing"),
        ("{", "not JSON"),
        ('{"a":' * 5000, "not JSON"),
    ],
)
def test_a_damaged_file_is_refused_by_name(tmp_path: Path, content: str, sentence: str) -> None:
    table = StandingsRepository(LEAGUE, tmp_path)
    table.path.parent.mkdir(parents=True)
    table.path.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=rf"standings\.json: .*{sentence}"):
        table.load()


@pytest.mark.parametrize("name", ["..", "../x", "a/b", "", ".hidden"])
def test_repositories_refuse_ids_that_could_leave_the_folder(tmp_path: Path, name: str) -> None:
    for make in (StandingsRepository, RoundsRepository, MatchRepository, PlayerHistoryRepository):
        with pytest.raises(ValueError, match="cannot name"):
            make(name, tmp_path)
    with pytest.raises(ValueError, match="cannot name"):
        MatchRepository(LEAGUE, tmp_path).load(name)
