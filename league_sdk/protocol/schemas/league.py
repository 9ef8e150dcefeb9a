"""What the league manager and every agent say to each other (004 2.10, 4.1 to 4.3, 4.7 to 4.9, 4.10.1, 8.3 to 8.11)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from league_sdk.protocol.inbox import DIALS_OUT
from league_sdk.protocol.limits import MAX_CONCURRENT_MATCHES, MAX_GAME_TYPES
from league_sdk.protocol.messages import QUERY_TYPES
from league_sdk.protocol.schemas.parts import (
    OURS,
    SENDER,
    AgentSender,
    Count,
    Endpoint,
    Envelope,
    ErrorCode,
    FromManager,
    FromPlayer,
    FromReferee,
    Id,
    LeagueId,
    LegacyCode,
    Number,
    OptionalLeagueId,
    OwnToken,
    Part,
    RoundId,
    Text,
    Token,
    Version,
    When,
    expecting,
    field,
    one_of,
    optional,
)
from league_sdk.protocol.sentences import _

# Registration ----------------------------------------------------------------------------------------

Games = Annotated[list[Id], expecting(_("a list of games, such as even_odd"), min_length=1, max_length=MAX_GAME_TYPES)]
MatchLimit = Annotated[int, expecting(_("how many matches at once, from 1 on"), ge=1, le=MAX_CONCURRENT_MATCHES)]
NoToken = Annotated[str | None, field("There is none yet: absent, null and empty mean the same.", "004 2.4.5")]
SpokenVersion = Annotated[
    Version | None, field("The version spoken, here or in the meta; without it 2.0.0 is assumed.", "004 2.10.1")
]


def _listens_unless_it_dials_out(meta: str, clause: str) -> tuple[When, ...]:
    """What the course's text requires of everybody, and we only of those that do not fetch their messages."""
    return (When(f"{meta}.delivery", DIALS_OUT, (f"{meta}.contact_endpoint",), clause, unless=True),)


class Meta(Part, clause="004 4.2.1"):
    """What an agent says of itself."""

    display_name: Text = field("The name that people see.")
    version: Text = field("The version of the agent.")
    game_types: Games = field("The games it knows.")
    contact_endpoint: Endpoint | None = optional("Where it listens; absent if delivery is poll or websocket.")
    delivery: str | None = optional(
        "How it gets its messages: push, or poll or websocket if it dials out and has no contact_endpoint.", OURS
    )
    protocol_version: Version | None = optional("The version of the protocol that it speaks.", "004 2.10.1")
    registration_code: str | None = optional(
        "The code that a league may ask for, or the personal code of its owner.", OURS
    )
    league_id: Id | None = optional("The league it wants to be in.", OURS)


class RefereeMeta(Meta, clause="004 4.1.1"):
    """What a referee says of itself."""

    max_concurrent_matches: MatchLimit = field("How many matches it can judge at the same time.")
    sends_progress: bool | None = optional("Whether it sends report_progress; without that it has a long lease.", OURS)


class RefereeRegisterRequest(
    FromReferee, clause="004 4.1.1", sent_to=("league_manager",), answer="REFEREE_REGISTER_RESPONSE"
):
    """A referee wants to judge. Its id is not known yet: the sender carries a name of its own choice."""

    conditions = _listens_unless_it_dials_out("referee_meta", "004 4.1.1")
    referee_meta: RefereeMeta = field("What the referee says of itself.")
    auth_token: NoToken = None
    protocol_version: SpokenVersion = None


class LeagueRegisterRequest(
    FromPlayer, clause="004 4.2.1", sent_to=("league_manager",), answer="LEAGUE_REGISTER_RESPONSE"
):
    """A player wants to play. Its id is not known yet: the sender carries a name of its own choice."""

    conditions = _listens_unless_it_dials_out("player_meta", "004 4.2.1")
    player_meta: Meta = field("What the player says of itself.")
    auth_token: NoToken = None
    league_id: Id | None = optional("The league it wants to be in.", "004 2.4.3")
    protocol_version: SpokenVersion = None


class Inbox(Part, clause=OURS):
    """The addresses at which an agent that dials out fetches its messages and sends its answers."""

    poll_url: Endpoint = field("The address of the long poll.")
    websocket_url: str = field("The address of the WebSocket.")


