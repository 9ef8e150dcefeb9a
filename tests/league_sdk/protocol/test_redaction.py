"""Secrets are removed from texts, URLs and nested values."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from league_sdk.protocol import redaction, tokens
from league_sdk.protocol.redaction import redact, redact_text

TOKEN = "tok_0123456789abcdef0123456789abcdef"
CODE = "hunter2-code"
SITE_KEY = "the-key-of-a-site/+x"
MESSAGE = {"auth_token": CODE, "player_meta": {"registration_code": CODE, "name": "Ada"}, "matches": [{"t": TOKEN}]}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"a call with {TOKEN} failed", "a call with tok_… failed"),
        (f"POST /leagues/fall/mcp?code={CODE} 200", "POST /leagues/fall/mcp?code=… 200"),
        (f"GET /x?a=1&auth_token={CODE}&b=2", "GET /x?a=1&auth_token=…&b=2"),
        (f"Authorization: Bearer {CODE}", "Authorization: …"),
        (f"header was b'Bearer {CODE}'", "header was b'Bearer …'"),
        (f"{{'registration_code': '{CODE}', 'name': 'Ada'}}", "{'registration_code': '…', 'name': 'Ada'}"),
        (f"Registration-Code={CODE}, next", "Registration-Code=…, next"),
        (f"postgres://league:{CODE}@db:5432/league", "postgres://league:…@db:5432/league"),
        (f"redis://:{CODE}@cache:6379/0", "redis://:…@cache:6379/0"),
        (f"Cookie: sessionid={CODE}; django_language=he", "Cookie: …; django_language=he"),
        ("auth_token is missing.", "auth_token is missing."),
        ("Expected: the auth_token of your registration", "Expected: the auth_token of your registration"),
        ("http://10.0.0.5:8101/mcp said 500 at 12:30:01", "http://10.0.0.5:8101/mcp said 500 at 12:30:01"),
    ],
)
def test_redact_text_removes_secrets_only(text: str, shown: str) -> None:
    assert redact_text(text) == shown


@pytest.mark.parametrize(
    "notation",
    [str(MESSAGE), json.dumps(MESSAGE), json.dumps(json.dumps(MESSAGE)), json.dumps(MESSAGE, indent=2)],
    ids=["repr", "json", "json in json", "pretty"],
)
def test_redact_text_removes_secrets_from_every_notation_of_a_message(notation: str) -> None:
    shown = redact_text(notation)
    assert (CODE in shown, TOKEN in shown, "Ada" in shown) == (False, False, True)


def test_redact_works_inside_nested_structures() -> None:
    assert redact(
        {"Authorization": "x", "deep": ({"api_key": "y", "n": 1, TOKEN: None},), "error": ValueError(TOKEN)}
    ) == {
        "Authorization": "…",
        "deep": [{"api_key": "…", "n": 1, "tok_…": None}],
        "error": "tok_…",
    }


def test_redact_text_removes_registered_values() -> None:
    # "abc" is too short to be registered.
    redaction.hide(SITE_KEY, "abc", "")
    assert redact_text(f"<{SITE_KEY}> abc") == "<…> abc"


def test_of_a_registered_value_that_contains_another_nothing_is_left() -> None:
    long, short = "battery-staple-of-the-tests", "staple-of"
    redaction.hide(short, long)
    assert redact_text(f"<{long}> <{short}>") == "<…> <…>"


@given(st.text(), st.text())
def test_redact_text_removes_a_token_between_any_two_texts(before: str, after: str) -> None:
    token = tokens.new_token()
    assert token not in redact_text(before + token + after)


@given(st.text())
def test_redact_text_changes_nothing_the_second_time(text: str) -> None:
    assert redact_text(redact_text(text)) == redact_text(text)
