"""The messages of a referee, canonical and with every field the documents name (ruling, sections 4 and 5)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from league_sdk.judging.brief import Brief, Seat
from league_sdk.judging.fault import Wrong
from league_sdk.protocol.envelope import envelope, stamp
from league_sdk.protocol.errors import NAMES, RETRYABLE
from league_sdk.protocol.messages import MessageType
from league_sdk.rules.game import Game, State


def _message(brief: Brief, seat: Seat, message_type: str, now: datetime, **fields: Any) -> dict[str, Any]:
    return envelope(
        message_type,
        sender=f"referee:{brief.referee_id}",
        conversation_id=brief.conversation_id,
        now=now,
        auth_token=seat.league_token,
        league_id=brief.league_id,
        round_id=brief.round_id,
        match_id=brief.match_id,
        # Some agents know a match by this name.
        game_id=brief.match_id,
        game_type=brief.game_type,
        player_id=seat.player_id,
        **fields,
    )


def _context(brief: Brief, seat: Seat) -> dict[str, Any]:
    return {
        "opponent_id": opponent(brief, seat).player_id,
        "round_id": brief.round_id,
        "your_standings": dict(seat.standings),
    }


def opponent(brief: Brief, seat: Seat) -> Seat:
    """The other seat."""
    return brief.seats[1] if seat is brief.seats[0] else brief.seats[0]


def invitation(brief: Brief, seat: Seat, *, now: datetime, deadline: datetime) -> dict[str, Any]:
    """GAME_INVITATION (ruling, section 4)."""
    facts = {
        "role_in_match": seat.role,
        "opponent_id": opponent(brief, seat).player_id,
        "referee_endpoint": brief.endpoint_for(seat),
        "deadline": stamp(deadline),
    }
    return _message(
        brief,
        seat,
        MessageType.GAME_INVITATION,
        now,
        **facts,
        context=_context(brief, seat),
        game_invitation={"match_id": brief.match_id, "game_type": brief.game_type, **facts},
    )


def move_call(
    brief: Brief, seat: Seat, game: Game, state: State, *, now: datetime, deadline: datetime
) -> dict[str, Any]:
    """CHOOSE_PARITY_CALL or GAME_MOVE_CALL (ruling, sections 4 and 7)."""
    message = _message(
        brief,
        seat,
        game.call_message,
        now,
        opponent_id=opponent(brief, seat).player_id,
        referee_endpoint=brief.endpoint_for(seat),
        context=_context(brief, seat),
        deadline=stamp(deadline),
    )
    if brief.draw_commitment:
        message["draw_commitment"] = brief.draw_commitment
    if game.call_message == MessageType.GAME_MOVE_CALL:
        asked = {"move_type": game.move_type, "valid_options": game.options(state, seat.player_id)}
        view = game.view(state, seat.player_id)
        message |= asked | {"state": view}
        message["move_request"] = asked | {"context": {**_context(brief, seat), "state": view}}
    else:
        message["parity_context"] = {**_context(brief, seat), "match_id": brief.match_id, "deadline": stamp(deadline)}
    return message


def game_over(
    brief: Brief, seat: Seat, *, now: datetime, attempt: int, result: dict[str, Any], conversation_id: str = ""
) -> dict[str, Any]:
    """GAME_OVER (ruling, section 4); ``attempt`` tells which one stands when a match was played again.

    Args:
        conversation_id: that of the attempt that is told, when it was an earlier one; empty for this one's.
    """
    message = _message(brief, seat, MessageType.GAME_OVER, now, attempt=attempt, game_result=result)
    return message | ({"conversation_id": conversation_id} if conversation_id else {})


def game_error(  # noqa: PLR0913 - the fields of the message that differ
    brief: Brief,
    seat: Seat,
    wrong: Wrong,
    *,
    now: datetime,
    action_required: str,
    game_state: str,
    retry_count: int,
    max_retries: int,
    next_retry_at: datetime | None,
) -> dict[str, Any]:
    """GAME_ERROR (ruling, section 5), flat and nested fields both; 002's code beside ours where one corresponds.

    Nine arguments, as the message has so many fields that differ.
    """
    again = next_retry_at is not None
    beside = {"legacy_code": wrong.legacy_code} if wrong.legacy_code else {}
    return _message(
        brief,
        seat,
        MessageType.GAME_ERROR,
        now,
        error_code=wrong.code,
        error_name=NAMES[wrong.code],
        error_description=NAMES[wrong.code],
        **beside,
        message=wrong.sentence,
        context=wrong.context,
        affected_player=seat.player_id,
        action_required=action_required,
        game_state=game_state,
        retryable=again or wrong.code in RETRYABLE,
        retry_count=retry_count,
        max_retries=max_retries,
        retry_info={
            "retry_count": retry_count,
            "max_retries": max_retries,
            "next_retry_at": stamp(next_retry_at) if next_retry_at else None,
        },
        consequence="Technical loss if no valid answer comes within the retries"
        if again
        else "Technical loss: the retries are used up",
    )
