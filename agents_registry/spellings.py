"""The names under which agents give the facts of a registration, and how one is looked up. No database.

Real agents put the same fact in other places and under other names (004 4.1.1, 4.2.1, and the reading
of them by students). Capitals, ``_`` and ``-`` in a name never matter: ``displayName`` is ``display_name``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agents_registry.models import Kind
from league_sdk.protocol.limits import MAX_ID_CHARS
from league_sdk.protocol.tokens import redact

OWN_META = {Kind.PLAYER: "player_meta", Kind.REFEREE: "referee_meta"}
"""Where the documents put what an agent says of itself (ruling, section 3)."""

META_PLACES = (
    "player_meta",
    "referee_meta",
    "agent_meta",
    "meta",
    "metadata",
    "data",
    "payload",
    "player_info",
    "referee_info",
    "agent_info",
    "player",
    "referee",
    "agent",
    "info",
    "endpoint",
    "address",
)
"""Where it is looked for besides; the message itself comes last."""

NAME_FIELDS = (
    "display_name",
    "name",
    "player_name",
    "agent_name",
    "referee_name",
    "team_name",
    "nickname",
    "username",
)
ADDRESS_FIELDS = (
    "contact_endpoint",
    "endpoint",
    "endpoint_url",
    "callback_url",
    "contact_url",
    "url",
    "address",
    "player_endpoint",
    "referee_endpoint",
    "agent_endpoint",
    "player_url",
    "agent_url",
    "referee_url",
    "callback_endpoint",
    "callback",
    "mcp_endpoint",
    "mcp_url",
    "server_url",
    "base_url",
    "webhook_url",
    "uri",
)
HOST_FIELDS = ("host", "hostname", "ip", "ip_address")
PORT_FIELDS = ("port", "listen_port", "server_port")
PATH_FIELDS = ("path",)
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
"""Under which an agent may ask for an id of its own choice."""

ANY_GAME = frozenset({"*", "all", "any"})

_DEPTH = 3
_MOST_HOLDERS = 16
_ID = re.compile(r"[A-Za-z0-9_-]{1,32}", re.ASCII)
_OUR_IDS = {
    Kind.PLAYER: re.compile(r"P\d{1,4}", re.ASCII | re.IGNORECASE),
    Kind.REFEREE: re.compile(r"REF\d{1,4}", re.ASCII | re.IGNORECASE),
}
NO_IDS = frozenset(
    {
        # What agents write while they have no id.
        *("", "unknown", "none", "null", "nil", "undefined", "tbd", "todo", "temp", "tmp", "pending", "new"),
        *("unregistered", "unassigned", "player", "referee", "agent", "me", "self"),
        # What would be read as something else in a result, a table or a sender.
        *("draw", "tie", "bye", "both", "nobody", "league_manager", "player_a", "player_b", "winner", "loser"),
    }
)
"""Words that are nobody's id."""
_OTHERS_IDS = {
    Kind.PLAYER: re.compile(r"(LM|REF)\d+", re.ASCII | re.IGNORECASE),
    Kind.REFEREE: re.compile(r"(LM|P)\d+", re.ASCII | re.IGNORECASE),
}


@dataclass(frozen=True, slots=True)
class Found:
    """A fact that an agent gave: its value, and where it stood, for an error or a note."""

    value: Any
    field: str


class Facts:
    """What a registration message says, wherever it says it.

    Args:
        message: the message, already taken out of its JSON-RPC clothes.
        kind: player or referee: its own meta is looked at first.
    """

    def __init__(self, message: Mapping[str, Any], kind: Kind) -> None:
        self.kind = kind
        self._message = ("", _by_plain_name(message))
        self._metas = list(_metas(message, kind))

    def meta(self, *names: str) -> Iterator[Found]:
        """Every non-empty value under these names: the metas first, the message itself last."""
        return self._look([*self._metas, self._message], names)

    def envelope(self, *names: str) -> Iterator[Found]:
        """The same, the message itself first."""
        return self._look([self._message, *self._metas], names)

    def empty(self, name: str) -> Any:
        """What stands where a value should be (an empty text, or null), for an error."""
        holders = [*self._metas, self._message]
        values = [holder[_plain_name(name)][1] for _path, holder in holders if _plain_name(name) in holder]
        return values[0] if values else None

    @staticmethod
    def _look(holders: list[tuple[str, dict[str, tuple[str, Any]]]], names: tuple[str, ...]) -> Iterator[Found]:
        for path, holder in holders:
            for name in names:
                written, value = holder.get(_plain_name(name), ("", None))
                if value is not None and value != "":
                    yield Found(value, f"{path}{written}")


