"""``league local``: a whole league in memory, for a strategy that is being written."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import time
from collections.abc import Iterator
from typing import Annotated, Any

import typer
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from league_sdk.cli.console import EXIT_FAILED, EXIT_OK, err, fail, out, plain, print_json, say
from league_sdk.cli.options import Json, known_games, stem
from league_sdk.local.entrants import Entrant
from league_sdk.local.league import LocalLeague, OnMatch
from league_sdk.local.summing import summary
from league_sdk.player.loading import NotLoaded, load
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.rules.even_odd import EvenOdd
from league_sdk.rules.registry import games
from league_sdk.strategies import STRATEGIES

MAX_PLAYERS, MAX_MATCHES = 20, 100_000
BODY_CHARS = {True: 1500, False: 400}
"""How much of a message is shown, by whether something was wrong with it; ``--json`` has all of it."""


Source = Annotated[str, typer.Argument(metavar="FILE.py", help="Your strategy; FILE.py:Class if it has several.")]
Against = Annotated[str, typer.Option(metavar="A,B,…", help=f"The others: files, or of {', '.join(STRATEGIES)}.")]
Matches = Annotated[int, typer.Option(min=1, max=MAX_MATCHES, help="How often every two players meet.")]
GameType = Annotated[str, typer.Option(metavar="TYPE", help="What is played: " + ", ".join(games()) + ".")]
MoveTimeout = Annotated[
    float,
    typer.Option(
        min=0.001, metavar="SECONDS", help="Seconds that a player has for a move; a real league has the same setting."
    ),
]
Seed = Annotated[int | None, typer.Option(help="Draw the same numbers as another run with this seed.")]


def local(
    source: Source,
    against: Against = "random,history,careful",
    matches: Matches = 100,
    game: GameType = EvenOdd.game_type,
    move_timeout: MoveTimeout = 30,
    seed: Seed = None,
    as_json: Json = False,
) -> None:
    """Play a whole league on this machine, without a server.

    Your strategy and the others are judged by the code that judges real matches. At the end: the table, how much of
    it could be chance, the mistakes of your code with their lines, and the worst message: one that your code failed
    on, or else the one that it took longest to answer.

    Exit code: 0 your code made no mistake and all of its moves were in time, 1 it is not so, 2 the command line or the
    file cannot be used.
    """
    known_games([game])
    entrants = _entrants([source, *(name.strip() for name in against.split(",") if name.strip())], game)
    rng = random.Random(seed) if seed is not None else random.SystemRandom()  # noqa: S311 - a game
    league = LocalLeague(entrants, games()[game], LeagueSettings(move_timeout_s=move_timeout), rng)
    begun = time.perf_counter()
    # Ctrl-C shows what there is so far.
    with _progress(len(league.meetings) * matches, quiet=as_json) as on_match, contextlib.suppress(KeyboardInterrupt):
        asyncio.run(league.play(matches, on_match))
    found = summary(league, rounds=matches, took_s=time.perf_counter() - begun)
    mine = entrants[0]
    if as_json:
        print_json(found)
    else:
        _show(found, mine.name, game)
    failed = bool(found["mistakes"]) or league.rows[mine.player_id].technical_losses
    raise typer.Exit(EXIT_FAILED if failed else EXIT_OK)


def _entrants(sources: list[str], game: str) -> list[Entrant]:
    """The players, each with its strategy.

    Raises:
        typer.Exit: one of them cannot be loaded.
    """
    if not 2 <= len(sources) <= MAX_PLAYERS:
        fail(f"A league has 2 to {MAX_PLAYERS} players, yours among them; --against names {len(sources) - 1}.")
    try:
        makers = [load(source) for source in sources]
    except NotLoaded as error:
        fail(str(error))
    named = zip(_names(sources), makers, strict=True)
    return [Entrant.of(number, name, make, game) for number, (name, make) in enumerate(named, 1)]


def _names(sources: list[str]) -> list[str]:
    """The players' names in the table; equal ones are numbered."""
    names = [stem(source) for source in sources]
    return [
        name if names.count(name) == 1 else f"{name} {names[: index + 1].count(name)}"
        for index, name in enumerate(names)
    ]


@contextlib.contextmanager
def _progress(matches: int, *, quiet: bool) -> Iterator[OnMatch]:
    if quiet or not err.is_terminal:
        yield lambda played: None
        return
    with Progress(console=err, transient=True) as bar:
        task = bar.add_task("Playing", total=matches)
        yield lambda played: bar.update(task, completed=played)


def _show(shown: dict[str, Any], mine: str, game_type: str) -> None:
    rate = f", {shown['matches_per_second']:,.0f} a second" if shown["matches_per_second"] else ""
    title = f"{games()[game_type].display_name}: {shown['matches']:,} matches{rate}"
    table = Table(title=title, title_justify="left")
    table.add_column("#", justify="right")
    table.add_column("player", overflow="fold", min_width=10)
    for column in ("points", "won", "drawn", "lost", "share won (95 %)", "slowest"):
        table.add_column(column, justify="right", no_wrap=True)
    for row in shown["table"]:
        player = Text(plain(row["display_name"]), style="bold" if row["display_name"] == mine else "")
        technical_losses = row["technical_losses"]
        lost = f"{row['losses']} ({technical_losses} technical)" if technical_losses else f"{row['losses']}"
        slowest = f"{row['slowest_answer_ms']:.1f} ms"
        cells = (str(row[name]) for name in ("points", "wins", "draws"))
        table.add_row(str(row["tied_rank"]), player, *cells, lost, _share_with_interval(row), slowest)
    out.print(table)
    for one in shown["against"]:
        counts = f"won {one['wins']}, drawn {one['draws']}, lost {one['losses']} of {one['matches']}"
        chance = "could be chance" if one["could_be_chance"] else "more than chance"
        say(f"{mine} against {plain(one['display_name'])}: {counts}, {_share_with_interval(one)}: {chance}")
    _show_mistakes(shown["mistakes"], mine)
    _show_worst(shown["worst"], mine)


def _share_with_interval(row: dict[str, Any]) -> str:
    return f"{100 * row['share']:.0f} % ({100 * row['low']:.0f} to {100 * row['high']:.0f})"


def _show_mistakes(mistakes: list[dict[str, Any]], mine: str) -> None:
    if not mistakes:
        return
    times = sum(one["times"] for one in mistakes)
    say("")
    often = "once" if times == 1 else f"{times} times"
    say(f"{mine} failed {often}; where that cost a move, a random one was played instead:", style="bold red")
    for one in mistakes[:5]:
        where = f" ({one['where']})" if one["where"] else ""
        say(f"  {one['times']} x {one['method']}(): {plain(one['problem'])}{where}")
    if len(mistakes) > 5:
        say(f"  and {len(mistakes) - 5} other kinds")


def _show_worst(worst: dict[str, Any] | None, mine: str) -> None:
    if worst is None:
        return
    match = f" in {worst['match_id']}" if worst["match_id"] else ""
    problem = f": {plain(worst['problem'])}" if worst["problem"] else ""
    say("")
    say(f"The worst message to {mine} is {worst['message_type']}{match}, {worst['elapsed_ms']:.1f} ms{problem}")
    limit = BODY_CHARS[bool(worst["problem"])]
    for label, body in (("sent", worst["sent"]), ("received", worst["came"])):
        text = "nothing" if body is None else _json_line(body)
        say(f"  {label}: {text[:limit]}{'…' if len(text) > limit else ''}", style="dim")


def _json_line(body: Any) -> str:
    """JSON in one line that a terminal can show."""
    return plain(json.dumps(body, ensure_ascii=False))
