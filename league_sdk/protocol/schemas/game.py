"""What a referee and the players of a match say to each other (004 3.8, 4.4 to 4.6, 4.10.2, 8.7, 8.10.2)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from league_sdk.protocol.schemas.parts import (
    Choice,
    Count,
    Digest,
    ErrorCode,
    FromPlayer,
    FromReferee,
    GameType,
    Id,
    LegacyCode,
    MatchId,
    MaybeEndpoint,
    MaybeLeagueId,
    MaybeOpponent,
    MaybeRoundId,
    Number,
    OwnToken,
    Parity,
    Part,
    Role,
    Stamp,
    Text,
    Token,
    When,
    told,
)

Attempt = Annotated[Number | None, told("Ours: which attempt at the match this is; the last one stands.", "our choice")]
Deadline = Annotated[Stamp, told("Until when an answer counts.", "004 4.5.1")]
Asked = Annotated[Id, told("The player that is asked.", "004 4.5.1")]
GameId = Annotated[
    Id | None, told("Ours, always sent: match_id by the name that some agents know it by.", "our choice")
]
Again = Annotated[
    dict[str, Any] | None, told("Ours, always sent: the facts in an object that some look into.", "our choice")
]
Commitment = Annotated[Digest | None, told("The SHA-256 of the seed that the number will be drawn from.", "our choice")]
MaybePlayer = Annotated[Id | None, told("The player it is sent to; we always send it.", "004 4.12.1")]
Owner = Annotated[Id, told("The player that answers.", "004 4.12.1")]


class Standings(Part):
    """A player's matches so far."""

    wins: Annotated[Count, told("Matches won.", "004 4.5.1")]
    losses: Annotated[Count, told("Matches lost.", "004 4.5.1")]
    draws: Annotated[Count, told("Matches drawn.", "004 4.5.1")]


class Context(Part):
    """What a player is told for its choice."""

    opponent_id: Annotated[Id, told("Whom it meets.", "004 4.5.1")]
    round_id: Annotated[Number, told("The number of the round.", "004 4.5.1")]
    your_standings: Annotated[Standings, told("Its matches so far.", "004 4.5.1")]


class MoveRequest(Part):
    """Which move is asked for."""

    move_type: Annotated[Text, told("What the move is called in the games registry.", "004 3.8.2")]
    valid_options: Annotated[list[Any], told("The moves that are allowed now.", "004 3.8.2")]
    context: Annotated[
        dict[str, Any], told("What the player may see of the game; our state of it is in context.state.", "004 3.8.2")
    ]


class MoveData(Part):
    """The move that is made."""

    move_type: Annotated[Text, told("What the move is called in the games registry.", "004 3.8.2")]
    choice: Annotated[Choice, told("The move: one of the valid_options.", "004 3.8.2")]


class _ToPlayer(FromReferee):
    sent_to = ("player",)
    match_id: MatchId
    league_id: MaybeLeagueId = None
    round_id: MaybeRoundId = None
    game_id: GameId = None


class GameInvitation(_ToPlayer):
    """A player is invited to a match and has 5 seconds to say that it comes."""

    clause = "004 4.4.1"
    answer = "GAME_JOIN_ACK"
    message_type: Annotated[Literal["GAME_INVITATION"], told("Which message this is.", "004 4.4.1")]
    auth_token: OwnToken
    league_id: Annotated[Id, told("The league.", "004 4.4.1")]
    round_id: Annotated[Number, told("The number of the round.", "004 4.4.1")]
    game_type: GameType
    role_in_match: Annotated[Role, told("The side it plays on.", "004 4.4.1")]
    opponent_id: Annotated[Id, told("Whom it meets.", "004 4.4.1")]
    player_id: MaybePlayer = None
    referee_endpoint: MaybeEndpoint = None
    context: Annotated[Context | None, told("As in the request for a choice; we always send it.", "our choice")] = None
    deadline: Annotated[Stamp | None, told("Until when an answer counts; we always send it.", "our choice")] = None
    game_invitation: Again = None


class GameJoinAck(FromPlayer):
    """A player comes to its match, or does not."""

    clause = "004 4.4.2"
    sent_to = ("referee",)
    message_type: Annotated[Literal["GAME_JOIN_ACK"], told("Which message this is.", "004 4.4.2")]
    auth_token: OwnToken
    match_id: MatchId
    player_id: Owner
    arrival_timestamp: Annotated[Stamp, told("When the invitation arrived.", "004 4.4.2")]
    accept: Annotated[bool, told("Whether the player comes.", "004 4.12.2")]


class ChooseParityCall(_ToPlayer):
    """A player is asked for even or odd and has 30 seconds."""

    clause = "004 4.5.1"
    answer = "CHOOSE_PARITY_RESPONSE"
    message_type: Annotated[Literal["CHOOSE_PARITY_CALL"], told("Which message this is.", "004 4.5.1")]
    auth_token: OwnToken
    player_id: Asked
    game_type: GameType
    context: Annotated[Context, told("What it is told for its choice.", "004 4.5.1")]
    deadline: Deadline
    opponent_id: MaybeOpponent = None
    referee_endpoint: MaybeEndpoint = None
    parity_context: Again = None
    draw_commitment: Commitment = None


class ChooseParityResponse(FromPlayer):
    """A player's choice."""

    clause = "004 4.5.2"
    sent_to = ("referee",)
    message_type: Annotated[Literal["CHOOSE_PARITY_RESPONSE"], told("Which message this is.", "004 4.5.2")]
    auth_token: OwnToken
    match_id: MatchId
    player_id: Owner
    parity_choice: Annotated[Parity, told("The choice, in small letters.", "004 4.12.2")]


