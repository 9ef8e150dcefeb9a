"""A match after GAME_OVER: what that message said, step by step (004 5.4.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from league_sdk.judging.match.brief import Brief
from league_sdk.judging.match.ending import Verdict, game_result
from league_sdk.judging.match.log import MatchLog
from league_sdk.protocol import tokens
from league_sdk.protocol.states import MatchState


@dataclass(frozen=True, slots=True)
class EndedMatch:
    """A match whose players were sent GAME_OVER.

    Attributes:
        league_id, match_id, attempt: of the attempt that was decided.
        token_digests: SHA-256 of the auth_tokens whose owners may ask. A token that was given to a person who named a
            player's address is among them only if an answer from that address carried it: a frozen board hides the
            result from everybody who has not received GAME_OVER.
        result: ``game_result`` of GAME_OVER.
        moves: player and move in order, of a game in turns.
        reached: when it reached which state; ISO 8601.
    """

    league_id: str
    match_id: str
    attempt: int
    token_digests: tuple[str, ...]
    result: Mapping[str, Any]
    moves: list[list[Any]]
    reached: Mapping[str, str]

    @classmethod
    def of(cls, brief: Brief, verdict: Verdict, log: MatchLog, at: datetime) -> EndedMatch:
        """A match after GAME_OVER was sent.

        Args:
            brief: the brief of the attempt that sent GAME_OVER; the verdict may be an earlier attempt's.
            verdict: what GAME_OVER said.
            log: the log of the attempt.
            at: the current time.
        """
        return cls(
            brief.league_id,
            brief.match_id,
            brief.sealed.attempt if brief.sealed is not None else brief.attempt,
            tuple(
                digest
                for seat in brief.seats
                for digest in seat.token_digests
                if digest not in seat.unproven or log.proofs.get(seat.player_id) == digest
            ),
            game_result(brief, verdict),
            # Who only tells a sealed verdict has played no move: the league manager has sent those on record.
            [list(move) for move in log.moves or brief.moves],
            {step["state"]: step["at"] for step in log.steps} | {MatchState.FINISHED: at.isoformat()},
        )

    def owns(self, token: object) -> bool:
        """Whether this is an auth_token of a player of the match."""
        if not isinstance(token, str):
            return False
        digest = tokens.digest(token)
        return any(tokens.same(digest, known) for known in self.token_digests)

    def choices(self) -> dict[str, Any]:
        """The step collect_choices: by player what it has chosen, or the moves of a game in turns."""
        return self._step(MatchState.COLLECTING_CHOICES, choices=self.result.get("choices"), moves=self.moves)

    def draw(self) -> dict[str, Any]:
        """The step draw_number: the number and its parity, null where nothing was drawn; the seed and the play."""
        names = ("drawn_number", "number_parity", "draw_seed", "play")
        return self._step(MatchState.DRAWING_NUMBER, **{name: self.result.get(name) for name in names})

    def end(self) -> dict[str, Any]:
        """The step finalize_match: ``game_result`` as GAME_OVER told it."""
        return self._step(MatchState.FINISHED, game_result=dict(self.result))

    def _step(self, state: MatchState, **fields: Any) -> dict[str, Any]:
        about = {"league_id": self.league_id, "match_id": self.match_id, "attempt": self.attempt}
        return about | {"step": state, "at": self.reached.get(state)} | fields
