"""``league spar``: a practice match with a house agent, on this machine."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any, Literal

import typer
from rich.text import Text

from league_sdk.cli.console import EXIT_FAILED, EXIT_OK, fail, out, plain, print_json, say
from league_sdk.cli.options import Agent, Json, is_file, known_games, refuse_unless_agent
from league_sdk.cli.starting import started
from league_sdk.conformance.house import House
from league_sdk.conformance.practice import Practice, practise
from league_sdk.conformance.steps import Step
from league_sdk.conformance.subject import DEFAULT_GAME, Subject
from league_sdk.player.loading import NotLoaded
from league_sdk.protocol.messages import ROLES
from league_sdk.simulated_league import Identity
from league_sdk.strategies.house import house_agent
from league_sdk.transport.httpx_client import HttpxClient

Strength = Literal["easy", "medium", "hard"]
BODY_CHARS = 300
_COLOURS = {"WIN": "green", "DRAW": "yellow"}

Against = Annotated[Strength, typer.Option("--against", help="How strong the house agent is.")]
Game = Annotated[str, typer.Option(metavar="TYPE", help="What is played.")]
Second = Annotated[bool, typer.Option("--second", help="The house agent begins.")]
Verbose = Annotated[bool, typer.Option("--verbose", help="Show whole messages.")]


def spar(
    agent: Agent,
    against: Against = "medium",
    game: Game = DEFAULT_GAME,
    second: Second = False,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """Play a practice match with a house agent, outside any league, and show everything that was said.

    Your agent is asked as a referee would ask it, with a league's limits. It may be written in any language; start it
    first, or give your FILE.py, which is started for the match.

    Exit code: 0 the match was played to its end, whoever won, 1 it was not, 2 the command line or the file cannot
    be used.
    """
    known_games([game])
    refuse_unless_agent(agent)
    house = House(against, house_agent(against, game))
    role = ROLES[1] if second else ROLES[0]

    def show(step: Step, _view: object) -> None:
        if not as_json:
            _show(step, whole=verbose)

    try:
        practice = asyncio.run(_spar(agent, house, game, role, show))
    except NotLoaded as error:
        fail(str(error))
    if as_json:
        print_json(practice.to_json())
    else:
        _show_end(practice)
    raise typer.Exit(EXIT_OK if practice.played else EXIT_FAILED)


async def _spar(agent: str, house: House, game: str, role: str, show: Any) -> Practice:
    identity = Identity(known=True)
    client = HttpxClient(agent_type="check")
    try:
        if not is_file(agent):
            return await practise(Subject(url=agent), client, house, game_type=game, role=role, on_step=show)
        async with started(agent, identity, (game,)) as url:
            subject = Subject(url=url, identity=identity)
            return await practise(subject, client, house, game_type=game, role=role, on_step=show)
    finally:
        await client.aclose()


def _show(step: Step, *, whole: bool) -> None:
    if not step.message_type:
        out.print(Text(f"   the house agent plays {json.dumps(step.move)}", style="dim"))
        return
    time = "" if step.elapsed_ms is None else f" ({step.elapsed_ms} ms)"
    out.print(Text(f"-> {step.message_type}{time}", style="bold"))
    if whole:
        out.print(Text(f"   {_line(step.sent)}", style="dim"), soft_wrap=True)
    if step.problem:
        out.print(Text(f"<- {plain(step.problem)}", style="red"), soft_wrap=True)
    if step.came is not None and (whole or not step.problem):
        text = _line(_fields_of(step.came) if not whole else step.came)
        cut = text if whole or len(text) <= BODY_CHARS else text[:BODY_CHARS] + "…"
        out.print(Text(f"<- {cut}"), soft_wrap=True)


def _fields_of(body: Any) -> Any:
    """What an answer says, without the fields that every answer has."""
    result = body.get("result", body) if isinstance(body, dict) else body
    if not isinstance(result, dict):
        return result
    return {name: value for name, value in result.items() if name not in _EVERYWHERE} or result


_EVERYWHERE = ("protocol", "sender", "timestamp", "conversation_id", "auth_token", "match_id", "player_id")


def _line(body: Any) -> str:
    return plain(json.dumps(body, ensure_ascii=False))


def _show_end(practice: Practice) -> None:
    for row in practice.view.get("board", ()):
        say("   " + " ".join(str(cell) or "." for cell in row))
    style = _COLOURS.get(practice.status, "red")
    out.print(Text.assemble((practice.status, f"bold {style}"), f": {plain(practice.reason)}"), soft_wrap=True)
