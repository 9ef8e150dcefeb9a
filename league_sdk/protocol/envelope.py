"""The envelope around every message (ruling, section 2): building ours, reading theirs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from league_sdk.protocol import MINIMUM_PROTOCOL_VERSION, PROTOCOL
from league_sdk.protocol.errors import InvalidTimestamp, VersionMismatch

LEAGUE_MANAGER = "league_manager:LM01"
"""Our sender: 000 allows the id, and some agents demand one."""

_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|\+00:00)", re.ASCII)
_PROTOCOL = re.compile(r"league\.v(\d{1,3})", re.ASCII)
_VERSION = re.compile(r"(\d{1,3})\.(\d{1,3})(?:\.(\d{1,3}))?", re.ASCII)
_OLDEST = (2, 0, 0)
"""MINIMUM_PROTOCOL_VERSION, to compare with."""
_STAMP_EXPECTED = "YYYY-MM-DDTHH:MM:SSZ, in UTC"


def stamp(moment: datetime) -> str:
    """A moment as we write it: whole seconds, UTC, ``Z`` (ruling, section 2).

    Args:
        moment: an aware datetime.
    """
    # Not strftime, which takes several times as long; a match has dozens of them.
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def parse_stamp(value: object, *, field: str = "timestamp") -> datetime:
    """Read a timestamp of an agent: ``Z`` or ``+00:00``, with or without fractions (ruling, section 2).

    Raises:
        InvalidTimestamp: E021, for anything else.
    """
    wrong = InvalidTimestamp(f"{field} is not a UTC timestamp.", field=field, seen=value, expected=_STAMP_EXPECTED)
    if not isinstance(value, str) or not _STAMP.fullmatch(value):
        raise wrong
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        # Well formed and impossible, such as month 13.
        raise wrong from None


def envelope(
    message_type: str,
    *,
    sender: str,
    conversation_id: str,
    now: datetime,
    **fields: Any,
) -> dict[str, Any]:
    """A whole message: the required envelope fields first, then ``fields`` (ruling, section 2).

    Fields whose value is None are left out only for the optional envelope fields
    ``auth_token``, ``league_id``, ``round_id`` and ``match_id`` (ruling, section 2).
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
    """Split ``player:P01`` into its two halves; a bare word is a kind without an id (ruling, section 2)."""
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

    Absent counts as 2.0.0. ``protocol`` must be league.v2; ``protocol_version`` may stand in the
    envelope or in a registration's meta, as ``2.1.0`` or ``league.v2``.

    Raises:
        VersionMismatch: E018, with the supported ones in the context.
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
        if version is None or version < _OLDEST:
            raise VersionMismatch(
                f"Protocol versions from {MINIMUM_PROTOCOL_VERSION} on are supported.",
                field="protocol_version",
                seen=declared,
                expected=f"{MINIMUM_PROTOCOL_VERSION} or newer",
                supported_protocols=[PROTOCOL],
            )
