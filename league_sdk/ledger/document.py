"""What a public export of a league's ledger looks like: ``leaguesite.ledger/1``. Every field and its bounds. Pure."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

FORMAT = "leaguesite.ledger/1"
_NUMBER = 2**53
Hash = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Whole = Annotated[int, Field(ge=-_NUMBER, le=_NUMBER)]
Text = Annotated[str, StringConstraints(max_length=200)]


class _Part(BaseModel):
    """Types are exact; what a newer site adds is no error."""

    model_config = ConfigDict(extra="ignore", strict=True)


class Points(_Part):
    """The points of a league."""

    win: Whole
    draw: Whole
    loss: Whole
    technical_loss: Whole


class Line(_Part):
    """A line of the table as the site shows it."""

    rank: Whole
    player_id: Text
    display_name: Text
    played: Whole
    wins: Whole
    draws: Whole
    losses: Whole
    technical_losses: Whole
    points: Whole


class Public(_Part):
    """The public part of an event; all of it is in the digest, what is not named here too."""

    model_config = ConfigDict(extra="allow", strict=True)

    league_id: Text
    seq: Annotated[int, Field(ge=1, le=_NUMBER)]
    kind: Annotated[str, StringConstraints(pattern=r"^[a-z_]{1,32}$")]
    at: Text
    data: dict[str, Any]


class Told(_Part):
    """One event: its public part, the hash of the private one, its digest."""

    public: dict[str, Any]
    private_sha256: Hash
    digest: Hash


class Page(_Part):
    """One page. ``scoring``, ``players`` and ``table`` are on the first one only."""

    format: Literal["leaguesite.ledger/1"]
    league_id: Text
    display_name: Text
    game_type: Text
    head: Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{64})?$")]
    last_seq: Annotated[int, Field(ge=0, le=_NUMBER)]
    events: list[Any]
    next: Annotated[int, Field(ge=1, le=_NUMBER)] | None
    frozen_after_round: Whole | None = None
    scoring: Points | None = None
    table: list[Line] | None = None
