"""What a player loses a point for, and what it does not lose one for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from league_sdk.protocol import faults
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.notes import Note
from league_sdk.protocol.transcript import note_for_storing, storable

MAX_DETAIL_CHARS = 200


class MachineFailed(Exception):
    """This referee's own probe says that its machine can call nobody; another referee may. The text is the evidence."""


class Fenced(Exception):
    """A match may be another referee's by now: its players are not called any more."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a player has no valid answer after all its tries.

    Attributes:
        player_id, message_type: who did not answer what.
        error_code: of the last try.
        tries: how often it was asked.
        cause: whose fault it is.
        limit_s: seconds it had for one try.
        detail: what was seen or understood instead.
    """

    player_id: str
    error_code: str
    message_type: str
    tries: int
    cause: Cause
    limit_s: float
    detail: Note | str = ""

    @property
    def sentence(self) -> str:
        """All of it that anybody may read, such as "P02 did not answer CHOOSE_PARITY_CALL in 30 s (tries: 4)"."""
        public = self.detail.public if isinstance(self.detail, Note) else self.detail
        return faults.describe({**self._fields(), "detail": public})

    def to_report(self) -> dict[str, Any]:
        """As MATCH_RESULT_REPORT carries it."""
        said = {"note": note_for_storing(self.detail.to_json())} if isinstance(self.detail, Note) else {}
        return {**self._fields(), **said, "sentence": self.sentence}

    def _fields(self) -> dict[str, Any]:
        return {
            "player_id": self.player_id,
            "error_code": self.error_code,
            "message_type": self.message_type,
            "tries": self.tries,
            "cause": self.cause,
            "limit_s": self.limit_s,
            # Both players are told: what one of them said must not hold its token.
            "detail": storable(str(self.detail))[:MAX_DETAIL_CHARS],
        }


@dataclass(frozen=True, slots=True)
class Wrong:
    """Why one try brought no valid answer.

    Attributes:
        code: of the error.
        sentence: what is wrong, for the player.
        context: the fields of the error, for its program.
        legacy_code: 002's code, where one corresponds.
        cause: whose fault it is.
        detail: what was seen or understood instead.
    """

    code: str
    sentence: str
    context: dict[str, Any]
    legacy_code: str | None
    cause: Cause
    detail: Note | str

    def fault(self, player_id: str, message_type: str, tries: int, limit_s: float) -> Fault:
        """What the player lost a point for, when this was the last try."""
        return Fault(player_id, self.code, message_type, tries, self.cause, limit_s, self.detail)
