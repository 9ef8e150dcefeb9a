"""Log records: their fields, bound fields, and the removal of secrets."""

from __future__ import annotations

import asyncio
import contextvars
import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from league_sdk.protocol import records, redaction

PLANTED = "tok_" + "a1" * 16


def record(message: str, *arguments: object, level: int = logging.INFO, **extra: Any) -> logging.LogRecord:
    made = logging.LogRecord("league.tests", level, __file__, 1, message, arguments, None)
    vars(made).update(extra)
    made.created = 1_767_225_600.25
    return made


def written(made: logging.LogRecord) -> dict[str, Any]:
    line = records.JsonLines().format(made)
    assert len(line.splitlines()) == 1
    record_fields: dict[str, Any] = json.loads(line)
    return record_fields


def failed(made: logging.LogRecord, text: str) -> logging.LogRecord:
    """The record with an exception of this text."""
    try:
        raise ValueError(text)
    except ValueError as error:
        made.exc_info = (ValueError, error, error.__traceback__)
    return made


@pytest.fixture(autouse=True)
def from_the_web_process() -> Iterator[None]:
    """The records of these tests are from the web process."""
    before = dict(records._process)
    records.identify(component="web", agent_id="league_manager:LM01")
    yield
    records.identify(**before)


def test_a_json_line_has_the_fields_of_the_documents() -> None:
    assert written(record("%s was answered", "GAME_OVER", event_type="CALL_ANSWERED", duration_ms=1.5)) == {
        "timestamp": "2026-01-01T00:00:00.250Z",
        "level": "INFO",
        "component": "web",
        "agent_id": "league_manager:LM01",
        "event_type": "CALL_ANSWERED",
        "message": "GAME_OVER was answered",
        "duration_ms": 1.5,
    }


def test_a_json_line_of_an_ordinary_logging_call_is_a_note() -> None:
    assert written(record("no look for %.1f s", 3, level=logging.WARNING)) == {
        "timestamp": "2026-01-01T00:00:00.250Z",
        "level": "WARNING",
        "component": "web",
        "agent_id": "league_manager:LM01",
        "event_type": "NOTE",
        "message": "no look for 3.0 s",
        "logger": "league.tests",
    }


def test_work_adds_its_fields_to_every_record_in_its_block() -> None:
    with records.work("agent call", league_id="fall", message_type="LEAGUE_QUERY") as about:
        about["peer"] = "player:P01"
        with records.work("result", conversation_id="conv-1"):
            inner = written(record("in"))
        outer = written(record("out", league_id="spring"))
    after = written(record("after"))
    names = ("league_id", "message_type", "peer", "conversation_id")
    assert [inner.get(name) for name in names] == ["fall", "LEAGUE_QUERY", "player:P01", "conv-1"]
    assert [outer.get(name) for name in names] == ["spring", "LEAGUE_QUERY", "player:P01", None]
    assert [after.get(name) for name in names] == [None] * 4


async def test_tasks_keep_the_fields_that_were_bound_when_they_started() -> None:
    async def line(match_id: str) -> dict[str, Any]:
        records.bind(match_id=match_id)
        await asyncio.sleep(0)
        return written(record("state"))

    with records.work("league", league_id="fall"):
        lines = await asyncio.gather(line("R1M1"), line("R1M2"))
    assert [(one["league_id"], one["match_id"]) for one in lines] == [("fall", "R1M1"), ("fall", "R1M2")]


def test_a_tracer_receives_the_name_and_all_fields_of_the_work() -> None:
    seen: list[tuple[str, dict[str, Any]]] = []

    @contextmanager
    def tracer(name: str, about: Mapping[str, Any]) -> Iterator[None]:
        yield
        seen.append((name, dict(about)))

    remove = records.add_tracer(tracer)
    try:
        with records.work("delivery", league_id="fall") as about:
            about["duration_ms"] = 2
    finally:
        remove()
    with records.work("delivery"):
        written(record("nobody watches"))
    assert seen == [("delivery", {"league_id": "fall", "duration_ms": 2})]


def test_no_field_of_a_record_contains_a_secret() -> None:
    code = f"/mcp?code=class-code&auth={PLANTED}"
    made = record("%s wrote %s", "ada@school.example", code, conversation_id=PLANTED)
    failed(made, f"refused: {PLANTED} of ada@school.example at postgres://league:hunter22@db/league")
    vars(made)["data"] = {"auth_token": "anything", "seen": [PLANTED]}
    lines = [records.JsonLines().format(made), records.PlainLine().format(made)]
    for line in lines:
        for secret in (PLANTED, "ada@school", "hunter22", "class-code", "anything"):
            assert secret not in line
    assert json.loads(lines[0])["data"]["seen"] == ["tok_…"]


@given(st.text(), st.text())
def test_a_record_stays_on_one_line_whatever_text_it_contains(message: str, conversation: str) -> None:
    context = contextvars.copy_context()
    fields = context.run(written, record("%s", message, conversation_id=conversation))
    assert fields["event_type"] == "NOTE"
    plain = records.PlainLine().format(record("%s", message, conversation_id=conversation))
    assert len(plain.splitlines()) == 1
    assert not records._UNSEEN.search(plain)


def test_a_plain_line_marks_every_line_of_a_traceback() -> None:
    made = failed(record("a call failed", level=logging.ERROR), "first\n2026-01-01 00:00:00,000 ERROR web: forged")
    first, *rest = records.PlainLine().format(made).split("\n")
    assert first.endswith("ERROR web league.tests: a call failed")
    assert len(rest) >= 4 and all(line.startswith("  | ") for line in rest)


def test_a_secret_that_is_registered_late_is_removed_from_a_message_that_was_logged_before() -> None:
    line = "the site uses c4f3-blossom-19 as its key"
    assert written(record(line))["message"] == line
    redaction.hide("c4f3-blossom-19")
    assert written(record(line))["message"] == "the site uses … as its key"
