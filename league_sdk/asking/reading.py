"""Reads a player's answer, or says why it does not count (ruling, sections 6 and 7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from league_sdk.asking.fault import Fault
from league_sdk.dialects import answers
from league_sdk.protocol.errors import MissingField
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.notes import Code, note
from league_sdk.protocol.own_words import words_of
from league_sdk.rules.game import Game, State


def read_join(message: Mapping[str, Any]) -> bool:
    """Whether the player accepts its invitation.

    Raises:
        MissingField: E003, the answer does not say it.
    """
    accepted = answers.accepted(message)
    if accepted is None:
        raise MissingField("The answer has no accept.", field="accept", expected="true or false")
    return accepted


def read_yes(message: Mapping[str, Any], *, player_id: str, limit_s: float) -> Fault | None:
    """None if the player accepts its invitation, else its fault, with the reason that it gives.

    Raises:
        MissingField: E003, the answer does not say it.
    """
    if read_join(message):
        return None
    why, kind = note(Code.REFUSED_INVITATION), MessageType.GAME_INVITATION
    return Fault(player_id, "E002", kind, 1, Cause.WRONG_MESSAGE, limit_s, why, words_of(message))


def read_move(message: Mapping[str, Any], game: Game, state: State, player_id: str) -> Any:
    """The player's move, which is legal in this state.

    Raises:
        MissingField: E003, the field is missing.
        LeagueError: the game refuses it.
    """
    move = answers.choice(message, game.choice_field)
    if move is None:
        expected = ", ".join(game.valid_choices)
        raise MissingField(f"The answer has no {game.choice_field}.", field=game.choice_field, expected=expected)
    game.apply(state, player_id, move)
    return move
