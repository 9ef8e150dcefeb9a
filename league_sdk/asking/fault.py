"""What a player loses a point for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from league_sdk.match_messages import Problem
from league_sdk.protocol import faults
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.notes import Note
from league_sdk.protocol.transcript import storable, storable_note

MAX_DETAIL_CHARS = 200


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a player has no valid answer after all its tries.

    Attributes:
        player_id, message_type: who did not answer which message.
        error_code: the error code of the last try.
        tries: how often the player was asked.
        cause: why the last try failed, as one of a fixed list.
        limit_s: seconds for one try.
        detail: what was seen or understood instead.
        said: the agent's own words in place of an answer, for its owner and the staff only.
    """

    player_id: str
    error_code: str
    message_type: str
    tries: int
    cause: Cause
    limit_s: float
    detail: Note | str = ""
    said: str = ""

    @property
    def sentence(self) -> str:
        """What anybody may read, such as "P02 did not answer CHOOSE_PARITY_CALL in 30 s (tries: 4)"."""
        public = self.detail.public if isinstance(self.detail, Note) else self.detail
        return faults.describe({**self._fields(), "detail": public})

    def to_report(self) -> dict[str, Any]:
        """The fault as MATCH_RESULT_REPORT carries it."""
        stored = {"note": storable_note(self.detail.to_json())} if isinstance(self.detail, Note) else {}
        own_words = {"said": self.said} if self.said else {}
        return {**self._fields(), **stored, **own_words, "sentence": self.sentence}

    def _fields(self) -> dict[str, Any]:
        return {
            "player_id": self.player_id,
            "error_code": self.error_code,
            "message_type": self.message_type,
            "tries": self.tries,
            "cause": self.cause,
            "limit_s": self.limit_s,
            # Both players read this: a token that one of them sent must not be in it.
            "detail": storable(str(self.detail))[:MAX_DETAIL_CHARS],
        }


@dataclass(frozen=True, slots=True)
class TryFailure(Problem):
    """Why one try brought no valid answer.

    Attributes:
        cause: why it failed, as one of a fixed list.
        detail: what was seen or understood instead.
    """

    cause: Cause
    detail: Note | str
