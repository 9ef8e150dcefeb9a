"""What a referee's tools answer, as JSON Schemas (004 5.4.1; what no document describes is our choice)."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from pydantic import ConfigDict, with_config

# pydantic reads no ``typing.TypedDict`` before Python 3.12.
from typing_extensions import TypedDict

from league_sdk.dialects.shapes import canonical_method
from league_sdk.dialects.words import ANSWERS
from league_sdk.mcp.answers import Alive, Tools, output_schema, schema_of
from league_sdk.protocol import schemas
from league_sdk.protocol.messages import START_MATCH, MessageType
from league_sdk.protocol.schemas.game import GameResult
from league_sdk.protocol.schemas.parts import one_of, says
from league_sdk.protocol.states import MatchState


class OfMatch(TypedDict):
    """An answer about a match that is over."""

    league_id: Annotated[str, says("The league.")]
    match_id: Annotated[str, says("The match.")]
    attempt: Annotated[int, says("Which attempt was decided.")]
    at: Annotated[str | None, says("When the step was reached, in UTC; null if this referee did not take it.")]


class Choices(OfMatch):
    """The step collect_choices."""

    step: Annotated[Literal["COLLECTING_CHOICES"], says("The step that this answer is about.")]
    choices: Annotated[Any, says("What each player chose, by id: its choice, or its moves.")]
    moves: Annotated[list[list[Any]], says("Player and move in order, of a game in turns.")]


class Draw(OfMatch):
    """The step draw_number; null: number and parity if nothing was drawn, seed and play if the match has no seed."""

    step: Annotated[Literal["DRAWING_NUMBER"], says("The step that this answer is about.")]
    drawn_number: Annotated[Any, says("The number.")]
    number_parity: Annotated[Any, says("even or odd.")]
    draw_seed: Annotated[str | None, says("What the number was drawn from; its SHA-256 is draw_commitment.")]
    play: Annotated[int | None, says("Which play of the match was drawn for: one more for each replay ordered.")]


class End(OfMatch):
    """The step finalize_match."""

    step: Annotated[Literal["FINISHED"], says("The step that this answer is about.")]
    game_result: Annotated[GameResult, says("How it ended, as GAME_OVER told it.")]


class InPlay(TypedDict):
    """A match in play."""

    match_id: Annotated[str, says("The match.")]
    attempt: Annotated[int, says("Which attempt this is.")]
    state: Annotated[str, one_of(MatchState), says("How far it is.")]
    joined: Annotated[list[str], says("The players that have accepted the invitation.")]
    locked_in: Annotated[list[str], says("The players that have chosen, in this turn.")]
    view: Annotated[dict[str, Any], says("What everybody may see of the game.")]


@with_config(ConfigDict(extra="allow"))  # the league manager adds its envelope
class Taken(TypedDict):
    """An answer was taken by this referee, or passed on to the one that plays the match."""

    status: Annotated[Literal["RECEIVED"], says("RECEIVED")]
    duplicate: NotRequired[Annotated[bool, says("Whether it had come before, if this referee knows.")]]


_ANSWERS: dict[str, dict[str, Any]] = {
    START_MATCH: schemas.json_schema("START_MATCH_ANSWER"),
    "collect_choices": schema_of(Choices),
    "draw_number": schema_of(Draw),
    "finalize_match": schema_of(End),
    "get_match_state": schema_of(InPlay),
    **{canonical_method(kind): schema_of(Taken) for kind in ANSWERS},
    **dict.fromkeys(
        (canonical_method(kind) for kind in (MessageType.ROUND_ANNOUNCEMENT, MessageType.LEAGUE_COMPLETED)),
        schema_of(Alive),
    ),
    "ping": schema_of(Alive),
    "list_tools": schema_of(Tools),
}
_REFUSAL = schemas.json_schema(MessageType.LEAGUE_ERROR)
# The message is the league manager's (004 4.10.1); a referee that refuses a call says so in it under its own name.
_REFUSAL["properties"]["sender"] = {"type": "string"}

SCHEMAS = {name: output_schema(answer, _REFUSAL) for name, answer in _ANSWERS.items()}
"""The schema of the ``structuredContent`` of each tool."""
