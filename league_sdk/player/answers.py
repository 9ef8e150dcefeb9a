"""What a player's tools answer, as JSON Schemas (004 chapter 8 and 8.11.2).

A player of the SDK takes messages from every caller that knows its address, so what it only repeats from them
may be of any type.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

# pydantic reads no ``typing.TypedDict`` before Python 3.12.
from typing_extensions import TypedDict

from league_sdk.mcp.answers import Alive, output_schema, schema_of
from league_sdk.protocol.messages import METHODS, MessageType
from league_sdk.protocol.schemas.parts import says


class Refusal(TypedDict):
    """A call that was not usable; it has changed nothing."""

    error_code: Annotated[str, says("The protocol's code, such as E003.")]
    error_name: Annotated[str, says("The name of the code.")]
    context: Annotated[dict[str, Any], says("The field, what was seen in it and what was expected.")]


class Answer(TypedDict):
    """The envelope of an answer; before the player is registered it has no id and no token."""

    protocol: Annotated[Literal["league.v2"], says("The protocol's name.")]
    message_type: Annotated[str, says("Which message this is.")]
    sender: Annotated[str, says("player and its id, or its name before it has one.")]
    timestamp: Annotated[str, says("When it was made, in UTC.")]
    conversation_id: Annotated[str, says("The caller's.")]
    auth_token: NotRequired[Annotated[str, says("The player's own.")]]
    match_id: Annotated[str, says("The match.")]
    player_id: Annotated[str, says("The player's id, or the one that the caller has said.")]


class JoinAck(Answer):
    """GAME_JOIN_ACK."""

    arrival_timestamp: Annotated[str, says("When the invitation was read, in UTC.")]
    accept: Annotated[bool, says("Whether it plays.")]


class ParityChoice(Answer):
    """CHOOSE_PARITY_RESPONSE."""

    parity_choice: Annotated[Any, says("even or odd.")]


class MoveData(TypedDict):
    """A move."""

    move_type: Annotated[Any, says("As in the request.")]
    choice: Annotated[Any, says("One of valid_options.")]


class Move(Answer):
    """GAME_MOVE_RESPONSE."""

    game_type: Annotated[Any, says("The game, as the request names it.")]
    move_data: Annotated[MoveData, says("The move.")]


class Received(TypedDict):
    """A message that asks for nothing was read."""

    status: Annotated[Literal["received"], says("received")]


class Totals(TypedDict):
    """The sums of a history."""

    total_matches: Annotated[int, says("How many matches it has.")]
    wins: Annotated[int, says("How many of them were won.")]
    losses: Annotated[int, says("How many were lost, those that both players lost included.")]
    draws: Annotated[int, says("How many ended in a draw.")]


class PlayedMatch(TypedDict):
    """A match as its GAME_OVER told it."""

    match_id: Annotated[Any, says("The match.")]
    league_id: Annotated[Any, says("Its league, if GAME_OVER or the invitation said so.")]
    round_id: Annotated[Any, says("Its round, if GAME_OVER or the invitation said so.")]
    opponent_id: Annotated[Any, says("The other player, if it was named.")]
    result: Annotated[Literal["WIN", "LOSS", "DRAW"], says("What it was for this player.")]
    status: Annotated[Any, says("How the match ended.")]
    my_choice: Annotated[Any, says("What this player chose.")]
    opponent_choice: Annotated[Any, says("What the other player chose.")]
    drawn_number: Annotated[Any, says("The number that was drawn.")]


class History(TypedDict):
    """A player and its matches: the content of its history.json, and what it knows of itself."""

    schema_version: Annotated[str, says("Of history.json.")]
    player_id: Annotated[str, says("Given by the league; empty before.")]
    last_updated: Annotated[str, says("When this was made, in UTC.")]
    stats: Annotated[Totals, says("The sums.")]
    matches: Annotated[list[PlayedMatch], says("Its matches, the oldest first.")]
    display_name: Annotated[str, says("Its name.")]
    league_id: Annotated[str | None, says("Its league; null before it is in one.")]
    standings: Annotated[list[Any], says("The last table that it was sent.")]


_ANSWERS: dict[str, dict[str, Any]] = {
    METHODS[MessageType.GAME_INVITATION]: schema_of(JoinAck),
    METHODS[MessageType.CHOOSE_PARITY_CALL]: schema_of(ParityChoice),
    # A request in the words of CHOOSE_PARITY_CALL is answered in those of even_odd.
    METHODS[MessageType.GAME_MOVE_CALL]: schema_of(Move | ParityChoice),
    **dict.fromkeys(
        (
            METHODS[kind]
            for kind in (
                MessageType.GAME_OVER,
                MessageType.GAME_ERROR,
                MessageType.ROUND_ANNOUNCEMENT,
                MessageType.LEAGUE_STANDINGS_UPDATE,
                MessageType.ROUND_COMPLETED,
                MessageType.LEAGUE_COMPLETED,
            )
        ),
        schema_of(Received),
    ),
    "ping": schema_of(Alive),
    "get_player_state": schema_of(History),
}
SCHEMAS = {name: output_schema(answer, schema_of(Refusal)) for name, answer in _ANSWERS.items()}
"""The schema of the ``structuredContent`` of each tool."""