class GameMoveCall(_ToPlayer):
    """A player is asked for a move of any game."""

    clause = "004 3.8.2"
    answer = "GAME_MOVE_RESPONSE"
    message_type: Annotated[Literal["GAME_MOVE_CALL"], told("Which message this is.", "004 3.8.2")]
    auth_token: OwnToken
    player_id: Annotated[Id, told("The player that is asked.", "004 3.8.2")]
    game_type: GameType
    move_request: Annotated[MoveRequest, told("Which move is asked for.", "004 3.8.2")]
    deadline: Annotated[Stamp, told("Until when an answer counts.", "004 3.8.2")]
    context: Annotated[Context | None, told("As in CHOOSE_PARITY_CALL; we always send it.", "our choice")] = None
    move_type: Annotated[Text | None, told("Ours, always sent: as in move_request.", "our choice")] = None
    valid_options: Annotated[list[Any] | None, told("Ours, always sent: as in move_request.", "our choice")] = None
    state: Annotated[dict[str, Any] | None, told("Ours, always sent: as in move_request.context.", "our choice")] = None
    opponent_id: MaybeOpponent = None
    referee_endpoint: MaybeEndpoint = None
    draw_commitment: Commitment = None


class GameMoveResponse(FromPlayer):
    """A player's move in any game."""

    clause = "004 3.8.2"
    sent_to = ("referee",)
    message_type: Annotated[Literal["GAME_MOVE_RESPONSE"], told("Which message this is.", "004 3.8.2")]
    auth_token: OwnToken
    match_id: MatchId
    player_id: Owner
    game_type: Annotated[Id, told("The game that is played.", "004 3.8.2")]
    move_data: Annotated[MoveData, told("The move that is made.", "004 3.8.2")]


class GameResult(Part):
    """How a match ended, for its players."""

    status: Annotated[
        Literal["WIN", "DRAW", "TECHNICAL_LOSS", "CANCELLED"],
        told("How it ended; CANCELLED is only in 000.", "004 4.6.1"),
    ]
    winner_player_id: Annotated[Id | None, told("Who won; null when nobody did.", "004 4.6.1")]
    reason: Annotated[Text, told("The result in a sentence.", "004 4.6.1")]
    drawn_number: Annotated[int | None, told("The number drawn; null when it came to no draw.", "004 4.6.1")] = None
    number_parity: Annotated[Parity | None, told("Its parity; null when it came to no draw.", "004 4.6.1")] = None
    choices: Annotated[
        dict[str, Any] | None, told("What each player chose, by id; null where no choice came.", "004 4.6.1")
    ] = None
    draw_seed: Annotated[
        Digest | None, told("What the number was drawn from; its SHA-256 is draw_commitment.", "our choice")
    ] = None
    play: Annotated[
        Number | None, told("Which play of the match was drawn for: one more for each replay ordered.", "our choice")
    ] = None


class GameOver(_ToPlayer):
    """A match is over."""

    clause = "004 4.6.1"
    conditions = (
        When(
            "game_type",
            "even_odd",
            ("game_result.drawn_number", "game_result.number_parity", "game_result.choices"),
            "004 4.6.1",
            nullable=True,
        ),
        When("game_result.status", "WIN", ("game_result.winner_player_id",), "004 4.6.1"),
    )
    message_type: Annotated[Literal["GAME_OVER"], told("Which message this is.", "004 4.6.1")]
    auth_token: OwnToken
    game_type: GameType
    game_result: Annotated[GameResult, told("How it ended.", "004 4.6.1")]
    player_id: MaybePlayer = None
    attempt: Attempt = None


class RetryInfo(Part):
    """How often a request was tried."""

    retry_count: Annotated[Count | None, told("Tries that have failed.", "004 4.10.2")] = None
    max_retries: Annotated[Count | None, told("Retries after the first try.", "004 4.10.2")] = None
    next_retry_at: Annotated[Stamp | None, told("When it is tried again; null for not at all.", "004 4.10.2")] = None


class GameError(_ToPlayer):
    """Something in a match went wrong, and what follows from it."""

    clause = "004 4.10.2"
    message_type: Annotated[Literal["GAME_ERROR"], told("Which message this is.", "004 4.10.2")]
    auth_token: Annotated[Token | None, told("As in every message; the example has none.", "004 8.10.2")] = None
    error_code: Annotated[ErrorCode, told("What went wrong.", "004 4.10.2")]
    error_description: Annotated[Text, told("The name of the code.", "004 4.10.2")]
    affected_player: Annotated[Id | None, told("The player it happened to.", "004 4.10.2")]
    action_required: Annotated[Text, told("The message that was waited for.", "004 4.10.2")]
    consequence: Annotated[Text, told("What happens if it stays so.", "004 4.10.2")]
    error_name: Annotated[Text | None, told("The name of the code, by its other name.", "004 2.9.2")] = None
    legacy_code: Annotated[LegacyCode | None, told("The older text's code beside it.", "002 Error Codes")] = None
    message: Annotated[Text | None, told("Ours: a sentence for a person.", "our choice")] = None
    context: Annotated[dict[str, Any] | None, told("Ours: field, seen, expected.", "our choice")] = None
    player_id: Annotated[Id | None, told("The affected player, by its other name.", "004 2.9.2")] = None
    game_type: Annotated[Id | None, told("The game; we always send it.", "004 2.3")] = None
    game_state: Annotated[Text | None, told("The state of the match.", "004 2.9.2")] = None
    retryable: Annotated[bool | None, told("Whether it is tried again.", "004 2.9.2")] = None
    retry_count: Annotated[Count | None, told("Tries that have failed.", "004 8.10.2")] = None
    max_retries: Annotated[Count | None, told("Retries after the first try.", "004 8.10.2")] = None
    retry_info: Annotated[RetryInfo | None, told("The same, in one object.", "004 4.10.2")] = None
