"""What a script sends with an action of the desk, as the API's document describes it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from league_sdk.protocol.limits import MAX_ID_CHARS
from matches.models.desk import MAX_NOTICE_CHARS


class _Options(BaseModel):
    model_config = ConfigDict(extra="forbid")


class NewLeague(_Options):
    """A league to open for registration."""

    league_id: str
    display_name: str = ""
    game_type: str = "even_odd"
    settings: dict[str, Any] = {}


class Start(_Options):
    """How to start: with ``auto_advance`` the rounds follow each other to the end."""

    auto_advance: bool | None = None


class Trust(_Options):
    """Whether a referee may judge; ``league_id`` for one that registered under a league's own address."""

    trusted: bool = True
    league_id: str | None = None


class GatewayMark(_Options):
    """A host, and whether it is a gateway: then the path of an address counts, else its IP address and port alone."""

    host: str
    gateway: bool = True


class Words(_Options):
    """What to say, and to whom: without a player to the room."""

    text: str = Field(max_length=4 * MAX_NOTICE_CHARS)
    player_id: str = Field("", max_length=MAX_ID_CHARS)
