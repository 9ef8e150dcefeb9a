"""JsonLogger (004 10.6, 5.10, 9.5)."""

import json
import resource
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from league_sdk import JsonLogger

LEAGUE = "league_2025_even_odd"
SECRET = "tok_" + "a1" * 16


def noon() -> datetime:
    return datetime(2025, 1, 15, 14, 0, 0, 123456, tzinfo=timezone(timedelta(hours=2)))


def lines(logger: JsonLogger) -> list[dict[str, Any]]:
    return [json.loads(line) for line in logger.log_file.read_text(encoding="utf-8").splitlines()]


def test_an_entry_has_the_fields_of_004_5_10_and_10_6(tmp_path: Path) -> None:
    logger = JsonLogger("league_manager", LEAGUE, log_root=tmp_path, clock=noon)
    logger.info("ROUND_ANNOUNCEMENT_SENT", round_id=1)
    assert lines(logger) == [
        {
            "timestamp": "2025-01-15T12:00:00.123Z",
            "level": "INFO",
            "component": "league_manager",
            "agent_id": "league_manager",
            "event_type": "ROUND_ANNOUNCEMENT_SENT",
            "message": "ROUND_ANNOUNCEMENT_SENT",
            "round_id": 1,
        }
    ]


@pytest.mark.parametrize(
    ("component", "league", "path"),
    [
        ("league_manager", LEAGUE, f"league/{LEAGUE}/league_manager.log.jsonl"),
        ("referee:REF01", LEAGUE, f"league/{LEAGUE}/referee_REF01.log.jsonl"),
        ("player:P01", None, "agents/P01.log.jsonl"),
        ("setup", None, "system/setup.log.jsonl"),
        ("player:../../x", "../up", "league/_up/player_.._.._x.log.jsonl"),
    ],
)
def test_the_path_of_a_log_file_follows_from_component_and_league(
    tmp_path: Path, component: str, league: str | None, path: str
) -> None:
    assert JsonLogger(component, league, log_root=tmp_path).log_file == tmp_path / path


def test_a_line_after_half_a_line_begins_on_its_own(tmp_path: Path) -> None:
    """A disk that is full for a while, here a limit for files of this process, leaves half a line."""
    logger = JsonLogger("player:P01", log_root=tmp_path)
    logger.info("A")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (logger.log_file.stat().st_size + 10, hard))
    try:
        with pytest.raises(OSError, match="too large"):
            logger.info("B")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    logger.info("C")
    written = logger.log_file.read_text(encoding="utf-8").splitlines()
    assert [len(line) > 10 for line in written] == [True, False, True]
    assert json.loads(written[2])["event_type"] == "C"


def test_the_convenience_methods_write_their_level(tmp_path: Path) -> None:
    logger = JsonLogger("player:P01", log_root=tmp_path)
    logger.debug("A")
    logger.warning("B")
    logger.error("C", message="it broke")
    logger.log_message_sent("GAME_JOIN_ACK", "referee:REF01", match_id="R1M1")
    logger.log_message_received("GAME_OVER", "referee:REF01")
    entries = [(line["level"], line["event_type"], line["message"]) for line in lines(logger)]
    assert entries == [
        ("DEBUG", "A", "A"),
        ("WARNING", "B", "B"),
        ("ERROR", "C", "it broke"),
        ("DEBUG", "MESSAGE_SENT", "MESSAGE_SENT"),
        ("DEBUG", "MESSAGE_RECEIVED", "MESSAGE_RECEIVED"),
    ]
    quiet = JsonLogger("player:P02", log_root=tmp_path, min_level="ERROR")
    quiet.info("A")
    assert not quiet.log_file.exists()
    with pytest.raises(ValueError, match="LOUD"):
        logger.log("A", level="LOUD")


def test_the_logger_writes_no_secret(tmp_path: Path) -> None:
    logger = JsonLogger("player:P01", log_root=tmp_path)
    logger.info("SENT", auth_token="of any form", body={"league_token": SECRET, "text": f"I have {SECRET}."})
    logger.info(f"ODD {SECRET}", error=ValueError(SECRET))
    text = logger.log_file.read_text(encoding="utf-8")
    assert SECRET not in text
    assert "of any form" not in text


def test_an_entry_is_one_line_whatever_it_contains(tmp_path: Path) -> None:
    logger = JsonLogger("player:P01", log_root=tmp_path)
    logger.info(
        "A\nB",
        text="שלום\r\n\ud800",
        at=datetime(2025, 1, 1, tzinfo=UTC),
        timestamp="never",
        component="other",
    )
    (entry,) = lines(logger)
    assert entry["component"] == "player:P01"
    assert entry["timestamp"] != "never"
    assert "שלום" in logger.log_file.read_text(encoding="utf-8")


def test_a_line_that_was_cut_off_by_a_kill_spoils_no_other(tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    log = tmp_path / "agents" / "P01.log.jsonl"
    log.write_text('{"timestamp": "2025')
    logger = JsonLogger("player:P01", log_root=tmp_path)
    logger.info("A")
    logger.info("B")
    torn, *whole = log.read_text().splitlines()
    assert (torn, [json.loads(line)["event_type"] for line in whole]) == ('{"timestamp": "2025', ["A", "B"])


def test_no_text_begins_a_new_line_for_any_reader(tmp_path: Path) -> None:
    logger = JsonLogger("player:P01", log_root=tmp_path)
    logger.info("A", text="one\u2028two\x85three\u202e")
    assert [line["text"] for line in lines(logger)] == ["one\u2028two\x85three\u202e"]


def test_a_function_that_is_passed_may_write_the_lines(tmp_path: Path) -> None:
    written: list[str] = []
    logger = JsonLogger("referee:REF01", log_root=tmp_path, write=written.append)
    logger.info("A")
    assert [json.loads(line)["event_type"] for line in written] == ["A"]
    assert list(tmp_path.iterdir()) == []
