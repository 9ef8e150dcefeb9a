"""The fields of a registration under all the names and in all the places that real agents use. No database.

Agents put the same fact in different places and under different names (004 4.1.1 and 4.2.1, as students read them).
Case, ``_`` and ``-`` in a name never matter: ``displayName`` is ``display_name``. A "meta" is an object inside the
message in which an agent describes itself, such as ``player_meta`` of the documents.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agents_registry.models import Kind
from league_sdk.protocol.limits import MAX_ID_CHARS
from league_sdk.protocol.notes import Code, note
from league_sdk.protocol.tokens import redact

OWN_META = {Kind.PLAYER: "player_meta", Kind.REFEREE: "referee_meta"}
"""The field in which an agent describes itself, by the documents (ruling, section 3)."""

META_PLACES = (
    *("player_meta", "referee_meta", "agent_meta", "meta", "metadata", "data", "payload"),
    *("player_info", "referee_info", "agent_info", "player", "referee", "agent", "info", "endpoint", "address"),
)
"""All fields in which agents describe themselves; ``Facts.meta`` searches that of :data:`OWN_META` first, the message
itself last."""

NAME_FIELDS = (
    *("display_name", "name", "player_name", "agent_name", "referee_name"),
    *("team_name", "nickname", "username"),
)
ADDRESS_FIELDS = (
    *("contact_endpoint", "endpoint", "endpoint_url", "callback_url", "contact_url", "url", "address"),
    *("player_endpoint", "referee_endpoint", "agent_endpoint", "player_url", "agent_url", "referee_url"),
    *("callback_endpoint", "callback", "mcp_endpoint", "mcp_url", "server_url", "base_url", "webhook_url", "uri"),
)
HOST_FIELDS = ("host", "hostname", "ip", "ip_address")
PORT_FIELDS = ("port", "listen_port", "server_port")
PATH_FIELDS = ("path",)
DELIVERY_FIELDS = ("delivery",)
LISTENS = "push"
VERSION_FIELDS = ("version", "agent_version", "player_version")
GAME_FIELDS = ("game_types", "games", "supported_games", "supported_game_types", "game_type", "game")
ROOM_FIELDS = ("max_concurrent_matches", "max_concurrent", "max_matches", "capacity")
CODE_FIELDS = ("registration_code", "personal_code", "access_code", "code")
TOKEN_FIELDS = ("auth_token", "token")
SENDER_FIELDS = ("sender", "from")
LEAGUE_FIELDS = ("league_id",)
ID_FIELDS = {
    Kind.PLAYER: ("player_id", "agent_id", "requested_id"),
    Kind.REFEREE: ("referee_id", "agent_id", "requested_id"),
}
"""Fields with which an agent may ask for an id of its choice."""

ANY_GAME = frozenset({"*", "all", "any"})

_MAX_META_DEPTH = 3
_MAX_METAS = 16
_ID = re.compile(r"[A-Za-z0-9_-]{1,32}", re.ASCII)
_OUR_IDS = {
    Kind.PLAYER: re.compile(r"P\d{1,4}", re.ASCII | re.IGNORECASE),
    Kind.REFEREE: re.compile(r"REF\d{1,4}", re.ASCII | re.IGNORECASE),
}
NO_IDS = frozenset(
    {
        # What agents send while they have no id.
        *("", "unknown", "none", "null", "nil", "undefined", "tbd", "todo", "temp", "tmp", "pending", "new"),
        *("unregistered", "unassigned", "player", "referee", "agent", "me", "self"),
        # Words that mean something else in a result, a table or a sender.
        *("draw", "tie", "bye", "both", "nobody", "league_manager", "player_a", "player_b", "winner", "loser"),
    }
)
"""Words that cannot be an id."""
_OTHERS_IDS = {
    Kind.PLAYER: re.compile(r"(LM|REF)\d+", re.ASCII | re.IGNORECASE),
    Kind.REFEREE: re.compile(r"(LM|P)\d+", re.ASCII | re.IGNORECASE),
}


@dataclass(frozen=True, slots=True)
class Found:
    """A value that an agent sent, and the path of its field, for errors and notes."""

    value: Any
    field: str


class Facts:
    """The fields of a registration message, wherever they are in it.

    Args:
        message: the message itself, already taken out of JSON-RPC.
        kind: player or referee; ``player_meta`` or ``referee_meta`` is searched before other metas.

    Attributes:
        prefix: how the path of a missing field begins in an error, such as ``player_meta.``; empty if the message has
            no such meta.
    """

    def __init__(self, message: Mapping[str, Any], kind: Kind) -> None:
        self.kind = kind
        self._message = ("", _by_plain_name(message))
        self._metas = list(_metas(message, kind))
        self.prefix = f"{OWN_META[kind]}." if isinstance(message.get(OWN_META[kind]), Mapping) else ""

    def meta(self, *names: str) -> Iterator[Found]:
        """Every non-empty value of these fields, first those in the metas, then those in the message itself."""
        return self._values([*self._metas, self._message], names)

    def envelope(self, *names: str) -> Iterator[Found]:
        """Every non-empty value of these fields, first those in the message itself, then those in the metas."""
        return self._values([self._message, *self._metas], names)

    def empty(self, name: str) -> Any:
        """What an error quotes of a field without a usable value: the empty text or null that was sent, else None."""
        plain = _plain_name(name)
        return next((holder[plain][1] for _path, holder in [*self._metas, self._message] if plain in holder), None)

    @staticmethod
    def _values(holders: list[tuple[str, dict[str, tuple[str, Any]]]], names: tuple[str, ...]) -> Iterator[Found]:
        for path, holder in holders:
            for name in names:
                written, value = holder.get(_plain_name(name), ("", None))
                if value is not None and value != "":
                    yield Found(value, f"{path}{written}")


def _plain_name(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _by_plain_name(holder: Mapping[str, Any]) -> dict[str, tuple[str, Any]]:
    by_name: dict[str, tuple[str, Any]] = {}
    for key, value in holder.items():
        if len(key) <= 40:
            by_name.setdefault(_plain_name(key), (key, value))
    return by_name


def _metas(message: Mapping[str, Any], kind: Kind) -> Iterator[tuple[str, dict[str, tuple[str, Any]]]]:
    """The metas of a message and the metas inside them, outer ones first."""
    own = OWN_META[kind]
    places = [_plain_name(place) for place in (own, *(place for place in META_PLACES if place != own))]
    level = [("", _by_plain_name(message))]
    count = 0
    for _ in range(_MAX_META_DEPTH):
        below = []
        for path, holder in level:
            for place in places:
                written, value = holder.get(place, ("", None))
                if isinstance(value, Mapping) and count < _MAX_METAS:
                    count += 1
                    below.append((f"{path}{written}.", _by_plain_name(value)))
        yield from below
        level = below


def first(values: Iterator[Found]) -> Found | None:
    """The first value, or None."""
    return next(values, None)


def short_text(value: object, limit: int) -> str:
    """A string or number as text without unprintable characters and secrets; empty for anything else.

    A whole number of more than twelve digits gives an empty text, too.
    """
    if isinstance(value, bool):
        return ""
    if isinstance(value, int) and abs(value) < 10**12:
        value = str(value)
    elif isinstance(value, float):
        value = f"{value:g}"
    if not isinstance(value, str):
        return ""
    printable = "".join(character for character in value[: limit * 2] if character.isprintable())
    return redact(printable.strip())[:limit]


def wanted_id(facts: Facts, sender: str, notes: list[str]) -> str:
    """The id an agent asks for; empty when it asks for none (ruling, section 8; what counts as asking is our choice).

    An explicit ``player_id`` (``referee_id``, ``agent_id``) counts if it can be an id; a sender counts only
    if its id looks like one of ours, such as ``player:P07``. A note names each field whose text cannot be an id, up to
    the first that can; the words of :data:`NO_IDS` get none.
    """
    for candidate in facts.envelope(*ID_FIELDS[facts.kind]):
        text = short_text(candidate.value, MAX_ID_CHARS)
        if text.rpartition(":")[2].lower() in NO_IDS:
            continue
        agent_id = read_id(text, facts.kind)
        if agent_id is not None:
            return agent_id
        notes.append(str(note(Code.NO_ID, field=candidate.field, seen=text[:40])))
    sender_id = sender.rpartition(":")[2]
    return sender_id if _OUR_IDS[facts.kind].fullmatch(sender_id) else ""


def read_id(value: object, kind: Kind) -> str | None:
    """A possible id: at most 32 letters, digits, ``-`` and ``_``; None for anything else.

    Also None for words that mean something else in a result or a table, such as ``draw``, and for a player's id that
    looks like a referee's, or the reverse.
    """
    code = short_text(value, MAX_ID_CHARS).rpartition(":")[2]
    usable = _ID.fullmatch(code) and code.lower() not in NO_IDS and not _OTHERS_IDS[kind].fullmatch(code)
    return code if usable else None


def game_name(value: object, limit: int) -> str:
    """A game's name in our spelling: ``Even-Odd`` is ``even_odd``."""
    return re.sub(r"[\s/_-]+", "_", short_text(value, limit).lower()).strip("_")


def plays(game_types: object, game_type: str) -> bool:
    """Whether an agent that registered these games plays a game; without any it plays every game."""
    if not isinstance(game_types, (list, tuple)) or not game_types:
        return True
    plain = game_type.replace("_", "").lower()
    return any(isinstance(name, str) and name.replace("_", "").lower() == plain for name in game_types)
