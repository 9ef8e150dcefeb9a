"""A league as tables for spreadsheets: CSV in UTF-8 with a byte order mark, which spreadsheets need.

The tables show what staff see, also while the board is frozen; they are for the instructor.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import chain
from typing import IO

from agents_registry.isolating import plain
from agents_registry.models import Agent, Kind
from league_sdk.protocol import notes
from matches.models import League
from matches.papers import bundle, evidence
from matches.papers.sections import SECTIONS
from matches.view import queries, sight
from matches.words import events, states

BOM = "\ufeff"
_FORMULA_PREFIXES = ("=", "+", "-", "@", "\t", "\r")


def escape(cell: object) -> object:
    """Make a value safe for a cell: text that a spreadsheet would run as a formula gets an apostrophe.

    Times become ISO 8601.
    """
    if isinstance(cell, datetime):
        return cell.isoformat()
    if isinstance(cell, str):
        return f"'{cell}" if cell.startswith(_FORMULA_PREFIXES) else cell
    return "" if cell is None else cell


def write(name: str, league: League, out: IO[bytes], *, people: bool) -> None:
    """Write one table.

    Args:
        name: one of :data:`TABLES`.
        league: whose rows are written.
        out: the file.
        people: include what only the instructor may see, as in ``bundle.write``.
    """
    text = io.TextIOWrapper(out, encoding="utf-8", errors="replace", newline="", write_through=True)
    try:
        text.write(BOM)
        writer = csv.writer(text)
        for row in TABLES[name](league, people):
            writer.writerow([escape(cell) for cell in row])
    finally:
        text.detach()


Rows = Iterator[Sequence[object]]


def _standings(league: League, people: bool) -> Rows:
    yield (
        *("rank", "tied_rank", "player_id", "display_name", "played", "wins", "draws", "losses", "technical_losses"),
        *("points", "points_by_correction", "out"),
    )
    for row in sight.everything(league).standings:
        yield (*queries.wire_row(row).values(), row.corrected, row.out)


def _matches(league: League, people: bool) -> Rows:
    yield (
        *("match_id", "round", "player_A", "player_B", "referee", "state", "attempt", "status", "winner", "reason"),
        *("choice_A", "choice_B", "drawn_number", "faults", "corrected_by", "finished_at"),
    )
    view = sight.everything(league)
    for match in chain.from_iterable(bundle.matches_in_chunks(league)):
        line, outcome = queries.match_row(match, view), view.outcome(match.match_id)
        details = outcome.details if outcome is not None else {}
        first, second = line["player_A_id"], line["player_B_id"]
        yield (
            *(line["match_id"], line["round_id"], first, second, line["referee_id"], line["state"], line["attempt"]),
            *(line["status"], line["winner"], outcome.reason if outcome is not None else ""),
            *(evidence.choice(details, first), evidence.choice(details, second), _as_text(details.get("drawn_number"))),
            plain("; ".join(states.fault_sentence(fault) for fault in outcome.faults)) if outcome is not None else "",
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
    for chunk in bundle.matches_in_chunks(league):
        transcripts = bundle.transcripts(chunk, people=False)
        for match in chunk:
            for message in transcripts[match.pk]:
                entry = notes.entry_in_words(message["entry"])
                place = (match.match_id, match.round.number, message["attempt"], message["n"])
                yield (*place, *(_as_text(entry.get(name)) for name in names))


def _events(league: League, people: bool) -> Rows:
    yield ("seq", "at", "kind", "text", "data")
    for event in bundle.events(league, people=people):
        text = plain(events.happened(event.kind, event.data))
        yield (event.seq, event.at, event.kind, text, json.dumps(event.data, ensure_ascii=False, sort_keys=True))


def _corrections(league: League, people: bool) -> Rows:
    names = (
        *("number", "kind", "match_id", "player", "points", "matches_become", "reason", "made_by", "made_at"),
        *("undone_by", "undone_at", "undone_reason"),
    )
    yield ["player_id" if name == "player" else name for name in names]
    for correction in league.corrections.select_related("player").order_by("number"):
        item = SECTIONS["corrections"].item(correction, people)
        yield [item[name] for name in names]


def _evidence(league: League, people: bool) -> Rows:
    yield evidence.COLUMNS
    yield from (evidence.line(sheet) for sheet in evidence.sheets(league))


def _as_text(value: object) -> object:
    """A value that a referee sent, as text if it is an object or a list."""
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
"""Functions that return the rows of each table, the header first."""
PRIVATE_TABLES = ("evidence",)
"""Tables with names and e-mail addresses of students; they are left out of a public export."""
