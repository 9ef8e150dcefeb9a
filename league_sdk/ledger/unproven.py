"""What the verification of a ledger leaves open, in words: the report of ``league verify`` lists it by name. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from league_sdk.ledger.chain import short
from league_sdk.ledger.documents import LEAGUE_FILE, Page
from league_sdk.ledger.recount import Recount

_EXPORT = {
    "": ("agents, corrections, events, format, league, matches, rounds", "checks, notices, people, roster, written_by"),
    "league": (
        "event_seq, game_type, league_id, ledger_head, out",
        "completed_at, created_at, display_name, freeze_from, frozen, frozen_seq, left_out, paused, settings,"
        " started_at, state, unveiled; of the settings the points are compared, of out the words",
    ),
    "agents": (
        "code, display_name, kind",
        "by_hand, dialect, endpoint, game_types, max_concurrent, name, notes, owner, registered_at, sender_name,"
        " sends_progress, spoken, version; everything of referees and of players that are not in the schedule",
    ),
    "rounds": ("bye, number", "completed_at, started_at, state; everything of rounds without a result"),
    "events": ("at, data, digest, kind, salt, seq", "what withdrawn notices say, and that they were withdrawn"),
    "corrections": (
        "kind, match_id, matches_become, number, player, points, reason, undone_reason",
        "after, before, made_at, made_by, undone_at, undone_by; of undone_at it is compared whether there is one",
    ),
    "matches": (
        "attempt, details, faults, finished_at, match_id, player_a, player_b, reason, referee, round, state,"
        " status, winner",
        "conversation_id, joined, lifecycle, locked_in, lost_attempts, messages, said, view; the messages are the"
        " transcripts; everything of matches without a result",
    ),
}
"""The fields that are compared in each part of an export, and those that nothing proves: no event has them, or only
roughly, such as the times at which rows were written."""
_LEDGER = {
    "": (
        "events, format, frozen_after_round, game_type, head, last_seq, league_id, next, scoring, table",
        "display_name",
    ),
    "events": ("digest, private_sha256, public", ""),
    "scoring": ("draw, loss, technical_loss, win", ""),
    "table": (
        "display_name, draws, losses, played, player_id, points, rank, technical_losses, tied_rank, wins",
        "tied_rank where it is missing",
    ),
}
"""The same for a public ledger."""


def in_words(document: Mapping[str, Any], page: Page, recount: Recount) -> Iterator[str]:
    """What nothing proves in a document that was verified, each in words without a full stop.

    Args:
        document: the decoded JSON; its form was checked.
        page: its public ledger.
        recount: what follows from its events.
    """
    counted, whole = recount.counted, page.table is None
    said = {
        f"{counted['unproven draws']} drawn numbers that are not shown, or had no commitment (from before this site"
        " published commitments, or judged by a student's referee)": counted["unproven draws"],
        f"{counted['late draws']} of the drawn numbers were committed to only after their round had started (an"
        " upgraded or restored site): perhaps with the choices known": counted["late draws"],
        f"{counted['unsealed']} results without a seal (from before this site kept seals, cancelled, or judged by a"
        " student's referee)": counted["unsealed"],
        "the points for a win or a draw: no event has them, only the site states them": recount.scoring is None,
        "who plays, and under which names: no event lists the players, the table does": recount.names is None,
        f"anything after round {page.frozen_after_round}: the board is frozen": page.frozen_after_round is not None,
        "that the players made the choices on record, and that a referee or operator did not collude with one": True,
        "who the people behind the players are": True,
        f"the order of the lists, and every other file of a ZIP or folder: only {LEAGUE_FILE} is read": whole,
    }
    yield from (words for words, is_so in said.items() if is_so)
    for place, (compared, known) in (_EXPORT if whole else _LEDGER).items():
        part = document[place] if place else document
        names = {*compared.split(", "), *known.partition(";")[0].split(", ")}
        unknown = {name for item in (part if isinstance(part, list) else [part]) for name in item} - names
        words = [known] * bool(known) + [short(name) for name in sorted(unknown)]
        if words:
            yield f"in {place or 'the document'}: {', '.join(words)}"