def _plain_name(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _by_plain_name(holder: Mapping[str, Any]) -> dict[str, tuple[str, Any]]:
    found: dict[str, tuple[str, Any]] = {}
    for key, value in holder.items():
        if isinstance(key, str) and len(key) <= 40:
            found.setdefault(_plain_name(key), (key, value))
    return found


def _metas(message: Mapping[str, Any], kind: Kind) -> Iterator[tuple[str, dict[str, tuple[str, Any]]]]:
    """The metas of a message and the metas in these, the nearest first."""
    own = OWN_META[kind]
    places = [_plain_name(place) for place in (own, *(place for place in META_PLACES if place != own))]
    level = [("", _by_plain_name(message))]
    count = 0
    for _ in range(_DEPTH):
        below = []
        for path, holder in level:
            for place in places:
                written, value = holder.get(place, ("", None))
                if isinstance(value, Mapping) and count < _MOST_HOLDERS:
                    count += 1
                    below.append((f"{path}{written}.", _by_plain_name(value)))
        yield from below
        level = below


def first(found: Iterator[Found]) -> Found | None:
    """The first of some facts, if there is one."""
    return next(found, None)


def short_text(value: object, limit: int) -> str:
    """A text or number as text, without characters that cannot be stored or shown; empty for anything else."""
    if isinstance(value, bool):
        return ""
    if isinstance(value, int) and abs(value) < 10**12:
        value = str(value)
    elif isinstance(value, float):
        value = f"{value:g}"
    if not isinstance(value, str):
        return ""
    kept = "".join(character for character in value[: limit * 2] if character.isprintable())
    return redact(kept.strip())[:limit]


def wanted_id(facts: Facts, sender: str) -> tuple[str, list[str]]:
    """The id an agent asks for, and notes (ruling, section 8; what counts as asking is our choice).

    An explicit ``player_id`` (``referee_id``, ``agent_id``) counts if it can be an id; a sender counts only
    if its id looks like one of ours, such as ``player:P07``.

    Returns the id, or an empty text when it asks for none.
    """
    notes = []
    for found in facts.envelope(*ID_FIELDS[facts.kind]):
        asked = short_text(found.value, MAX_ID_CHARS)
        if asked.rpartition(":")[2].lower() in NO_IDS:
            continue
        read = read_id(asked, facts.kind)
        if read is not None:
            return read, notes
        notes.append(f"{found.field} was {asked[:40]}, which cannot be an id here")
    said = sender.rpartition(":")[2]
    return (said if _OUR_IDS[facts.kind].fullmatch(said) else ""), notes


def read_id(value: object, kind: Kind) -> str | None:
    """An id as it can be given: letters, digits, ``-`` and ``_``, at most 32 long; None for anything else.

    Also None for a word that a result or a table would read as something else, such as ``draw``, and for a
    player's that looks like a referee's, or the reverse.
    """
    code = short_text(value, MAX_ID_CHARS).rpartition(":")[2]
    usable = _ID.fullmatch(code) and code.lower() not in NO_IDS and not _OTHERS_IDS[kind].fullmatch(code)
    return code if usable else None


def game_name(value: object, limit: int) -> str:
    """A game's name in our spelling: ``Even-Odd`` is ``even_odd``."""
    return re.sub(r"[\s/_-]+", "_", short_text(value, limit).lower()).strip("_")


def plays(game_types: object, game_type: str) -> bool:
    """Whether an agent that named these games plays that one; one that named none plays every game."""
    if not isinstance(game_types, (list, tuple)) or not game_types:
        return True
    plain = game_type.replace("_", "").lower()
    return any(isinstance(one, str) and one.replace("_", "").lower() == plain for one in game_types)
