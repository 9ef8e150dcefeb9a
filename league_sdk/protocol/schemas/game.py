"""What a referee and the players of a match say to each other (004 3.8, 4.4 to 4.6, 4.10.2, 8.7, 8.10.2)."""

from __future__ import annotations

from typing import Annotated, Any

from league_sdk.protocol.messages import ROLES
from league_sdk.protocol.schemas.parts import (
    OURS,
    Choice,
    Count,
    Digest,
    Endpoint,
    ErrorCode,
    FromPlayer,
    FromReferee,
    GameType,
    Id,
    LegacyCode,
    MatchId,
    Number,
    OptionalLeagueId,
    OwnToken,
    Parity,
    Part,
    Stamp,
    Status,
    Text,
    Token,
    When,
    field,
    one_of,
    optional,
)

Attempt = Annotated[
    Number | None, field("Our addition: which attempt at the match this is; the last one counts.", OURS)
]
FactsInObject = Annotated[
    dict[str, Any] | None,
    field("Our addition, always sent: the same facts in an object, where some agents look for them.", OURS),
]
MaybePlayer = Annotated[Id | None, field("The player it is sent to; we always send it.", "004 4.12.1")]


class Standings(Part, clause="004 4.5.1"):
    """A player's matches so far."""

    wins: Count = field("Matches won.")
    losses: Count = field("Matches lost.")
    draws: Count = field("Matches that ended in a draw.")


class Context(Part, clause="004 4.5.1"):
    """What a player is told for its choice."""

    opponent_id: Id = field("Whom it meets.")
    round_id: Number = field("The number of the round.")
    your_standings: Standings = field("Its matches so far.")


class MoveRequest(Part, clause="004 3.8.2"):
    """Which move is asked for."""

    move_type: Text = field("What the move is called in the games registry.")
    valid_options: list[Any] = field("The moves that are allowed now.")
    context: dict[str, Any] = field("What the player may see of the game; our state of it is in context.state.")


class MoveData(Part, clause="004 3.8.2"):
    """The move that is made."""

    move_type: Text = field("What the move is called in the games registry.")
    choice: Choice = field("The move: one of the valid_options.")


class _ToPlayer(FromReferee, sent_to=("player",)):
    match_id: MatchId
    league_id: OptionalLeagueId = None
    round_id: Number | None = optional("The number of the round; we always send it.", "004 2.4.3")
    game_id: Id | None = optional("Our addition, always sent: match_id under the name that some agents know.", OURS)


class _OfGame(_ToPlayer):
    auth_token: OwnToken
    game_type: GameType


class _Question(_OfGame):
    """A message that a player answers in its reply, or by a call of its own to the referee."""

    referee_endpoint: Endpoint | None = optional(
        "Our addition, always sent: where an answer may be posted instead of returned.", OURS
    )


class _Call(_Question):
    player_id: Id = field("The player that is asked.")
    deadline: Stamp = field("Until when an answer counts.")
    opponent_id: Id | None = optional("Whom the player meets; we always send it.", "004 4.4.1")
    draw_commitment: Digest | None = optional("The SHA-256 of the seed that the number will be drawn from.", OURS)


class _ToReferee(FromPlayer, sent_to=("referee",)):
    auth_token: OwnToken
    match_id: MatchId
    player_id: Id = field("The player that answers.", "004 4.12.1")


class GameInvitation(_Question, clause="004 4.4.1", answer="GAME_JOIN_ACK"):
    """A player is invited to a match and has 5 seconds to say that it comes."""

    league_id: Id = field("The league.")
    round_id: Number = field("The number of the round.")
    role_in_match: Annotated[str, one_of(ROLES)] = field("The side it plays on.")
    opponent_id: Id = field("Whom it meets.")
    player_id: MaybePlayer = None
    context: Context | None = optional("As in the request for a choice; we always send it.", OURS)
    deadline: Stamp | None = optional("Until when an answer counts; we always send it.", OURS)
    game_invitation: FactsInObject = None


