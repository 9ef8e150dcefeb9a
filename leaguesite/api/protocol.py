"""The protocol as data: every message with its JSON Schema, the codes and the settings (ruling, section 3).

Nothing here changes while a process runs, so each answer is made once and cached as bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from ninja import Router
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from league_sdk.protocol import MINIMUM_PROTOCOL_VERSION, PROTOCOL, PROTOCOL_VERSION, errors, rpc, schemas
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.protocol.limits import MAX_ID_CHARS
from league_sdk.protocol.messages import QUERY_TYPES
from league_sdk.protocol.schemas.parts import says
from leaguesite.api.base import refusals
from matches.league.errors import NotFound

router = Router(tags=["protocol"])
_BOUNDS = {
    "minimum": "from {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "to {}",
    "maxLength": "a text of at most {} characters",
}


class MessageRow(TypedDict):
    """A message of the protocol."""

    message_type: Annotated[str, says("Its type.")]
    sender: Annotated[list[str], says("Who sends it: player, referee, league_manager.")]
    receiver: Annotated[list[str], says("Who receives it.")]
    method: Annotated[str | None, says("The JSON-RPC method that carries it; null: it is only an answer.")]
    answer: Annotated[str | None, says("The message that answers it; null for none.")]
    clause: Annotated[str, says("The section of the documents that shows it.")]
    summary: Annotated[str, says("What it is for.")]
    schema: Annotated[str, says("The path of its JSON Schema.")]


class ErrorRow(TypedDict):
    """An E-code."""

    error_code: Annotated[str, says("The code, such as E001.")]
    error_name: Annotated[str, says("Its name.")]
    retryable: Annotated[bool, says("Whether the same may be tried again.")]
    json_rpc_codes: Annotated[list[int], says("The JSON-RPC codes that it comes with.")]
    legacy_code: Annotated[str | None, says("The code of document 002 for the same error; null for none.")]


class LegacyRow(TypedDict):
    """A code of document 002."""

    code: Annotated[str, says("The code, such as G001.")]
    name: Annotated[str, says("Its name.")]


class SettingRow(TypedDict):
    """A setting of a league."""

    name: Annotated[str, says("Its name.")]
    default: Annotated[bool | int | float | str | None, says("Its value when it is not given; times in seconds.")]
    range: Annotated[str, says("The values it takes, in words.")]


class ProtocolIndex(TypedDict):
    """The protocol as data."""

    protocol: Annotated[str, says("Its name in messages.")]
    protocol_version: Annotated[str, says("Its version.")]
    minimum_protocol_version: Annotated[str, says("The oldest version that agents may speak.")]
    messages: Annotated[list[MessageRow], says("Every message.")]
    query_types: Annotated[list[str], says("The types of a LEAGUE_QUERY.")]
    error_codes: Annotated[list[ErrorRow], says("Every E-code.")]
    legacy_codes: Annotated[list[LegacyRow], says("Every code of document 002.")]
    league_settings: Annotated[list[SettingRow], says("Every setting of a league.")]


_Part = dict[str, Any]


# A model, as some of its fields have names that no TypedDict of this form can have.
class MessageSchema(BaseModel):
    """The JSON Schema (draft 2020-12) of a message."""

    dialect: str = Field(alias="$schema", description="The dialect of JSON Schema.")
    id: str = Field(alias="$id", description="The address of this schema.")
    title: str = Field(description="The message type.")
    description: str = Field(description="What the message is for.")
    clause: str = Field(alias="x-clause", description="The section of the documents that shows it.")
    type: str = Field(description="object")
    properties: dict[str, _Part] = Field(description="The schema of each field; x-clause and x-expected explain it.")
    required: list[str] = Field(description="The fields that it must have.")
    additionalProperties: bool = Field(description="Whether other fields are allowed: always true.")  # noqa: N815
    allOf: list[_Part] | None = Field(None, description="Fields that are required only sometimes.")  # noqa: N815
    defs: dict[str, _Part] | None = Field(None, alias="$defs", description="The schemas that others refer to.")


def _number(value: float) -> str:
    return f"{value:g}" if value < 10**6 else str(value)


def range_in_words(schema: Mapping[str, Any]) -> str:
    """The values that a setting takes, such as ``more than 0 to 3600``.

    Args:
        schema: the setting's own JSON Schema.
    """
    kinds = [one for one in schema.get("anyOf", [schema]) if one.get("type") != "null"]
    words = []
    for kind in kinds:
        if "enum" in kind:
            words.append(" or ".join(kind["enum"]))
        elif kind.get("type") == "boolean":
            words.append("true or false")
        else:
            words.append(" ".join(text.format(_number(kind[name])) for name, text in _BOUNDS.items() if name in kind))
    return ", ".join(words) + (", or none" if "anyOf" in schema else "")


@cache
def league_settings() -> list[SettingRow]:
    """Every setting of a league with its default and its range (ruling, section 11)."""
    properties = LeagueSettings.model_json_schema()["properties"]
    return [
        {"name": name, "default": schema["default"], "range": range_in_words(schema)}
        for name, schema in properties.items()
    ]


@cache
def error_codes() -> list[ErrorRow]:
    """Every E-code with its name and what else an error with it carries (ruling, section 5)."""
    rpc_codes = errors.rpc_codes()
    return [
        {
            "error_code": code,
            "error_name": name,
            "retryable": code in errors.RETRYABLE,
            "json_rpc_codes": rpc_codes[code],
            "legacy_code": errors.LEGACY_CODES.get(code),
        }
        for code, name in errors.NAMES.items()
    ]


@cache
def _index() -> bytes:
    return rpc.dumps(
        {
            "protocol": PROTOCOL,
            "protocol_version": PROTOCOL_VERSION,
            "minimum_protocol_version": MINIMUM_PROTOCOL_VERSION,
            "messages": [
                {
                    "message_type": name,
                    "sender": model.sent_by,
                    "receiver": model.sent_to,
                    "method": model.method,
                    "answer": model.answer,
                    "clause": model.clause,
                    "summary": model.__doc__,
                    "schema": f"/api/protocol/{name}",
                }
                for name, model in schemas.MODELS.items()
            ],
            "query_types": list(QUERY_TYPES.values()),
            "error_codes": error_codes(),
            "legacy_codes": [{"code": code, "name": name} for code, name in errors.LEGACY_NAMES.items()],
            "league_settings": league_settings(),
        }
    )


@cache
def _schema(message_type: str) -> bytes:
    return rpc.dumps(schemas.json_schema(message_type))


@router.get("/", response={200: ProtocolIndex} | refusals())
def show_protocol(request: HttpRequest) -> HttpResponse:
    """Every message, error code and league setting of the protocol."""
    return HttpResponse(_index(), content_type="application/json")


_AS_SCHEMA = {
    "responses": {
        200: {
            "description": "OK",
            "content": {"application/schema+json": {"schema": MessageSchema.model_json_schema()}},
        }
    }
}


@router.get("/{message_type}", response=refusals(404), openapi_extra=_AS_SCHEMA)
def show_message(request: HttpRequest, message_type: str) -> HttpResponse:
    """The JSON Schema (draft 2020-12) of one message."""
    if message_type not in schemas.MODELS:
        raise NotFound(
            _("There is no message %(name)s. There are: %(names)s.")
            % {"name": message_type[:MAX_ID_CHARS], "names": ", ".join(schemas.MODELS)}
        )
    return HttpResponse(_schema(message_type), content_type="application/schema+json")
