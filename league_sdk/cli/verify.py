"""``league verify``: verifies a league's public ledger, read from a file or from the site."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from league_sdk.cli.console import EXIT_FAILED, fail, print_json
from league_sdk.ledger.chain import Broken, is_hash, short
from league_sdk.ledger.reading import read
from league_sdk.ledger.verify import NotALedger, Verified
from league_sdk.ledger.verify import verify as follow


def verify(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE_OR_URL",
            help="A saved ledger, an export (league.json, league.zip, its folder), or the address of a league's board.",
        ),
    ],
    head: Annotated[
        str | None, typer.Option(metavar="HASH", help="A head that you kept earlier: 64 hex digits.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep what was read, to check it again offline.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")] = False,
) -> None:
    """Check a league's results against its public ledger.

    Follows the ledger's chain of digests from the first event to the head, checks every draw against its commitment and
    every result against its seal, and adds the table up again. Keep the head from the board or from
    LEAGUE_STANDINGS_UPDATE: with it you can show later that nothing before it was changed.

    Exit code: 0 everything holds, 1 something does not hold or cannot be read, 2 the command line cannot be used.
    """
    own_head = head.strip().lower() if head is not None else None
    if own_head is not None and not is_hash(own_head):
        fail(f"--head {own_head!r:.100} is not a digest, which has 64 hex digits")
    try:
        document = read(source)
        if save is not None:
            save.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
        verified = follow(document, head=own_head)
    except (NotALedger, Broken) as error:
        holds = None if isinstance(error, NotALedger) else False
        if as_json:
            print_json({"holds": holds, "problem": str(error)})
        else:
            print(f"Not verified. {error}" if holds is None else f"DOES NOT HOLD: {error}")
        raise typer.Exit(EXIT_FAILED) from None
    except OSError as error:
        fail(f"{save} cannot be written: {error.strerror}")
    if as_json:
        print_json(_facts(verified))
    else:
        print(description(verified))


def _facts(found: Verified) -> dict[str, object]:
    return {
        "holds": True,
        "league_id": found.league_id,
        "events": found.events,
        "last_seq": found.last_seq,
        "head": found.head,
        "kept_at": found.kept_at,
        "counted": dict(found.counted),
        "table_shown": found.table_shown,
        "points_in_chain": found.points_in_chain,
        "players_in_chain": found.players_in_chain,
        "frozen_after_round": found.frozen_after_round,
        "unproven": list(found.unproven),
    }


def description(found: Verified) -> str:
    """What was verified and what that does not prove, in lines of text."""
    counted = found.counted
    lines = [
        f"HOLDS: league {short(found.league_id)}, {found.events} events, the last is number {found.last_seq}.",
        f"head: {found.head or 'none: there is no event yet'}",
        "",
        "Checked:",
        f"  - {found.events} digests, each of an event and of the digest before it",
        f"  - {counted.get('results', 0)} results and {counted.get('corrections', 0)} corrections; together they"
        f" give {'the table that is shown' if found.table_shown else 'the results of the matches in the export'}",
        f"  - {counted.get('draws', 0)} drawn numbers follow from seeds that were committed to before the choices",
        f"  - {counted.get('sealed', 0)} results are the verdicts that were sealed",
        "",
    ]
    if found.kept_at is not None:
        lines += [f"The head that you kept is that of event {found.kept_at}: nothing up to there was changed since."]
    else:
        lines += ["You gave no head that you kept: the site could have rewritten the whole chain."]
    lines += ["Not proven:", *(f"  - {what}" for what in found.unproven)]
    return "\n".join(lines)
