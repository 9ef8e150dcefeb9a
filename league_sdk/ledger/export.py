"""A league's whole document (``leaguesite.league/1``, as the desk exports it) as the ledger that is in it. Pure.

Its events have their private parts and salts, so every digest is made from what they say. It shows no table: what
stands beside the events are the rows of its matches, which must say what the events add up to.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from league_sdk.ledger.chain import BEGINNING, hash_private
from league_sdk.ledger.document import FORMAT as LEDGER_FORMAT
from league_sdk.ledger.parts import public_part
from league_sdk.protocol.league_settings import LeagueSettings

FORMAT = "leaguesite.league/1"
DOCUMENT = "league.json"
"""What the document is called in an archive."""
Text = Annotated[str, StringConstraints(max_length=200)]


class _Part(BaseModel):
    """Types are exact; what no digest and no result is made of is not looked at."""

    model_config = ConfigDict(extra="ignore", strict=True)


class _League(_Part):
    league_id: Text
    display_name: Text
    game_type: Text
    settings: dict[str, Any]
    left_out: dict[str, Any] = {}
    ledger_head: str = ""


class _Agent(_Part):
    kind: Text
    code: Text
    display_name: Text


class _Event(_Part):
    seq: Annotated[int, Field(ge=1, le=2**53)]
    kind: Annotated[str, StringConstraints(pattern=r"^[a-z_]{1,32}$")]
    data: dict[str, Any]
    at: Text
    digest: str = ""
    salt: str = ""


class Row(_Part):
    """A match as its row has it; ``status`` is empty without a result."""

    match_id: Text
    status: Text
    winner: Text | None


class Export(_Part):
    """What of the document is looked at."""

    people: bool
    league: _League
    agents: list[_Agent]
    events: list[_Event]
    matches: list[Row]

    @property
    def is_chained(self) -> bool:
        """Whether it has digests at all; one of an older site has none."""
        return bool(self.league.ledger_head) or any(event.digest or event.salt for event in self.events)

    @property
    def names(self) -> dict[str, str]:
        """Display names of the players in the table, by id."""
        players = (agent for agent in self.agents if agent.kind == "player")
        return {agent.code: agent.display_name for agent in players if agent.code not in self.league.left_out}

    def ledger(self) -> dict[str, Any]:
        """The public ledger of the events, without a table (:mod:`league_sdk.ledger.document`).

        Raises:
            ValueError: a moment or the settings cannot be read.
        """
        league, rules = self.league, LeagueSettings.model_validate(self.league.settings)
        points = {name: getattr(rules, f"{name}_points") for name in ("win", "draw", "loss", "technical_loss")}
        return {
            "format": LEDGER_FORMAT,
            "league_id": league.league_id,
            "display_name": league.display_name,
            "game_type": league.game_type,
            "head": league.ledger_head,
            "last_seq": max((event.seq for event in self.events), default=0),
            "events": [_told(league.league_id, event) for event in self.events],
            "next": None,
            "scoring": points,
        }


def _told(league_id: str, event: _Event) -> Mapping[str, Any]:
    at = datetime.fromisoformat(event.at)
    if at.tzinfo is None:
        raise ValueError(f"event {event.seq}: a moment has its zone")
    try:
        private = hash_private(event.salt, event.kind, event.data)
    except ValueError:
        # As the site shows a salt that somebody has changed: no digest follows from it.
        private = BEGINNING
    public = public_part(league_id, event.seq, event.kind, at, event.data)
    return {"public": public, "private_sha256": private, "digest": event.digest or BEGINNING}
