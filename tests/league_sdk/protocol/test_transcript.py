"""Transcript entries: whole messages, no secret in them, none longer than 4 KiB (004 9.4.3)."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from league_sdk.protocol import rpc
from league_sdk.protocol.errors import SECRET_FIELDS
from league_sdk.protocol.limits import MAX_TRANSCRIPT_BODY_BYTES, MAX_TRANSCRIPT_DEPTH
from league_sdk.protocol.notes import Code, note
from league_sdk.protocol.tokens import REDACTED
from league_sdk.protocol.transcript import body_for_transcript, clean, clean_json, entry

NOW = datetime(2025, 1, 15, 10, 15, 1, 250_000, tzinfo=UTC)
SECRET = "5ec4e7" * 5
TOKEN = "tok_" + SECRET + "ab"
leaves = st.sampled_from([TOKEN, f"Bearer {TOKEN}", f'{{"auth_token": "{TOKEN}"}}', TOKEN * 2, "even", 7, None, True])
names = st.sampled_from([*SECRET_FIELDS, "sender", "parity_choice", TOKEN, "x" * 300])
bodies = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(names, inner, max_size=5) | st.tuples(inner, st.just("z" * 900))
    ),
    max_leaves=30,
)


@given(body=bodies, text=st.sampled_from([TOKEN, "x" * 490 + TOKEN, "fine", f"seen {TOKEN}"]))
def test_no_token_survives_anywhere(body: Any, text: str) -> None:
    made = entry(
        n=0,
        at=NOW,
        sender="P01",
        recipient="REF01",
        message_type=text[:40],
        problem=text,
        notes=[note(Code.DIFFERS, field="sender", seen=text, expected=text)],
        body=body,
    )
    written = rpc.dumps(made).decode()
    assert SECRET[:16] not in written
    assert len(json.dumps(made["body"], ensure_ascii=False).encode()) <= MAX_TRANSCRIPT_BODY_BYTES + 100


@pytest.mark.parametrize("field", sorted(SECRET_FIELDS))
def test_a_secret_field_is_blanked_whatever_it_holds(field: str) -> None:
    body = {"params": {field: "hunter2", "kept": [1, {field: ["a"]}]}, field: {"deep": "hunter2"}}
    assert clean(body) == {"params": {field: "tok_…", "kept": [1, {field: "tok_…"}]}, field: "tok_…"}


# What a referee sends has mostly been cleaned before; here and there it has not.
_texts = st.sampled_from(["", REDACTED, f"{REDACTED}x", f'"auth_token": "{REDACTED}"', "tok_", "שלום", "\\", '"'])
sent = st.recursive(
    _texts | leaves | st.text(max_size=5) | st.just(0),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names | st.text(max_size=3), inner, max_size=4),
    max_leaves=20,
)


@given(sent)
@example({"a\x00": 1})
@example(["\x00", "\ud800"])
def test_as_json_it_is_as_clean_as_it_would_be_otherwise(value: Any) -> None:
    assert json.loads(clean_json(value)) == clean(value)


def test_what_is_clean_is_not_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    made = entry(
        n=0, at=NOW, sender="P01", recipient="REF01", message_type="GAME_OVER", body={"auth_token": TOKEN, "a": [TOKEN]}
    )
    monkeypatch.setattr("league_sdk.protocol.transcript.clean", None)
    assert json.loads(clean_json(made)) == made


def test_an_empty_secret_is_shown_as_empty() -> None:
    assert clean({"auth_token": "", "league_token": None}) == {"auth_token": "", "league_token": None}


def test_the_secret_fields() -> None:
    assert sorted(SECRET_FIELDS) == ["auth_token", "auth_token_sha256", "league_token", "registration_code"]


def test_what_is_sent_is_not_changed_by_cleaning() -> None:
    body = {"auth_token": TOKEN, "context": {"auth_token": TOKEN}}
    clean(body)
    assert body == {"auth_token": TOKEN, "context": {"auth_token": TOKEN}}


@pytest.mark.parametrize(
    ("length", "cut"), [(MAX_TRANSCRIPT_BODY_BYTES - 2, False), (MAX_TRANSCRIPT_BODY_BYTES - 1, True)]
)
def test_a_body_of_more_than_4_kib_is_cut_with_a_mark(length: int, cut: bool) -> None:
    body = "x" * length
    kept = {"cut": True, "beginning": '"' + "x" * (MAX_TRANSCRIPT_BODY_BYTES // 4 - 1)} if cut else body
    assert body_for_transcript(body) == kept


@pytest.mark.parametrize("character", ["ä", "€", "\U0001f600", '"', "\\", "\x01"])
def test_4_kib_are_bytes_not_characters(character: str) -> None:
    kept = body_for_transcript({"name": character * 3000})
    assert kept["cut"] is True
    assert len(rpc.dumps(kept)) <= MAX_TRANSCRIPT_BODY_BYTES


def test_an_entry_has_every_field() -> None:
    made = entry(
        n=3,
        at=NOW,
        sender="P01",
        recipient="REF01",
        message_type="GAME_JOIN_ACK",
        elapsed_ms=250,
        limit_ms=5000,
        http_status=200,
        problem="p" * 600,
        notes=[note(Code.ID, seen="n" * 300, expected=7)],
        body={"accept": True},
    )
    assert made == {
        "n": 3,
        "at": "2025-01-15T10:15:01.250000+00:00",
        "sender": "P01",
        "recipient": "REF01",
        "message_type": "GAME_JOIN_ACK",
        "method": "",
        "elapsed_ms": 250,
        "limit_ms": 5000,
        "http_status": 200,
        "problem": "p" * 500,
        "notes": [{"code": "ID", "args": {"seen": "n" * 200, "expected": 7}}],
        "body": {"accept": True},
    }


@pytest.mark.parametrize(
    ("depth", "cut"), [(MAX_TRANSCRIPT_DEPTH - 1, False), (MAX_TRANSCRIPT_DEPTH, True), (31, True)]
)
def test_a_body_that_is_nested_deeply_is_cut_so_that_a_report_with_it_is_read(depth: int, cut: bool) -> None:
    body: dict[str, Any] = {"accept": True}
    for _ in range(depth):
        body = {"a": body}
    one = entry(n=0, at=NOW, sender="P01", recipient="REF01", message_type="GAME_JOIN_ACK", body=body)
    assert (one["body"] == body, one["body"].get("cut", False)) == (not cut, cut)
    report = rpc.call("report_progress", {"matches": [{"transcript": [one]}]}, 1)
    assert rpc.loads(rpc.dumps(report)) == report
