"""Redacts agents' answers for the public. Pure.

An address that somebody typed may lead to something that is not an agent, such as a school's web page or a database.
Only the owner of the address and the staff may read what it answers. In the public transcript the line remains, but of
an answer that is not a league message only the recognised fields are shown.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from django.utils.translation import gettext_noop

from league_sdk.dialects.answers import accepted, choice, read_answer
from league_sdk.protocol import notes
from league_sdk.protocol.messages import MessageType

WITHHELD = gettext_noop("not a message of the league: shown to the agent's owner and the instructor")
_TYPES = frozenset(MessageType)
_ANSWERS = frozenset({MessageType.GAME_JOIN_ACK, MessageType.CHOOSE_PARITY_RESPONSE, MessageType.GAME_MOVE_RESPONSE})
"""Only an agent answers with these types; a message of another type may be our own request, echoed back."""
_PRIVATE = ("wire", "said")
"""Fields of an entry that the public does not see: how the agent is called, which only its owner sees, and its own
words in place of an answer, which the staff see, too."""
_QUOTING = ("summary", "next_step", "summary_words", "next_step_words")
"""Parts of a report that quote what was answered."""
_MOVES = ("even", "odd")
_RECEIPTS = ("ok", "received", "acknowledged", "accepted", "success", "done")


def for_public(entry: Mapping[str, Any], players: Collection[str], choice_field: str) -> dict[str, Any]:
    """A transcript entry redacted for the public.

    Args:
        entry: as stored.
        players: the ids of the match's players.
        choice_field: the game's name for a move.
    """
    shown = {name: value for name, value in entry.items() if name not in _PRIVATE}
    shown["problem"] = notes.public(entry.get("problem") or "")
    if str(entry.get("sender") or "").rpartition(":")[2] in players:
        return shown if entry.get("body") in (None, "", {}) else _redact_answer(shown, choice_field)
    if entry.get("message_type") == MessageType.GAME_ERROR:
        return shown | {"body": _game_error(entry.get("body"))}
    return shown


def _redact_answer(entry: dict[str, Any], choice_field: str) -> dict[str, Any]:
    body = entry["body"]
    message = read_answer(body, rpc_id=0).message
    message_type = message.get("message_type")
    if isinstance(message_type, str) and message_type in _ANSWERS:
        return entry
    public_fields: dict[str, Any] = {}
    accepts, move, status = accepted(message), choice(message, choice_field), message.get("status")
    if accepts is not None:
        public_fields["accept"] = accepts
    if isinstance(status, str) and status.lower() in _RECEIPTS:
        public_fields["status"] = status
    if move in _MOVES or (isinstance(move, int) and not isinstance(move, bool)):
        public_fields[choice_field or "choice"] = move
    kind = str(entry.get("message_type") or "")
    known = kind in _TYPES or kind.startswith("reply to ")
    return entry | {
        "body": public_fields | {"withheld": WITHHELD},
        "notes": _without_quotes(entry.get("notes") or []),
        "message_type": kind if known else "reply",
    }


def _without_quotes(entries: list[Any]) -> list[dict[str, Any]]:
    """The notes that are worded by us, without the quoted values."""
    public_notes = [note.public for entry in entries if isinstance(note := notes.read(entry), notes.Note)]
    return [note.to_json() for note in public_notes if note is not None and notes.FREE not in note.args]


def report_for_public(report: Mapping[str, Any]) -> dict[str, Any]:
    """A check's report without answers that are not league messages, and without texts that quote them.

    Args:
        report: as stored; the check may still be running.
    """
    shown = {name: value for name, value in report.items() if name not in _QUOTING}
    return shown | {"clauses": [_clause(clause) for clause in report.get("clauses", [])]}


def _clause(clause: Mapping[str, Any]) -> dict[str, Any]:
    body = clause.get("came")
    if body in (None, "", {}):
        # Without an HTTP status no response came, and the text is ours; with one it may quote headers.
        return dict(clause) if clause.get("http_status") is None else _with_reason(clause, "")
    read = _redact_answer({"body": body, "message_type": ""}, "")["body"]
    return dict(clause) if read == body else _with_reason(clause, WITHHELD) | {"came": read}


def _with_reason(clause: Mapping[str, Any], why: str) -> dict[str, Any]:
    """A clause with a reason of ours in place of one that may quote the answer."""
    return {name: value for name, value in clause.items() if name != "why_words"} | {"why": why}


def _game_error(body: Any) -> Any:
    """A GAME_ERROR without quoted values."""
    if not isinstance(body, Mapping):
        return body
    shown = dict(body)
    if isinstance(shown.get("params"), Mapping):
        return shown | {"params": _game_error(shown["params"])}
    if isinstance(shown.get("message"), str):
        shown["message"] = notes.in_words(notes.public(shown["message"]))
    if isinstance(shown.get("context"), Mapping):
        shown["context"] = {name: value for name, value in shown["context"].items() if name != "seen"}
    return shown
