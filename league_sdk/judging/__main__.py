"""``python -m league_sdk.judging``: one referee worker as a process."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import sys
from pathlib import Path

from league_sdk import collector, log_files, tracing
from league_sdk.judging import dry_run
from league_sdk.judging.door_keeper import DoorKeeper, bind
from league_sdk.judging.doors import more_files
from league_sdk.judging.league_link import Card, LeagueLink, Refused
from league_sdk.judging.referee import Referee
from league_sdk.judging.server import RefereeServer
from league_sdk.logger import safe_name
from league_sdk.protocol import records, redaction
from league_sdk.rules.registry import games

DRAIN_S = 3.0
EXIT_PORT_TAKEN, EXIT_REJECTED, EXIT_FAILED = 4, 3, 1

logger = logging.getLogger(__name__)


def main() -> int:
    """Run a referee until SIGTERM; returns the exit code."""
    options = _parse()
    redaction.hide(os.environ.get("LEAGUE_REFEREE_KEY", ""), os.environ.get("LEAGUE_METRICS_KEY", ""))
    tracing.start("referee")
    records.identify(component=f"referee:{options.name}", agent_id=f"referee:{options.name}")
    formatter, level = log_files.terminal()
    terminal = logging.StreamHandler()
    terminal.setLevel(level)
    terminal.setFormatter(formatter())
    logging.basicConfig(level=level, handlers=[terminal])
    return asyncio.run(dry_run.run() if options.dry_run else run(options))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="referee", description="A referee worker of a league.")
    parser.add_argument("--league", help="the league manager's address, http://…/mcp")
    parser.add_argument(
        "--dry-run", action="store_true", help="play every game here, without league and port, and say how"
    )
    parser.add_argument("--port", type=int, default=8001)
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen at")
    parser.add_argument("--endpoint", help="the address players and the league manager call")
    parser.add_argument("--name", help="shown in the admin; with the port it fixes the referee's id")
    parser.add_argument("--max-concurrent", type=int, default=32, help="matches at once")
    parser.add_argument("--exit-with-parent", action="store_true", help="end when standard input ends")
    parser.add_argument("--started-by", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.league and not options.dry_run:
        parser.error("--league is needed, unless it is a --dry-run")
    options.name = options.name or f"Referee {options.port}"
    return options


async def run(options: argparse.Namespace) -> int:
    """Listen, register, play until told to stop."""
    endpoint = options.endpoint or f"http://{options.host}:{options.port}/mcp"
    card = Card(
        name=options.name,
        endpoint=endpoint,
        game_types=tuple(games()),
        max_concurrent_matches=options.max_concurrent,
        registration_code=os.environ.get("LEAGUE_REFEREE_KEY", ""),
    )
    link = LeagueLink(options.league, card)
    parent = os.getppid()
    referee = Referee(
        link,
        endpoint=endpoint,
        max_concurrent=options.max_concurrent,
        orphaned=lambda: options.exit_with_parent and os.getppid() != parent,
    )
    # Every player that is called takes a file.
    more_files()
    try:
        listening = await bind(options.host, options.port)
    except OSError as error:
        sys.stderr.write(f"referee: port {options.port} cannot be used: {error.strerror}\n")
        return EXIT_PORT_TAKEN
    keys = (card.registration_code, os.environ.get("LEAGUE_METRICS_KEY", ""))
    keeper = DoorKeeper(listening, RefereeServer(referee, link, keys))
    referee.seats_changed = link.identified = keeper.tell
    await keeper.open()
    collector.settle()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if options.exit_with_parent:
        loop.add_reader(sys.stdin.fileno(), _watch_parent, stop, loop)
    work = asyncio.create_task(_work(link, referee, options.name, stop))
    await stop.wait()
    if link.identity is not None:
        await referee.drain(DRAIN_S)
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)
    await keeper.aclose()
    await referee.aclose()
    await link.aclose()
    failure = None if work.cancelled() else work.exception()
    return 0 if failure is None else EXIT_REJECTED if isinstance(failure, Refused) else EXIT_FAILED


def _watch_parent(stop: asyncio.Event, loop: asyncio.AbstractEventLoop) -> None:
    """Whoever started us is gone when our standard input ends: nobody would stop us otherwise."""
    if not os.read(sys.stdin.fileno(), 4096):
        loop.remove_reader(sys.stdin.fileno())
        # There is nobody left to hand matches back to.
        logging.shutdown()
        os._exit(0)


def _begin_log(referee_id: str) -> None:
    """From now on it has a name: on every line, and as that of its file where the site says where these go."""
    who = f"referee:{referee_id}"
    records.identify(component=who, agent_id=who)
    folder = os.environ.get(log_files.FOLDER_VARIABLE)
    if folder:
        log_files.open_file(Path(folder) / "agents" / f"{safe_name(referee_id)}.log.jsonl")


async def _work(link: LeagueLink, referee: Referee, name: str, stop: asyncio.Event) -> None:
    try:
        identity = await link.register()
        _begin_log(identity.referee_id)
        sys.stdout.write(f"{name} is {identity.referee_id}\n")
        sys.stdout.flush()
        await referee.keep_reporting()
    except Refused as error:
        sys.stderr.write(f"{name} is not wanted: {error}\n")
        stop.set()
        raise
    except Exception:
        # Without heartbeats it is of no use: whoever started it can start it anew.
        logger.exception("%s failed", name)
        stop.set()
        raise


if __name__ == "__main__":
    sys.exit(main())
