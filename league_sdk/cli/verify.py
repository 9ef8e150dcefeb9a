"""``league verify``: verifies a league's public ledger, read from a file or from the site."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from league_sdk.ledger.chain import Broken, is_hash, short
from league_sdk.ledger.reading import read
from league_sdk.ledger.verify import NotALedger, Verified, verify

EXIT_OK, EXIT_NOT, EXIT_USAGE = 0, 1, 2
_ABOUT = """\
Reads a league's public ledger, follows its chain of digests from the first event to the head, checks every draw
against its commitment and every result against its seal, and adds the table up again.

Exit code: 0 all of it holds, 1 something does not or cannot be read, 2 the command line is wrong."""
_EXAMPLES = """\
examples:
  league verify https://site/leagues/league_2025_even_odd/
  league verify https://site/leagues/league_2025_even_odd/ --save ledger.json
  league verify ledger.json --head 5d41402abc4b2a76b9719d911017c5925d41402abc4b2a76b9719d911017c592

Keep the head from the board or from LEAGUE_STANDINGS_UPDATE: with it you can show later that nothing before it was
changed."""


def add_to(commands: Any) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "verify",
        help="check a league's results against its ledger",
        description=_ABOUT,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "source",
        metavar="FILE_OR_URL",
        help="a saved ledger, the export league.json or league.zip, or the address of the league's board",
    )
    parser.add_argument("--head", metavar="HASH", help="a head that you kept earlier: 64 hex digits")
    parser.add_argument("--save", metavar="FILE", type=Path, help="keep what was read, to check it again offline")
    parser.set_defaults(run=run, refuse=parser.error)


def run(options: argparse.Namespace) -> int:
    """Verify, print, and return the exit code."""
    head = options.head.strip().lower() if options.head is not None else None
    if head is not None and not is_hash(head):
        options.refuse(f"--head {head!r:.100} is no digest: 64 hex digits are one")
    try:
        document = read(options.source)
        if options.save is not None:
            options.save.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
        verified = verify(document, head=head)
    except NotALedger as error:
        print(f"Not verified. {error}")
        return EXIT_NOT
    except Broken as error:
        print(f"DOES NOT HOLD: {error}")
        return EXIT_NOT
    except OSError as error:
        print(f"{options.save} cannot be written: {error.strerror}")
        return EXIT_USAGE
    print(told(verified))
    return EXIT_OK


def told(found: Verified) -> str:
    """Describe what was verified, and what that does not prove."""
    counted = found.counted
    lines = [
        f"HOLDS: league {short(found.league_id)}, {found.events} events, the last is number {found.last_seq}.",
        f"head: {found.head or 'none: there is no event yet'}",
        "",
        "Checked:",
        f"  - {found.events} digests, each over the one before it",
        f"  - {counted.get('results', 0)} results and {counted.get('corrections', 0)} corrections; added up they"
        f" give {'the table that is shown' if found.table_shown else 'the results that stand beside them'}",
        f"  - {counted.get('draws', 0)} drawn numbers follow from seeds that were committed to before the choices",
        f"  - {counted.get('sealed', 0)} results are the verdicts that were sealed",
        "",
    ]
    if found.kept_at is not None:
        lines += [f"The head that you kept is that of event {found.kept_at}: nothing up to there was changed since."]
    else:
        lines += ["You gave no head that you kept: the site could have written the whole chain anew."]
    lines += ["Not proven:"]
    if counted.get("unproven draws"):
        lines += [
            f"  - {counted['unproven draws']} drawn numbers that are not shown, or had no commitment"
            " (older, or a student's referee)"
        ]
    if counted.get("late draws"):
        lines += [
            f"  - {counted['late draws']} of the drawn numbers were committed to only after their round had started"
            " (an upgraded or restored site): perhaps with the choices known"
        ]
    if counted.get("unsealed"):
        lines += [f"  - {counted['unsealed']} results without a seal (older, cancelled, or a student's referee)"]
    if not found.points_in_chain:
        lines += ["  - the points for a win or a draw: no event has them, they are the site's word"]
    if not found.players_in_chain:
        lines += ["  - who plays, and under which names: no event lists the players, the table does"]
    if found.frozen_after_round is not None:
        lines += [f"  - anything after round {found.frozen_after_round}: the board is frozen"]
    lines += [
        "  - that the players made the choices on record, and that a referee or operator did not collude with one",
        "  - who the people behind the players are",
    ]
    return "\n".join(lines)
