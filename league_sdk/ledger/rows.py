"""Compare the rows of an exported league with its events, which alone the chain protects (ruling, section 12). Pure.

What differs although every event of this version would explain it is tampering. Events of earlier versions say less:
what only they leave open is a doubt, which the report of ``league verify`` names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from league_sdk.ledger.chain import Broken, is_hash, require, short
from league_sdk.ledger.documents import Export
from league_sdk.ledger.kinds import CORRECTIONS, EventKind, private_part

MAX_NAMED = 20
"""How many matches or events a sentence names."""
MISSING = "(nothing)"
Row = Mapping[str, Any]
_NO_RESULT: Row = {"status": "", "winner": None, "reason": "", "details": {}, "faults": [], "finished_at": None}
_RESULT = {name: name for name in ("status", "reason", "details", "faults", "attempt", "finished_at")} | {
    "round": "round_id",
    "winner": "winner_id",
    "referee": "referee_id",
}
"""The fields of a match's row that follow from its result, with their names there."""
_CORRECTION = ("number", "kind", "match_id", "matches_become", "reason")


def check_rows(whole: Export, out: Mapping[str, str]) -> list[str]:
    """Compare corrections, matches and rounds with the events, every field that the events have.

    Args:
        whole: the export; its events were verified.
        out: who is out of the league according to the events, with the word for it.

    Returns:
        What of these rows the events leave open, in words.

    Raises:
        Broken: names the row and the field that differ.
        KeyError, TypeError, AttributeError: a row or an event lacks a field, or has one of another type.
    """
    require("the league, out", {code: one.get("word") for code, one in whole.league.out.items()}, dict(out))
    results, corrections, reopened = _told(whole)
    rows = _by_key("corrections", whole.corrections, "number")
    for number in sorted(rows.keys() | corrections.keys()):
        row = rows.get(number, {})
        row = {**row, "undone": row.get("undone_at") is not None}
        _compare(f"correction {short(number)}", row, corrections.get(number, {"number": "no correction"}))
    doubts: dict[str, list[str]] = defaultdict(list)
    rows = _by_key("matches", whole.matches, "match_id")
    for match_id in sorted(rows.keys() | results.keys()):
        place = f"the result of match {short(match_id)}"
        if match_id in results:
            for name in _compare_result(place, rows.get(match_id, {}), results[match_id], match_id in reopened):
                doubts[f"{name} of matches"].append(match_id)
        else:
            _compare(place, rows[match_id], _NO_RESULT)
    doubts["the bye of rounds"] = _rounds_with_unsure_bye(whole)
    doubts["what is private (erased, or left out of a public export) in events"] = [
        f"{event.seq} ({event.kind})"
        for event in whole.events
        if is_hash(event.salt) and private_part(event.kind, event.data) and event.kind != EventKind.NOTICE_WITHDRAWN
    ]
    return [f"{what} {some(names)}" for what, names in doubts.items() if names]


def some(names: Sequence[str]) -> str:
    """Names in a sentence: the first of them, and how many more there are."""
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(short(name) for name in names[:MAX_NAMED]) + more


def _told(whole: Export) -> tuple[dict[str, Row], dict[int, dict[str, Any]], set[str]]:
    """What the events say: the results that count, the rows of the corrections, and the matches opened again."""
    results: dict[str, Any] = {}
    corrections: dict[int, dict[str, Any]] = defaultdict(lambda: {"undone": False, "undone_reason": ""})
    reopened: set[str] = set()
    for event in whole.events:
        data = event.data
        if event.kind == EventKind.MATCH_FINISHED:
            results[data["match_id"]] = data
        if event.kind in CORRECTIONS:
            results |= data.get("results", {})
            reopened |= {match_id for match_id, result in data.get("results", {}).items() if result is None}
        if event.kind == EventKind.CORRECTED:
            player = data.get("player_id") or None
            corrections[data["number"]] |= {name: data[name] for name in _CORRECTION if name in data}
            corrections[data["number"]] |= {"player": player, "points": data.get("points", {}).get(player, 0)}
        elif event.kind == EventKind.CORRECTION_UNDONE:
            corrections[data["number"]] |= {"undone": True, "undone_reason": data.get("reason", "")}
    return {match_id: result for match_id, result in results.items() if result is not None}, corrections, reopened


def _by_key(name: str, rows: Sequence[Row], key: str) -> dict[Any, Row]:
    # True would be taken for 1.
    found = {row[key]: row for row in rows if not isinstance(row[key], bool)}
    require(f"the list {name}", len(rows), len(found), "a row is in it twice, or has no key.")
    return found


def _compare_result(place: str, row: Row, result: Row, is_reopened: bool) -> list[str]:
    """Compare a match with its result; returns the fields that the result leaves open."""
    first, second = result["players"]
    _compare(place, row, {"state": "FINISHED", "player_a": first, "player_b": second})
    is_earlier, doubts = "finished_at" not in result, []
    for name, there in _RESULT.items():
        # After a replay that was undone the row has the last attempt, and the result that of an earlier one. Referees
        # of an earlier version may have new ids, and a referee may have been deleted since.
        changes = name in ("attempt", "referee") and (is_reopened or is_earlier or row.get(name) is None)
        if there not in result or (changes and row[name] != result[there]):
            doubts.append(name)
        else:
            _compare(place, row, {name: result[there]})
    return doubts


def _compare(place: str, row: Row, expected: Row) -> None:
    for name, value in expected.items():
        require(f"{place}, {name}", row.get(name, MISSING), value)


def _rounds_with_unsure_bye(whole: Export) -> list[str]:
    """Compare who has a bye with who has a match; returns the rounds in which others have no match either."""
    seated: dict[int, set[str]] = defaultdict(set)
    for match in whole.matches:
        seated[match["round"]] |= {match["player_a"], match["player_b"]}
    rounds, unsure = _by_key("rounds", whole.rounds, "number"), []
    require("the list rounds", sorted(seated.keys() - rounds.keys()), [], "rounds that have matches are missing.")
    for number, row in rounds.items():
        free = whole.names.keys() - seated[number]
        if row["bye"] is not None and row["bye"] not in free:
            raise Broken(f"the bye of round {number}", problem="it is no bye.", seen=row["bye"], expected=sorted(free))
        if free - {row["bye"]}:
            unsure.append(str(number))
    return unsure
