"""What the operations of the API have in common: the router, how an answer is written, and the shape of a refusal."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpResponse
from ninja import Router, Schema
from ninja.responses import NinjaJSONEncoder
from pydantic import Field

router = Router()


class Refusal(Schema):
    """Why it is refused, and what to do."""

    error: str = Field(description="A sentence for a person, in the language of the request (Accept-Language).")
    field: str | None = Field(None, description="The field that is wrong; null if no single field is.")


REFUSED = {
    400: "The request cannot be read.",
    401: "The API key is missing or wrong.",
    403: "The caller may not do this.",
    404: "There is no such thing.",
    409: "It cannot be done as things stand; the sentence says what to do first.",
    422: "A value cannot be used; `field` names it.",
    429: "Too many wrong keys or requests came, from this address or in all. Retry-After has the seconds to wait.",
    503: "The database ended the request. It may be sent again; the header Retry-After has the seconds to wait.",
}
"""What each status of a refusal means."""
ANYWHERE = (400, 503)
"""Statuses with which every operation may be refused."""


def refusals(*statuses: int) -> dict[int, Any]:
    """What an operation's document says of these statuses, and of :data:`ANYWHERE`."""
    return dict.fromkeys(sorted({*statuses, *ANYWHERE}), Refusal)


def answer(rows: object, status: int = 200) -> HttpResponse:
    """An answer that ninja neither validates nor copies.

    Its schema is declared for the OpenAPI document. The rows are typed where they are made, and
    ``tests/leaguesite/api/test_base_schemas.py`` checks every answer against its schema.
    """
    content = json.dumps(rows, cls=NinjaJSONEncoder)
    return HttpResponse(content, status=status, content_type="application/json; charset=utf-8")
