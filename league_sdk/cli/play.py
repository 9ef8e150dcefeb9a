"""``league play``: a strategy as a player of a league."""

from __future__ import annotations

import asyncio
import getpass
import json
import logging
import os
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.logging import RichHandler
from rich.text import Text

from league_sdk.cli.console import EXIT_OK, err, fail, out, plain, print_line
from league_sdk.cli.options import DEFAULT_LEAGUE, Games, Json, known_games, stem
from league_sdk.player.agent import Player
from league_sdk.player.app import Ways, serve
from league_sdk.player.configured import options_of
from league_sdk.player.journal import Journal
from league_sdk.player.loading import NotLoaded, load
from league_sdk.player.memory import Memory
from league_sdk.player.mistakes import Mistake
from league_sdk.player.reaching import CALL_WAIT_S
from league_sdk.player.registration import league_address
from league_sdk.protocol.limits import MAX_NAME_CHARS
from league_sdk.strategies import STRATEGIES

DATA = Path("league_data")
_COLOURS = {"WIN": "green", "DRAW": "yellow", "LOSS": "red"}


Source = Annotated[
    str,
    typer.Argument(
        metavar="FILE.py", help=f"Your strategy; FILE.py:Class if it has several; or one of: {', '.join(STRATEGIES)}."
    ),
]
League = Annotated[str, typer.Option(envvar="LEAGUE_URL", metavar="URL", help="The league's address.")]
Name = Annotated[
    str | None, typer.Option(metavar="NAME", help="Your name in the table; by default from your user and your file.")
]
PortNumber = Annotated[int, typer.Option(min=0, max=65535, help="Where to listen; 0 is a free port.")]
Host = Annotated[str, typer.Option(metavar="HOST", help="This machine's address, as the league calls it.")]
DialOut = Annotated[bool, typer.Option("--dial-out", help="Open no port: fetch messages from the league.")]
Listen = Annotated[bool, typer.Option("--listen", help="Never fetch messages, even if the league does not call.")]
CallWait = Annotated[
    float,
    typer.Option(metavar="SECONDS", min=0, help="Without a call of the league for this long, fetch messages, too."),
]
LeagueId = Annotated[str | None, typer.Option(metavar="ID", help="Which league, when there are several.")]
Code = Annotated[
    str | None, typer.Option(envvar="LEAGUE_CODE", metavar="CODE", help="Your code, if the league asks for one.")
]
Data = Annotated[
    Path, typer.Option(metavar="FOLDER", help="Keeps history, log and token, so that you come back as the same player.")
]
Config = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="Take name, games, address and league from its agents/agents_config.json."),
]
PlayerId = Annotated[str | None, typer.Option("--player", metavar="ID", help="Which player of that file, such as P01.")]


def play(
    context: typer.Context,
    source: Source,
    league: League = DEFAULT_LEAGUE,
    name: Name = None,
    port: PortNumber = 8101,
    host: Host = "127.0.0.1",
    dial_out: DialOut = False,
    listen: Listen = False,
    call_wait: CallWait = CALL_WAIT_S,
    game: Games = None,
    league_id: LeagueId = None,
    code: Code = None,
    config: Config = None,
    player_id: PlayerId = None,
    data: Data = DATA,
    as_json: Json = False,
) -> None:
    """Play in a league: listen or dial out, register, answer, until Ctrl-C.

    Waits until the league is there. After a restart the same player goes on, with its history. A move that your code
    does not give, or that is not allowed, is replaced by a random one, and what was wrong is said with its line.

    Exit code: 0 after Ctrl-C, 1 the port is taken or the folder cannot be used, 2 the command line or the file cannot
    be used, 3 the league refused, 4 another program plays with this token, or the league does not know it any more.
    """
    if dial_out and listen:
        fail("--dial-out and --listen exclude each other.")
    options = context.params | _configured(context, config, player_id)
    ways = Ways(
        league=_address(options["league"]),
        host=options["host"],
        port=options["port"],
        dial_out=dial_out,
        listen=listen,
        call_wait_s=call_wait,
        data=data,
        code=code or None,
    )
    player = _player(source, options["name"], Memory(data), known_games(options["game"]), options["league_id"])
    player.journal = Journal(data)
    terminal = _Lines() if as_json else _Terminal()
    player.on_played, player.decider.on_mistake = terminal.played, terminal.mistake
    _log_to_terminal(quiet=as_json)
    try:
        result = asyncio.run(serve(ways, [player], terminal.say))
    except KeyboardInterrupt:
        result = EXIT_OK
    raise typer.Exit(result)


