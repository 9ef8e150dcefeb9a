"""Verify a league's public ledger or export: its chain, commitments and seals, and the table computed again. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ValidationError

from league_sdk.ledger.canonical import canonical
from league_sdk.ledger.chain import Broken, Link, describe, short, walk
from league_sdk.ledger.documents import LEAGUE_FORMAT, Export, LedgerEvent, Line, MatchRow, Page, Points, Public
from league_sdk.ledger.recount import Recount
from league_sdk.ledger.standings import Row, Scoring

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
        table_shown: whether a table was compared; otherwise the results beside the events were compared.
        counted: by name, how many facts were checked, and how many could not be, because older events do not have them.
    """

    league_id: str
    display_name: str
    head: str
    events: int
    last_seq: int
    kept_at: int | None
    frozen_after_round: int | None
    points_in_chain: bool
    players_in_chain: bool
    table_shown: bool
    counted: Mapping[str, int] = field(default_factory=dict)


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
    if isinstance(document, dict) and document.get("format") == LEAGUE_FORMAT:
        return _verify_export(_read(Export, document, "the export"), head)
    page: Page = _read(Page, document, "the export")
    if page.next is not None:
        raise NotALedger("The export is one page of several: take all of them, or give the league's address.")
    if page.scoring is None or page.table is None:
        raise NotALedger("The export has no table: take it from the first page on.")
    links, digests = _chain(page)
    recount = _recount(page, links)
    _check_table(page.table, recount, _check_scoring(page.scoring, recount))
    return _verified(page, links, digests, recount, head)


def _verify_export(whole: Export, head: str | None) -> Verified:
    if not whole.is_chained:
        raise NotALedger("The export is older than the ledger: its events have no digests.")
    try:
        page: Page = _read(Page, whole.ledger(), "the export")
    except ValueError as error:
        raise NotALedger(f"The export cannot be read: {short(error)}.") from None
    try:
        links, digests = _chain(page)
    except Broken as broken:
        if whole.people:
            raise
        raise NotALedger(
            "The export was made without people, which leaves events out: take the one with people, or the league's"
            f" public ledger. {broken}"
        ) from None
    recount = _recount(page, links)
    if page.scoring is not None:
        _check_scoring(page.scoring, recount)
    _check_names(whole.names, recount)
    _check_results(whole.matches, recount)
    return _verified(page, links, digests, recount, head)


def _chain(page: Page) -> tuple[list[Link], list[str]]:
    """The events and their verified digests."""
    if len(page.events) > MAX_EVENTS:
        raise NotALedger(f"The export has more than {MAX_EVENTS} events.")
    links = _links(page)
    return links, walk(links, league_id=page.league_id, head=page.head)


def _recount(page: Page, links: list[Link]) -> Recount:
    recount = Recount(page.game_type)
    for event in links:
        recount.add(event.public)
    return recount


def _verified(page: Page, links: list[Link], digests: list[str], recount: Recount, head: str | None) -> Verified:
    kept_at = None
    if head is not None:
        if head not in digests:
            raise Broken(
                "the head that you kept",
                problem="no event of this ledger has that digest: what was before it has been changed.",
                seen=f"{len(digests)} events, none with it",
                expected=head,
            )
        kept_at = links[digests.index(head)].public["seq"]
    return Verified(
        league_id=page.league_id,
        display_name=page.display_name,
        head=page.head,
        events=len(links),
        last_seq=links[-1].public["seq"] if links else 0,
        kept_at=kept_at,
        frozen_after_round=page.frozen_after_round,
        points_in_chain=recount.scoring is not None,
        players_in_chain=recount.names is not None,
        table_shown=page.table is not None,
        counted=recount.counted,
    )


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


def _check_scoring(shown: Points, recount: Recount) -> Scoring:
    scoring = Scoring(shown.win, shown.draw, shown.loss, shown.technical_loss)
    if recount.scoring is not None and recount.scoring != scoring:
        raise Broken(
            "the points of the league",
            problem="they are not those that the last event about them has.",
            seen=scoring,
            expected=recount.scoring,
        )
    return scoring


def _check_table(lines: list[Line], recount: Recount, scoring: Scoring) -> None:
    names = {line.player_id: line.display_name for line in lines}
    if len(names) != len(lines):
        raise Broken("the table", problem="a player is in it twice.", seen=len(lines), expected=len(names))
    _check_names(names, recount)
    for line, row in zip(lines, recount.rows(names, scoring), strict=True):
        expected = _line(row)
        seen = line.model_dump()
        if seen != expected:
            name = next(name for name in expected if seen[name] != expected[name])
            raise Broken(
                f"the table, line {row.rank}, {name}",
                problem="the events add up to something else.",
                seen=seen[name],
                expected=expected[name],
            )


def _check_names(names: dict[str, str], recount: Recount) -> None:
    if recount.names is not None and recount.names != names:
        code = min(set(recount.names.items()) ^ set(names.items()))[0]
        raise Broken(
            f"the table, player {short(code)}",
            problem="its players are not those that the schedule has.",
            seen=names.get(code),
            expected=recount.names.get(code),
        )
    missing = recount.players - set(names)
    if missing:
        raise Broken(
            f"the table, player {short(min(missing))}",
            problem="an event has results or points of this player.",
            seen="no line",
            expected="one",
        )


def _check_results(rows: list[MatchRow], recount: Recount) -> None:
    shown = {row.match_id: (row.status, row.winner) for row in rows if row.status}
    for match_id in sorted(shown.keys() | recount.results.keys()):
        counted = recount.results.get(match_id)
        expected = (counted.status, counted.winner) if counted is not None else None
        if shown.get(match_id) != expected:
            raise Broken(
                f"the result of match {short(match_id)}",
                problem="the events say something else.",
                seen=shown.get(match_id) or "none",
                expected=expected or "none",
            )


def _line(row: Row) -> dict[str, Any]:
    return {name: getattr(row, name) for name in Line.model_fields}
