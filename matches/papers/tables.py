"""A league as tables for spreadsheets: CSV in UTF-8 with a byte order mark, as they expect it.

All of it is of the league as the staff sees it, and for the instructor.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import BinaryIO

from agents_registry.models import Agent, Kind
from league_sdk.protocol import notes
from matches.models import League
from matches.papers import bundle, evidence
from matches.view import queries, sight
from matches.words import events, states

BOM = "\ufeff"
_DANGEROUS = ("=", "+", "-", "@", "\t", "\r")


def harmless(cell: object) -> object:
    """A cell that a spreadsheet does not take for a formula; numbers stay numbers, times are ISO 8601."""
    if isinstance(cell, datetime):
        return cell.isoformat()
    if isinstance(cell, str):
        return f"'{cell}" if cell.startswith(_DANGEROUS) else cell
    return "" if cell is None else cell


def write(name: str, league: League, out: BinaryIO, *, people: bool) -> None:
    """Write one table.

    Args:
        name: one of :data:`TABLES`.
        out: takes the bytes.
        people: with what is for the instructor alone, as ``bundle.write`` has it.
    """
    text = io.TextIOWrapper(out, encoding="utf-8", errors="replace", newline="", write_through=True)
    try:
        text.write(BOM)
        writer = csv.writer(text)
        for row in TABLES[name](league, people):
            writer.writerow([harmless(cell) for cell in row])
    finally:
        text.detach()


Rows = Iterator[Sequence[object]]


def _standings(league: League, people: bool) -> Rows:
    yield (
        *("rank", "player_id", "display_name", "played", "wins", "draws", "losses", "technical_losses", "points"),
        *("points_by_correction", "out"),
    )
    for row in sight.everything(league).standings:
        yield (*queries.wire_row(row).values(), row.given, row.out)


def _matches(league: League, people: bool) -> Rows:
    yield (
        *("match_id", "round", "player_A", "player_B", "referee", "state", "attempt", "status", "winner", "reason"),
        *("choice_A", "choice_B", "drawn_number", "faults", "corrected_by", "finished_at"),
    )
    view = sight.everything(league)
    for match in queries.matches_of(league):
        line, outcome = queries.match_line(match, view), view.outcome(match.match_id)
        details = outcome.details if outcome is not None else {}
        first, second = line["player_A_id"], line["player_B_id"]
        yield (
            *(line["match_id"], line["round_id"], first, second, line["referee_id"], line["state"], line["attempt"]),
            *(line["status"], line["winner"], outcome.reason if outcome is not None else ""),
            *(evidence.choice(details, first), evidence.choice(details, second), _plain(details.get("drawn_number"))),
            "; ".join(states.fault_sentence(fault) for fault in outcome.faults) if outcome is not None else "",
            *((outcome.correction, outcome.at) if outcome is not None else (None, None)),
        )


def _players(league: League, people: bool) -> Rows:
    yield (
        *("player_id", "display_name", "registered_name", "version", "game_types", "registered_at", "added_by_hand"),
        *("left_out", "out"),
    )
    for agent in Agent.objects.filter(league=league, kind=Kind.PLAYER).order_by("pk"):
        yield (
            *(agent.code, agent.display_name, agent.name, agent.version, " ".join(agent.game_types)),
            *(agent.registered_at, "yes" if agent.by_hand else "no", league.left_out.get(agent.code)),
            league.out.get(agent.code, {}).get("word"),
        )


def _messages(league: League, people: bool) -> Rows:
    names = ("at", "sender", "recipient", "message_type", "elapsed_ms", "limit_ms", "http_status", "problem")
    yield ("match_id", "round", "attempt", "n", *names)
    for chunk in bundle.in_chunks(queries.matches_of(league)):
        said = bundle.transcripts(chunk, people=False)
        for match in chunk:
            for one in said[match.pk]:
                entry = notes.told(one["entry"])
                place = (match.match_id, match.round.number, one["attempt"], one["n"])
                yield (*place, *(_plain(entry.get(name)) for name in names))


def _events(league: League, people: bool) -> Rows:
    yield ("seq", "at", "kind", "text", "data")
    for event in bundle.events(league, people=people):
        text = events.happened(event.kind, event.data)
        yield (event.seq, event.at, event.kind, text, json.dumps(event.data, ensure_ascii=False, sort_keys=True))


def _corrections(league: League, people: bool) -> Rows:
    yield (
        *("number", "kind", "match_id", "player_id", "points", "matches_become", "reason", "made_by", "made_at"),
        *("undone_by", "undone_at", "undone_reason"),
    )
    for one in league.corrections.select_related("player").order_by("number"):
        yield (
            *(one.number, one.kind, one.match_id, one.player.code if one.player is not None else ""),
            *(one.points, one.matches_become, one.reason, one.made_by if people else None, one.made_at),
            *(one.undone_by if people else None, one.undone_at, one.undone_reason),
        )


def _evidence(league: League, people: bool) -> Rows:
    yield evidence.COLUMNS
    yield from (evidence.line(sheet) for sheet in evidence.sheets(league))


def _plain(value: object) -> object:
    """What a referee wrote, if it is one word or number."""
    return value if isinstance(value, (str, int, float)) else None if value is None else json.dumps(value)


TABLES = {
    "standings": _standings,
    "matches": _matches,
    "players": _players,
    "messages": _messages,
    "events": _events,
    "corrections": _corrections,
    "evidence": _evidence,
}
"""Every table by its name; ``evidence`` tells the names and addresses of students, the others of agents only."""
ALWAYS_PEOPLE = ("evidence",)
"""Tables that are about people, and nothing without them."""
