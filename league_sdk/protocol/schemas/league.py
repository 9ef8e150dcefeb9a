"""What the league manager tells everybody, and queries (004 4.3, 4.7 to 4.9, 4.10.1, 8.6, 8.8 to 8.11)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from league_sdk.protocol.schemas.parts import (
    SENDER,
    AgentSender,
    Count,
    Endpoint,
    Envelope,
    ErrorCode,
    FromManager,
    Id,
    LeagueId,
    LeagueToken,
    LegacyCode,
    MaybeLeagueId,
    Number,
    OwnToken,
    Part,
    RoundId,
    Text,
    When,
    told,
)

QueryType = Literal["GET_STANDINGS", "GET_SCHEDULE", "GET_NEXT_MATCH", "GET_PLAYER_STATS", "GET_GAMES"]
Points = Annotated[int, told("Points.", "004 4.7.1")]
Player = Annotated[Id, told("The player.", "004 4.7.1")]
Rank = Annotated[Number, told("Its place, from 1 on.", "004 4.7.1")]


class AnnouncedMatch(Part):
    """A match of the round."""

    match_id: Annotated[Id, told("The match.", "004 4.3.1")]
    game_type: Annotated[Id, told("The game that is played.", "004 4.3.1")]
    player_A_id: Annotated[Id, told("Who plays as PLAYER_A.", "004 4.3.1")]  # noqa: N815
    player_B_id: Annotated[Id, told("Who plays as PLAYER_B.", "004 4.3.1")]  # noqa: N815
    referee_endpoint: Annotated[Endpoint, told("Where its referee listens.", "004 4.3.1")]


class RoundAnnouncement(FromManager):
    """A round begins; the referees will call."""

    clause = "004 4.3.1"
    sent_to = ("player", "referee")
    message_type: Annotated[Literal["ROUND_ANNOUNCEMENT"], told("Which message this is.", "004 4.3.1")]
    league_id: LeagueId
    round_id: RoundId
    matches: Annotated[list[AnnouncedMatch], told("The matches of the round.", "004 4.3.1")]
    auth_token: LeagueToken = None


class StandingsRow(Part):
    """A line of the table."""

    rank: Rank
    player_id: Player
    display_name: Annotated[Text, told("The name that people see.", "004 4.7.1")]
    played: Annotated[Count, told("Matches played.", "004 4.7.1")]
    wins: Annotated[Count, told("Matches won.", "004 4.7.1")]
    draws: Annotated[Count, told("Matches drawn.", "004 4.7.1")]
    losses: Annotated[Count, told("Matches lost.", "004 4.7.1")]
    points: Points
    technical_losses: Annotated[Count | None, told("Ours: the losses without play.", "our choice")] = None


class LeagueStandingsUpdate(FromManager):
    """The table after a round."""

    clause = "004 4.7.1"
    sent_to = ("player",)
    message_type: Annotated[Literal["LEAGUE_STANDINGS_UPDATE"], told("Which message this is.", "004 4.7.1")]
    league_id: LeagueId
    round_id: RoundId
    standings: Annotated[list[StandingsRow], told("The table, best first.", "004 4.7.1")]
    frozen_after_round: Annotated[
        Number | None, told("The board is frozen: this is the table after that round.", "our choice")
    ] = None
    ledger_head: Annotated[
        Text | None, told("Ours: the digest of the league's last event; keep it to verify the league.", "our choice")
    ] = None
    auth_token: LeagueToken = None


class RoundSummary(Part):
    """A round in numbers."""

    total_matches: Annotated[Count, told("Matches of the round.", "004 4.8.1")]
    wins: Annotated[Count, told("Those with a winner.", "004 4.8.1")]
    draws: Annotated[Count, told("Those without.", "004 4.8.1")]
    technical_losses: Annotated[Count, told("Those lost without play.", "004 4.8.1")]
    cancelled: Annotated[Count | None, told("Ours: those that count nowhere.", "our choice")] = None


class RoundCompleted(FromManager):
    """A round is over."""

    clause = "004 4.8.1"
    sent_to = ("player",)
    either = (("matches_completed", "matches_played"),)
    message_type: Annotated[Literal["ROUND_COMPLETED"], told("Which message this is.", "004 4.8.1")]
    league_id: LeagueId
    round_id: RoundId
    next_round_id: Annotated[Number | None, told("The round that comes next; null after the last.", "004 4.8.1")]
    matches_completed: Annotated[Count | None, told("How many matches it had.", "004 4.8.1")] = None
    matches_played: Annotated[Count | None, told("The same, by its other name.", "004 8.8")] = None
    completed_matches: Annotated[list[Id] | None, told("Their ids (000).", "000 3.2")] = None
    summary: Annotated[RoundSummary | None, told("The round in numbers; left out in chapter 8.", "004 4.8.1")] = None
    auth_token: LeagueToken = None


class Champion(Part):
    """Who won the league."""

    player_id: Annotated[Id, told("The champion.", "004 4.8.2")]
    display_name: Annotated[Text, told("The champion's name.", "004 4.8.2")]
    points: Annotated[int, told("The champion's points.", "004 4.8.2")]


class FinalRow(Part):
    """A line of the last table."""

    rank: Annotated[Number, told("Its place, from 1 on.", "004 4.8.2")]
    player_id: Annotated[Id, told("The player.", "004 4.8.2")]
    points: Annotated[int, told("Points.", "004 4.8.2")]
    display_name: Annotated[Text | None, told("The name that people see; we always send it.", "000 3.4")] = None


class LeagueCompleted(FromManager):
    """The league is over."""

    clause = "004 4.8.2"
    sent_to = ("player", "referee")
    message_type: Annotated[Literal["LEAGUE_COMPLETED"], told("Which message this is.", "004 4.8.2")]
    league_id: LeagueId
    total_rounds: Annotated[Count, told("Rounds played.", "004 4.8.2")]
    total_matches: Annotated[Count, told("Matches played.", "004 4.8.2")]
    champion: Annotated[Champion, told("Who won.", "004 4.8.2")]
    final_standings: Annotated[list[FinalRow], told("The last table, best first.", "004 4.8.2")]
    auth_token: LeagueToken = None


class LeagueQuery(Envelope):
    """A player or a referee asks."""

    clause = "004 4.9.1"
    sent_by = ("player", "referee")
    sent_to = ("league_manager",)
    answer = "LEAGUE_QUERY_RESPONSE"
    message_type: Annotated[Literal["LEAGUE_QUERY"], told("Which message this is.", "004 4.9.1")]
    sender: Annotated[AgentSender, SENDER]
    auth_token: OwnToken
    league_id: LeagueId
    query_type: Annotated[QueryType, told("What is asked; GET_GAMES is ours, after 004 3.8.4.", "004 4.9.1")]
    query_params: Annotated[
        dict[str, Any] | None, told("More about it, such as player_id; without one it is the sender.", "004 4.9.1")
    ] = None


class LeagueQueryResponse(FromManager):
    """The answer to a query."""

    clause = "004 4.9.2"
    sent_to = ("player", "referee")
    conditions = (
        When("success", True, ("data",), "004 4.9.2"),
        When("success", False, ("error",), "004 4.9.2"),
    )
    message_type: Annotated[Literal["LEAGUE_QUERY_RESPONSE"], told("Which message this is.", "004 4.9.2")]
    query_type: Annotated[QueryType, told("What was asked.", "004 4.9.2")]
    success: Annotated[bool, told("Whether there is an answer.", "004 4.9.2")]
    data: Annotated[dict[str, Any] | None, told("The answer; its form goes by query_type.", "004 4.9.2")] = None
    error: Annotated[Any, told("What went wrong, when success is false.", "004 4.9.2")] = None
    league_id: MaybeLeagueId = None


class LeagueError(FromManager):
    """The league manager cannot do what was asked."""

    clause = "004 4.10.1"
    sent_to = ("player", "referee")
    message_type: Annotated[Literal["LEAGUE_ERROR"], told("Which message this is.", "004 4.10.1")]
    error_code: Annotated[ErrorCode, told("What went wrong.", "004 4.10.1")]
    error_description: Annotated[Text, told("The name of the code.", "004 4.10.1")]
    context: Annotated[dict[str, Any], told("More about it; ours has field, seen and expected.", "004 4.10.1")]
    original_message_type: Annotated[
        Text | None, told("The message that it answers; left out in chapter 8.", "004 4.10.1")
    ] = None
    error_name: Annotated[Text | None, told("The name of the code, by its other name.", "004 2.9.1")] = None
    legacy_code: Annotated[LegacyCode | None, told("The older text's code beside it.", "002 Error Codes")] = None
    message: Annotated[Text | None, told("Ours: a sentence for a person.", "our choice")] = None
    retryable: Annotated[bool | None, told("Whether trying again may help.", "004 2.9.1")] = None
