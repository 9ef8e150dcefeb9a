"""Messages of the league manager are counted and logged; events of its leagues are logged."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction

from league_sdk.ledger.kinds import EventKind
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.records import JsonLines
from league_sdk.transport.client import CallFailed
from matches.league.effects import record
from matches.observing import telemetry
from matches.observing.metrics import DELIVERIES
from tests import factories as make

FIELDS = {"league_id": "fall", "message_type": "ROUND_COMPLETED", "conversation_id": "conv-1", "peer": "player:P01"}


class KeepingHandler(logging.Handler):
    """Keeps log records as they would be in the log file."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[dict[str, Any]] = []
        self.setFormatter(JsonLines())

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(json.loads(self.format(record)))


@pytest.fixture
def lines() -> Iterator[list[dict[str, Any]]]:
    handler, level = KeepingHandler(), telemetry.logger.level
    telemetry.logger.addHandler(handler)
    telemetry.logger.setLevel(logging.DEBUG)
    yield handler.lines
    telemetry.logger.setLevel(level)
    telemetry.logger.removeHandler(handler)


def count(outcome: str) -> float:
    # Not through the registry, which asks the database as well.
    return float(DELIVERIES.labels("ROUND_COMPLETED", outcome)._value.get())


def test_a_message_that_arrived_is_counted_and_logged(lines: list[dict[str, Any]]) -> None:
    before = count("ok")
    with telemetry.sending(FIELDS):
        pass
    [line] = lines
    assert count("ok") == before + 1
    assert {name: line[name] for name in FIELDS} == FIELDS
    assert (line["level"], line["event_type"], line["message"]) == ("DEBUG", "MESSAGE_SENT", "ROUND_COMPLETED was sent")
    assert line["duration_ms"] >= 0


def test_the_start_of_a_match_is_logged_at_info(lines: list[dict[str, Any]]) -> None:
    with telemetry.sending({"message_type": "start_match", "match_id": "R1M1"}):
        pass
    assert [(line["level"], line["match_id"]) for line in lines] == [("INFO", "R1M1")]


def test_a_message_that_failed_is_counted_and_logged(lines: list[dict[str, Any]]) -> None:
    before = count(Cause.CONNECT)
    with pytest.raises(CallFailed), telemetry.sending(FIELDS):
        raise CallFailed("nobody listens at 127.0.0.1:8101", connected=False, cause=Cause.CONNECT)
    [line] = lines
    assert count(Cause.CONNECT) == before + 1
    assert (line["level"], line["event_type"], line["cause"]) == ("INFO", "MESSAGE_NOT_SENT", "CONNECT")
    assert line["message"] == "ROUND_COMPLETED was not taken: nobody listens at 127.0.0.1:8101"


def test_a_cancelled_message_is_not_counted_as_success() -> None:
    before = count("ok"), count(telemetry.CANCELLED)
    with pytest.raises(asyncio.CancelledError), telemetry.sending(FIELDS):
        raise asyncio.CancelledError
    assert (count("ok"), count(telemetry.CANCELLED)) == (before[0], before[1] + 1)


def test_a_message_that_an_error_of_ours_kept_back_is_not_counted_as_success(lines: list[dict[str, Any]]) -> None:
    before = count("ok"), count(Cause.LEAGUE)
    with pytest.raises(KeyError), telemetry.sending(FIELDS):
        raise KeyError("P01")
    assert (count("ok"), count(Cause.LEAGUE)) == (before[0], before[1] + 1)
    assert [line["event_type"] for line in lines] == ["MESSAGE_NOT_SENT"]


@pytest.mark.django_db(transaction=True)
def test_an_event_is_logged_when_its_transaction_commits(lines: list[dict[str, Any]]) -> None:
    make.open_league("fall")
    lines.clear()
    with transaction.atomic():
        record("fall", EventKind.PLAYER_REGISTERED, player_id="P01", name="Ada Lovelace")
        assert lines == []
    [line] = lines
    assert (line["event_type"], line["league_id"], line["peer"]) == ("PLAYER_REGISTERED", "fall", "player:P01")
    assert "Ada" not in str(line)


@pytest.mark.django_db(transaction=True)
def test_an_event_that_was_rolled_back_is_not_logged(lines: list[dict[str, Any]]) -> None:
    make.open_league("fall")
    lines.clear()
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        record("fall", EventKind.PAUSED)
        raise ZeroDivisionError
    assert lines == []
