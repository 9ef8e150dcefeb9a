"""``league check``: compares an agent with the documents, clause by clause."""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import sys
from typing import Any
from urllib.parse import urlsplit

from league_sdk.conformance.checking import CHECKS, check
from league_sdk.conformance.listener import own_address
from league_sdk.conformance.report import Clause, Report
from league_sdk.conformance.subject import DEFAULT_GAME, DEFAULT_REGISTER_WAIT_S, Subject
from league_sdk.conformance.text import render
from league_sdk.rules.registry import games
from league_sdk.simulated_league import Identity
from league_sdk.transport.httpx_client import HttpxClient

EXIT_OK, EXIT_NOT = 0, 1
PLAIN_WIDTH = 100
_ABOUT = """\
Talks to an agent as a league would, outside any league, and reports clause by clause what was sent, what came, what
the documents expect and where they say so. Start your agent first; it need not be registered.

Exit code: 0 a league can use the agent as it is, 1 it cannot, 2 the command line is wrong."""
_EXAMPLES = """\
examples:
  league check http://127.0.0.1:8101/mcp
  league check http://127.0.0.1:8101/mcp --json > report.json
  league check http://127.0.0.1:8001/mcp --as referee --manager-port 8000 --wait 60
  league check http://127.0.0.1:8000/mcp --as manager

A referee registers with its league manager when it starts: let the check wait for it, then start the referee.
The check of a league manager registers a referee and players that stay registered: use one without a class in it."""


def add_to(commands: Any) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "check",
        help="check an agent against the documents",
        description=_ABOUT,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("url", metavar="URL", help="the agent's address, such as http://127.0.0.1:8101/mcp")
    parser.add_argument(
        "--as", dest="role", choices=list(CHECKS), default="player", help="what it is (default: player)"
    )
    parser.add_argument(
        "--game",
        action="append",
        choices=sorted(games()),
        help=f"players: a game it plays; may be given several times (default: {DEFAULT_GAME})",
    )
    parser.add_argument("--player-id", metavar="ID", help="players: the id it is registered under, when it is")
    parser.add_argument("--league-id", metavar="ID", help="players: the league it is registered in, when it is")
    parser.add_argument(
        "--listen", metavar="HOST", help="this machine's address for answers by POST (default: found out)"
    )
    parser.add_argument(
        "--manager-port",
        type=int,
        default=0,
        metavar="PORT",
        help="referees: where to stand in for the league manager, such as 8000 (default: a free port)",
    )
    parser.add_argument(
        "--wait",
        type=float,
        default=DEFAULT_REGISTER_WAIT_S,
        metavar="SECONDS",
        help="referees: how long to wait for their registration (default: %(default)s)",
    )
    parser.add_argument("--no-farewell", action="store_true", help="players: do not send LEAGUE_COMPLETED")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--verbose", action="store_true", help="show what was sent and what came for every clause")
    parser.set_defaults(run=run, refuse=parser.error)


def run(options: argparse.Namespace) -> int:
    """Check, print, and return the exit code."""
    if urlsplit(options.url).scheme not in ("http", "https"):
        options.refuse(f"{options.url!r:.100} is no address: http://127.0.0.1:8101/mcp is one")
    report = asyncio.run(_check(options))
    if options.json:
        print(json.dumps(report.to_json(), ensure_ascii=False, indent=2))
    else:
        colour = sys.stdout.isatty()
        width = shutil.get_terminal_size((PLAIN_WIDTH, 24)).columns if colour else PLAIN_WIDTH
        print(render(report, width=width, colour=colour, everything=options.verbose), end="")
    return EXIT_OK if report.can_play else EXIT_NOT


async def _check(options: argparse.Namespace) -> Report:
    client = HttpxClient(agent_type="check")
    progress = _progress if sys.stderr.isatty() and not options.json else None
    try:
        subject = Subject(
            url=options.url,
            role=options.role,
            listen=options.listen or await own_address(options.url),
            game_types=options.game or (DEFAULT_GAME,),
            identity=_identity(options),
            farewell=not options.no_farewell,
            manager_port=options.manager_port,
            register_wait_s=options.wait,
            on_listening=_listening,
        )
        return await check(subject, client, progress)
    except OSError as error:
        options.refuse(f"cannot listen for the agent's own calls: {error}; name an address of ours with --listen")
        raise
    finally:
        await client.aclose()
        if progress is not None:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _listening(endpoint: str) -> None:
    print(f"Standing in for the league manager at {endpoint}: start your referee with it.", file=sys.stderr, flush=True)


def _identity(options: argparse.Namespace) -> Identity | None:
    if options.player_id is None and options.league_id is None:
        return None
    given = {"player_id": options.player_id, "league_id": options.league_id}
    known = options.player_id is not None
    return Identity(**{name: value for name, value in given.items() if value is not None}, known=known)


def _progress(clause: Clause) -> None:
    """Show the title of the last clause in one line of the terminal; the report overwrites it."""
    print(f"\r\x1b[K{clause.title}", end="", file=sys.stderr, flush=True)
