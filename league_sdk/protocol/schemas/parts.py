"""The base of all models of messages: envelope, field types, conditions (004 2.3, 2.4, 4.12).

A field is required if the course's text requires it from the sender. It is optional if one of the text's own examples
leaves it out, or if it is our extension. Unknown fields are allowed everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, GetPydanticSchema, WithJsonSchema
from pydantic_core import PydanticCustomError
from pydantic_core.core_schema import literal_schema

from league_sdk.protocol.envelope import parse_stamp
from league_sdk.protocol.errors import InvalidTimestamp
from league_sdk.protocol.limits import MAX_ENDPOINT_CHARS, MAX_ID_CHARS
from league_sdk.protocol.messages import METHODS, MessageType
from league_sdk.protocol.sentences import _
from league_sdk.protocol.states import ResultStatus

CLAUSE, EXPECTED = "x-clause", "x-expected"
"""Our annotations in the JSON Schemas: the section that requires a field, and its valid values in words."""
OURS = "our choice"
"""The clause of everything that no document requires."""
MISSING = object()
"""The value of a field that is absent (not null)."""


def field(description: str, clause: str = "") -> Any:
    """A required field.

    Args:
        description: its meaning in a sentence.
        clause: the section that requires it; empty if that is the clause of its class.
    """
    return _field(description, clause)


def optional(description: str, clause: str = "") -> Any:
    """A field that may be absent or null; the arguments are those of :func:`field`."""
    return _field(description, clause, default=None)


def _field(description: str, clause: str, **more: Any) -> Any:
    text = f"{description} ({clause})" if clause else description
    return Field(description=text, json_schema_extra={CLAUSE: clause}, **more)


def says(description: str) -> Any:
    """Metadata of a field outside messages: what it means, with its unit."""
    return Field(description=description)


def expecting(expected: str, **bounds: Any) -> Any:
    """The bounds of a type, both in words and as arguments of pydantic's ``Field``."""
    return Field(json_schema_extra={EXPECTED: expected}, **bounds)


def one_of(values: Iterable[str]) -> Any:
    """The bounds of a type that has only these values."""
    schema = literal_schema([str(value) for value in values])
    return GetPydanticSchema(lambda _source, _handler: schema)


def _check_stamp(value: str) -> str:
    try:
        parse_stamp(value)
    except InvalidTimestamp:
        raise PydanticCustomError("timestamp", "not a moment in UTC") from None
    return value


def _refuse_null(value: Any) -> Any:
    if value is None:
        raise PydanticCustomError("nothing", "null is not a choice")
    return value


_STAMP = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|\+00:00)$"
Stamp = Annotated[
    str,
    expecting(_("YYYY-MM-DDTHH:MM:SSZ or +00:00, in UTC"), pattern=_STAMP),
    Field(json_schema_extra={"format": "date-time"}),
    AfterValidator(_check_stamp),
]
Text = Annotated[str, expecting(_("a text that is not empty"), min_length=1)]
Id = Annotated[str, expecting(_("an id, as a string"), min_length=1, max_length=MAX_ID_CHARS)]
Token = Annotated[str, expecting(_("a token: printable characters without spaces"), pattern=r"^[!-~]{1,512}$")]
Digest = Annotated[str, expecting(_("a SHA-256 in hex"), pattern="^[0-9a-f]{64}$")]
_URL = _("an http or https URL, such as http://localhost:8101/mcp")
Endpoint = Annotated[str, expecting(_URL, pattern=r"^https?://[^\s/?#]+[^\s]*$", max_length=MAX_ENDPOINT_CHARS)]
ErrorCode = Annotated[str, expecting(_("an E-code, such as E001"), pattern="^E[0-9]{3}$")]
LegacyCode = Annotated[str, expecting(_("a code of the older text, such as G001"), pattern="^[LG]00[1-5]$")]
_VERSION = r"^(([2-9]|[1-9][0-9]{1,2})\.[0-9]{1,3}(\.[0-9]{1,3})?|league\.v([2-9]|[1-9][0-9]{1,2}))$"
Version = Annotated[str, expecting(_("2.0.0 or newer, or league.v2"), pattern=_VERSION)]
Count = Annotated[int, expecting(_("a whole number from 0 on"), ge=0)]
Number = Annotated[int, expecting(_("a whole number from 1 on"), ge=1)]
Parity = Literal["even", "odd"]
Status = Annotated[str, one_of(ResultStatus)]
Choice = Annotated[
    Any, AfterValidator(_refuse_null), WithJsonSchema({"not": {"type": "null"}, EXPECTED: _("a move of the game")})
]
_AND_ID = r":[^\x00-\x1f\x7f]+$"
_MANAGER = r"^league_manager(:[^\x00-\x1f\x7f]+)?$"
ManagerSender = Annotated[str, expecting(_("league_manager or league_manager:<id>"), pattern=_MANAGER)]
RefereeSender = Annotated[str, expecting(_("referee:<id>, such as referee:REF01"), pattern="^referee" + _AND_ID)]
PlayerSender = Annotated[str, expecting(_("player:<id>, such as player:P01"), pattern="^player" + _AND_ID)]
AgentSender = Annotated[str, expecting(_("player:<id> or referee:<id>"), pattern="^(player|referee)" + _AND_ID)]


