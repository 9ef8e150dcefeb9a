"""What the operations of the API have in common: the router that they are added to, and the shape of a refusal."""

from __future__ import annotations

from ninja import Router, Schema

router = Router()


class Refusal(Schema):
    """Why an action was refused, and what to do."""

    error: str
    field: str | None = None


class Refused(Refusal):
    """Why it is refused, and what to do."""


REFUSED = {400: Refusal, 401: Refusal, 404: Refusal, 409: Refusal, 422: Refusal, 429: Refusal, 503: Refusal}
