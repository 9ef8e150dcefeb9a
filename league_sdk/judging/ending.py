"""How a match ends: the verdict, its seal, and GAME_OVER (ruling, sections 6, 7 and 12)."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from league_sdk.judging import messages
from league_sdk.judging.brief import Brief, Seat
from league_sdk.judging.conversation import Conversation
from league_sdk.judging.fault import Fault, MachineFailed
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.states import MatchState, ResultStatus
from league_sdk.protocol.transcript import clean, storable
from league_sdk.rules.game import Game, State

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Played:
    """How a match ended, as it is reported."""

    status: ResultStatus
    winner: str | None
    reason: str
    details: dict[str, Any]
    faults: tuple[Fault, ...]


class Safe(Protocol):
    """What the league manager keeps of a match before any player hears of it (ruling, section 12)."""

    async def record_moves(self) -> None:
        """Return when the moves in the match's log are on record."""

    async def seal(self, played: Played) -> None:
        """Return when the verdict is sealed: from then on it stands, whatever becomes of this referee."""


def verdict(brief: Brief, game: Game, state: State, faults: tuple[Fault, ...]) -> Played:
    """How an attempt ends: as the game has it, or for what players lost a point for."""
    outcome = game.outcome(state)
    if outcome is not None and not faults:
        status = ResultStatus.WIN if outcome.winner else ResultStatus.DRAW
        return Played(status, outcome.winner, outcome.reason, clean(outcome.details), ())
    absent = {fault.player_id for fault in faults}
    present = [player for player in brief.player_ids if player not in absent]
    reason = storable("; ".join(fault.sentence for fault in faults))
    invited = all(fault.message_type == MessageType.GAME_INVITATION for fault in faults)
    details = clean(game.unfinished(state))
    if invited and brief.settings.no_show == "cancel":
        return Played(ResultStatus.CANCELLED, None, reason, details, faults)
    winner = present[0] if present else None
    # Its full stop is the one of whatever it stands in.
    return Played(ResultStatus.TECHNICAL_LOSS, winner, f"{reason}. Technical loss", details, faults)


async def tell_sealed(talk: Conversation) -> Played:
    """Tell the end of an attempt that another referee has decided (ruling, section 12). Nothing is asked.

    Args:
        talk: of a brief with the sealed verdict.

    Returns the result to report.
    """
    sealed = talk.brief.sealed
    if sealed is None:
        raise ValueError("there is no sealed verdict to tell")
    told = sealed.verdict
    played = Played(
        ResultStatus(told["status"]),
        told["winner_player_id"],
        told["reason"],
        told["details"],
        # The league manager has them with the seal.
        faults=(),
    )
    talk.log.move_to(MatchState.DRAWING_NUMBER, talk.clock.now())
    await tell_the_end(talk, played, sealed.attempt, sealed.conversation_id)
    talk.log.reveal()
    return played


async def tell_the_end(talk: Conversation, played: Played, attempt: int, conversation_id: str = "") -> None:
    """GAME_OVER to both at once; one more try after a failed connect (ruling, section 6).

    Args:
        attempt: the one that was decided.
        conversation_id: of that attempt, when it was an earlier one.

    Raises:
        MachineFailed: this machine could not even try to tell a player of a verdict that is sealed.
    """
    brief = talk.brief
    result = {
        "status": played.status,
        "winner_player_id": played.winner,
        **played.details,
        "reason": played.reason,
    }
    if brief.draw_seed is not None:
        # Which play it was is part of what the draw follows from.
        result |= {"draw_seed": brief.draw_seed.hex(), "play": brief.play}

    async def one(seat: Seat) -> str:
        evidence = ""
        for _ in range(2):
            now = talk.clock.now()
            message = messages.game_over(
                brief, seat, now=now, attempt=attempt, result=result, conversation_id=conversation_id
            )
            heard = await talk.tell(seat, message, limit_s=brief.settings.game_over_timeout_s, hidden=True)
            evidence = heard.excuse
            if heard.connected:
                break
        return evidence

    unable = [evidence for evidence in await together(*(one(seat) for seat in brief.seats)) if evidence]
    if unable and brief.seals and brief.sealed is None:
        # The verdict is sealed: another referee tells it.
        raise MachineFailed(unable[0])


async def together(*work: Coroutine[Any, Any, T]) -> list[T]:
    """The results of all of it; when one fails, nobody goes on talking to the other player."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
