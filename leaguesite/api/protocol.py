"""The protocol as data: every message with its JSON Schema, the codes and the settings (ruling, section 3).

Nothing here changes while the process runs, so every answer is made once and kept as bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from ninja import Router

from league_sdk.protocol import MINIMUM_PROTOCOL_VERSION, PROTOCOL, PROTOCOL_VERSION, errors, rpc, schemas
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.protocol.limits import MAX_ID_CHARS
from league_sdk.protocol.messages import QUERY_TYPES
from matches.league.errors import NotFound

router = Router(tags=["protocol"])
_BOUNDS = {
    "minimum": "from {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "to {}",
    "maxLength": "a text of at most {} characters",
}


def _number(value: float) -> str:
    return f"{value:g}" if value < 10**6 else str(value)


def range_in_words(schema: Mapping[str, Any]) -> str:
    """What values a setting takes, such as ``more than 0 to 3600``.

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
def league_settings() -> list[dict[str, Any]]:
    """Every setting of a league with its default and its range (ruling, section 11)."""
    properties = LeagueSettings.model_json_schema()["properties"]
    return [
        {"name": name, "default": schema["default"], "range": range_in_words(schema)}
        for name, schema in properties.items()
    ]


@cache
def error_codes() -> list[dict[str, Any]]:
    """Every E-code with what comes with it (ruling, section 5)."""
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
                    "sender": travel.sender,
                    "receiver": travel.receiver,
                    "method": travel.method,
                    "answer": travel.answer,
                    "clause": travel.clause,
                    "summary": travel.summary,
                    "schema": f"/api/protocol/{name}",
                }
                for name, travel in schemas.TRAVEL.items()
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


@router.get("/", response={200: dict})
def show_protocol(request: HttpRequest) -> HttpResponse:
    """Every message, error code and league setting of the protocol."""
    return HttpResponse(_index(), content_type="application/json")


_AS_SCHEMA = {
    "responses": {200: {"description": "OK", "content": {"application/schema+json": {"schema": {"type": "object"}}}}}
}


@router.get("/{message_type}", response={404: dict}, openapi_extra=_AS_SCHEMA)
def show_message(request: HttpRequest, message_type: str) -> HttpResponse:
    """The JSON Schema (draft 2020-12) of one message."""
    if message_type not in schemas.MODELS:
        raise NotFound(
            _("There is no message %(name)s. There are: %(names)s.")
            % {"name": message_type[:MAX_ID_CHARS], "names": ", ".join(schemas.MODELS)}
        )
    return HttpResponse(_schema(message_type), content_type="application/schema+json")
