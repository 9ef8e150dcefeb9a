"""The two documents that can be verified, with every field that is read and its bounds. Pure.

``leaguesite.ledger/1`` is the public ledger (:class:`Page`). ``leaguesite.league/1`` is the whole league as the desk
exports it (:class:`Export`): its events have their private parts and salts (of an erased part, its hash), so every
digest is made from what they say. It has no table; beside the events are the rows of its players, rounds, matches and
corrections, which must agree with the events (:mod:`league_sdk.ledger.rows`).
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from league_sdk.ledger.chain import BEGINNING, hash_private
from league_sdk.ledger.kinds import public_part
from league_sdk.protocol.league_settings import LeagueSettings

LEDGER_FORMAT, LEAGUE_FORMAT = "leaguesite.ledger/1", "leaguesite.league/1"
LEAGUE_FILE = "league.json"
"""The name of the whole league's document in the ZIP file of an export."""
_MAX_NUMBER = 2**53
Hash = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Whole = Annotated[int, Field(ge=-_MAX_NUMBER, le=_MAX_NUMBER)]
Text = Annotated[str, StringConstraints(max_length=200)]
Seq = Annotated[int, Field(ge=1, le=_MAX_NUMBER)]
Kind = Annotated[str, StringConstraints(pattern=r"^[a-z_]{1,32}$")]


class _Part(BaseModel):
    """Types are exact; unknown fields are ignored, because a newer site may add some."""

    model_config = ConfigDict(extra="ignore", strict=True)


class Points(_Part):
    """The points of a league."""

    win: Whole
    draw: Whole
    loss: Whole
    technical_loss: Whole


class Line(_Part):
    """A line of the table as the site shows it; earlier versions had no ``tied_rank``."""

    rank: Whole
    tied_rank: Whole | None = None
    player_id: Text
    display_name: Text
    played: Whole
    wins: Whole
    draws: Whole
    losses: Whole
    technical_losses: Whole
    points: Whole


class Public(_Part):
    """The public part of an event; the digest covers all of it, also fields that are not named here."""

    model_config = ConfigDict(extra="allow", strict=True)

    league_id: Text
    seq: Seq
    kind: Kind
    at: Text
    data: dict[str, Any]


class LedgerEvent(_Part):
    """One event: its public part, the hash of the private one, its digest."""

    public: dict[str, Any]
    private_sha256: Hash
    digest: Hash


class Page(_Part):
    """One page of a public ledger. ``scoring`` and ``table`` are on the first page only."""

    format: Literal["leaguesite.ledger/1"]
    league_id: Text
    display_name: Text
    game_type: Text
    head: Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{64})?$")]
    last_seq: Annotated[int, Field(ge=0, le=_MAX_NUMBER)]
    events: list[Any]
    next: Seq | None
    frozen_after_round: Whole | None = None
    scoring: Points | None = None
    table: list[Line] | None = None


class _League(_Part):
    league_id: Text
    display_name: Text
    game_type: Text
    settings: dict[str, Any]
    left_out: dict[str, Any] = {}
    out: dict[str, dict[str, Any]]
    event_seq: Annotated[int, Field(ge=0, le=_MAX_NUMBER)]
    ledger_head: str = ""


class _Agent(_Part):
    kind: Text
    code: Text
    display_name: Text


class _Event(_Part):
    seq: Seq
    kind: Kind
    data: dict[str, Any]
    at: Text
    digest: str = ""
    salt: str = ""


class Export(_Part):
    """A whole league as the desk exports it.

    Attributes:
        people: whether it names people; an export of an earlier version that does not lacks the events that are not
            public.
    """

    people: bool
    league: _League
    agents: list[_Agent]
    rounds: list[dict[str, Any]]
    events: list[_Event]
    corrections: list[dict[str, Any]]
    matches: list[dict[str, Any]]

    @property
    def is_chained(self) -> bool:
        """Whether it has digests; an export of an older site has none."""
        return bool(self.league.ledger_head) or any(event.digest or event.salt for event in self.events)

    @property
    def names(self) -> dict[str, str]:
        """Display names of the players in the table, by id."""
        players = (agent for agent in self.agents if agent.kind == "player")
        return {agent.code: agent.display_name for agent in players if agent.code not in self.league.left_out}

    def ledger(self) -> dict[str, Any]:
        """The public ledger of the events, without a table (:class:`Page`).

        Raises:
            ValueError: a moment or the settings cannot be read.
        """
        league, settings = self.league, LeagueSettings.model_validate(self.league.settings)
        points = {name: getattr(settings, f"{name}_points") for name in ("win", "draw", "loss", "technical_loss")}
        return {
            "format": LEDGER_FORMAT,
            "league_id": league.league_id,
            "display_name": league.display_name,
            "game_type": league.game_type,
            "head": league.ledger_head,
            "last_seq": league.event_seq,
            "events": [_ledger_event(league.league_id, event) for event in self.events],
            "next": None,
            "scoring": points,
        }


def _ledger_event(league_id: str, event: _Event) -> dict[str, Any]:
    at = datetime.fromisoformat(event.at)
    if at.tzinfo is None:
        raise ValueError(f"event {event.seq}: its time has no time zone")
    try:
        private = hash_private(event.salt, event.kind, event.data)
    except ValueError:
        # The site shows a damaged salt in this way, too: no digest can follow from it.
        private = BEGINNING
    public = public_part(league_id, event.seq, event.kind, at, event.data)
    return {"public": public, "private_sha256": private, "digest": event.digest or BEGINNING}
