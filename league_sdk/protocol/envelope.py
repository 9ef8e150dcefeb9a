"""The envelope around every message (ruling, section 2): building ours, reading theirs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from league_sdk.protocol import MINIMUM_PROTOCOL_VERSION, PROTOCOL
from league_sdk.protocol.errors import InvalidTimestamp, VersionMismatch

LEAGUE_MANAGER = "league_manager:LM01"
"""The sender of the league manager's messages: 000 allows the id, and some agents require one."""

_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|\+00:00)", re.ASCII)
_PROTOCOL = re.compile(r"league\.v(\d{1,3})", re.ASCII)
_VERSION = re.compile(r"(\d{1,3})\.(\d{1,3})(?:\.(\d{1,3}))?", re.ASCII)
_MINIMUM_VERSION = (2, 0, 0)
"""MINIMUM_PROTOCOL_VERSION as numbers."""
_STAMP_EXPECTED = "YYYY-MM-DDTHH:MM:SSZ, in UTC"


def stamp(moment: datetime) -> str:
    """Write a time as the league sends it: whole seconds, UTC, ``Z`` (ruling, section 2).

    Args:
        moment: an aware datetime.
    """
    # strftime takes several times as long, and a match has dozens of timestamps.
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def parse_stamp(value: object, *, field: str = "timestamp") -> datetime:
    """Read a timestamp of an agent: ``Z`` or ``+00:00``, with or without fractions (ruling, section 2).

    Raises:
        InvalidTimestamp: E021, for anything else.
    """
    if isinstance(value, str) and _STAMP.fullmatch(value):
        # A well-formed timestamp may still be impossible, such as month 13.
        with suppress(ValueError):
            return datetime.fromisoformat(value)
    raise InvalidTimestamp(f"{field} is not a UTC timestamp.", field=field, seen=value, expected=_STAMP_EXPECTED)


def envelope(
    message_type: str,
    *,
    sender: str,
    conversation_id: str,
    now: datetime,
    **fields: Any,
) -> dict[str, Any]:
    """Build a message: the required envelope fields first, then ``fields`` (ruling, section 2).

    Of the optional envelope fields ``auth_token``, ``league_id``, ``round_id`` and ``match_id``, those that are None
    are left out.
    """
    message: dict[str, Any] = {
        "protocol": PROTOCOL,
        "message_type": message_type,
        "sender": sender,
        "timestamp": stamp(now),
        "conversation_id": conversation_id,
    }
    for name in ("auth_token", "league_id", "round_id", "match_id"):
        value = fields.pop(name, None)
        if value is not None:
            message[name] = value
    message.update(fields)
    return message


def parse_sender(value: str) -> tuple[str, str]:
    """Split ``player:P01`` into kind and id; a word without a colon is a kind without an id (ruling, section 2)."""
    kind, _, name = value.partition(":")
    return kind, name


def _version(value: object) -> tuple[int, int, int] | None:
    if not isinstance(value, str):
        return None
    named = _PROTOCOL.fullmatch(value)
    if named:
        return int(named[1]), 0, 0
    plain = _VERSION.fullmatch(value)
    return (int(plain[1]), int(plain[2]), int(plain[3] or 0)) if plain else None


def check_protocol(params: Mapping[str, Any]) -> None:
    """Check ``protocol`` and ``protocol_version`` (ruling, section 2).

    An absent version counts as 2.0.0. ``protocol`` must be league.v2; ``protocol_version`` may stand in the
    envelope or in a registration's meta, as ``2.1.0`` or ``league.v2``.

    Raises:
        VersionMismatch: E018, with the supported protocols in the context.
    """
    protocol = params.get("protocol")
    if protocol is not None and protocol != PROTOCOL:
        raise VersionMismatch(
            "This league speaks league.v2.",
            field="protocol",
            seen=protocol,
            expected=PROTOCOL,
            supported_protocols=[PROTOCOL],
        )
    for holder in (params, params.get("player_meta"), params.get("referee_meta")):
        declared = holder.get("protocol_version") if isinstance(holder, Mapping) else None
        if declared is None:
            continue
        version = _version(declared)
        if version is None or version < _MINIMUM_VERSION:
            raise VersionMismatch(
                f"Protocol versions from {MINIMUM_PROTOCOL_VERSION} on are supported.",
                field="protocol_version",
                seen=declared,
                expected=f"{MINIMUM_PROTOCOL_VERSION} or newer",
                supported_protocols=[PROTOCOL],
            )
