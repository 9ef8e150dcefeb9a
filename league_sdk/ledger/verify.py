"""Whether a league's public export holds: chain, commitments, seals, and the table added up again. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ValidationError

from league_sdk.ledger import export
from league_sdk.ledger.canonical import canonical
from league_sdk.ledger.chain import Broken, Link, named, short, walk
from league_sdk.ledger.document import Line, Page, Points, Public, Told
from league_sdk.ledger.recount import Recount
from league_sdk.ledger.standings import Row, Scoring

MAX_EVENTS = 1_000_000


class NotALedger(Exception):
    """What was given cannot be read as a ledger; the text is a sentence."""


@dataclass(frozen=True, slots=True)
class Verified:
    """What was found to hold.

    Attributes:
        league_id: which league.
        display_name: its name, which is the site's word.
        head: the digest of the last event.
        events: how many events were checked.
        last_seq: the number of the last one; 0 without events.
        kept_at: the number of the event whose digest was kept by the reader; None when none was given.
        frozen_after_round: the round after which the public sees no more; None without a freeze.
        points_in_chain: whether the points of the league are in the chain, not only beside it.
        players_in_chain: the same of its players.
        table_shown: whether a table was compared; else it was the results that stand beside the events.
        counted: what was checked, and what older events do not say, by name.
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
        document: the decoded JSON: a public ledger with all pages put together (its ``next`` is null), or the whole
            league as the desk exports it.
        head: a digest that was kept earlier, 64 hex digits; it must be the digest of one of the events.

    Raises:
        NotALedger: it is no ledger, or not a whole one.
        Broken: names the first event that does not hold.
    """
    if isinstance(document, dict) and document.get("format") == export.FORMAT:
        return _verify_export(_read(export.Export, document, "the export"), head)
    page: Page = _read(Page, document, "the export")
    if page.next is not None:
        raise NotALedger("The export is one page of several: take all of them, or give the league's address.")
    if page.scoring is None or page.table is None:
        raise NotALedger("The export has no table: take it from the first page on.")
    links, digests = _chain(page)
    found = _recount(page, links)
    _same_table(page.table, found, _scoring(page.scoring, found))
    return _verified(page, links, digests, found, head)


def _verify_export(whole: export.Export, head: str | None) -> Verified:
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
    found = _recount(page, links)
    if page.scoring is not None:
        _scoring(page.scoring, found)
    _same_names(whole.names, found)
    _same_results(whole.matches, found)
    return _verified(page, links, digests, found, head)


def _chain(page: Page) -> tuple[list[Link], list[str]]:
    """The events, and their digests, which hold."""
    if len(page.events) > MAX_EVENTS:
        raise NotALedger(f"The export has more than {MAX_EVENTS} events.")
    links = _links(page)
    return links, walk(links, league_id=page.league_id, head=page.head)


def _recount(page: Page, links: list[Link]) -> Recount:
    found = Recount(page.game_type)
    for one in links:
        found.take(one.public)
    return found


def _verified(page: Page, links: list[Link], digests: list[str], found: Recount, head: str | None) -> Verified:
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
        points_in_chain=found.scoring is not None,
        players_in_chain=found.names is not None,
        table_shown=page.table is not None,
        counted=found.counted,
    )


def _read(shape: type[BaseModel], value: Any, what: str) -> Any:
    try:
        return shape.model_validate(value)
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
        told: Told = _read(Told, item, f"entry {number} of the events")
        _read(Public, told.public, f"entry {number} of the events, its public part")
        try:
            canonical(told.public)
        except ValueError as error:
            raise NotALedger(f"{named(told.public).capitalize()} cannot be read: {error}.") from None
        links.append(Link(told.public, told.private_sha256, told.digest))
    return links


def _scoring(shown: Points, found: Recount) -> Scoring:
    scoring = Scoring(shown.win, shown.draw, shown.loss, shown.technical_loss)
    if found.scoring is not None and found.scoring != scoring:
        raise Broken(
            "the points of the league",
            problem="they are not those that the last event about them has.",
            seen=scoring,
            expected=found.scoring,
        )
    return scoring


def _same_table(shown: list[Line], found: Recount, scoring: Scoring) -> None:
    names = {line.player_id: line.display_name for line in shown}
    if len(names) != len(shown):
        raise Broken("the table", problem="a player stands in it twice.", seen=len(shown), expected=len(names))
    _same_names(names, found)
    for line, row in zip(shown, found.rows(names, scoring), strict=True):
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


def _same_names(names: dict[str, str], found: Recount) -> None:
    if found.names is not None and found.names != names:
        code = min(set(found.names.items()) ^ set(names.items()))[0]
        raise Broken(
            f"the table, player {short(code)}",
            problem="its players are not those that the schedule has.",
            seen=names.get(code),
            expected=found.names.get(code),
        )
    missing = found.players - set(names)
    if missing:
        raise Broken(
            f"the table, player {short(min(missing))}",
            problem="an event has results or points of this player.",
            seen="no line",
            expected="one",
        )


def _same_results(rows: list[export.Row], found: Recount) -> None:
    shown = {row.match_id: (row.status, row.winner) for row in rows if row.status}
    for match_id in sorted(shown.keys() | found.results.keys()):
        counted = found.results.get(match_id)
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
