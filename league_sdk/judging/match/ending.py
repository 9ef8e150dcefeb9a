"""How a match ends: the verdict, its seal, its report, and GAME_OVER (ruling, sections 4, 6, 7 and 12)."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from league_sdk import match_messages
from league_sdk.asking.call_result import CallResult
from league_sdk.asking.fault import Fault
from league_sdk.judging.match.brief import Brief, Seat
from league_sdk.judging.match.broken_off import MachineFailed
from league_sdk.judging.match.conversation import Conversation
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.states import MatchState, ResultStatus
from league_sdk.protocol.transcript import clean, storable
from league_sdk.rules.game import Game, State, said_by_game

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the referee decided."""

    status: ResultStatus
    winner: str | None
    reason: str
    details: dict[str, Any]
    faults: tuple[Fault, ...]

    def to_seal(self, brief: Brief) -> dict[str, Any]:
        """The verdict as the league manager seals it (ruling, section 12)."""
        return {
            "status": self.status,
            "winner_player_id": self.winner,
            "reason": self.reason,
            "details": self.details,
            "faults": [clean(fault.to_report()) for fault in self.faults],
            "draw": self.details.get("drawn_number"),
            "conversation_id": brief.conversation_id,
        }

    def to_report(self, brief: Brief) -> dict[str, Any]:
        """The fields of MATCH_RESULT_REPORT that say how the match ended (ruling, section 4)."""
        return {
            "league_id": brief.league_id,
            "round_id": brief.round_id,
            "match_id": brief.match_id,
            "game_type": brief.game_type,
            "attempt": brief.attempt,
            "status": self.status,
            "reason": self.reason,
            "faults": [clean(fault.to_report()) for fault in self.faults],
            "result": {"winner": self.winner, "score": self._score(brief), "details": self.details},
        }

    def _score(self, brief: Brief) -> dict[str, int]:
        settings = brief.settings
        points = settings.loss_points
        if self.status == ResultStatus.DRAW:
            points = settings.draw_points
        elif self.status == ResultStatus.TECHNICAL_LOSS:
            points = settings.technical_loss_points if self.winner else 0
        score = dict.fromkeys(brief.player_ids, points)
        if self.winner is not None:
            score[self.winner] = settings.win_points
        return score


class VerdictStore(Protocol):
    """What the league manager stores of a match before any player is told (ruling, section 12)."""

    async def record_moves(self) -> None:
        """Return when the league manager has stored the moves in the match's log."""

    async def seal(self, verdict: Verdict) -> None:
        """Return when the verdict is sealed: from then on it is final, even if this referee is lost."""


def decide(brief: Brief, game: Game, state: State, faults: tuple[Fault, ...]) -> Verdict:
    """The result of an attempt: the game's own; for faults a technical loss, or CANCELLED if the league wants that."""
    outcome = game.outcome(state)
    if outcome is not None and not faults:
        status = ResultStatus.WIN if outcome.winner else ResultStatus.DRAW
        winner, reason, details = said_by_game([outcome.winner, outcome.reason, clean(outcome.details)])
        return Verdict(status, winner, reason, details, ())
    absent = {fault.player_id for fault in faults}
    present = [player for player in brief.player_ids if player not in absent]
    reason = storable("; ".join(fault.sentence for fault in faults))
    only_no_shows = all(fault.message_type == MessageType.GAME_INVITATION for fault in faults)
    details = said_by_game(clean(game.unfinished(state)))
    if only_no_shows and brief.settings.no_show == "cancel":
        return Verdict(ResultStatus.CANCELLED, None, reason, details, faults)
    winner = present[0] if present else None
    # No full stop: whatever quotes the reason adds its own.
    return Verdict(ResultStatus.TECHNICAL_LOSS, winner, f"{reason}. Technical loss", details, faults)


def game_result(brief: Brief, verdict: Verdict) -> dict[str, Any]:
    """``game_result`` of GAME_OVER (ruling, sections 7 and 12)."""
    result = {
        "status": verdict.status,
        "winner_player_id": verdict.winner,
        **verdict.details,
        "reason": verdict.reason,
    }
    if brief.draw_seed is not None:
        # The number of the play is an input of the draw.
        result |= {"draw_seed": brief.draw_seed.hex(), "play": brief.play}
    return result


async def announce_sealed(talk: Conversation) -> Verdict:
    """Send GAME_OVER for an attempt that another referee has decided (ruling, section 12); nothing is asked.

    Args:
        talk: the conversation; its brief has the sealed verdict.

    Returns the result to report.
    """
    sealed = talk.brief.sealed
    if sealed is None:
        raise ValueError("the brief has no sealed verdict")
    # The league manager stored the faults with the seal.
    verdict = Verdict(sealed.status, sealed.winner_player_id, sealed.reason, sealed.details, faults=())
    talk.log.set_state(MatchState.DRAWING_NUMBER, talk.clock.now())
    await send_game_over(talk, verdict, sealed.attempt, sealed.conversation_id)
    talk.log.reveal()
    return verdict


async def send_game_over(talk: Conversation, verdict: Verdict, attempt: int, conversation_id: str = "") -> None:
    """Send GAME_OVER to both at once, and again after a failed connect (ruling, section 6).

    Args:
        attempt: the one that was decided.
        conversation_id: the id of that attempt, if it was an earlier one.

    Raises:
        MachineFailed: a player could not be called, by no fault of its own, and the verdict is sealed.
    """
    brief = talk.brief
    result = game_result(brief, verdict)

    async def send(seat: Seat) -> CallResult:
        first = await send_once(seat)
        return first if first.connected else await send_once(seat)

    async def send_once(seat: Seat) -> CallResult:
        message = match_messages.game_over(
            brief.to(seat), now=talk.clock.now(), attempt=attempt, result=result, conversation_id=conversation_id
        )
        return await talk.tell(seat, message, limit_s=brief.settings.game_over_timeout_s, hidden=True)

    deliveries = await gather_or_cancel(*(send(seat) for seat in brief.seats))
    excused = [delivery for delivery in deliveries if delivery.excuse]
    if excused and brief.seals and brief.sealed is None:
        # The verdict is sealed, so another referee can send GAME_OVER.
        raise MachineFailed(excused[0])


async def gather_or_cancel(*work: Coroutine[Any, Any, T]) -> list[T]:
    """The results of all work; when one part fails, cancel the others, so that none goes on calling a player."""
    tasks = [asyncio.ensure_future(part) for part in work]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