class GameJoinAck(_ToReferee, clause="004 4.4.2"):
    """A player comes to its match, or does not."""

    arrival_timestamp: Stamp = field("When the invitation arrived.")
    accept: bool = field("Whether the player comes.", "004 4.12.2")


class ChooseParityCall(_Call, clause="004 4.5.1", answer="CHOOSE_PARITY_RESPONSE"):
    """A player is asked for even or odd and has 30 seconds."""

    context: Context = field("What it is told for its choice.")
    parity_context: FactsInObject = None


class ChooseParityResponse(_ToReferee, clause="004 4.5.2"):
    """A player's choice."""

    parity_choice: Parity = field("The choice, in small letters.", "004 4.12.2")


class GameMoveCall(_Call, clause="004 3.8.2", answer="GAME_MOVE_RESPONSE"):
    """A player is asked for a move of any game."""

    move_request: MoveRequest = field("Which move is asked for.")
    context: Context | None = optional("As in CHOOSE_PARITY_CALL; we always send it.", OURS)
    move_type: Text | None = optional("Our addition, always sent: as in move_request.", OURS)
    valid_options: list[Any] | None = optional("Our addition, always sent: as in move_request.", OURS)
    state: dict[str, Any] | None = optional("Our addition, always sent: as in move_request.context.", OURS)


class GameMoveResponse(_ToReferee, clause="004 3.8.2"):
    """A player's move in any game."""

    game_type: Id = field("The game that is played.")
    move_data: MoveData = field("The move that is made.")


class GameResult(Part, clause="004 4.6.1"):
    """How a match ended, for its players."""

    status: Status = field("How it ended; CANCELLED is only in 000.")
    winner_player_id: Id | None = field("Who won; null when nobody did.")
    reason: Text = field("The result in a sentence.")
    drawn_number: int | None = optional("The number drawn; null if none was drawn.")
    number_parity: Parity | None = optional("Its parity; null if none was drawn.")
    choices: dict[str, Any] | None = optional("What each player chose, by id; null where no choice came.")
    draw_seed: Digest | None = optional("What the number was drawn from; its SHA-256 is draw_commitment.", OURS)
    play: Number | None = optional(
        "For which play of the match the number was drawn: one more for each replay that was ordered.", OURS
    )


class GameOver(_OfGame, clause="004 4.6.1"):
    """A match is over."""

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
    game_result: GameResult = field("How it ended.")
    player_id: MaybePlayer = None
    attempt: Attempt = None


class RetryInfo(Part, clause="004 4.10.2"):
    """How often a request was tried."""

    retry_count: Count | None = optional("Tries that have failed.")
    max_retries: Count | None = optional("Retries after the first try.")
    next_retry_at: Stamp | None = optional("When it is tried again; null for not at all.")


class GameError(_ToPlayer, clause="004 4.10.2"):
    """Something in a match went wrong, and what follows from it."""

    auth_token: Token | None = optional("As in every message; the example has none.", "004 8.10.2")
    error_code: ErrorCode = field("What went wrong.")
    error_description: Text = field("The name of the code.")
    affected_player: Id | None = field("The player it happened to.")
    action_required: Text = field("The message that was waited for.")
    consequence: Text = field("What happens if nothing changes.")
    error_name: Text | None = optional("The same as error_description, under another name.", "004 2.9.2")
    legacy_code: LegacyCode | None = optional("The code of document 002 for the same error.", "002 Error Codes")
    message: Text | None = optional("Our addition: the error in a sentence for people.", OURS)
    context: dict[str, Any] | None = optional(
        "Our addition: which field is wrong, what was seen, and what is expected.", OURS
    )
    player_id: Id | None = optional("The same as affected_player, under another name.", "004 2.9.2")
    game_type: Id | None = optional("The game; we always send it.", "004 2.3")
    game_state: Text | None = optional("The state of the match.", "004 2.9.2")
    retryable: bool | None = optional("Whether it is tried again.", "004 2.9.2")
    retry_count: Count | None = optional("Retries made, from 0.", "004 8.10.2")
    max_retries: Count | None = optional("Retries after the first try.", "004 8.10.2")
    retry_info: RetryInfo | None = optional("The retry that comes next, from 1.")
