"""``league check``: compares an agent with the documents, clause by clause."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import typer

from league_sdk.cli.console import EXIT_FAILED, EXIT_OK, fail, print_json
from league_sdk.cli.options import Agent, Games, Json, is_file, known_games, refuse_unless_agent
from league_sdk.cli.starting import started
from league_sdk.conformance.checking import check as examine
from league_sdk.conformance.listener import own_address
from league_sdk.conformance.report import Clause, Report
from league_sdk.conformance.subject import DEFAULT_GAME, DEFAULT_REGISTER_WAIT_S, Subject
from league_sdk.conformance.text import render
from league_sdk.player.loading import NotLoaded
from league_sdk.simulated_league import Identity
from league_sdk.transport.httpx_client import HttpxClient

PLAIN_WIDTH = 100
Role = Literal["player", "referee", "manager"]


@dataclass(frozen=True, slots=True)
class _Options:
    """What the command line says of the agent and the check."""

    url: str
    role: Role
    games: Sequence[str]
    identity: Identity | None
    listen: str | None
    manager_port: int
    wait_s: float
    send_league_completed: bool
    shows_progress: bool


AsRole = Annotated[Role, typer.Option("--as", help="What it is.")]
PlayerId = Annotated[str | None, typer.Option(metavar="ID", help="Players: the id it is registered under, if it is.")]
LeagueId = Annotated[str | None, typer.Option(metavar="ID", help="Players: the league it is registered in, if it is.")]
Listen = Annotated[
    str | None, typer.Option(metavar="HOST", help="This machine's address for answers by POST; found out by itself.")
]
ManagerPort = Annotated[
    int,
    typer.Option(metavar="PORT", min=0, max=65535, help="Referees: where to stand in for the league manager; 0: any."),
]
Wait = Annotated[
    float, typer.Option(metavar="SECONDS", min=0, help="Referees: how long to wait for their registration.")
]
SendLeagueCompleted = Annotated[
    bool, typer.Option("--farewell/--no-farewell", help="Players: send LEAGUE_COMPLETED at the end.")
]
Verbose = Annotated[bool, typer.Option("--verbose", help="Show what was sent and received for every clause.")]


def check(
    agent: Agent,
    role: AsRole = "player",
    game: Games = None,
    player_id: PlayerId = None,
    league_id: LeagueId = None,
    listen: Listen = None,
    manager_port: ManagerPort = 0,
    wait: Wait = DEFAULT_REGISTER_WAIT_S,
    send_league_completed: SendLeagueCompleted = True,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Check an agent against the documents.

    Talks to it as a league would, outside any league, and reports clause by clause what was sent and received, what the
    documents expect and where they say so. Start your agent first, or give your FILE.py, which is started for the
    check; it need not be registered. Without --game it plays even_odd.

    A referee registers with its league manager when it starts: let the check wait for it, then start the referee. The
    check of a league manager registers a referee and players that stay registered: use one without a class in it.

    Exit code: 0 a league can use the agent as it is, 1 it cannot or that is not known, 2 the command line or the file
    cannot be used.
    """
    options = _Options(
        url=agent,
        role=role,
        games=known_games(game) or (DEFAULT_GAME,),
        identity=_identity(player_id, league_id),
        listen=listen,
        manager_port=manager_port,
        wait_s=wait,
        send_league_completed=send_league_completed,
        shows_progress=sys.stderr.isatty() and not as_json,
    )
    report = _report(options)
    if as_json:
        print_json(report.to_json())
    else:
        colour = sys.stdout.isatty()
        width = shutil.get_terminal_size((PLAIN_WIDTH, 24)).columns if colour else PLAIN_WIDTH
        print(render(report, width=width, colour=colour, everything=verbose), end="")
    raise typer.Exit(EXIT_OK if report.can_play else EXIT_FAILED)


def _report(options: _Options) -> Report:
    """Check the agent that the command line names.

    Raises:
        typer.Exit: it cannot be checked.
    """
    by_file = is_file(options.url)
    if by_file and options.role != "player":
        fail("A file is checked as a player; start a referee or league manager and give its address.")
    refuse_unless_agent(options.url)
    try:
        return asyncio.run(_check_file(options) if by_file else _check(options))
    except NotLoaded as error:
        fail(str(error))
    except OSError as error:
        fail(f"cannot listen for the agent's own calls: {error}; name an address of this machine with --listen")


async def _check_file(options: _Options) -> Report:
    """Start a player with a student's strategy, as if it had registered for the check, and check it."""
    identity = options.identity or Identity(known=True)
    async with started(options.url, identity, options.games) as url:
        return await _check(replace(options, url=url, identity=identity))


async def _check(options: _Options) -> Report:
    client = HttpxClient(agent_type="check")
    try:
        subject = Subject(
            url=options.url,
            role=options.role,
            listen=options.listen or await own_address(options.url),
            game_types=options.games,
            identity=options.identity,
            send_league_completed=options.send_league_completed,
            manager_port=options.manager_port,
            register_wait_s=options.wait_s,
            on_listening=_listening,
        )
        return await examine(subject, client, _progress if options.shows_progress else None)
    finally:
        await client.aclose()
        if options.shows_progress:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _listening(endpoint: str) -> None:
    print(f"Standing in for the league manager at {endpoint}: start your referee with it.", file=sys.stderr, flush=True)


def _identity(player_id: str | None, league_id: str | None) -> Identity | None:
    if player_id is None and league_id is None:
        return None
    fields = {"player_id": player_id, "league_id": league_id}
    return Identity(**{name: value for name, value in fields.items() if value is not None}, known=player_id is not None)


def _progress(clause: Clause) -> None:
    """Show the title of the last clause in one line of the terminal; it is erased before the report."""
    print(f"\r\x1b[K{clause.title}", end="", file=sys.stderr, flush=True)
