"""Transcript entries: without secrets, and with bodies of at most 4 KiB (004 9.4.3)."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from league_sdk.protocol import rpc, transcript
from league_sdk.protocol.errors import SECRET_FIELDS
from league_sdk.protocol.limits import MAX_TRANSCRIPT_BODY_BYTES, MAX_TRANSCRIPT_DEPTH
from league_sdk.protocol.notes import Code, note
from league_sdk.protocol.tokens import REDACTED
from league_sdk.protocol.transcript import (
    MAX_WIRE_TEXT_CHARS,
    Entry,
    Wire,
    body_for_transcript,
    clean,
    clean_json,
    entry,
)

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


def made(**fields: Any) -> Entry:
    return entry(**{"n": 0, "at": NOW, "sender": "P01", "recipient": "REF01", "message_type": "GAME_JOIN_ACK"} | fields)


@given(body=bodies, text=st.sampled_from([TOKEN, "x" * 490 + TOKEN, "fine", f"seen {TOKEN}"]))
def test_an_entry_contains_no_token(body: Any, text: str) -> None:
    notes = [note(Code.DIFFERS, field="sender", seen=text, expected=text)]
    dirty = made(message_type=text[:40], problem=text, notes=notes, body=body)
    assert SECRET[:16] not in rpc.dumps(dirty).decode()
    assert len(rpc.dumps(dirty["body"])) <= MAX_TRANSCRIPT_BODY_BYTES


@pytest.mark.parametrize("field", sorted(SECRET_FIELDS))
def test_clean_blanks_a_secret_field_with_any_value(field: str) -> None:
    body = {"params": {field: "hunter2", "kept": [1, {field: ["a"]}]}, field: {"deep": "hunter2"}}
    assert clean(body) == {"params": {field: "tok_…", "kept": [1, {field: "tok_…"}]}, field: "tok_…"}


# Values from a referee: most of them were cleaned before, some were not.
_texts = st.sampled_from(["", REDACTED, f"{REDACTED}x", f'"auth_token": "{REDACTED}"', "tok_", "שלום", "\\", '"'])
sent = st.recursive(
    _texts | leaves | st.text(max_size=5) | st.just(0),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names | st.text(max_size=3), inner, max_size=4),
    max_leaves=20,
)


@given(sent)
@example({"a\x00": 1})
@example(["\x00", "\ud800"])
def test_clean_json_equals_the_json_of_clean(value: Any) -> None:
    assert json.loads(clean_json(value)) == clean(value)


def test_clean_json_does_not_clean_a_value_that_is_already_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    cleaned = made(body={"auth_token": TOKEN, "a": [TOKEN]})
    monkeypatch.setattr("league_sdk.protocol.transcript.clean", None)
    assert json.loads(clean_json(cleaned)) == cleaned


def test_clean_shows_an_empty_secret_as_empty() -> None:
    assert clean({"auth_token": "", "league_token": None}) == {"auth_token": "", "league_token": None}


def test_the_secret_fields_are_these() -> None:
    assert sorted(SECRET_FIELDS) == ["auth_token", "auth_token_sha256", "league_token", "registration_code"]


def test_clean_does_not_change_its_argument() -> None:
    body = {"auth_token": TOKEN, "context": {"auth_token": TOKEN}}
    clean(body)
    assert body == {"auth_token": TOKEN, "context": {"auth_token": TOKEN}}


@pytest.mark.parametrize(
    ("length", "cut"), [(MAX_TRANSCRIPT_BODY_BYTES - 2, False), (MAX_TRANSCRIPT_BODY_BYTES - 1, True)]
)
def test_a_body_over_4_kib_is_cut_with_a_mark(length: int, cut: bool) -> None:
    body = "x" * length
    expected = {"cut": True, "beginning": '"' + "x" * (MAX_TRANSCRIPT_BODY_BYTES // 4 - 1)} if cut else body
    assert body_for_transcript(body) == expected


@pytest.mark.parametrize("character", ["ä", "€", "\U0001f600", '"', "\\", "\x01"])
def test_the_limit_of_4_kib_counts_bytes(character: str) -> None:
    cut_body = body_for_transcript({"name": character * 3000})
    assert cut_body["cut"] is True
    assert len(rpc.dumps(cut_body)) <= MAX_TRANSCRIPT_BODY_BYTES


def test_a_large_body_is_not_walked_through_and_shows_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent could send it again and again, to make its referee late."""
    monkeypatch.setattr(transcript, "clean", None)
    secrets = {"auth_token": 'pass "word', "registration_code": ["ABC"], "league_token": 7, "said": f"x{TOKEN}"}
    cut_body = body_for_transcript(secrets | {"data": [{"a": [1]}] * 4000})
    assert cut_body["beginning"].startswith(
        '{"auth_token": "tok_…", "registration_code": "tok_…", "league_token": "tok_…", "said": "xtok_…", "data": [{"a'
    )
    assert len(cut_body["beginning"]) == MAX_TRANSCRIPT_BODY_BYTES // 4


def test_an_entry_has_every_required_field() -> None:
    notes = [note(Code.ID, seen="n" * 300, expected=7)]
    answer = {"elapsed_ms": 250, "limit_ms": 5000, "http_status": 200, "body": {"accept": True}}
    assert made(n=3, problem="p" * 600, notes=notes, **answer) == {
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
def test_a_deeply_nested_body_is_cut_so_that_a_report_with_it_can_be_read(depth: int, cut: bool) -> None:
    body: dict[str, Any] = {"accept": True}
    for _ in range(depth):
        body = {"a": body}
    one = made(body=body)
    assert (one["body"] == body, one["body"].get("cut", False)) == (not cut, cut)
    report = rpc.call("report_progress", {"matches": [{"transcript": [one]}]}, 1)
    assert rpc.loads(rpc.dumps(report)) == report


def entry_with(*wire: Wire) -> Any:
    return entry(n=1, at=NOW, sender="a", recipient="b", message_type="X", wire=wire)


def request(**changes: Any) -> Wire:
    wire: Wire = {
        "path": "/mcp",
        "shape": "flat",
        "method": "",
        "id": 1,
        "session": False,
        "status": 200,
        "content_type": "",
        "text": "no " + TOKEN,
        "request": {"auth_token": TOKEN, "note": TOKEN},
    }
    wire.update(changes)  # type: ignore[typeddict-item]
    return wire


def test_an_entry_without_requests_has_no_field_for_them() -> None:
    assert "wire" not in entry_with()


def test_the_requests_of_an_entry_are_small_and_have_no_token() -> None:
    long = request(path="/" + TOKEN, content_type=TOKEN, text=TOKEN + "x" * 9000)
    first, last = entry_with(request(), long)["wire"]
    assert "request" not in first and "text" not in first
    assert last["path"] == "/tok_…" and last["content_type"] == "tok_…"
    assert len(last["text"]) == MAX_WIRE_TEXT_CHARS and last["request"] == {"auth_token": "tok_…", "note": "tok_…"}
    assert entry_with(request(request={"x": "y" * 9000}))["wire"][0]["request"]["cut"] is True
