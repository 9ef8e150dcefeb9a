"""What the public reads of what an agent answered. Pure.

An address that somebody typed may lead to something that is no agent: a page of the school, a database. What it
answers is for the owner of the address and the staff; of everybody else's transcript the line remains that an answer
came, and that it was none.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from league_sdk.dialects.answers import accepted, choice, read_answer
from league_sdk.protocol import notes
from league_sdk.protocol.messages import MessageType

WITHHELD = "not a message of the league: shown to the agent's owner and the instructor"
_TYPES = frozenset(MessageType)
_ANSWERS = frozenset({MessageType.GAME_JOIN_ACK, MessageType.CHOOSE_PARITY_RESPONSE, MessageType.GAME_MOVE_RESPONSE})
"""Whoever answers in these words is an agent. Whatever else a message is, it may be ours, sent back."""
_MOVES = ("even", "odd")
_RECEIPTS = ("ok", "received", "acknowledged", "accepted", "success", "done")


def for_public(entry: Mapping[str, Any], players: Collection[str], choice_field: str) -> dict[str, Any]:
    """One entry of a transcript as everybody may read it.

    Args:
        entry: as it is kept.
        players: the ids of the match's players.
        choice_field: the game's name for a move.
    """
    shown = {**entry, "problem": notes.public(entry.get("problem") or "")}
    if str(entry.get("sender") or "").rpartition(":")[2] in players:
        return shown if entry.get("body") in (None, "", {}) else _answer(shown, choice_field)
    if entry.get("message_type") == MessageType.GAME_ERROR:
        return shown | {"body": _complaint(entry.get("body"))}
    return shown


def _answer(entry: dict[str, Any], choice_field: str) -> dict[str, Any]:
    body = entry["body"]
    message = read_answer(body, rpc_id=0).message
    said = message.get("message_type")
    if isinstance(said, str) and said in _ANSWERS:
        return entry
    kept: dict[str, Any] = {}
    yes, move, status = accepted(message), choice(message, choice_field), message.get("status")
    if yes is not None:
        kept["accept"] = yes
    if isinstance(status, str) and status.lower() in _RECEIPTS:
        kept["status"] = status
    if move in _MOVES or (isinstance(move, int) and not isinstance(move, bool)):
        kept[choice_field or "choice"] = move
    kind = str(entry.get("message_type") or "")
    known = kind in _TYPES or kind.startswith("reply to ")
    return entry | {
        "body": kept | {"withheld": WITHHELD},
        "notes": _in_our_words(entry.get("notes") or []),
        "message_type": kind if known else "reply",
    }


def _in_our_words(said: list[Any]) -> list[dict[str, Any]]:
    """Of the notes those in words of ours, without what they quote."""
    found = [read.public for one in said if isinstance(read := notes.read(one), notes.Note)]
    return [one.to_json() for one in found if one is not None and notes.FREE not in one.args]


def report_for_public(report: Mapping[str, Any]) -> dict[str, Any]:
    """The report of a check without what came that is no message of the league, and without the words that quote it.

    Args:
        report: as it is kept, perhaps of a check that is still running.
    """
    shown = {name: value for name, value in report.items() if name not in ("summary", "next_step")}
    return shown | {"clauses": [_clause(clause) for clause in report.get("clauses", [])]}


def _clause(clause: Mapping[str, Any]) -> dict[str, Any]:
    came = clause.get("came")
    if came in (None, "", {}):
        # Without a status nothing came at all, and what is said of that is ours; else its headers may be quoted.
        return {**clause, "why": clause["why"] if clause.get("http_status") is None else ""}
    read = _answer({"body": came, "message_type": ""}, "")["body"]
    return {**clause, "came": read, "why": clause["why"] if read == came else WITHHELD}


def _complaint(body: Any) -> Any:
    """A GAME_ERROR without what it quotes."""
    if not isinstance(body, Mapping):
        return body
    found = dict(body)
    if isinstance(found.get("params"), Mapping):
        return found | {"params": _complaint(found["params"])}
    if isinstance(found.get("message"), str):
        found["message"] = notes.in_words(notes.public(found["message"]))
    if isinstance(found.get("context"), Mapping):
        found["context"] = {name: value for name, value in found["context"].items() if name != "seen"}
    return found
