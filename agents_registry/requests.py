"""Reading a registration request: what an agent says of itself (ruling, section 3). No database.

Only a name and an address are needed, wherever they stand (see ``spellings``); what else is missing
or odd is noted for the agent's owner, not refused.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agents_registry.addresses import Address, plain_ip
from agents_registry.endpoints import read_endpoint
from agents_registry.models import Kind
from agents_registry.spellings import (
    ADDRESS_FIELDS,
    ANY_GAME,
    CODE_FIELDS,
    GAME_FIELDS,
    HOST_FIELDS,
    ID_FIELDS,
    NAME_FIELDS,
    OWN_META,
    PATH_FIELDS,
    PORT_FIELDS,
    ROOM_FIELDS,
    SENDER_FIELDS,
    TOKEN_FIELDS,
    VERSION_FIELDS,
    Facts,
    Found,
    first,
    game_name,
    short_text,
    wanted_id,
)
from league_sdk.protocol import PROTOCOL, tokens
from league_sdk.protocol.envelope import parse_sender, parse_stamp
from league_sdk.protocol.errors import InvalidFormat, InvalidTimestamp, MissingField
from league_sdk.protocol.limits import (
    MAX_CONCURRENT_MATCHES,
    MAX_GAME_TYPES,
    MAX_ID_CHARS,
    MAX_NAME_CHARS,
    MAX_VERSION_CHARS,
)

MOST_NOTES = 16
MOST_CODES = 4
_HOST = re.compile(r"[a-z0-9.-]+|[0-9a-f:]+", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Request:
    """A registration request, read (ruling, section 3).

    Attributes:
        codes: the registration codes it brings, from its meta, its envelope and the address, in this order.
        wanted_id: the id it asks for; empty when it asks for none.
        shape: the name of the dialect shape it came in.
        notes: what was missing or odd, as sentences for the agent's owner.
    """

    kind: Kind
    name: str
    sender_name: str
    address: Address
    version: str
    game_types: tuple[str, ...]
    max_concurrent: int
    codes: tuple[str, ...]
    token: str
    caller: str
    sends_progress: bool
    notes: tuple[str, ...]
    seals: bool = False
    wanted_id: str = ""
    shape: str = "canonical"

    def brings(self, secret: str | None) -> bool:
        """Whether one of the codes is that secret, compared in constant time."""
        return bool(secret) and any(tokens.same(code, secret) for code in self.codes)


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


def read_request(
    params: Mapping[str, Any], *, kind: Kind, caller: str, shape: str = "canonical", code_in_address: str = ""
) -> Request:
    """Read a registration; only a name and an address are needed, what else is odd is noted.

    Args:
        params: the message, taken out of the clothes it came in.
        kind: player or referee.
        caller: the IP address it came from.
        shape: the dialect shape it came in, by name.
        code_in_address: the registration code of ``/leagues/{id}/mcp?code=…``.

    Raises:
        MissingField: E003, no name or no address.
        InvalidFormat: E002, a meta or an address that cannot be read.
    """
    if not isinstance(params, Mapping):
        raise InvalidFormat("A registration must be an object.", field="params", seen=params, expected="an object")
    facts = Facts(params, kind)
    caller = plain_ip(caller)
    meta_name = OWN_META[kind]
    _refuse_without_meta(params, facts, meta_name)
    prefix = f"{meta_name}." if isinstance(params.get(meta_name), Mapping) else ""
    found = first(facts.envelope(*SENDER_FIELDS))
    sender = short_text(found.value, 2 * MAX_NAME_CHARS) if found is not None else ""
    sender_name = clean_name(parse_sender(sender)[1] or sender)
    name, of_name = _name(facts, sender_name, prefix)
    address, of_address = _address(facts, caller, prefix)
    games, of_games = _games(facts)
    version, of_version = _version(facts)
    wanted, of_id = wanted_id(facts, sender)
    notes = [*_odd_envelope(facts), *of_name, *of_address, *of_games, *of_version, *of_id, *address.notes]
    token = first(facts.envelope(*TOKEN_FIELDS))
    return Request(
        kind=kind,
        name=name,
        sender_name=sender_name,
        address=address,
        version=version,
        game_types=games,
        max_concurrent=_room(facts),
        codes=_codes(facts, code_in_address),
        token=token.value if token is not None and isinstance(token.value, str) else "",
        caller=caller,
        sends_progress=_says(facts, "sends_progress"),
        seals=_says(facts, "seals"),
        notes=tuple(notes[:MOST_NOTES]),
        wanted_id=wanted,
        shape=shape,
    )


def _refuse_without_meta(params: Mapping[str, Any], facts: Facts, meta_name: str) -> None:
    """When neither a name nor an address is anywhere: the meta is what should have been sent."""
    if first(facts.meta(*NAME_FIELDS, *ADDRESS_FIELDS, *HOST_FIELDS, *PORT_FIELDS)) is not None:
        return
    meta = params.get(meta_name)
    if meta is None:
        raise MissingField(
            f"{meta_name} is missing.",
            field=meta_name,
            expected="an object with display_name and contact_endpoint",
        )
    if not isinstance(meta, Mapping):
        raise InvalidFormat(f"{meta_name} must be an object.", field=meta_name, seen=meta, expected="an object")


def _odd_envelope(facts: Facts) -> list[str]:
    """What is missing or odd in the envelope (ruling, section 2): for a registration it is never refused."""
    notes = []
    protocol = first(facts.envelope("protocol"))
    if protocol is None:
        notes.append(f"protocol was missing, {PROTOCOL} is assumed")
    elif protocol.value != PROTOCOL:
        notes.append(f"protocol was {short_text(protocol.value, 40) or 'not a text'}, expected {PROTOCOL}")
    sender = first(facts.envelope(*SENDER_FIELDS))
    if sender is None:
        notes.append("sender was missing")
    elif not isinstance(sender.value, str):
        notes.append("sender was not a text")
    elif not all(parse_sender(sender.value)):
        notes.append(f"sender was {short_text(sender.value, 40)}, expected {facts.kind.value}:<name>")
    timestamp = first(facts.envelope("timestamp"))
    if timestamp is None:
        notes.append("timestamp was missing")
    else:
        try:
            parse_stamp(timestamp.value)
        except InvalidTimestamp:
            seen = short_text(timestamp.value, 40) or "not a text"
            notes.append(f"timestamp was {seen}, expected YYYY-MM-DDTHH:MM:SSZ, in UTC")
    if first(facts.envelope("conversation_id")) is None:
        notes.append("conversation_id was missing")
    return notes


def _name(facts: Facts, sender_name: str, prefix: str) -> tuple[str, list[str]]:
    seen: Found | None = None
    for found in facts.meta(*NAME_FIELDS):
        seen = seen or found
        name = clean_name(found.value)
        if name:
            return name, []
    if sender_name:
        return sender_name, ["display_name was missing, the sender's name is used"]
    for found in facts.envelope(*ID_FIELDS[facts.kind]):
        name = clean_name(found.value)
        if name:
            return name, [f"display_name was missing, {found.field} is used"]
    raise MissingField(
        "display_name is missing.",
        field=seen.field if seen else f"{prefix}display_name",
        seen=seen.value if seen else None,
        expected="a name to show",
    )


def _address(facts: Facts, caller: str, prefix: str) -> tuple[Address, list[str]]:
    """The first address that can be read, else one put together from a host and a port."""
    problem: InvalidFormat | None = None
    port = first(facts.meta(*PORT_FIELDS))
    for found in facts.meta(*ADDRESS_FIELDS):
        if isinstance(found.value, Mapping):
            # {"host": …, "port": …} in place of an address: its parts are among the facts.
            continue
        if port is not None and isinstance(found.value, str) and _HOST.fullmatch(found.value):
            return _address_of_parts(facts, found, caller, prefix)
        try:
            address = read_endpoint(found.value, caller=caller, field=found.field, proxied=not caller)
        except InvalidFormat as error:
            problem = problem or error
        else:
            return address, [f"{problem.context['field']} could not be read, {found.field} is used"] if problem else []
    if problem is not None:
        raise problem
    return _address_of_parts(facts, first(facts.meta(*HOST_FIELDS)), caller, prefix)


def _address_of_parts(facts: Facts, host: Found | None, caller: str, prefix: str) -> tuple[Address, list[str]]:
    port, path = first(facts.meta(*PORT_FIELDS)), first(facts.meta(*PATH_FIELDS))
    if host is None and port is None:
        raise MissingField(
            "contact_endpoint is missing.",
            field=f"{prefix}contact_endpoint",
            seen=facts.empty("contact_endpoint"),
            expected="the URL your agent listens at",
        )
    # A port alone is one of the machine that calls, as localhost is.
    name = short_text(host.value, MAX_NAME_CHARS * 4) if host is not None else "localhost"
    address = f"[{name}]" if ":" in name else name
    if port is not None:
        address += f":{short_text(port.value, 8) or '?'}"
    if path is not None and isinstance(path.value, str):
        address += "/" + path.value.lstrip("/")
    field = host.field if host is not None else f"{prefix}port"
    found = read_endpoint(f"http://{address}", caller=caller, field=field, proxied=not caller)
    return found, [f"the address was given in parts, {address} is used"]


def _games(facts: Facts) -> tuple[tuple[str, ...], list[str]]:
    found = first(facts.meta(*GAME_FIELDS))
    if found is None:
        return (), ["game_types was missing, every game is assumed"]
    notes = []
    given = found.value
    if isinstance(given, str):
        if found.field.lower().endswith("s"):
            notes.append(f"{found.field} was a text, expected a list")
        given = given.split(",")
    if isinstance(given, Mapping):
        given = list(given)
    if not isinstance(given, list):
        return (), [f"{found.field} was not a list, every game is assumed"]
    named = dict.fromkeys(game_name(game, MAX_ID_CHARS) for game in given[:MAX_GAME_TYPES])
    named.pop("", None)
    if given and not named:
        notes.append(f"{found.field} named no game, every game is assumed")
    return () if ANY_GAME & set(named) else tuple(named), notes


def _version(facts: Facts) -> tuple[str, list[str]]:
    found = first(facts.meta(*VERSION_FIELDS))
    if found is None:
        return "", ["version was missing"]
    notes = [] if isinstance(found.value, str) else ["version was not a string"]
    return short_text(found.value, MAX_VERSION_CHARS), notes


def _room(facts: Facts) -> int:
    for found in facts.meta(*ROOM_FIELDS):
        if isinstance(found.value, int) and not isinstance(found.value, bool) and found.value >= 1:
            return min(found.value, MAX_CONCURRENT_MATCHES)
    return 1


def _says(facts: Facts, name: str) -> bool:
    found = first(facts.meta(name))
    return found is not None and found.value is True


def _codes(facts: Facts, in_address: str) -> tuple[str, ...]:
    given = [found.value.strip() for found in facts.meta(*CODE_FIELDS) if isinstance(found.value, str)]
    codes = dict.fromkeys([*given[:MOST_CODES], in_address.strip()])
    codes.pop("", None)
    return tuple(codes)