class _Response(FromManager):
    league_id: Id | None = optional(
        "The league it is in or would have been in; in the lobby, the next one.", "004 8.4.2"
    )
    status: Literal["ACCEPTED", "REJECTED"] = field("Whether the agent is let in.", "004 4.2.2")
    auth_token: Token | None = optional(
        "The token by which everything is proven from now on; 32 hex digits after tok_.", "004 8.4.2"
    )
    league_token: Token | None = optional(
        "Our addition: what our messages to the agent will carry; it proves nothing to us.", OURS
    )
    inbox: Inbox | None = optional("Where it may fetch its messages instead of being called.", OURS)
    reason: Text | None = optional("Why it was rejected; null when it was accepted.", "004 4.2.2")
    rejection_reason: Text | None = optional("The same as reason, by its other name (000).", "000 3.1")
    legacy_code: LegacyCode | None = optional("The older text's code for a rejection.", "002 Error Codes")


class RefereeRegisterResponse(_Response, clause="004 4.1.2", sent_to=("referee",)):
    """Whether a referee is let in, its id and its token. A student's referee judges once the instructor permits it."""

    conditions = (
        When("status", "ACCEPTED", ("referee_id", "auth_token", "league_id"), "004 8.3.2"),
        When("status", "REJECTED", ("reason",), "004 4.1.2"),
    )
    referee_id: Id | None = optional("The id of the referee from now on.")


class LeagueRegisterResponse(_Response, clause="004 4.2.2", sent_to=("player",)):
    """Whether a player is let in, its id and its token."""

    conditions = (
        When("status", "ACCEPTED", ("player_id", "auth_token", "league_id"), "004 8.4.2"),
        When("status", "REJECTED", ("reason",), "004 4.2.2"),
    )
    player_id: Id | None = optional("The id of the player from now on.")


# Broadcasts ------------------------------------------------------------------------------------------


class _Broadcast(FromManager, sent_to=("player",)):
    league_id: LeagueId
    auth_token: Token | None = optional(
        "Our addition, always sent: the receiver's league_token, by which it can check who calls.", "004 2.4.3"
    )


class AnnouncedMatch(Part, clause="004 4.3.1"):
    """A match of the round."""

    match_id: Id = field("The match.")
    game_type: Id = field("The game that is played.")
    player_A_id: Id = field("Who plays as PLAYER_A.")  # noqa: N815
    player_B_id: Id = field("Who plays as PLAYER_B.")  # noqa: N815
    referee_endpoint: Endpoint = field("Where its referee listens.")


class RoundAnnouncement(_Broadcast, clause="004 4.3.1", sent_to=("player", "referee")):
    """A round begins; the referees will call."""

    round_id: RoundId
    matches: list[AnnouncedMatch] = field("The matches of the round.")


class FinalRow(Part, clause="004 4.8.2"):
    """A line of the last table."""

    rank: Number = field("Its place, from 1 on.")
    player_id: Id = field("The player.")
    points: int = field("Points.")
    display_name: Text | None = optional("The name that people see; we always send it.", "000 3.4")
    tied_rank: Number | None = optional("The place that it shares with those whom only the id tells apart.", OURS)


class StandingsRow(Part, clause="004 4.7.1"):
    """A line of the table."""

    rank: Number = field("Its place, from 1 on.")
    player_id: Id = field("The player.")
    display_name: Text = field("The name that people see.")
    played: Count = field("Matches played.")
    wins: Count = field("Matches won.")
    draws: Count = field("Matches that ended in a draw.")
    losses: Count = field("Matches lost.")
    points: int = field("Points.")
    technical_losses: Count | None = optional("Our addition: how many of the losses are technical losses.", OURS)
    tied_rank: Number | None = optional("The place that it shares with those whom only the id tells apart.", OURS)


class LeagueStandingsUpdate(_Broadcast, clause="004 4.7.1"):
    """The table after a round."""

    round_id: RoundId
    standings: list[StandingsRow] = field("The table, best first.")
    frozen_after_round: Number | None = optional("The board is frozen: this is the table after that round.", OURS)
    ledger_head: Text | None = optional(
        "Our addition: the digest of the league's last event; keep it to verify the league.", OURS
    )
    out: dict[str, str] | None = optional("Who was taken out of the league: withdrawn or disqualified, by id.", OURS)


