"""Verify a league's public ledger or export: its chain, commitments and seals, and the table computed again. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ValidationError

from league_sdk.ledger import unproven
from league_sdk.ledger.canonical import canonical
from league_sdk.ledger.chain import Broken, Link, describe, require, short, walk
from league_sdk.ledger.documents import LEAGUE_FORMAT, Export, LedgerEvent, Page, Public
from league_sdk.ledger.kinds import EventKind
from league_sdk.ledger.recount import Recount
from league_sdk.ledger.rows import check_rows, some
from league_sdk.ledger.standings import Scoring

MAX_EVENTS = 1_000_000


class NotALedger(Exception):
    """The input cannot be read as a ledger; the text is a sentence."""


@dataclass(frozen=True, slots=True)
class Verified:
    """The facts about a ledger that was verified.

    Attributes:
        league_id: the league's id.
        display_name: its name; the chain does not prove it.
        head: the digest of the last event.
        events: how many events were checked.
        last_seq: the number of the last one; 0 without events.
        kept_at: the number of the event whose digest the reader had kept; None when no digest was given.
        frozen_after_round: the last round that the public sees; None without a freeze.
        points_in_chain: whether the points of the league are in the chain, not only in the document.
        players_in_chain: whether the players of the league are in the chain, not only in the document.
        table_shown: whether a table was compared; otherwise the rows beside the events were compared.
        counted: by name, how many facts were checked, and how many could not be, because older events do not have them.
        doubts: what of this very document cannot be proven although other ledgers prove it, in words.
        unproven: everything that nothing proves, in words; begins with ``doubts``.
    """

    league_id: str
    head: str
    events: int
    last_seq: int
    kept_at: int | None
    frozen_after_round: int | None
    points_in_chain: bool
    players_in_chain: bool
    table_shown: bool
    counted: Mapping[str, int] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()
    unproven: tuple[str, ...] = ()


def verify(document: Any, *, head: str | None = None) -> Verified:
    """Check a whole ledger.

    Args:
        document: the decoded JSON: a public ledger with all its pages joined (its ``next`` is null), or the whole
            league as the desk exports it.
        head: a digest that was kept earlier, 64 hex digits; one of the events must have it.

    Raises:
        NotALedger: it is not a ledger, or only a part of one.
        Broken: names the first wrong event, or else what differs from the events: a line of the table, a result, the
            points, the head.
    """
    exported = isinstance(document, dict) and document.get("format") == LEAGUE_FORMAT
    whole: Export | None = _read(Export, document, "the export") if exported else None
    page = _page(document, whole)
    links = _links(page)
    try:
        digests = walk(links, league_id=page.league_id, head=page.head)
    except Broken as broken:
        if whole is None or whole.people:
            raise
        raise NotALedger(
            "The export was made without people, which leaves events out if an earlier version made it: take the one"
            f" with people, or the league's public ledger. {broken}"
        ) from None
    recount = Recount(page.game_type)
    for event in links:
        recount.add(event.public)
    last_seq = links[-1].public["seq"] if links else 0
    doubts = _check_export(whole, page, recount) if whole is not None else _check_table(page, recount)
    if page.last_seq != last_seq:
        doubts.append(f"the number of the last event as the document states it, {page.last_seq}: it is {last_seq}")
    return Verified(
        league_id=page.league_id,
        head=page.head,
        events=len(links),
        last_seq=last_seq,
        kept_at=links[_find(head, digests)].public["seq"] if head is not None else None,
        frozen_after_round=page.frozen_after_round,
        points_in_chain=recount.scoring is not None,
        players_in_chain=recount.names is not None,
        table_shown=page.table is not None,
        counted=recount.counted,
        doubts=tuple(doubts),
        unproven=(*doubts, *unproven.in_words(document, page, recount)),
    )


def _page(document: Any, whole: Export | None) -> Page:
    """The public ledger of a document."""
    if whole is not None and not whole.is_chained:
        raise NotALedger("The export is older than the ledger: its events have no digests.")
    try:
        page: Page = _read(Page, document if whole is None else whole.ledger(), "the export")
    except ValueError as error:
        raise NotALedger(f"The export cannot be read: {short(error)}.") from None
    if page.next is not None:
        raise NotALedger("The export is one page of several: take all of them, or give the league's address.")
    if whole is None and (page.scoring is None or page.table is None):
        raise NotALedger("The export has no table: take it from the first page on.")
    if len(page.events) > MAX_EVENTS:
        raise NotALedger(f"The export has more than {MAX_EVENTS} events.")
    return page


def _find(head: str, digests: list[str]) -> int:
    if head not in digests:
        raise Broken(
            "the head that you kept",
            problem="no event of this ledger has that digest: what was before it has been changed.",
            seen=f"{len(digests)} events, none with it",
            expected=head,
        )
    return digests.index(head)


def _read(model: type[BaseModel], value: Any, what: str) -> Any:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        seen = short(first["input"])
        raise NotALedger(f"In {what}, {where or 'the whole'}: {first['msg']}. Seen: {seen}.") from None
    except RecursionError:
        raise NotALedger(f"{what} is nested too deeply.") from None


def _links(page: Page) -> list[Link]:
    links = []
    for number, item in enumerate(page.events, start=1):
        event: LedgerEvent = _read(LedgerEvent, item, f"entry {number} of the events")
        _read(Public, event.public, f"entry {number} of the events, its public part")
        try:
            canonical(event.public)
        except ValueError as error:
            raise NotALedger(f"{describe(event.public).capitalize()} cannot be read: {error}.") from None
        links.append(Link(event.public, event.private_sha256, event.digest))
    return links


def _check_scoring(page: Page, recount: Recount) -> Scoring:
    scoring = Scoring(**page.scoring.model_dump()) if page.scoring is not None else Scoring()
    require("the points of the league", scoring, recount.scoring or scoring)
    return scoring


def _check_table(page: Page, recount: Recount) -> list[str]:
    lines = page.table or []
    names = {line.player_id: line.display_name for line in lines}
    require("the table", len(lines), len(names), "a player is in it twice.")
    require("the freeze", page.frozen_after_round, recount.frozen_after)
    doubts = _check_names(names, recount)
    for line, row in zip(lines, recount.rows(names, _check_scoring(page, recount)), strict=True):
        for name, seen in line.model_dump(exclude_unset=True).items():
            expected = getattr(row, name)
            require(f"the table, line {row.rank}, {name}", seen, expected, "the events add up to something else.")
    return doubts


def _check_export(whole: Export, page: Page, recount: Recount) -> list[str]:
    _check_scoring(page, recount)
    made = [event.data for event in whole.events if event.kind == EventKind.SCHEDULE_MADE]
    require("the list agents", len(whole.agents), len({(agent.kind, agent.code) for agent in whole.agents}))
    doubts = _check_names(whole.names, recount, strict=any(data.get("renamed_by_events") for data in made))
    try:
        return doubts + check_rows(whole, recount.out)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise NotALedger(f"A row, or the event that it follows from, lacks a field: {short(error)}.") from None


def _check_names(names: dict[str, str], recount: Recount, *, strict: bool = False) -> list[str]:
    """Compare who plays; returns whose names the events tell otherwise.

    Args:
        names: display names by id, as they are shown.
        recount: what follows from the events.
        strict: whether every renaming is an event, so that no other name is honest.
    """
    known = names if recount.names is None else recount.names
    renamed = [code for code in sorted(known.keys() & names.keys()) if known[code] != names[code]]
    for code in sorted(known.keys() ^ names.keys()) + renamed * strict:
        problem = "its players are not those that the schedule has."
        require(f"the table, player {short(code)}", names.get(code), known.get(code), problem)
    for code in sorted(recount.players - names.keys()):
        problem = "an event has results or points of this player."
        raise Broken(f"the table, player {short(code)}", problem=problem, seen="no line", expected="one")
    names_then = [f"{code} ({names[code]}, in the events {known[code]})" for code in renamed]
    return [f"the display names of {some(names_then)}: earlier versions recorded no renaming"] if renamed else []
