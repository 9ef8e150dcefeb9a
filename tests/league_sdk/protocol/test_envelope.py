"""The envelope of every message (004 2.4) and the versions of the protocol (004 2.10, ruling section 2)."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from league_sdk.protocol.envelope import (
    LEAGUE_MANAGER,
    check_protocol,
    envelope,
    parse_sender,
    parse_stamp,
    stamp,
)
from league_sdk.protocol.errors import InvalidTimestamp, VersionMismatch

HALF_PAST = datetime(2025, 1, 15, 10, 30, tzinfo=UTC)


# -- timestamps -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2025-01-15T10:30:00Z", HALF_PAST),
        ("2025-01-15T10:30:00+00:00", HALF_PAST),
        ("2025-01-15T10:30:00.250Z", HALF_PAST + timedelta(milliseconds=250)),
        ("2025-01-15T10:30:00.000001+00:00", HALF_PAST + timedelta(microseconds=1)),
        ("2025-01-15T10:30:00.5Z", HALF_PAST + timedelta(milliseconds=500)),
        ("2025-01-15T10:30:00.123456789Z", HALF_PAST + timedelta(microseconds=123456)),
    ],
)
def test_parse_stamp_reads_the_forms_of_table_3_and_the_ruling(text: str, moment: datetime) -> None:
    assert parse_stamp(text) == moment


@pytest.mark.parametrize(
    "value",
    [
        *["2025-01-15T10:30:00+02:00", "2025-01-15T10:30:00", "2025-01-15T10:30:00-00:00", "2025-01-15T10:30:00z"],
        *["20250115T103000Z", "2025-01-15T10:30:00.Z", "2025-13-15T10:30:00Z", "2025-02-29T10:30:00Z"],
        *["0000-01-15T10:30:00Z", "2025-01-15T24:30:00Z", "٢٠٢٥-01-15T10:30:00Z"],
        "2025-01-15 10:30:00Z",
        "2025-01-15T10:30:00Z\n",
        "",
        None,
        1736937000,
        ["2025-01-15T10:30:00Z"],
    ],
)
def test_parse_stamp_refuses_any_other_form_as_e021(value: Any) -> None:
    with pytest.raises(InvalidTimestamp) as caught:
        parse_stamp(value, field="arrival_timestamp")
    assert caught.value.error_code == "E021"
    assert caught.value.context == {
        "field": "arrival_timestamp",
        "seen": json.dumps(value),
        "expected": "YYYY-MM-DDTHH:MM:SSZ, in UTC",
    }


@pytest.mark.parametrize(
    "moment",
    [
        HALF_PAST,
        HALF_PAST + timedelta(microseconds=999_999),
        datetime(2025, 1, 15, 12, 30, tzinfo=timezone(timedelta(hours=2))),
    ],
)
def test_stamp_writes_whole_seconds_in_utc_with_z(moment: datetime) -> None:
    assert stamp(moment) == "2025-01-15T10:30:00Z"


@given(st.datetimes(min_value=datetime(1001, 1, 1), max_value=datetime(9998, 1, 1), timezones=st.timezones()))
def test_parse_stamp_reads_what_stamp_writes(moment: datetime) -> None:
    assert parse_stamp(stamp(moment)) == moment.astimezone(UTC).replace(microsecond=0)


@given(st.text(max_size=40) | st.from_regex(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|\+00:00)", fullmatch=True))
def test_parse_stamp_returns_utc_or_raises_e021_for_any_text(text: str) -> None:
    try:
        moment = parse_stamp(text)
    except InvalidTimestamp:
        return
    assert moment.utcoffset() == timedelta(0)


# -- the envelope -----------------------------------------------------------------------------------------


def test_an_envelope_has_its_fields_in_the_order_of_the_documents() -> None:
    message = envelope(
        "GAME_INVITATION",
        sender="referee:REF01",
        conversation_id="conv-r1m1-001",
        now=HALF_PAST,
        game_type="even_odd",
        match_id="R1M1",
        round_id=1,
        league_id="league_2025_even_odd",
        auth_token="tok_abc",
    )
    assert list(message.items()) == [
        ("protocol", "league.v2"),
        ("message_type", "GAME_INVITATION"),
        ("sender", "referee:REF01"),
        ("timestamp", "2025-01-15T10:30:00Z"),
        ("conversation_id", "conv-r1m1-001"),
        ("auth_token", "tok_abc"),
        ("league_id", "league_2025_even_odd"),
        ("round_id", 1),
        ("match_id", "R1M1"),
        ("game_type", "even_odd"),
    ]


def test_an_envelope_leaves_out_only_optional_fields_that_are_none() -> None:
    # The envelope has no field `reason`: it stays, although it is None.
    fields = dict.fromkeys(("auth_token", "league_id", "round_id", "match_id", "reason"))
    message = envelope("X", sender="s", conversation_id="c", now=HALF_PAST, **fields)
    assert message == {
        "protocol": "league.v2",
        "message_type": "X",
        "sender": "s",
        "timestamp": "2025-01-15T10:30:00Z",
        "conversation_id": "c",
        "reason": None,
    }


@pytest.mark.parametrize(
    ("sender", "parts"),
    [
        ("player:P01", ("player", "P01")),
        ("referee:REF01", ("referee", "REF01")),
        (LEAGUE_MANAGER, ("league_manager", "LM01")),
        ("league_manager", ("league_manager", "")),
        ("P01", ("P01", "")),
        ("player:a:b", ("player", "a:b")),
        ("", ("", "")),
    ],
)
def test_parse_sender_splits_kind_and_id(sender: str, parts: tuple[str, str]) -> None:
    assert parse_sender(sender) == parts


# -- versions ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [None, "2.0.0", "2.1.0", "2.0", "2.1", "2.99.99", "league.v2"])
@pytest.mark.parametrize("holder", [None, "player_meta", "referee_meta"])
def test_supported_versions_are_accepted(version: str | None, holder: str | None) -> None:
    declared = {"protocol_version": version}
    check_protocol({"protocol": "league.v2"} | (declared if holder is None else {holder: declared}))
    # A holder that is not an object declares no version.
    check_protocol({holder or "protocol": None if holder is None else ["protocol_version"]})


@pytest.mark.parametrize("version", ["1.9.9", "0.1", "league.v1", "v2", "2", "2.1.0-beta", "2.x", "", 2, 2.1, True, []])
@pytest.mark.parametrize("holder", [None, "player_meta", "referee_meta"])
def test_an_older_or_malformed_version_is_e018(version: Any, holder: str | None) -> None:
    declared = {"protocol_version": version}
    with pytest.raises(VersionMismatch) as caught:
        check_protocol(declared if holder is None else {holder: declared})
    assert (caught.value.error_code, caught.value.context["field"]) == ("E018", "protocol_version")
    assert caught.value.context["supported_protocols"] == ["league.v2"]


@pytest.mark.parametrize("protocol", ["league.v1", "LEAGUE.V2", "", 2])
def test_another_protocol_is_e018_and_names_the_supported_ones(protocol: Any) -> None:
    with pytest.raises(VersionMismatch) as caught:
        check_protocol({"protocol": protocol, "protocol_version": "2.1.0"})
    assert caught.value.context == {
        "supported_protocols": ["league.v2"],
        "field": "protocol",
        "seen": json.dumps(protocol),
        "expected": "league.v2",
    }
