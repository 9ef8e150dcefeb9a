"""Reading a registration request: what an agent says of itself (004 4.1.1, 4.2.1). No database.

Only a name and an address are needed; what else is missing or odd is noted, not refused.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agents_registry.addresses import Address, plain_ip, read_address
from agents_registry.models import Kind
from league_sdk.protocol.envelope import parse_sender
from league_sdk.protocol.errors import InvalidFormat, MissingField
from league_sdk.protocol.limits import (
    MAX_CONCURRENT_MATCHES,
    MAX_GAME_TYPES,
    MAX_ID_CHARS,
    MAX_NAME_CHARS,
    MAX_VERSION_CHARS,
)

_META = {Kind.PLAYER: "player_meta", Kind.REFEREE: "referee_meta"}


@dataclass(frozen=True, slots=True)
class Request:
    """A registration request, read (004 4.1.1, 4.2.1)."""

    kind: Kind
    name: str
    sender_name: str
    address: Address
    version: str
    game_types: tuple[str, ...]
    max_concurrent: int
    code: str
    token: str
    caller: str
    sends_progress: bool
    notes: tuple[str, ...]


def clean_name(value: object) -> str:
    """A display name as we keep it: no control or direction-changing characters, single spaces."""
    if not isinstance(value, str):
        return ""
    kept = "".join(
        " " if character.isspace() else character
        for character in unicodedata.normalize("NFC", value)
        if character.isspace() or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Cn")
    )
    return " ".join(kept.split())[:MAX_NAME_CHARS].strip()


def read_request(params: Mapping[str, Any], *, kind: Kind, caller: str) -> Request:
    """Read a registration; only a name and an address are needed, what else is odd is noted.

    Args:
        params: the message.
        kind: player or referee.
        caller: the IP address it came from.

    Raises:
        MissingField: E003, no name or no address.
        InvalidFormat: E002, a meta or an address that cannot be read.
    """
    meta_name = _META[kind]
    meta = params.get(meta_name)
    if meta is None:
        raise MissingField(
            f"{meta_name} is missing.",
            field=meta_name,
            expected="an object with display_name and contact_endpoint",
        )
    if not isinstance(meta, Mapping):
        raise InvalidFormat(f"{meta_name} must be an object.", field=meta_name, seen=meta, expected="an object")
    notes: list[str] = []
    caller = plain_ip(caller)
    sender = params.get("sender")
    sender_name = clean_name(parse_sender(sender)[1] or sender) if isinstance(sender, str) else ""
    name = clean_name(meta.get("display_name"))
    if not name and sender_name:
        name = sender_name
        notes.append("display_name was missing, the sender's name is used")
    if not name:
        raise MissingField(
            "display_name is missing.",
            field=f"{meta_name}.display_name",
            seen=meta.get("display_name"),
            expected="a name to show",
        )
    if meta.get("contact_endpoint") in (None, ""):
        raise MissingField(
            "contact_endpoint is missing.",
            field=f"{meta_name}.contact_endpoint",
            seen=meta.get("contact_endpoint"),
            expected="the URL your agent listens at",
        )
    address = read_address(meta["contact_endpoint"], caller=caller, field=f"{meta_name}.contact_endpoint")
    games = meta.get("game_types")
    if not isinstance(games, list):
        notes.append("game_types was missing, every game is assumed")
        games = []
    version = meta.get("version")
    if not isinstance(version, str):
        notes.append("version was missing" if version is None else "version was not a string")
    room = meta.get("max_concurrent_matches")
    usable = isinstance(room, int) and not isinstance(room, bool) and room >= 1
    code = meta.get("registration_code", params.get("registration_code"))
    token = params.get("auth_token")
    return Request(
        kind=kind,
        name=name,
        sender_name=sender_name,
        address=address,
        version=str(version)[:MAX_VERSION_CHARS] if version is not None else "",
        game_types=tuple(str(game)[:MAX_ID_CHARS] for game in games[:MAX_GAME_TYPES]),
        max_concurrent=min(int(room), MAX_CONCURRENT_MATCHES) if usable and isinstance(room, int) else 1,
        code=code if isinstance(code, str) else "",
        token=token if isinstance(token, str) else "",
        caller=caller,
        sends_progress=meta.get("sends_progress") is True,
        notes=(*notes, *address.notes),
    )
