"""Read a registration request: what an agent says of itself (ruling, section 3). No database.

Only a name is required, and an address or that the agent dials out, in any of the fields of ``spellings``. Nothing else
is a reason to refuse; most of what is missing or wrong is noted for the agent's owner.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from agents_registry.addresses.endpoints import read_endpoint
from agents_registry.addresses.reading import INBOX_KEY, Address, inbox_address, inbox_key, plain_ip
from agents_registry.models import Kind
from agents_registry.rate_limits.attempts import network_of
from agents_registry.requests import spellings
from agents_registry.requests.spellings import OWN_META, SENDER_FIELDS, Facts, Found, first, short_text
from league_sdk.protocol import PROTOCOL, tokens
from league_sdk.protocol.envelope import parse_sender, parse_stamp
from league_sdk.protocol.errors import InvalidFormat, InvalidTimestamp, MissingField
from league_sdk.protocol.inbox import DIALS_OUT
from league_sdk.protocol.limits import (
    MAX_CONCURRENT_MATCHES,
    MAX_GAME_TYPES,
    MAX_ID_CHARS,
    MAX_NAME_CHARS,
    MAX_VERSION_CHARS,
)
from league_sdk.protocol.notes import Code, note

MAX_NOTES = 16
MAX_CODES = 4
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and symbols that leave no mark on a page."""
_KIND_ALONE = re.compile("(agent|player|referee) ?: ?", re.IGNORECASE)
_HOST = re.compile(r"[a-z0-9.-]+|[0-9a-f:]+", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Request:
    """A registration request, read (ruling, section 3).

    Attributes:
        codes: the registration codes in its meta, its envelope and its address, in this order.
        wanted_id: the id it asks for; empty if it asks for none.
        asks_for_call: it says ``"delivery": "push"``: it wants to be called at once, to learn whether it can be.
        shape: the name of the shape of the message.
        notes: what was missing or wrong, as sentences for the agent's owner.
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
    asks_for_call: bool = False
    wanted_id: str = ""
    shape: str = "canonical"

    @property
    def endpoint(self) -> str:
        """The address that is called."""
        return self.address.url

    @property
    def endpoint_key(self) -> str:
        """A key that is equal for all spellings of the address, to compare registrations."""
        return self.address.key

    @property
    def has_inbox_only(self) -> bool:
        """Whether it has no address and fetches its messages from its inbox (ruling, section 13)."""
        return self.endpoint_key == INBOX_KEY

    def key_in(self, league_id: str | None) -> str:
        """The key under which it is known in a league (None: in the lobby, or at the site)."""
        return inbox_key(league_id, self.name) if self.has_inbox_only else self.endpoint_key

    @property
    def registered_from(self) -> str:
        """The address that the caller's limits are counted by: in IPv6 its network."""
        return network_of(self.caller)

    def brings(self, secret: str | None) -> bool:
        """Whether one of the codes is the secret, compared in constant time."""
        if not secret:
            return False
        return any(tokens.same(code, secret) for code in self.codes)


def clean_name(value: object) -> str:
    """A display name as it is stored: no control or direction-changing characters, single spaces.

    Empty if nothing of it can be seen, or if it is a kind of agent without a name, as in "player:".
    """
    if not isinstance(value, str):
        return ""
    cleaned = "".join(
        " " if character.isspace() else character
        for character in unicodedata.normalize("NFC", value)
        if character.isspace() or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Cn")
    )
    name = " ".join(cleaned.split())[:MAX_NAME_CHARS].strip()
    is_seen = any(unicodedata.category(one)[0] in "LNPS" and one not in _BLANK for one in name)
    return name if is_seen and not _KIND_ALONE.fullmatch(name) else ""


def read_request(
    params: Mapping[str, Any], *, kind: Kind, caller: str, shape: str = "canonical", code_in_address: str = ""
) -> Request:
    """Read an unwrapped registration message.

    Args:
        caller: the IP address of the caller.
        shape: the name of the shape of the message.
        code_in_address: the registration code in ``/leagues/{id}/mcp?code=…``.

    Raises:
        MissingField: E003, no name, or neither an address nor that the agent dials out.
        InvalidFormat: E002, a message, a meta or an address that cannot be read.
    """
    if not isinstance(params, Mapping):
        raise InvalidFormat("A registration must be an object.", field="params", seen=params, expected="an object")
    facts = Facts(params, kind)
    caller = plain_ip(caller)
    _refuse_without_meta(params, facts)
    sender = first(facts.envelope(*SENDER_FIELDS))
    sender_text = short_text(sender.value, 2 * MAX_NAME_CHARS) if sender is not None else ""
    sender_name = clean_name(parse_sender(sender_text)[1]) or clean_name(sender_text)
    token = first(facts.envelope(*spellings.TOKEN_FIELDS))
    notes = _odd_envelope(facts)
    name = _name(facts, sender_name, notes)
    address = _address(facts, caller, notes)
    games = _games(facts, notes)
    version = _version(facts, notes)
    wanted_id = spellings.wanted_id(facts, sender_text, notes)
    return Request(
        kind=kind,
        name=name,
        sender_name=sender_name,
        address=address,
        version=version,
        game_types=games,
        max_concurrent=_max_concurrent(facts),
        codes=_codes(facts, code_in_address),
        token=token.value if token is not None and isinstance(token.value, str) else "",
        caller=caller,
        sends_progress=_says_true(facts, "sends_progress"),
        seals=_says_true(facts, "seals"),
        asks_for_call=_delivery(facts) == spellings.LISTENS and address.key != INBOX_KEY,
        notes=tuple([*notes, *address.notes][:MAX_NOTES]),
        wanted_id=wanted_id,
        shape=shape,
    )


def _refuse_without_meta(params: Mapping[str, Any], facts: Facts) -> None:
    """If the message has neither a name nor an address, nor says that it has none, complain about its meta."""
    places = (spellings.ADDRESS_FIELDS, spellings.HOST_FIELDS, spellings.PORT_FIELDS, spellings.DELIVERY_FIELDS)
    fields = (spellings.NAME_FIELDS, *places)
    if first(facts.meta(*chain(*fields))) is not None:
        return
    field = OWN_META[facts.kind]
    meta = params.get(field)
    if meta is None:
        expected = "an object with display_name and contact_endpoint"
        raise MissingField(f"{field} is missing.", field=field, expected=expected)
    if not isinstance(meta, Mapping):
        raise InvalidFormat(f"{field} must be an object.", field=field, seen=meta, expected="an object")


def _odd_envelope(facts: Facts) -> list[str]:
    """Notes on the envelope (ruling, section 2): a registration is never refused for it."""
    notes = []
    protocol = first(facts.envelope("protocol"))
    if protocol is None:
        notes.append(_note(Code.ASSUMED, field="protocol", used=PROTOCOL))
    elif protocol.value != PROTOCOL:
        notes.append(_differs("protocol", protocol.value, PROTOCOL))
    sender = first(facts.envelope(*SENDER_FIELDS))
    if sender is None:
        notes.append(_note(Code.MISSING, field="sender"))
    elif not isinstance(sender.value, str):
        notes.append(_note(Code.NOT_TEXT, field="sender"))
    elif not all(parse_sender(sender.value)):
        notes.append(_note(Code.NO_SENDER, seen=short_text(sender.value, 40), kind=facts.kind.value))
    timestamp = first(facts.envelope("timestamp"))
    if timestamp is None:
        notes.append(_note(Code.MISSING, field="timestamp"))
    else:
        try:
            parse_stamp(timestamp.value)
        except InvalidTimestamp:
            seen = short_text(timestamp.value, 40)
            notes.append(_note(Code.NO_TIMESTAMP, seen=seen) if seen else _note(Code.TIMESTAMP_NO_TEXT))
    if first(facts.envelope("conversation_id")) is None:
        notes.append(_note(Code.MISSING, field="conversation_id"))
    return notes


def _note(code: Code, **args: str) -> str:
    """A note as it is stored: the sentence, which ``protocol.notes`` reads again where it is translated."""
    return str(note(code, **args))


def _differs(field: str, value: object, expected: str) -> str:
    seen = short_text(value, 40)
    if not seen:
        return _note(Code.NOT_TEXT, field=field, expected=expected)
    return _note(Code.DIFFERS, field=field, seen=seen, expected=expected)


def _name(facts: Facts, sender_name: str, notes: list[str]) -> str:
    names = list(facts.meta(*spellings.NAME_FIELDS))
    for stated in names:
        if name := clean_name(stated.value):
            return name
    if sender_name:
        notes.append(_note(Code.NAMED_BY_SENDER))
        return sender_name
    for stated in facts.envelope(*spellings.ID_FIELDS[facts.kind]):
        if name := clean_name(stated.value):
            notes.append(_note(Code.NAMED_BY, field=stated.field))
            return name
    unusable = names[0] if names else Found(None, f"{facts.prefix}display_name")
    raise MissingField("display_name is missing.", field=unusable.field, seen=unusable.value, expected="a name to show")


def _address(facts: Facts, caller: str, notes: list[str]) -> Address:
    """The first address that can be read; if none was sent, one that is put together from a host and a port."""
    problem: InvalidFormat | None = None
    port = first(facts.meta(*spellings.PORT_FIELDS))
    for candidate in facts.meta(*spellings.ADDRESS_FIELDS):
        if isinstance(candidate.value, Mapping):
            # {"host": …, "port": …} in place of an address: read below, as parts.
            continue
        if port is not None and isinstance(candidate.value, str) and _HOST.fullmatch(candidate.value):
            return _address_of_parts(facts, candidate, caller, notes)
        try:
            address = read_endpoint(candidate.value, caller=caller, field=candidate.field, proxied=not caller)
        except InvalidFormat as error:
            problem = problem or error
        else:
            if problem is not None:
                notes.append(_note(Code.OTHER_ADDRESS, field=str(problem.context["field"]), used=candidate.field))
            return address
    if problem is not None:
        raise problem
    return _address_of_parts(facts, first(facts.meta(*spellings.HOST_FIELDS)), caller, notes)


def _address_of_parts(facts: Facts, host: Found | None, caller: str, notes: list[str]) -> Address:
    port, path = first(facts.meta(*spellings.PORT_FIELDS)), first(facts.meta(*spellings.PATH_FIELDS))
    if host is None and port is None:
        if _delivery(facts) in DIALS_OUT:
            return inbox_address()
        raise MissingField(
            "contact_endpoint is missing.",
            field=f"{facts.prefix}contact_endpoint",
            seen=facts.empty("contact_endpoint"),
            expected='the URL your agent listens at; or "delivery": "poll" if it fetches its messages',
        )
    # A port without a host is on the machine that calls, like localhost.
    name = short_text(host.value, MAX_NAME_CHARS * 4) if host is not None else "localhost"
    address = f"[{name}]" if ":" in name else name
    if port is not None:
        address += f":{short_text(port.value, 8) or '?'}"
    if path is not None and isinstance(path.value, str):
        address += "/" + path.value.lstrip("/")
    field = host.field if host is not None else f"{facts.prefix}port"
    notes.append(_note(Code.ADDRESS_IN_PARTS, address=address))
    return read_endpoint(f"http://{address}", caller=caller, field=field, proxied=not caller)


def _delivery(facts: Facts) -> str:
    """How it wants to get its messages; empty if it does not say."""
    delivery = first(facts.meta(*spellings.DELIVERY_FIELDS))
    return short_text(delivery.value, 20).lower() if delivery is not None else ""


def _games(facts: Facts, notes: list[str]) -> tuple[str, ...]:
    listed = first(facts.meta(*spellings.GAME_FIELDS))
    if listed is None:
        notes.append(_note(Code.EVERY_GAME, field="game_types"))
        return ()
    games = listed.value
    if isinstance(games, str):
        if listed.field.lower().endswith("s"):
            notes.append(_note(Code.TEXT_FOR_LIST, field=listed.field))
        games = games.split(",")
    if not isinstance(games, (list, Mapping)):
        notes.append(_note(Code.GAMES_NO_LIST, field=listed.field))
        return ()
    names = dict.fromkeys(spellings.game_name(game, MAX_ID_CHARS) for game in islice(games, MAX_GAME_TYPES))
    names.pop("", None)
    if games and not names:
        notes.append(_note(Code.NO_GAME_NAMED, field=listed.field))
    return () if spellings.ANY_GAME & set(names) else tuple(names)


def _version(facts: Facts, notes: list[str]) -> str:
    stated = first(facts.meta(*spellings.VERSION_FIELDS))
    if stated is None:
        notes.append(_note(Code.MISSING, field="version"))
        return ""
    if not isinstance(stated.value, str):
        notes.append(_note(Code.NO_STRING, field="version"))
    return short_text(stated.value, MAX_VERSION_CHARS)


def _max_concurrent(facts: Facts) -> int:
    for stated in facts.meta(*spellings.ROOM_FIELDS):
        if isinstance(stated.value, int) and not isinstance(stated.value, bool) and stated.value >= 1:
            return min(stated.value, MAX_CONCURRENT_MATCHES)
    return 1


def _says_true(facts: Facts, name: str) -> bool:
    return any(stated.value is True for stated in islice(facts.meta(name), 1))


def _codes(facts: Facts, in_address: str) -> tuple[str, ...]:
    codes = [stated.value.strip() for stated in facts.meta(*spellings.CODE_FIELDS) if isinstance(stated.value, str)]
    return tuple(dict.fromkeys(code for code in (*codes[:MAX_CODES], in_address.strip()) if code))
