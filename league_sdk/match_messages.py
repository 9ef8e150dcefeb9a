"""The messages of a referee, canonical and with every field the documents name (ruling, sections 4 and 5).

Referees send them in matches and the check of players sends them in a simulated league: one place builds them, so that
an agent that passes its check is sent nothing else when it plays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from league_sdk.protocol.envelope import envelope, stamp
from league_sdk.protocol.errors import NAMES, RETRYABLE
from league_sdk.protocol.messages import MessageType
from league_sdk.rules.game import Game, State


@dataclass(frozen=True, slots=True)
class Receiver:
    """One player in one match, with what the messages to it say of both.

    Attributes:
        referee_id: who sends.
        referee_endpoint: where the player may POST its answers.
        opponent_id: the other player.
        role: PLAYER_A or PLAYER_B.
        league_token: the auth_token in messages to it.
        standings: ``your_standings``.
        draw_commitment: the SHA-256 of the seed of the draw; empty when there is none.
    """

    league_id: str
    round_id: int
    match_id: str
    game_type: str
    conversation_id: str
    referee_id: str
    referee_endpoint: str
    player_id: str
    opponent_id: str
    role: str
    league_token: str = field(repr=False)
    standings: Mapping[str, int]
    draw_commitment: str = ""

    @property
    def _context(self) -> dict[str, Any]:
        return {
            "opponent_id": self.opponent_id,
            "round_id": self.round_id,
            "your_standings": dict(self.standings),
        }


@dataclass(frozen=True, slots=True)
class Problem:
    """What GAME_ERROR is about.

    Attributes:
        code: E001 to E004 or E009.
        sentence: what is wrong, for the player's student.
        context: the fields of the error, for the player's program.
        legacy_code: the code of document 002, where one corresponds.
    """

    code: str
    sentence: str
    context: Mapping[str, Any]
    legacy_code: str | None


def _message(to: Receiver, message_type: str, now: datetime, **fields: Any) -> dict[str, Any]:
    return envelope(
        message_type,
        sender=f"referee:{to.referee_id}",
        conversation_id=to.conversation_id,
        now=now,
        auth_token=to.league_token,
        league_id=to.league_id,
        round_id=to.round_id,
        match_id=to.match_id,
        # Some agents call a match a game.
        game_id=to.match_id,
        game_type=to.game_type,
        player_id=to.player_id,
        **fields,
    )


def invitation(to: Receiver, *, now: datetime, deadline: datetime) -> dict[str, Any]:
    """GAME_INVITATION (ruling, section 4)."""
    facts = {
        "role_in_match": to.role,
        "opponent_id": to.opponent_id,
        "referee_endpoint": to.referee_endpoint,
        "deadline": stamp(deadline),
    }
    return _message(
        to,
        MessageType.GAME_INVITATION,
        now,
        **facts,
        context=to._context,
        game_invitation={"match_id": to.match_id, "game_type": to.game_type, **facts},
    )


def move_call(
    to: Receiver, game: Game, state: State, *, now: datetime, deadline: datetime, generic: bool = False
) -> dict[str, Any]:
    """CHOOSE_PARITY_CALL or GAME_MOVE_CALL (ruling, sections 4 and 7).

    Args:
        generic: ask with GAME_MOVE_CALL whatever the game.
    """
    kind = MessageType.GAME_MOVE_CALL if generic else game.call_message
    message = _message(
        to,
        kind,
        now,
        opponent_id=to.opponent_id,
        referee_endpoint=to.referee_endpoint,
        context=to._context,
        deadline=stamp(deadline),
    )
    if to.draw_commitment:
        message["draw_commitment"] = to.draw_commitment
    if kind == MessageType.GAME_MOVE_CALL:
        options = {"move_type": game.move_type, "valid_options": game.options(state, to.player_id)}
        view = game.view(state, to.player_id)
        message |= options | {"state": view}
        message["move_request"] = options | {"context": {**to._context, "state": view}}
    else:
        message["parity_context"] = {**to._context, "match_id": to.match_id, "deadline": stamp(deadline)}
    return message


def game_over(
    to: Receiver, *, now: datetime, attempt: int, result: Mapping[str, Any], conversation_id: str = ""
) -> dict[str, Any]:
    """GAME_OVER (ruling, section 4); ``attempt`` says which one is final when a match was played again.

    Args:
        conversation_id: the id of the attempt that was decided, if it was an earlier one.
    """
    message = _message(to, MessageType.GAME_OVER, now, attempt=attempt, game_result=result)
    return message | ({"conversation_id": conversation_id} if conversation_id else {})


def game_error(  # noqa: PLR0913 - the fields of the message that differ
    to: Receiver,
    problem: Problem,
    *,
    now: datetime,
    action_required: str,
    game_state: str,
    tries: int,
    max_retries: int,
    next_retry_at: datetime | None,
) -> dict[str, Any]:
    """GAME_ERROR (ruling, section 5) with flat and nested fields, and document 002's code where one corresponds.

    The documents count in two ways: the flat ``retry_count`` is the number of retries made (004 8.10.2), the nested one
    that of the retry to come (004 4.10.2); both are the number of retries when there is none to come.

    Args:
        tries: how often the player was asked.

    Eight arguments, because so many fields of the message differ.
    """
    has_retry = next_retry_at is not None
    legacy = {"legacy_code": problem.legacy_code} if problem.legacy_code else {}
    return _message(
        to,
        MessageType.GAME_ERROR,
        now,
        error_code=problem.code,
        error_name=NAMES[problem.code],
        error_description=NAMES[problem.code],
        **legacy,
        message=problem.sentence,
        context=problem.context,
        affected_player=to.player_id,
        action_required=action_required,
        game_state=game_state,
        retryable=has_retry or problem.code in RETRYABLE,
        retry_count=tries - 1,
        max_retries=max_retries,
        retry_info={
            "retry_count": tries if has_retry else tries - 1,
            "max_retries": max_retries,
            "next_retry_at": stamp(next_retry_at) if next_retry_at else None,
        },
        consequence="Technical loss if no valid answer comes within the retries"
        if has_retry
        else "Technical loss: the retries are used up",
    )
