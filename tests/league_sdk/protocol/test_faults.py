"""The causes of faults: every observation has one."""

from __future__ import annotations

import errno
import re
import socket
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from league_sdk.protocol import faults
from league_sdk.protocol.errors import LEGACY_NAMES, NAMES
from league_sdk.protocol.faults import Cause
from league_sdk.transport import client


def test_every_error_code_and_every_game_code_of_002_has_a_cause() -> None:
    games = {code for code in LEGACY_NAMES if code.startswith("G")}
    assert set(faults.BY_ERROR_CODE) == set(NAMES) | games
    assert {code for code in games if faults.of_error(code) in faults.OWN_SIDE} == set()


def test_every_call_failure_has_a_cause() -> None:
    kinds = [client.CallFailed]
    for kind in kinds:
        kinds += kind.__subclasses__()
    causes = {kind.__name__: kind("x", connected=True).cause for kind in kinds}
    assert causes == {"CallFailed": "CONNECT", "TimedOut": "DEADLINE", "NotReached": "CONNECT", "Broken": "CONNECT"}


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        ("E001", "DEADLINE"),
        ("E002", "WRONG_MESSAGE"),
        ("E003", "WRONG_MESSAGE"),
        ("E004", "ILLEGAL_MOVE"),
        ("E009", "CONNECT"),
        ("G001", "ILLEGAL_MOVE"),
        ("G002", "DEADLINE"),
        ("E999", "REFEREE"),
        ("", "REFEREE"),
        (None, "REFEREE"),
        (["E001"], "REFEREE"),
    ],
)
def test_the_cause_of_an_error_code(code: Any, cause: str) -> None:
    assert faults.of_error(code) == cause


@given(st.integers(100, 599), st.booleans())
def test_the_cause_of_an_http_response_that_is_not_an_answer(status: int, readable: bool) -> None:
    expected = "HTTP_STATUS" if status // 100 != 2 else "WRONG_MESSAGE" if readable else "NOT_JSON"
    assert faults.of_answer(status=status, readable=readable) == expected


@pytest.mark.parametrize("caller", [Cause.REFEREE, Cause.LEAGUE])
@pytest.mark.parametrize(
    ("number", "ours", "maybe_offline"),
    [
        (errno.ECONNREFUSED, False, False),
        (errno.EHOSTUNREACH, False, False),
        (errno.ETIMEDOUT, False, False),
        (None, False, False),
        (errno.ENETUNREACH, False, True),
        (errno.EADDRNOTAVAIL, False, True),
        (errno.EMFILE, True, False),
        (errno.ENFILE, True, False),
        (errno.ENOBUFS, True, False),
        (errno.ENETDOWN, True, False),
    ],
)
def test_the_cause_of_a_failed_connection_attempt(
    number: int | None, ours: bool, maybe_offline: bool, caller: Cause
) -> None:
    assert faults.of_connecting(number, caller=caller) == (caller if ours else "CONNECT")
    assert faults.maybe_offline(number) is maybe_offline


@pytest.mark.parametrize(
    ("number", "ours"),
    [
        (socket.EAI_NONAME, False),
        (None, False),
        (socket.EAI_AGAIN, False),
        (socket.EAI_FAIL, False),
        (socket.EAI_MEMORY, True),
    ],
)
def test_the_cause_of_a_failed_name_lookup(number: int | None, ours: bool) -> None:
    assert faults.of_lookup(number, caller=Cause.LEAGUE) == ("LEAGUE" if ours else "NAME_LOOKUP")


@pytest.mark.parametrize("cause", Cause)
def test_every_cause_has_a_sentence_with_player_message_and_tries(cause: Cause) -> None:
    names = set(re.findall(r"%\((\w+)\)s", faults.SENTENCES[cause]))
    assert names - {"detail", "limit"} == {"player", "message", "tries"}
    fault = {"player_id": "P02", "message_type": "GAME_INVITATION", "tries": 4, "cause": cause, "limit_s": 2.5}
    plain, more = faults.describe(fault | {"detail": ""}), faults.describe(fault | {"detail": "100% %(x)s"})
    assert ("P02" in plain, "GAME_INVITATION" in plain, "(tries: 4)" in plain, "100% %(x)s" in more) == (True,) * 4
