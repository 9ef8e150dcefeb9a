"""Registration of referees and players, and what a league says to it (004 2.10, 4.1, 4.2, 8.3, 8.4)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from league_sdk.protocol.limits import MAX_CONCURRENT_MATCHES, MAX_GAME_TYPES
from league_sdk.protocol.schemas.parts import (
    EXPECTED,
    Endpoint,
    FromManager,
    FromPlayer,
    FromReferee,
    Id,
    LegacyCode,
    Part,
    Text,
    Token,
    Version,
    When,
    told,
)

Games = Annotated[
    list[Id],
    Field(min_length=1, max_length=MAX_GAME_TYPES, json_schema_extra={EXPECTED: "a list of games, such as even_odd"}),
]
NoToken = Annotated[str | None, told("There is none yet: absent, null and empty mean the same.", "004 2.4.5")]
NewToken = Annotated[
    Token | None, told("The token by which everything is proven from now on; 32 hex digits after tok_.", "004 8.4.2")
]
ENVELOPE_VERSION = told("The version spoken, here or in the meta; without it 2.0.0 is assumed.", "004 2.10.1")
REASON = told("Why it was rejected; null when it was accepted.", "004 4.2.2")
STATUS = told("Whether the agent is let in.", "004 4.2.2")


class Meta(Part):
    """What an agent says of itself."""

    display_name: Annotated[Text, told("The name that people see.", "004 4.2.1")]
    version: Annotated[Text, told("The version of the agent.", "004 4.2.1")]
    game_types: Annotated[Games, told("The games it knows.", "004 4.2.1")]
    contact_endpoint: Annotated[Endpoint, told("Where it listens.", "004 4.2.1")]
    protocol_version: Annotated[Version | None, told("The version of the protocol that it speaks.", "004 2.10.1")] = (
        None
    )
    registration_code: Annotated[
        str | None, told("The code that a league may ask for, or the personal code of its owner.", "our choice")
    ] = None
    league_id: Annotated[Id | None, told("The league it wants to be in.", "our choice")] = None


class RefereeMeta(Meta):
    """What a referee says of itself."""

    max_concurrent_matches: Annotated[
        int,
        Field(ge=1, le=MAX_CONCURRENT_MATCHES, json_schema_extra={EXPECTED: "how many matches at once, from 1 on"}),
        told("How many matches it can judge at the same time.", "004 4.1.1"),
    ]
    sends_progress: Annotated[
        bool | None, told("Whether it sends report_progress; without that it has a long lease.", "our choice")
    ] = None


class RefereeRegisterRequest(FromReferee):
    """A referee wants to judge. Its id is not known yet: the sender carries a name of its own choice."""

    clause = "004 4.1.1"
    sent_to = ("league_manager",)
    answer = "REFEREE_REGISTER_RESPONSE"
    message_type: Annotated[Literal["REFEREE_REGISTER_REQUEST"], told("Which message this is.", "004 4.1.1")]
    referee_meta: Annotated[RefereeMeta, told("What the referee says of itself.", "004 4.1.1")]
    auth_token: NoToken = None
    protocol_version: Annotated[Version | None, ENVELOPE_VERSION] = None


class LeagueRegisterRequest(FromPlayer):
    """A player wants to play. Its id is not known yet: the sender carries a name of its own choice."""

    clause = "004 4.2.1"
    sent_to = ("league_manager",)
    answer = "LEAGUE_REGISTER_RESPONSE"
    message_type: Annotated[Literal["LEAGUE_REGISTER_REQUEST"], told("Which message this is.", "004 4.2.1")]
    player_meta: Annotated[Meta, told("What the player says of itself.", "004 4.2.1")]
    auth_token: NoToken = None
    league_id: Annotated[Id | None, told("The league it wants to be in.", "004 2.4.3")] = None
    protocol_version: Annotated[Version | None, ENVELOPE_VERSION] = None


class _Response(FromManager):
    league_id: Annotated[Id | None, told("The league it is in, or would have been in.", "004 8.4.2")] = None
    status: Annotated[Literal["ACCEPTED", "REJECTED"], STATUS]
    auth_token: NewToken = None
    league_token: Annotated[
        Token | None, told("Ours: what our messages to the agent will carry; it proves nothing to us.", "our choice")
    ] = None
    reason: Annotated[Text | None, REASON] = None
    rejection_reason: Annotated[Text | None, told("The same as reason, by its other name (000).", "000 3.1")] = None
    legacy_code: Annotated[LegacyCode | None, told("The older text's code for a rejection.", "002 Error Codes")] = None


class RefereeRegisterResponse(_Response):
    """Whether a referee is let in, its id and its token. Judging waits for the instructor's word."""

    clause = "004 4.1.2"
    sent_to = ("referee",)
    conditions = (
        When("status", "ACCEPTED", ("referee_id", "auth_token", "league_id"), "004 8.3.2"),
        When("status", "REJECTED", ("reason",), "004 4.1.2"),
    )
    message_type: Annotated[Literal["REFEREE_REGISTER_RESPONSE"], told("Which message this is.", "004 4.1.2")]
    referee_id: Annotated[Id | None, told("The id of the referee from now on.", "004 4.1.2")] = None


class LeagueRegisterResponse(_Response):
    """Whether a player is let in, its id and its token."""

    clause = "004 4.2.2"
    sent_to = ("player",)
    conditions = (
        When("status", "ACCEPTED", ("player_id", "auth_token", "league_id"), "004 8.4.2"),
        When("status", "REJECTED", ("reason",), "004 4.2.2"),
    )
    message_type: Annotated[Literal["LEAGUE_REGISTER_RESPONSE"], told("Which message this is.", "004 4.2.2")]
    player_id: Annotated[Id | None, told("The id of the player from now on.", "004 4.2.2")] = None
