"""``python -m league_sdk.judging``: one referee as a process."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import secrets
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from league_sdk import collector, log_files, tracing, watchdog
from league_sdk.judging import dry_run
from league_sdk.judging.door.dialled import LineKeeper
from league_sdk.judging.door.keeper import DoorKeeper, bind
from league_sdk.judging.door.server import RefereeServer
from league_sdk.judging.journal import Journal
from league_sdk.judging.worker.league_link import LeagueLink, Refused, referee_meta
from league_sdk.judging.worker.match_runner import Dependencies
from league_sdk.judging.worker.referee import Referee
from league_sdk.open_files import raise_file_limit
from league_sdk.protocol import records, redaction
from league_sdk.rules.registry import games
from league_sdk.typed_addresses import EXAMPLE, read_address

DRAIN_TIMEOUT_S = 3.0
EXIT_PORT_TAKEN, EXIT_REJECTED, EXIT_FAILED = 4, 3, 1

logger = logging.getLogger(__name__)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a referee until it is told to stop or fails; returns the exit code.

    Args:
        arguments: the command line; None for that of the process.
    """
    options = _parse(arguments)
    redaction.hide(os.environ.get("LEAGUE_REFEREE_KEY", ""), os.environ.get("LEAGUE_METRICS_KEY", ""))
    tracing.start("referee")
    records.identify(component=f"referee:{options.name}", agent_id=f"referee:{options.name}")
    formatter, level = log_files.terminal()
    terminal = logging.StreamHandler()
    terminal.setLevel(level)
    terminal.setFormatter(formatter())
    logging.basicConfig(level=level, handlers=[terminal])
    return asyncio.run(dry_run.run() if options.dry_run else run(options))


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="referee", description="A referee of a league.")
    parser.add_argument("--league", help="the league manager's endpoint, http://…/mcp")
    parser.add_argument(
        "--dry-run", action="store_true", help="play every game without a network and print what is said"
    )
    parser.add_argument("--dial-out", action="store_true", help="open no port: fetch messages from the league")
    parser.add_argument("--port", type=int, default=8001)
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen at")
    parser.add_argument("--endpoint", help="the endpoint that players and the league manager call")
    parser.add_argument("--league-for-players", default="", help="where players answer if they cannot reach --endpoint")
    parser.add_argument("--name", help="shown in the admin; with the port it fixes the referee's id")
    parser.add_argument("--max-concurrent", type=int, default=32, help="matches at once")
    parser.add_argument("--exit-with-parent", action="store_true", help="end when standard input ends")
    parser.add_argument("--started-by", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if not options.league and not options.dry_run:
        parser.error("--league is required, except for a --dry-run")
    try:
        read_address(options.league or EXAMPLE)
    except ValueError as error:
        parser.error(f"--league: {error}")
    # A referee that dials out has no port in its name: a random part keeps it apart from others.
    options.name = options.name or f"Referee {secrets.token_hex(3) if options.dial_out else options.port}"
    return options


async def run(options: argparse.Namespace) -> int:
    """Listen, register, play until told to stop."""
    host = f"[{options.host}]" if ":" in options.host else options.host
    endpoint = "" if options.dial_out else options.endpoint or f"http://{host}:{options.port}/mcp"
    meta = referee_meta(
        display_name=options.name,
        contact_endpoint=endpoint or None,
        game_types=list(games()),
        max_concurrent_matches=options.max_concurrent,
        registration_code=os.environ.get("LEAGUE_REFEREE_KEY", ""),
    )
    link = LeagueLink(options.league, meta)
    parent_pid, journal = os.getppid(), Journal()
    referee = Referee(
        link,
        endpoint="" if options.league_for_players else endpoint,
        league_endpoint=options.league_for_players,
        max_concurrent=options.max_concurrent,
        uses=Dependencies(journal=journal, orphaned=lambda: options.exit_with_parent and os.getppid() != parent_pid),
    )
    # Every connection to a player needs a file descriptor.
    raise_file_limit()
    stop = asyncio.Event()
    try:
        door = await _open(options, referee, link, stop)
    except OSError as error:
        sys.stderr.write(f"referee: port {options.port} cannot be used: {error.strerror}\n")
        return EXIT_PORT_TAKEN
    collector.exempt_loaded_objects()
    loop = asyncio.get_running_loop()
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signal_number, stop.set)
    if options.exit_with_parent:
        loop.add_reader(sys.stdin.fileno(), _exit_with_parent)
    watching = watchdog.watch(loop)
    work = asyncio.create_task(_work(link, referee, journal, options.name, stop))
    await stop.wait()
    if link.identity is not None:
        await referee.drain(DRAIN_TIMEOUT_S)
    work.cancel()
    watching.cancel()
    await asyncio.gather(work, watching, return_exceptions=True)
    await door.aclose()
    await referee.aclose()
    await link.aclose()
    failure = None if work.cancelled() else work.exception()
    return 0 if failure is None else EXIT_REJECTED if isinstance(failure, Refused) else EXIT_FAILED


async def _open(
    options: argparse.Namespace, referee: Referee, link: LeagueLink, stop: asyncio.Event
) -> DoorKeeper | LineKeeper:
    """Open what messages come in by: a port; for a referee that dials out, a line to its inbox after registration.

    Raises:
        OSError: the port cannot be used.
    """
    keys = (os.environ.get("LEAGUE_REFEREE_KEY", ""), os.environ.get("LEAGUE_METRICS_KEY", ""))
    server = RefereeServer(referee, link, keys)
    if options.dial_out:
        line = LineKeeper(link, server, taken_over=stop.set)
        link.identified = line.dial
        return line
    keeper = DoorKeeper(await bind(options.host, options.port), server)
    referee.seats_changed = link.identified = keeper.send_state
    await keeper.open()
    return keeper


def _exit_with_parent() -> None:
    """End this process when its standard input ends: its parent is gone, and nobody else would stop it."""
    if not os.read(sys.stdin.fileno(), 4096):
        # The league manager is gone as well, so matches cannot be handed back.
        logging.shutdown()
        os._exit(0)


def _use_id_in_logs(referee_id: str, journal: Journal) -> None:
    """Name the referee on every log record, and open its log file if the site has set a folder for these."""
    who = f"referee:{referee_id}"
    records.identify(component=who, agent_id=who)
    folder = os.environ.get(log_files.FOLDER_VARIABLE)
    if folder:
        journal.open(referee_id, Path(folder))


async def _work(link: LeagueLink, referee: Referee, journal: Journal, name: str, stop: asyncio.Event) -> None:
    """Register and send heartbeats; if either fails, stop the process, which is of no use then."""
    try:
        identity = await link.register()
        _use_id_in_logs(identity.referee_id, journal)
        sys.stdout.write(f"{name} is {identity.referee_id}\n")
        sys.stdout.flush()
        await referee.keep_reporting()
    except Refused as error:
        sys.stderr.write(f"{name} was refused: {error}\n")
        raise
    except Exception:
        logger.exception("%s failed", name)
        raise
    finally:
        stop.set()


if __name__ == "__main__":
    sys.exit(main())
