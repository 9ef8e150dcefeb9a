"""The command line of a player: ``python -m league_sdk.player``, or ``run(MyStrategy)`` in a student's file."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from league_sdk.dialling import Ended
from league_sdk.player.agent import Player
from league_sdk.player.configured import options_on
from league_sdk.player.dry_run import dry_run
from league_sdk.player.journal import Journal
from league_sdk.player.memory import Memory
from league_sdk.player.reaching import CALL_WAIT_S, KeptTokens, keep_reachable
from league_sdk.player.registration import RegistrationRefused, league_address, register_all
from league_sdk.player.server import PlayerServer
from league_sdk.protocol.limits import MAX_NAME_CHARS
from league_sdk.rules.registry import games
from league_sdk.strategies import STRATEGIES
from league_sdk.strategies.base import NotSetUp, Strategy

EXIT_REJECTED, EXIT_ENDED = 3, 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """The ports at which players listen, and the ways in which they reach the league.

    Attributes:
        league: the league's address.
        host, port: where to listen; port 0 is a free one; the second player listens at the next port, and so on.
        dial_out: open no port, fetch messages from the league.
        listen: never fetch messages.
        call_wait_s: seconds without a call of the league after which messages are fetched, too.
        data: the folder for auth_tokens; None keeps none.
        code: the registration code, if there is one.
        exit_with_parent: end when stdin ends.
    """

    league: str
    host: str = "127.0.0.1"
    port: int = 8101
    dial_out: bool = False
    listen: bool = False
    call_wait_s: float = CALL_WAIT_S
    data: Path | None = None
    code: str | None = None
    exit_with_parent: bool = False


def _parser(own_strategy: bool, *, configured: Collection[str], dry_run: bool = False) -> argparse.ArgumentParser:
    """The parser of a command line; the options in ``configured`` have values from a file and need not be given."""
    parser = argparse.ArgumentParser(description="A player of the league.")
    needed = {name: name not in configured and not dry_run for name in ("league", "name")}
    parser.add_argument("--league", required=needed["league"], help="the league's address: http://127.0.0.1:8000/mcp")
    parser.add_argument("--name", required=needed["name"], default="Rehearsal", help="the name on the table")
    parser.add_argument(
        "--config", type=Path, metavar="FOLDER", help="take name, games, port and league from agents/agents_config.json"
    )
    parser.add_argument("--player", metavar="ID", help="which player of that file, such as P01")
    parser.add_argument(
        "--dry-run", action="store_true", help="play a match here, without league and port, and say how"
    )
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--dial-out", action="store_true", help="open no port: fetch messages from the league")
    ways.add_argument("--listen", action="store_true", help="never fetch messages, even if the league does not call")
    parser.add_argument(
        "--call-wait",
        type=float,
        default=CALL_WAIT_S,
        metavar="SECONDS",
        help="without a call of the league for this long after registering, fetch messages, too (%(default)g)",
    )
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on and to register")
    parser.add_argument("--port", type=int, default=8101, help="0 is a free one; with --count the first of N")
    if not own_strategy:
        parser.add_argument(
            "--strategy", choices=list(STRATEGIES), default="random", help="how it decides (docs/strategies.md)"
        )
    installed = ", ".join(games())
    parser.add_argument("--game", action="append", metavar="TYPE", help=f"a game to register for: {installed}")
    parser.add_argument("--league-id", help="which league, when there are several")
    parser.add_argument("--think", type=float, default=0.0, metavar="SECONDS", help="how long a choice takes at least")
    parser.add_argument("--count", type=int, default=1, metavar="N", help="N players in one process, on N ports")
    parser.add_argument("--data", type=Path, help="a folder to keep history, log and auth_token in")
    parser.add_argument("--exit-with-parent", action="store_true", help="end when stdin ends")
    parser.add_argument("--registration-code", help=argparse.SUPPRESS)
    parser.add_argument(
        "--code-from-stdin",
        action="store_true",
        help="read the registration code from stdin, as one line",
    )
    return parser


def make_players(options: argparse.Namespace, make: Callable[[], Strategy]) -> list[Player]:
    """Make the players of one process; if there are several, their names are numbered from 1."""
    several = options.count > 1
    return [
        Player(
            f"{options.name} {number}" if several else options.name,
            make(),
            Memory(options.data),
            journal=Journal(options.data),
            think_s=options.think,
            game_types=tuple(options.game or ()),
            league_id=options.league_id or None,
        )
        for number in range(1, options.count + 1)
    ]


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def read_line(descriptor: int) -> str:
    """Read one line of a pipe and nothing after it: ``--exit-with-parent`` waits for the end of the same pipe.

    Args:
        descriptor: read until a line ends, the pipe ends, or 4096 bytes were read.
    """
    line = b""
    while len(line) < 4096 and (byte := os.read(descriptor, 1)) not in (b"", b"\n"):
        line += byte
    return line.decode("utf-8", "replace").strip()


def _watch_parent(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    def read() -> None:
        # Use os.read: a daemon thread would hold the lock of sys.stdin at interpreter exit.
        while os.read(0, 4096):
            pass
        loop.call_soon_threadsafe(stop.set)

    threading.Thread(target=read, name="watch-parent", daemon=True).start()


def _summary(players: Sequence[tuple[str, Player]]) -> str:
    (endpoint, one), *rest = players
    if not rest:
        where = f"at {endpoint}" if endpoint else "and fetches its messages"
        return f"{one.name} is {one.player_id} of {one.league_id} {where}"
    # The players register concurrently, so the order of their ids is arbitrary.
    ids = sorted((player.player_id for _endpoint, player in players), key=lambda code: (len(code), code))
    where = f"at {endpoint} to {rest[-1][0]}" if endpoint else "and fetch their messages"
    return f"{len(players)} players are {ids[0]} to {ids[-1]} of {one.league_id}, in any order, {where}"


async def _open_ports(ways: Ways, players: Sequence[Player], servers: list[PlayerServer]) -> list[int]:
    """Open a port for each player: the league never plays two matches at one address and port at the same time.

    Args:
        servers: each server is appended as soon as its port is open.

    Raises:
        OSError: a port is taken; the text names it.
    """
    ports = []
    for number, player in enumerate(players):
        port = ways.port and ways.port + number
        server = PlayerServer({"/mcp": player})
        try:
            ports.append(await server.start(ways.host, port))
        except (OSError, OverflowError) as error:
            raise OSError(f"cannot listen on {ways.host}:{port}: {error}") from error
        servers.append(server)
    return ports


async def serve(ways: Ways, players: Sequence[Player], say: Callable[[str], None] = _say) -> int:
    """Open the ports, register, and play until told to stop; returns the exit code.

    Args:
        say: called with a line of text for each thing that happens.
    """
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    with contextlib.suppress(NotImplementedError):  # on Windows Ctrl-C raises KeyboardInterrupt
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
    if ways.exit_with_parent:
        _watch_parent(loop, stop)
    servers: list[PlayerServer] = []
    token_store = KeptTokens(ways.data, ways.league)
    try:
        for player in players:
            token_store.recall(player)
        endpoints = await _endpoints(ways, players, servers)
    except (OSError, ValueError) as error:
        await asyncio.gather(*(server.stop() for server in servers))
        say(str(error))
        return 1
    playing = asyncio.create_task(_play(ways, list(zip(endpoints, players, strict=True)), token_store, say))
    stopping = asyncio.create_task(stop.wait())
    code = 0
    try:
        await asyncio.wait({playing, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if playing.done() and not stop.is_set():
            playing.result()
            await stopping
    except RegistrationRefused as refused:
        say(f"REJECTED: {refused}")
        code = EXIT_REJECTED
    except Ended as ended:
        say(f"ENDED: {ended}")
        code = EXIT_ENDED
    finally:
        for task in (playing, stopping):
            task.cancel()
        await asyncio.gather(playing, stopping, return_exceptions=True)
        await asyncio.gather(*(server.stop() for server in servers))
    return code


async def _endpoints(ways: Ways, players: Sequence[Player], servers: list[PlayerServer]) -> list[str]:
    """Open the ports; returns the address of each player, empty texts if they listen nowhere.

    Raises:
        OSError: a port is taken.
    """
    if ways.dial_out:
        return [""] * len(players)
    ports = await _open_ports(ways, players, servers)
    # The address of "every interface" cannot be called; register the loopback address instead.
    host = "127.0.0.1" if ways.host in ("0.0.0.0", "::") else ways.host  # noqa: S104
    host = f"[{host}]" if ":" in host else host
    return [f"http://{host}:{port}/mcp" for port in ports]


async def _play(
    ways: Ways, players: Sequence[tuple[str, Player]], token_store: KeptTokens, say: Callable[[str], None]
) -> None:
    """Register, and see that the league reaches every player.

    Raises:
        RegistrationRefused: the league refused one of the players.
        Ended: one of the players cannot be reached any more; the text says why.
    """

    def accepted(player: Player) -> None:
        try:
            token_store.keep(player)
        except OSError as error:
            say(f"{player.name}: the auth_token could not be saved: {error}")

    await register_all(players, league=ways.league, code=ways.code, accepted=accepted)
    say(_summary(players))
    if not ways.listen:
        wait_s = ways.call_wait_s
        await asyncio.gather(*(keep_reachable(one, at, say=say, call_wait_s=wait_s) for at, one in players))


def run(strategy: Callable[[], Strategy] | None = None, arguments: Sequence[str] | None = None) -> int:
    """Read the command line and play.

    Args:
        strategy: a Strategy class; None lets ``--strategy`` choose one of ours.
        arguments: the command line; None takes the process's own.

    Returns:
        The exit code: 0 when told to stop, 1 when the port is taken or a kept token cannot be read, 3 when the league
        rejected us, 4 when another program fetches our messages or the league does not know our token any more.
        With ``--dry-run`` 0 when every reply was a valid answer, else 1.
    """
    arguments_list = list(sys.argv[1:] if arguments is None else arguments)
    try:
        configured, problem = options_on(arguments_list), ""
    except ValueError as error:
        configured, problem = {}, str(error)
    parser = _parser(strategy is not None, configured=configured, dry_run="--dry-run" in arguments_list)
    if problem:
        parser.error(problem)
    # The command line takes precedence over the configuration file.
    configured_games = configured.pop("game", None)
    parser.set_defaults(**configured)
    options = parser.parse_args(arguments_list)
    options.game = options.game or configured_games
    try:
        options.league = "" if options.dry_run else league_address(options.league)
    except ValueError as error:
        parser.error(str(error))
    if options.count < 1 or min(options.think, options.call_wait) < 0 or not 0 < len(options.name) <= MAX_NAME_CHARS:
        parser.error(f"--count from 1, --think and --call-wait from 0, --name of 1 to {MAX_NAME_CHARS} characters")
    if options.code_from_stdin:
        options.registration_code = read_line(0)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    # httpx logs a line for every request.
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        return asyncio.run(_main(options, strategy or STRATEGIES[options.strategy]))
    except NotSetUp as error:
        parser.error(str(error))


async def _main(options: argparse.Namespace, make: Callable[[], Strategy]) -> int:
    if options.dry_run:
        return await dry_run(Player(options.name, make(), game_types=tuple(options.game or ())))
    ways = Ways(
        league=options.league,
        host=options.host,
        port=options.port,
        dial_out=options.dial_out,
        listen=options.listen,
        call_wait_s=options.call_wait,
        data=options.data,
        code=options.registration_code,
        exit_with_parent=options.exit_with_parent,
    )
    return await serve(ways, make_players(options, make))
