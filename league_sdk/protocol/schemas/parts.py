"""What the models of messages are made of: envelope, field types, conditions (004 2.3, 2.4, 4.12).

A field is required where the course's text demands it of its sender, and optional where it is left out in one of the
text's own examples or is an addition of ours. Fields that no document names are allowed everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from league_sdk.protocol.envelope import parse_stamp
from league_sdk.protocol.errors import InvalidTimestamp
from league_sdk.protocol.limits import MAX_ENDPOINT_CHARS, MAX_ID_CHARS

CLAUSE, EXPECTED = "x-clause", "x-expected"
"""Annotations of ours in the JSON Schemas: the section that demands a field, and in words what it should be."""


def told(text: str, clause: str) -> FieldInfo:
    """The description of a field, and the section that demands it."""
    info: FieldInfo = Field(description=f"{text} ({clause})", json_schema_extra={CLAUSE: clause})
    return info


def _extra(expected: str) -> dict[str, Any]:
    return {EXPECTED: expected}


def _moment(value: str) -> str:
    try:
        parse_stamp(value)
    except InvalidTimestamp:
        raise PydanticCustomError("timestamp", "not a moment in UTC") from None
    return value


def _something(value: Any) -> Any:
    if value is None:
        raise PydanticCustomError("nothing", "null is no choice")
    return value


_STAMP = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|\+00:00)$"
Stamp = Annotated[
    str,
    Field(
        pattern=_STAMP, json_schema_extra={"format": "date-time", EXPECTED: "YYYY-MM-DDTHH:MM:SSZ or +00:00, in UTC"}
    ),
    AfterValidator(_moment),
]
Text = Annotated[str, Field(min_length=1, json_schema_extra=_extra("a text that is not empty"))]
Id = Annotated[str, Field(min_length=1, max_length=MAX_ID_CHARS, json_schema_extra=_extra("an id, as a string"))]
Token = Annotated[
    str, Field(pattern=r"^[!-~]{1,512}$", json_schema_extra=_extra("a token: printable characters without spaces"))
]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$", json_schema_extra=_extra("a SHA-256 in hex"))]
Endpoint = Annotated[
    str,
    Field(
        pattern=r"^https?://[^\s/?#]+[^\s]*$",
        max_length=MAX_ENDPOINT_CHARS,
        json_schema_extra=_extra("an http or https URL, such as http://localhost:8101/mcp"),
    ),
]
ErrorCode = Annotated[str, Field(pattern="^E[0-9]{3}$", json_schema_extra=_extra("an E-code, such as E001"))]
LegacyCode = Annotated[
    str, Field(pattern="^[LG]00[1-5]$", json_schema_extra=_extra("a code of the older text, such as G001"))
]
Version = Annotated[
    str,
    Field(
        pattern=r"^(([2-9]|[1-9][0-9]{1,2})\.[0-9]{1,3}(\.[0-9]{1,3})?|league\.v([2-9]|[1-9][0-9]{1,2}))$",
        json_schema_extra=_extra("2.0.0 or newer, or league.v2"),
    ),
]
Count = Annotated[int, Field(ge=0, json_schema_extra=_extra("a whole number from 0 on"))]
Number = Annotated[int, Field(ge=1, json_schema_extra=_extra("a whole number from 1 on"))]
Role = Literal["PLAYER_A", "PLAYER_B"]
Parity = Literal["even", "odd"]
Choice = Annotated[
    Any, AfterValidator(_something), WithJsonSchema({"not": {"type": "null"}, EXPECTED: "a move of the game"})
]
_NAMED = r":[^\x00-\x1f\x7f]+$"
ManagerSender = Annotated[
    str,
    Field(
        pattern=r"^league_manager(:[^\x00-\x1f\x7f]+)?$",
        json_schema_extra=_extra("league_manager or league_manager:<id>"),
    ),
]
RefereeSender = Annotated[
    str, Field(pattern="^referee" + _NAMED, json_schema_extra=_extra("referee:<id>, such as referee:REF01"))
]
PlayerSender = Annotated[
    str, Field(pattern="^player" + _NAMED, json_schema_extra=_extra("player:<id>, such as player:P01"))
]
AgentSender = Annotated[
    str, Field(pattern="^(player|referee)" + _NAMED, json_schema_extra=_extra("player:<id> or referee:<id>"))
]


class When(NamedTuple):
    """Fields that are required only for some value of another.

    Attributes:
        path: the dotted path of the field that decides.
        value: its value in that case.
        required: dotted paths of what has to be there then, all in one object.
        clause: the section that says so.
        nullable: whether null will do.
    """

    path: str
    value: Any
    required: tuple[str, ...]
    clause: str
    nullable: bool = False


def find(message: Any, path: str) -> Any:
    """What stands at a dotted path of objects or models, or :data:`MISSING`."""
    for part in path.split("."):
        if isinstance(message, BaseModel):
            message = {name: getattr(message, name) for name in message.model_fields_set}
        if not isinstance(message, Mapping) or part not in message:
            return MISSING
        message = message[part]
    return message


MISSING = object()
"""Not even null."""


class Part(BaseModel):
    """An object: types as they are written, fields that nobody named allowed."""

    model_config = ConfigDict(strict=True, extra="allow", defer_build=True)


class Message(Part):
    """A message, and how it travels.

    Attributes:
        clause: the section that shows it.
        sent_by: who sends it: player, referee, league_manager.
        sent_to: who gets it.
        answer: the message type that answers it, if one does.
        conditions: what is required only sometimes.
        either: groups of names of which one has to be there.
    """

    clause: ClassVar[str]
    sent_by: ClassVar[tuple[str, ...]]
    sent_to: ClassVar[tuple[str, ...]]
    answer: ClassVar[str | None] = None
    conditions: ClassVar[tuple[When, ...]] = ()
    either: ClassVar[tuple[tuple[str, ...], ...]] = ()

    @model_validator(mode="after")
    def _meets_conditions(self) -> Message:
        lacking = [path for condition in self.conditions for path in unmet(condition, self)]
        lacking += [" or ".join(names) for names in missing_either(type(self), self)]
        if lacking:
            raise PydanticCustomError("condition", "{fields} missing", {"fields": ", ".join(lacking)})
        return self


def unmet(condition: When, message: Any) -> list[str]:
    """The paths that a condition demands and a message lacks; their holder has to be there to lack them."""
    if find(message, condition.path) != condition.value:
        return []
    lacking = []
    for path in condition.required:
        holder = path.rpartition(".")[0]
        if holder and not isinstance(find(message, holder), (Mapping, BaseModel)):
            continue
        value = find(message, path)
        if value is MISSING or (value is None and not condition.nullable):
            lacking.append(path)
    return lacking


def missing_either(kind: type[Message], message: Any) -> list[tuple[str, ...]]:
    """The groups of names of which a message has none."""
    return [names for names in kind.either if all(find(message, name) in (None, MISSING) for name in names)]


Protocol = Annotated[Literal["league.v2"], told("The protocol's name.", "004 2.4.1")]
Stamped = Annotated[Stamp, told("When it was sent, in UTC.", "004 2.4.2")]
Conversation = Annotated[Text, told("What belongs together; an answer repeats the one of its question.", "004 2.4.1")]
SENDER = told("Who sends it, as type:id.", "004 2.4.4")
OwnToken = Annotated[Token, told("The token the sender got when it registered.", "004 2.4.5")]
LeagueToken = Annotated[
    Token | None,
    told("Ours, always sent: the receiver's league_token, by which it can check who calls.", "004 2.4.3"),
]
LeagueId = Annotated[Id, told("The league.", "004 2.3")]
RoundId = Annotated[Number, told("The number of the round.", "004 2.3")]
MatchId = Annotated[Id, told("The match, such as R1M1.", "004 4.12.1")]
GameType = Annotated[Id, told("The game that is played, such as even_odd.", "004 2.3")]
MaybeLeagueId = Annotated[Id | None, told("The league; we always send it.", "004 2.4.3")]
MaybeRoundId = Annotated[Number | None, told("The number of the round; we always send it.", "004 2.4.3")]
MaybeOpponent = Annotated[Id | None, told("Whom the player meets; we always send it.", "004 4.4.1")]
MaybeEndpoint = Annotated[
    Endpoint | None, told("Ours, always sent: where an answer may be posted instead of returned.", "our choice")
]


class Envelope(Message):
    """What every message begins with (004 2.4.1)."""

    protocol: Protocol
    message_type: str
    sender: str
    timestamp: Stamped
    conversation_id: Conversation


class FromManager(Envelope):
    """A message of the league manager."""

    sent_by = ("league_manager",)
    sender: Annotated[ManagerSender, SENDER]


class FromReferee(Envelope):
    """A message of a referee."""

    sent_by = ("referee",)
    sender: Annotated[RefereeSender, SENDER]


class FromPlayer(Envelope):
    """A message of a player."""

    sent_by = ("player",)
    sender: Annotated[PlayerSender, SENDER]
