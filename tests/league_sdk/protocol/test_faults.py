"""The closed list of causes and the one mapping to it: nothing that can be seen is without a cause."""

from __future__ import annotations

import errno
import re
import socket
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from league_sdk.protocol import faults
from league_sdk.protocol.errors import LEGACY_NAMES, NAMES
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.schemas.judging import CauseName
from league_sdk.transport import client


def test_the_list_is_closed() -> None:
    assert list(Cause) == [
        "NAME_LOOKUP",
        "CONNECT",
        "HTTP_STATUS",
        "NOT_JSON",
        "WRONG_MESSAGE",
        "ILLEGAL_MOVE",
        "DEADLINE",
        "REFEREE",
        "LEAGUE",
    ]


def test_a_report_names_these_causes() -> None:
    assert get_args(CauseName) == tuple(Cause)


def test_every_error_code_and_every_code_of_a_game_has_a_cause() -> None:
    assert set(faults.BY_ERROR_CODE) == set(NAMES)
    games = {code for code in LEGACY_NAMES if code.startswith("G")}
    assert {code for code in games if faults.of_error(code) in faults.OWN_SIDE} == set()


def test_every_failure_of_a_call_has_a_cause() -> None:
    kinds = [client.CallFailed]
    for kind in kinds:
        kinds += kind.__subclasses__()
    found = {kind.__name__: kind("x", connected=True).cause for kind in kinds}
    assert found == {"CallFailed": "CONNECT", "TimedOut": "DEADLINE", "NotReached": "CONNECT", "Broken": "CONNECT"}


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
def test_what_an_error_code_says(code: Any, cause: str) -> None:
    assert faults.of_error(code) == cause


@given(st.integers(100, 599), st.booleans())
def test_what_an_answer_says_that_is_none(status: int, readable: bool) -> None:
    expected = "HTTP_STATUS" if status // 100 != 2 else "WRONG_MESSAGE" if readable else "NOT_JSON"
    assert faults.of_answer(status=status, readable=readable) == expected


@pytest.mark.parametrize("caller", [Cause.REFEREE, Cause.LEAGUE])
@pytest.mark.parametrize(
    ("number", "ours", "cut_off"),
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
def test_what_a_connection_says_that_was_not_made(number: int | None, ours: bool, cut_off: bool, caller: Cause) -> None:
    assert faults.of_connecting(number, caller=caller) == (caller if ours else "CONNECT")
    assert faults.cut_off(number) is cut_off


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
def test_what_a_name_says_that_was_not_found(number: int | None, ours: bool) -> None:
    assert faults.of_lookup(number, caller=Cause.LEAGUE) == ("LEAGUE" if ours else "NAME_LOOKUP")


@pytest.mark.parametrize("cause", Cause)
def test_every_cause_has_a_sentence_that_says_who_was_asked_what_and_how_often(cause: Cause) -> None:
    names = set(re.findall(r"%\((\w+)\)s", faults.SENTENCES[cause]))
    assert names - {"detail", "limit"} == {"player", "message", "tries"}
    fault = {"player_id": "P02", "message_type": "GAME_INVITATION", "tries": 4, "cause": cause, "limit_s": 2.5}
    plain, more = faults.describe(fault | {"detail": ""}), faults.describe(fault | {"detail": "100% %(x)s"})
    assert ("P02" in plain, "GAME_INVITATION" in plain, "(tries: 4)" in plain, "100% %(x)s" in more) == (True,) * 4
