"""The table as the site uses it: the fold itself is the SDK's, so that anyone can add a table up again offline."""

from league_sdk.ledger.standings import (
    DISQUALIFIED,
    FORM_LENGTH,
    WITHDRAWN,
    Result,
    Row,
    Scoring,
    count,
    natural,
    order,
    table,
)

__all__ = [
    "DISQUALIFIED",
    "FORM_LENGTH",
    "WITHDRAWN",
    "Result",
    "Row",
    "Scoring",
    "count",
    "natural",
    "order",
    "table",
]
