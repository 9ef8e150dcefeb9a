"""Read a referee's MATCH_RESULT_REPORT (ruling, section 4), and what report_progress shares with it. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from league_sdk.dialects.memory import read_learned
from league_sdk.dialects.shapes import SHAPES
from league_sdk.protocol.errors import InvalidFormat, MissingField
from league_sdk.protocol.messages import ROLES, MessageType
from league_sdk.protocol.states import ResultStatus
from matches.league.fault_reports import read_faults
from matches.league.play import PROGRESS_STATES
from matches.models import Match

_PATH = re.compile(r"/[A-Za-z0-9._~/-]*", re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
MAX_PATH_CHARS = 100
_STATUSES = frozenset(ResultStatus)
_KINDS = frozenset(MessageType)
_NEEDS_WINNER = {ResultStatus.WIN: True, ResultStatus.DRAW: False, ResultStatus.CANCELLED: False}
_DRAW = "DRAW"
_RESULT_FIELDS = ("result", "game_result", "match_result")
_WINNER_FIELDS = ("winner", "winner_player_id", "winner_id")
"""Several names of the same field: in both lists the first is from 004 4.6.2, the second from GAME_OVER (4.6.1)."""
_DETAIL_FIELDS = ("drawn_number", "number_parity", "choices", "reason")


@dataclass(frozen=True, slots=True)
class Verdict:
    """A result as the league understands it; ``winner`` is a player id."""

    status: ResultStatus
    winner: str | None
    reason: str
    details: dict[str, Any]
    faults: list[dict[str, Any]]

    def outcome(self, match: Match) -> dict[str, Any]:
        """The data of the event of a match that ended with this verdict (``history.Outcome``)."""
        return {
            "match_id": match.match_id,
            "round_id": match.round.number,
            "players": list(match.player_ids),
            "status": self.status,
            "winner_id": self.winner,
            "reason": self.reason,
            "details": self.details,
            "faults": self.faults,
            "attempt": match.attempt,
            "referee_id": match.referee.code if match.referee else None,
        }


def whole_number(value: object, *, field: str) -> int:
    """Read a number that came as an integer or as digits (000 sends round_id as a string).

    Raises:
        InvalidFormat: E002.
    """
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31:
        return value
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    raise InvalidFormat(f"{field} is not a whole number.", field=field, seen=value, expected="a whole number")


def text(value: object, *, field: str, expected: str) -> str:
    """Read a non-empty string.

    Raises:
        MissingField: E003, absent or empty.
        InvalidFormat: E002, not a string.
    """
    if value is None or value == "":
        raise MissingField(f"{field} is missing.", field=field, seen=value, expected=expected)
    if not isinstance(value, str):
        raise InvalidFormat(f"{field} must be a string.", field=field, seen=value, expected=expected)
    return value


def read_verdict(params: Mapping[str, Any], players: tuple[str, str]) -> Verdict:
    """Read a result report. Its ``score`` is used only if a student's referee sent no status (ruling, section 7).

    Args:
        params: the message.
        players: the ids of PLAYER_A and PLAYER_B.

    Raises:
        MissingField: no result, or no winner in it.
        InvalidFormat: a winner who is not in the match, or a status that does not fit it.
    """
    result = _result_of(params)
    # A report in the form of GAME_OVER's game_result has its details in the result itself.
    details = result["details"] if "details" in result else _details_beside(result)
    details = dict(details) if isinstance(details, Mapping) else {}
    winner = _winner_of(result, players)
    named_draw = winner == _DRAW
    if named_draw:
        winner = None
    status = _status_of(params, result)
    if status is None:
        status = ResultStatus.WIN if winner else _without_winner(result, details, players, named_draw)
    needs_winner = _NEEDS_WINNER.get(status)
    if needs_winner is not None and needs_winner != (winner is not None):
        raise InvalidFormat(
            f"status {status} does not fit the winner.",
            field="result.winner",
            seen=winner,
            expected="a player_id" if needs_winner else "null",
        )
    reason = params.get("reason") or details.pop("reason", "")
    return Verdict(
        status=status,
        winner=winner,
        reason=reason[:500] if isinstance(reason, str) else "",
        details=details,
        faults=read_faults(params.get("faults"), status=status, winner=winner, players=players),
    )


def _status_of(params: Mapping[str, Any], result: Mapping[str, Any]) -> ResultStatus | None:
    """The reported status, beside the result or in it; None if there is none."""
    status = params.get("status")
    if status is not None and (not isinstance(status, str) or status not in _STATUSES):
        raise InvalidFormat(
            "status is not a known one.", field="status", seen=status, expected=", ".join(sorted(_STATUSES))
        )
    if status is None and isinstance(result.get("status"), str) and result["status"].upper() in _STATUSES:
        status = result["status"].upper()
    return None if status is None else ResultStatus(status)


def _result_of(params: Mapping[str, Any]) -> Mapping[str, Any]:
    field = next((name for name in _RESULT_FIELDS if params.get(name) is not None), _RESULT_FIELDS[0])
    result = params.get(field)
    if not isinstance(result, Mapping) and any(name in params for name in _WINNER_FIELDS):
        # The fields stand in the message itself, as in 002's small messages.
        return params
    if result is None:
        raise MissingField("result is missing.", field="result", expected="an object with winner, score, details")
    if not isinstance(result, Mapping):
        raise InvalidFormat(f"{field} must be an object.", field=field, seen=result, expected="an object")
    return result


def _details_beside(result: Mapping[str, Any]) -> dict[str, Any]:
    """The details of a result that has them beside its winner, not in an object of their own."""
    return {name: result[name] for name in _DETAIL_FIELDS if name in result}


def _winner_of(result: Mapping[str, Any], players: tuple[str, str]) -> Any:
    """The reported winner: a player id, DRAW or None; a role such as PLAYER_A is replaced by the id of its player."""
    winners = [result[name] for name in _WINNER_FIELDS if name in result]
    if not winners:
        raise MissingField("result.winner is missing.", field="result.winner", expected="a player_id or null")
    winner = winners[0]
    if winner is None or winner in players:
        return winner
    word = winner.upper() if isinstance(winner, str) else ""
    if word in (_DRAW, "TIE"):
        return _DRAW
    if word in ROLES:
        return players[ROLES.index(word)]
    raise InvalidFormat(
        "The winner does not play in this match.",
        field="result.winner",
        seen=winner,
        expected=f"{players[0]}, {players[1]}, DRAW or null",
    )


def _without_winner(
    result: Mapping[str, Any], details: Mapping[str, Any], players: tuple[str, str], named_draw: bool
) -> ResultStatus:
    """The status of a result without a winner and without a status: a draw, or both were absent (ruling, section 7)."""
    score = result.get("score")
    points = [score.get(player) for player in players] if isinstance(score, Mapping) else []
    choices = details.get("choices")
    chosen = [choices.get(player) for player in players] if isinstance(choices, Mapping) else []
    numbers = [point for point in points if isinstance(point, (int, float)) and not isinstance(point, bool)]
    if len(numbers) == 2 and numbers[0] == numbers[1] and numbers[0] > 0:
        return ResultStatus.DRAW
    if (len(chosen) == 2 and all(chosen)) or (named_draw and not numbers):
        return ResultStatus.DRAW
    if len(numbers) == 2 and numbers == [0, 0] and not (len(chosen) == 2 and all(chosen)):
        return ResultStatus.TECHNICAL_LOSS
    raise InvalidFormat(
        "A result without a winner must show a draw or that both were absent.",
        field="result.score",
        seen=score,
        expected="equal points above 0, or both choices, or 0:0 with a missing choice",
    )


def _by_player(value: object) -> list[tuple[Any, Any]]:
    """The items of an object with an entry for each of the two players; empty if the value is not an object."""
    return list(value.items())[:2] if isinstance(value, Mapping) else []


def read_found_at(value: object) -> dict[str, str]:
    """For each player, the path at which a referee found its server; anything but a plain path is left out."""
    return {
        player: path
        for player, path in _by_player(value)
        if isinstance(path, str) and _PATH.fullmatch(path) and len(path) <= MAX_PATH_CHARS
    }


def read_proofs(value: object) -> dict[str, str]:
    """For each player, the hash of a token that its address answered with; malformed ones are left out."""
    return {
        player: digest for player, digest in _by_player(value) if isinstance(digest, str) and _DIGEST.fullmatch(digest)
    }


def read_spoken(value: object) -> dict[str, dict[str, str]]:
    """For each player and message type, the dialect that a referee found; unknown ones are left out."""
    return {
        player: {
            kind: shape
            for kind, shape in list(ways.items())[: len(MessageType)]
            if kind in _KINDS and isinstance(shape, str) and shape in SHAPES
        }
        for player, ways in _by_player(value)
        if isinstance(ways, Mapping)
    }


def read_learned_of(value: object) -> dict[str, dict[str, Any]]:
    """For each player, what else a referee found out about its dialect; invalid entries are left out."""
    return {player: read_learned(learned) for player, learned in _by_player(value)}


def read_registrations(value: object) -> dict[str, str]:
    """For each player, the registration that a referee played with."""
    return {player: name for player, name in _by_player(value) if isinstance(name, str)}


def read_lifecycle(value: object) -> list[dict[str, str]]:
    """The steps of a match as its referee timed them; malformed ones are left out."""
    steps = value if isinstance(value, list) else []
    return [
        {"state": str(step["state"]), "at": step["at"]}
        for step in steps[:20]
        if isinstance(step, Mapping) and str(step.get("state")) in PROGRESS_STATES and is_moment(step.get("at"))
    ]


def is_moment(value: object) -> bool:
    """Whether a value is a time with a time zone, in ISO 8601."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
        return moment is not None and moment.tzinfo is not None and moment.astimezone(UTC).year > 1
    except (ValueError, OverflowError):
        return False


def read_entries(value: object) -> list[dict[str, Any]]:
    """The transcript entries with a valid number and time; the others are left out."""
    if not isinstance(value, list):
        return []
    return [
        dict(entry)
        for entry in value
        if isinstance(entry, Mapping)
        and isinstance(entry.get("n"), int)
        and not isinstance(entry.get("n"), bool)
        and 0 <= entry["n"] < 2**31
        and is_moment(entry.get("at"))
        and isinstance(entry.get("notes", []), list)
    ]
