"""One record, one line: its fields, what it is bound to, what is not in it."""

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

from league_sdk.protocol import records

PLANTED = "tok_" + "a1" * 16


def record(message: str, *arguments: object, level: int = logging.INFO, **extra: Any) -> logging.LogRecord:
    made = logging.LogRecord("league.tests", level, __file__, 1, message, arguments, None)
    vars(made).update(extra)
    made.created = 1_767_225_600.25
    return made


def written(made: logging.LogRecord) -> dict[str, Any]:
    line = records.JsonLines().format(made)
    assert len(line.splitlines()) == 1
    found: dict[str, Any] = json.loads(line)
    return found


@pytest.fixture(autouse=True)
def of_the_tests() -> Iterator[None]:
    """Records of these tests are the web process's, and bound to nothing."""
    before = dict(records._process)
    records.identify(component="web", agent_id="league_manager:LM01")
    yield
    records.identify(**before)


def test_a_record_has_the_fields_of_the_documents() -> None:
    assert written(record("%s was answered", "GAME_OVER", event_type="CALL_ANSWERED", duration_ms=1.5)) == {
        "timestamp": "2026-01-01T00:00:00.250Z",
        "level": "INFO",
        "component": "web",
        "agent_id": "league_manager:LM01",
        "event_type": "CALL_ANSWERED",
        "message": "GAME_OVER was answered",
        "duration_ms": 1.5,
    }


def test_a_plain_call_of_logging_is_a_record_too() -> None:
    assert written(record("no look for %.1f s", 3, level=logging.WARNING)) == {
        "timestamp": "2026-01-01T00:00:00.250Z",
        "level": "WARNING",
        "component": "web",
        "agent_id": "league_manager:LM01",
        "event_type": "NOTE",
        "message": "no look for 3.0 s",
        "logger": "league.tests",
    }


def test_what_work_is_about_stands_on_every_line_of_it() -> None:
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


async def test_tasks_keep_what_they_were_started_in() -> None:
    async def line(match_id: str) -> dict[str, Any]:
        records.bind(match_id=match_id)
        await asyncio.sleep(0)
        return written(record("state"))

    with records.work("league", league_id="fall"):
        lines = await asyncio.gather(line("R1M1"), line("R1M2"))
    assert [(one["league_id"], one["match_id"]) for one in lines] == [("fall", "R1M1"), ("fall", "R1M2")]


def test_a_tracer_sees_the_work_and_what_it_came_to_know() -> None:
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


def test_secrets_are_in_no_field() -> None:
    try:
        raise ValueError(f"refused: {PLANTED} of ada@school.example at postgres://league:hunter22@db/league")
    except ValueError as error:
        made = record(
            "%s wrote %s", "ada@school.example", f"/mcp?code=class-code&auth={PLANTED}", conversation_id=PLANTED
        )
        made.exc_info = (ValueError, error, error.__traceback__)
        vars(made)["data"] = {"auth_token": "anything", "seen": [PLANTED]}
        lines = [records.JsonLines().format(made), records.PlainLine().format(made)]
    for line in lines:
        for secret in (PLANTED, "ada@school", "hunter22", "class-code", "anything"):
            assert secret not in line
    assert json.loads(lines[0])["data"]["seen"] == ["tok_…"]


@given(st.text(), st.text())
def test_whatever_others_write_stays_on_one_line(message: str, conversation: str) -> None:
    context = contextvars.copy_context()
    found = context.run(written, record("%s", message, conversation_id=conversation))
    assert found["event_type"] == "NOTE"
    plain = records.PlainLine().format(record("%s", message, conversation_id=conversation))
    assert len(plain.splitlines()) == 1
    assert not records._UNSEEN.search(plain)


def test_an_exception_is_marked_line_by_line() -> None:
    made = record("a call failed", level=logging.ERROR)
    try:
        raise ValueError("first\n2026-01-01 00:00:00,000 ERROR web: forged")
    except ValueError as error:
        made.exc_info = (ValueError, error, error.__traceback__)
    first, *rest = records.PlainLine().format(made).split("\n")
    assert first.endswith("ERROR web league.tests: a call failed")
    assert len(rest) >= 4 and all(line.startswith("  | ") for line in rest)
