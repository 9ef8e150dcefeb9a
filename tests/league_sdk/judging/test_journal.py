"""A referee's log: each message of its matches, without choices and secrets."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from league_sdk import log_files
from league_sdk.judging.journal import Journal
from league_sdk.log_files import LogFile
from tests.league_sdk.judging.scripted import ScriptedMatch, choice

TOKEN, EMAIL = "tok_" + "c" * 32, "ada@school.example"
PATH = Path("agents", "REF01.log.jsonl")


@pytest.fixture
def handlers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Remove the handlers of log records that a test adds."""
    monkeypatch.delenv(log_files.LEVEL_VARIABLE, raising=False)
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    yield
    for one in [one for one in root.handlers if one not in before]:
        root.removeHandler(one)
        one.close()
    root.setLevel(level)


async def logged_messages(match: ScriptedMatch, folder: Path) -> list[dict[str, Any]]:
    """What a referee has logged of a match, without its other log records."""
    journal = Journal()
    journal.open("REF01", folder)
    match.log.on_entry = partial(journal.record, match.brief)
    await match.play()
    for handler in logging.getLogger().handlers:
        if isinstance(handler, LogFile):
            handler.flush()
    text = (folder / PATH).read_text(encoding="utf-8") if (folder / PATH).exists() else ""
    found = [json.loads(line) for line in text.split("\n")[:-1]]
    return [line for line in found if line["event_type"].startswith("MESSAGE_")]


@pytest.mark.usefixtures("handlers")
async def test_each_message_is_a_line_with_the_fields_of_the_course(tmp_path: Path) -> None:
    match = ScriptedMatch()
    logged = await logged_messages(match, tmp_path)
    first = logged[0]
    assert first.pop("timestamp").endswith("Z")
    assert first == {
        "level": "DEBUG",
        "component": "referee:REF01",
        "agent_id": "referee:REF01",
        "event_type": "MESSAGE_SENT",
        "message": "GAME_INVITATION",
        "message_type": "GAME_INVITATION",
        "sender": "referee:REF01",
        "recipient": "player:P01",
        "league_id": match.brief.league_id,
        "details": {"match_id": "R1M1", "attempt": 1, "n": 0, "problem": ""},
        "conversation_id": match.brief.conversation_id,
    }
    assert [line["details"]["n"] for line in logged] == list(range(match.log.count))
    assert {(line["event_type"], line["sender"] == "referee:REF01") for line in logged} == {
        ("MESSAGE_SENT", True),
        ("MESSAGE_RECEIVED", False),
    }


@pytest.mark.usefixtures("handlers")
async def test_no_choice_and_no_secret_is_in_the_log(tmp_path: Path) -> None:
    word = f"{TOKEN} http://10.0.0.7:8101/mcp {EMAIL}"
    match = ScriptedMatch(moves={"P01": [choice(word)] * 9})
    await logged_messages(match, tmp_path)
    match.log.record(
        at=match.clock.now(), sender="P01", recipient="REF01", message_type=word, problem=word, body={"a": word}
    )
    logging.getLogger().handlers[-1].flush()
    text = (tmp_path / PATH).read_text(encoding="utf-8")
    assert [one for one in (TOKEN, "10.0.0.7", EMAIL, '"even"', '"odd"', "parity_choice") if one in text] == []
    last = json.loads(text.splitlines()[-1])
    assert (last["level"], last["details"]["problem"]) == ("WARNING", "tok_… [address] …@…")


@pytest.mark.parametrize(("level", "line_count"), [("INFO", 0), ("debug", 12), ("OFF", 0)])
@pytest.mark.usefixtures("handlers")
async def test_a_level_that_is_set_holds_for_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, level: str, line_count: int
) -> None:
    monkeypatch.setenv(log_files.LEVEL_VARIABLE, level)
    assert len(await logged_messages(ScriptedMatch(), tmp_path)) == line_count
    assert (tmp_path / PATH).exists() == (level != "OFF")


@pytest.mark.usefixtures("handlers")
async def test_a_line_that_was_cut_off_by_a_kill_spoils_no_other(tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    (tmp_path / PATH).write_text('{"timestamp": "2025-01-15T10:')
    journal = Journal()
    journal.open("REF01", tmp_path)
    logging.getLogger().warning("it goes on")
    logging.getLogger().handlers[-1].flush()
    torn, whole = (tmp_path / PATH).read_text().splitlines()
    assert (torn, json.loads(whole)["message"]) == ('{"timestamp": "2025-01-15T10:', "it goes on")


@pytest.mark.usefixtures("handlers")
def test_an_entry_that_cannot_be_logged_raises_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    match, journal = ScriptedMatch(), Journal()
    journal.record(match.brief, {})  # type: ignore[typeddict-item]
    journal.open("REF01", tmp_path)
    for _ in range(3):
        journal.record(match.brief, {})  # type: ignore[typeddict-item]
    assert [record.getMessage() for record in caplog.records] == ["a message could not be logged"]