def _configured(context: typer.Context, config: Path | None, player_id: str | None) -> dict[str, Any]:
    """What the course's configuration says of a player, except for options of the command line or the environment.

    Raises:
        typer.Exit: it cannot be used.
    """
    try:
        options = options_of(config, player_id)
    except ValueError as error:
        fail(str(error))
    return {name: value for name, value in options.items() if _is_default(context, name)}


def _is_default(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "DEFAULT"


def _address(league: str) -> str:
    try:
        return league_address(league)
    except ValueError as error:
        fail(f"--league: {error}")


def _player(
    source: str, name: str | None, memory: Memory, game_types: tuple[str, ...], league_id: str | None
) -> Player:
    """The player with a student's strategy.

    Raises:
        typer.Exit: the file or the name cannot be used.
    """
    try:
        strategy = load(source)()
    except NotLoaded as error:
        fail(str(error))
    display_name = name or f"{getpass.getuser()}'s {stem(source)}"
    if not 0 < len(display_name) <= MAX_NAME_CHARS:
        fail(f"--name has 1 to {MAX_NAME_CHARS} characters, not {len(display_name)}.")
    return Player(display_name, strategy, memory, game_types=game_types, league_id=league_id)


class _Terminal:
    """Prints what happens, in words for people."""

    def say(self, text: str) -> None:
        out.print(Text(plain(text)), soft_wrap=True)
        if "address already in use" in text.lower():
            out.print(Text("Another program listens there: give another --port, or --port 0 for a free one."))

    def played(self, row: dict[str, Any]) -> None:
        result = str(row["result"])
        drawn = "" if row["drawn_number"] is None else f", drawn: {row['drawn_number']}"
        status = "" if row["status"] in ("WIN", "DRAW", "CANCELLED") else f" ({row['status']})"
        mine = "" if row["my_choice"] is None else f", you played {_short(row['my_choice'])}"
        line = Text.assemble(
            f"{plain(row['match_id'])} against {plain(row['opponent_id'])}: ",
            (result, _COLOURS.get(result, "")),
            plain(f"{status}{mine}{drawn}"),
        )
        out.print(line, soft_wrap=True)

    def mistake(self, mistake: Mistake) -> None:
        out.print(Text(f"{plain(mistake)}{mistake.consequence}", style="bold red"), soft_wrap=True)


class _Lines(_Terminal):
    """Prints what happens, a line of JSON for each event."""

    def say(self, text: str) -> None:
        print_line({"event": "said", "text": text})

    def played(self, row: dict[str, Any]) -> None:
        print_line({"event": "played", **row})

    def mistake(self, mistake: Mistake) -> None:
        print_line({"event": "mistake", "method": mistake.method, "problem": mistake.problem, "where": mistake.where})


def _short(move: object) -> str:
    text = move if isinstance(move, str) else json.dumps(move)
    return text if len(text) <= 40 else text[:39] + "…"


def _log_to_terminal(*, quiet: bool) -> None:
    """Show warnings of the player; with LEAGUE_DEBUG=1 also the tracebacks of a strategy's mistakes."""
    handler = RichHandler(console=err, show_path=False, show_level=False, markup=False, rich_tracebacks=False)
    level = logging.ERROR if quiet else logging.WARNING
    logging.basicConfig(level=level, format="%(message)s", datefmt="%H:%M:%S", handlers=[handler])
    if os.environ.get("LEAGUE_DEBUG") == "1":
        logging.getLogger("league_sdk.player").setLevel(logging.DEBUG)