class When(NamedTuple):
    """A condition: some fields are required only if another field has a certain value, or only unless it has.

    Attributes:
        path: the dotted path of the other field.
        value: its value; a tuple stands for any of its values.
        required: the dotted paths of the required fields, all in one object.
        clause: the section that requires them.
        nullable: whether they may be null.
        unless: whether they are required if the other field is absent or has another value.
    """

    path: str
    value: Any
    required: tuple[str, ...]
    clause: str
    nullable: bool = False
    unless: bool = False

    @property
    def values(self) -> tuple[Any, ...]:
        """The values of the other field that decide."""
        return self.value if isinstance(self.value, tuple) else (self.value,)

    def unmet(self, message: Mapping[str, Any]) -> list[str]:
        """The required paths that a message lacks; none if the object that should contain them is missing."""
        if (find(message, self.path) in self.values) is self.unless:
            return []
        absent = (MISSING,) if self.nullable else (None, MISSING)
        holder = self.required[0].rpartition(".")[0]
        if holder and not isinstance(find(message, holder), Mapping):
            return []
        return [path for path in self.required if find(message, path) in absent]


def find(message: Any, path: str) -> Any:
    """The value at a dotted path of objects, or :data:`MISSING`."""
    for part in path.split("."):
        if not isinstance(message, Mapping) or part not in message:
            return MISSING
        message = message[part]
    return message


class Part(BaseModel):
    """An object in a message. Types are not converted, and unknown fields are allowed.

    Attributes:
        clause: the section of the documents that shows it; a field without a clause of its own cites this one.
    """

    model_config = ConfigDict(strict=True, extra="allow", defer_build=True)
    clause: ClassVar[str] = ""

    def __init_subclass__(cls, **facts: Any) -> None:
        """Set class attributes from the class statement, such as ``class Move(Part, clause="004 3.8.2")``."""
        super().__init_subclass__()
        for name, value in facts.items():
            setattr(cls, name, value)

    @classmethod
    def __pydantic_init_subclass__(cls, **facts: Any) -> None:
        """Add the clause of the class to the fields that have none of their own."""
        for info in cls.model_fields.values():
            extra = info.json_schema_extra
            if "clause" in facts and isinstance(extra, dict) and extra.get(CLAUSE) == "":
                info.description = f"{info.description} ({cls.clause})"
                info.json_schema_extra = extra | {CLAUSE: cls.clause}


class Message(Part):
    """A message; its docstring says in a sentence what it is for.

    Attributes:
        name: its message type, or our name for it if it has none; follows from the name of the class.
        sent_by: its senders: player, referee, league_manager.
        sent_to: its receivers.
        method: the JSON-RPC method that carries it; None if it is only sent as an answer.
        answer: the name of the message that answers it, if there is one.
        conditions: fields that are required only sometimes.
        either: names of fields of which at least one is required.
    """

    name: ClassVar[str]
    sent_by: ClassVar[tuple[str, ...]]
    sent_to: ClassVar[tuple[str, ...]]
    method: ClassVar[str | None] = None
    answer: ClassVar[str | None] = None
    conditions: ClassVar[tuple[When, ...]] = ()
    either: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def __pydantic_init_subclass__(cls, **facts: Any) -> None:
        """Set the name and the method, and make the name the only valid ``message_type``."""
        super().__pydantic_init_subclass__(**facts)
        cls.name = re.sub("(?<=[a-z])(?=[A-Z])", "_", cls.__name__).upper()
        if cls.name in METHODS:
            cls.method = METHODS[MessageType(cls.name)]
        message_type = cls.model_fields.get("message_type")
        if "clause" in facts and message_type is not None and message_type.annotation is str:
            message_type.annotation = Literal[cls.name]  # type: ignore[assignment]


SENDER = ("Who sends it, as type:id.", "004 2.4.4")
OwnToken = Annotated[Token, field("The token the sender got when it registered.", "004 2.4.5")]
LeagueId = Annotated[Id, field("The league.", "004 2.3")]
RoundId = Annotated[Number, field("The number of the round.", "004 2.3")]
MatchId = Annotated[Id, field("The match, such as R1M1.", "004 4.12.1")]
GameType = Annotated[Id, field("The game that is played, such as even_odd.", "004 2.3")]
OptionalLeagueId = Annotated[Id | None, field("The league; we always send it.", "004 2.4.3")]


class Envelope(Message):
    """What every message begins with (004 2.4.1)."""

    protocol: Literal["league.v2"] = field("The protocol's name.", "004 2.4.1")
    message_type: str = field("Which message this is.")
    sender: str
    timestamp: Stamp = field("When it was sent, in UTC.", "004 2.4.2")
    conversation_id: Text = field("What belongs together; an answer repeats the one of its question.", "004 2.4.1")


class FromManager(Envelope, sent_by=("league_manager",)):
    """A message of the league manager."""

    sender: ManagerSender = field(*SENDER)


class FromReferee(Envelope, sent_by=("referee",)):
    """A message of a referee."""

    sender: RefereeSender = field(*SENDER)


class FromPlayer(Envelope, sent_by=("player",)):
    """A message of a player."""

    sender: PlayerSender = field(*SENDER)