class RoundSummary(Part, clause="004 4.8.1"):
    """A round in numbers."""

    total_matches: Count = field("Matches of the round.")
    wins: Count = field("Those that a player won by the rules of the game.")
    draws: Count = field("Those that ended in a draw.")
    technical_losses: Count = field("Those that ended in a technical loss.")
    cancelled: Count | None = optional("Our addition: how many matches were cancelled; they count nowhere.", OURS)


class RoundCompleted(_Broadcast, clause="004 4.8.1"):
    """A round is over."""

    either = ("matches_completed", "matches_played")
    round_id: RoundId
    next_round_id: Number | None = field("The round that comes next; null after the last.")
    matches_completed: Count | None = optional("How many matches it had.")
    matches_played: Count | None = optional("The same, by its other name.", "004 8.8")
    completed_matches: list[Id] | None = optional("Their ids (000).", "000 3.2")
    summary: RoundSummary | None = optional("The round in numbers; left out in chapter 8.")


class Champion(Part, clause="004 4.8.2"):
    """The winner of the league."""

    player_id: Id = field("The champion.")
    display_name: Text = field("The champion's name.")
    points: int = field("The champion's points.")


class LeagueCompleted(_Broadcast, clause="004 4.8.2", sent_to=("player", "referee")):
    """The league is over."""

    total_rounds: Count = field("Rounds played.")
    total_matches: Count = field("Matches of the league, cancelled ones included.")
    champion: Champion | None = field("Who won; null if nobody did, as no match that counts was won or drawn.")
    champions: list[Champion] | None = optional("Everyone with tied_rank 1; empty without a champion.", OURS)
    corrected: bool | None = optional("True if a correction has changed who won since the first such message.", OURS)
    final_standings: list[FinalRow] = field("The last table, best first.")
    out: dict[str, str] | None = optional("Who was taken out of the league: withdrawn or disqualified, by id.", OURS)


# Queries ---------------------------------------------------------------------------------------------

QueryType = Annotated[str, one_of(QUERY_TYPES.values())]


class LeagueQuery(Envelope, clause="004 4.9.1", sent_to=("league_manager",), answer="LEAGUE_QUERY_RESPONSE"):
    """A player or a referee asks."""

    sent_by = ("player", "referee")
    sender: AgentSender = field(*SENDER)
    auth_token: OwnToken
    league_id: LeagueId
    query_type: QueryType = field("What is asked; GET_GAMES is ours, after 004 3.8.4.")
    query_params: dict[str, Any] | None = optional("More, such as player_id; without it a player asks about itself.")


class LeagueQueryResponse(FromManager, clause="004 4.9.2", sent_to=("player", "referee")):
    """The answer to a query."""

    conditions = (
        When("success", True, ("data",), "004 4.9.2"),
        When("success", False, ("error",), "004 4.9.2"),
    )
    query_type: QueryType = field("What was asked.")
    success: bool = field("Whether there is an answer.")
    data: dict[str, Any] | None = optional("The answer; its form goes by query_type.")
    error: Any = optional("What went wrong, when success is false.")
    league_id: OptionalLeagueId = None


class LeagueError(FromManager, clause="004 4.10.1", sent_to=("player", "referee")):
    """The league manager cannot do what was asked."""

    error_code: ErrorCode = field("What went wrong.")
    error_description: Text = field("The name of the code.")
    context: dict[str, Any] = field(
        "More about it; ours has field, seen, expected (also as expected_format) and action, never a token."
    )
    original_message_type: Text | None = optional("The message that it answers; left out in chapter 8.")
    error_name: Text | None = optional("The name of the code, by its other name.", "004 2.9.1")
    legacy_code: LegacyCode | None = optional("The code of the older text for the same error.", "002 Error Codes")
    message: Text | None = optional("Our addition: the error in a sentence for people.", OURS)
    retryable: bool | None = optional("Whether trying again may help.", "004 2.9.1")
