"""Players that try to escape a loss: most behave well until a GAME_OVER says that they have not won; then they cheat.

``python -m tests.bots.hostile.losers --league URL --league-id ID --log FILE NAME:TRICK …`` registers them one after
the other, prints their ids and addresses as one JSON line, and serves until standard input ends. An empty TRICK is a
player that behaves well. ``--fixed`` gives the port of each player; without it they take any free port.

The log has one JSON line for every GAME_OVER that any of them received (``game_over``: its params), for every trick
that was done (``trick``), and for every GAME_ERROR (``game_error``). A line ``go`` on standard input releases the
answers that the trick ``hold_until_told`` holds back.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gzip
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.bots.base import Call, Log, Talk
from tests.bots.hostile.base import ERROR, JOIN, OVER, Act, Agent, message, post, request, result
from tests.bots.words import meta, rpc

MAKE_MOVE = "make_move"
NUL = b"no json \x00"
BOMB = gzip.compress(b" " * 10 * 1024 * 1024)
LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
HELD_S = 4.8
"""For at most this many seconds an answer is held back: just less than the default timeout of GAME_OVER."""
FLOOD_CONNECTIONS, FLOOD_REQUESTS, FLOOD_BYTES, FLOOD_S = 100, 8, 50_000, 6.0
"""A flood sends at most 40 MB."""
QUERIES = 30


@dataclass(frozen=True)
class Trick:
    """What a player does to escape a loss.

    Attributes:
        act: answers the request at which it is done.
        at: when it is done: at a ``GAME_OVER`` of a match not won, at a ``GAME_ERROR``, at ``any`` request but the
            invitation, or when its position is ``hopeless``.
        moves_badly: whether the player makes an illegal move first, so that the referee sends a GAME_ERROR.
    """

    act: Act
    at: str = "GAME_OVER"
    moves_badly: bool = False


TRICKS: dict[str, Trick] = {}


def trick(at: str = "GAME_OVER", *, moves_badly: bool = False) -> Callable[[Act], Act]:
    """Register a function as a trick."""

    def enter(act: Act) -> Act:
        TRICKS[getattr(act, "__name__", "")] = Trick(act, at, moves_badly)
        return act

    return enter


# Malformed answers ------------------------------------------------------------------------


@trick()
async def nul_as_text(talk: Talk, call: Call) -> None:
    """Answers plain text with a NUL in it, which a database refuses."""
    await talk.say(NUL, kind="text/plain")


@trick("any")
async def utf_16_page_always(talk: Talk, call: Call) -> None:
    """Answers every request but the invitation with an error page in UTF-16."""
    page = "<h1>Internal Server Error</h1>".encode("utf-16")
    await talk.say(page, kind="text/html", status="500 Internal Server Error")


@trick()
async def lone_surrogates(talk: Talk, call: Call) -> None:
    """Answers with lone surrogates in a key and in a value, which cannot be encoded."""
    await talk.say(b'{"jsonrpc": "2.0", "id": 1, "result": {"status\\ud800": "\\udfff", "a": "\\ud83d"}}')


@trick()
async def two_hundred_deep(talk: Talk, call: Call) -> None:
    """Answers with two hundred lists, one inside the other."""
    await talk.say(b'{"jsonrpc": "2.0", "id": 1, "result": ' + b"[" * 200 + b"]" * 200 + b"}")


@trick()
async def huge_integers(talk: Talk, call: Call) -> None:
    """Answers with integers too large for a database column, and an id too large for a float."""
    digits = b"9" * 4200
    await talk.say(b'{"jsonrpc": "2.0", "id": 1e999, "result": {"a": ' + digits + b', "b": -' + digits + b"}}")


@trick()
async def duplicate_keys(talk: Talk, call: Call) -> None:
    """Answers with two results and two ids in one object."""
    await talk.say(b'{"jsonrpc": "2.0", "id": 1, "id": "\\u0000", "result": {"status": 1, "status": {}}, "result": 5}')


@trick()
async def invalid_utf8(talk: Talk, call: Call) -> None:
    """Answers with bytes that are not UTF-8 in a JSON string."""
    await talk.say(b'{"jsonrpc": "2.0", "id": 1, "result": {"status": "\xff\xfe\xc0\x80\xed\xa0\x80"}}')


@trick()
async def nul_in_keys_and_values(talk: Talk, call: Call) -> None:
    """Answers with NULs in JSON, in a key and in values."""
    await talk.say(b'{"jsonrpc": "2.0", "id": 1, "result": {"st\\u0000atus": "o\\u0000k", "\\u0000": ["\\u0000"]}}')


@trick()
async def long_reason(talk: Talk, call: Call) -> None:
    """Answers with a reason phrase and a header as long as HTTP libraries take, with control characters."""
    await talk.say(NUL, status="500 " + "\x01\x7f" * 3500, more="X-Long: " + "x" * 7500 + "\r\n")


@trick()
async def gzip_bomb(talk: Talk, call: Call) -> None:
    """Answers with ten million spaces, compressed."""
    await talk.say(BOMB, more="Content-Encoding: gzip\r\n")


@trick("GAME_ERROR", moves_badly=True)
async def nul_to_game_error(talk: Talk, call: Call) -> None:
    """Makes an illegal move, then answers the GAME_ERROR with a NUL."""
    await talk.say(NUL, kind="text/plain")


# Late answers ------------------------------------------------------------------------


@trick()
async def hold_until_told(talk: Talk, call: Call) -> None:
    """Holds back the answer to GAME_OVER until the test releases it: meanwhile the referee cannot report."""
    player = talk.agent
    assert isinstance(player, Loser)
    # Answer in the end even if it is never released: the referee may have been killed.
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(player.released.wait(), HELD_S)
    await talk.say(result(call, message(call)))


@trick()
async def hold_and_query(talk: Talk, call: Call) -> None:
    """Sends thirty queries for a large schedule, without a token, and holds back the answer while the site works."""
    player = talk.agent
    assert isinstance(player, Loser)
    query = rpc("get_schedule", {"league_id": player.large})
    queries = [asyncio.create_task(post(player.league, query)) for _ in range(QUERIES)]
    await asyncio.sleep(HELD_S)
    await talk.say(result(call, message(call)))
    await asyncio.gather(*queries, return_exceptions=True)


@trick()
async def flood_the_referee(talk: Talk, call: Call) -> None:
    """Floods the referee's port over a hundred connections before it answers."""
    player = talk.agent
    assert isinstance(player, Loser)
    await flood(player.referee)
    await talk.say(result(call, message(call)))


@trick("hopeless")
async def flood_instead_of_moving(talk: Talk, call: Call) -> None:
    """When about to lose, floods the referee instead of moving, so that its silence looks like the referee's fault."""
    player = talk.agent
    assert isinstance(player, Loser)
    await flood(player.referee)
    await talk.stay_silent()


async def flood(url: str) -> None:
    """Send large requests to a URL over many connections, for a few seconds."""
    raw = request(url, json.dumps(rpc("x", {"a": "[" * FLOOD_BYTES})).encode())

    async def one() -> None:
        parts = urlsplit(url)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
            try:
                for _ in range(FLOOD_REQUESTS):
                    writer.write(raw)
                    await writer.drain()
                await reader.read()
            finally:
                writer.close()

    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(asyncio.gather(*(one() for _ in range(FLOOD_CONNECTIONS))), FLOOD_S)


# The player -----------------------------------------------------------------------------------


@dataclass(kw_only=True)
class Loser(Agent):
    """A player with a trick, or without.

    Attributes:
        name: the name under which it registers.
        trick_name: the name of its trick; empty for none.
        league: the URL of the league manager.
        large: the id of a league whose schedule is expensive to compute.
        think_s: seconds that it waits before a choice of even or odd.
        log: where its GAME_OVERs, GAME_ERRORs and tricks are logged.
        player_id: its id, once registered.
        referee: the URL of the referee in the last invitation.
        released: set when the test lets held answers go.
    """

    name: str = ""
    trick_name: str = ""
    league: str = ""
    large: str = ""
    think_s: float = 0.0
    log: Log
    player_id: str = ""
    referee: str = ""
    released: asyncio.Event = field(default_factory=asyncio.Event)

    async def register(self, league_id: str) -> None:
        """Register for a league."""
        about = meta(self.name, self.url, "even_odd", "tic_tac_toe")
        fields = {"message_type": "LEAGUE_REGISTER_REQUEST", "league_id": league_id, "player_meta": about}
        raw = await post(self.league, rpc("register_player", fields))
        # The body may be chunked: skip the lengths around the JSON.
        answer = json.loads(raw[raw.index(b"{") : raw.rindex(b"}") + 1])
        self.player_id, self.token = answer["result"]["player_id"], answer["result"]["auth_token"]

    async def _answer(self, talk: Talk, call: Call) -> None:
        incoming = _message_in(call.params)
        kind = incoming.get("message_type")
        self.methods.append(call.method)
        self.referee = incoming.get("referee_endpoint") or self.referee
        if kind in ("GAME_OVER", "GAME_ERROR"):
            self.log.write(**{kind.lower(): incoming}, player=self.player_id)
        own_trick = TRICKS.get(self.trick_name)
        if own_trick is not None and self._is_time_for(own_trick, call, incoming):
            self.log.write(trick=self.trick_name, player=self.player_id, match_id=incoming.get("match_id"))
            await own_trick.act(talk, call)
        elif own_trick is not None and own_trick.moves_badly and call.method == "choose_parity":
            await talk.say(result(call, message(call, auth_token=self.token, parity_choice="neither")))
        else:
            await self._behave(talk, call)

    def _is_time_for(self, own_trick: Trick, call: Call, incoming: dict[str, Any]) -> bool:
        if own_trick.at == "any":
            return call.method != JOIN
        if own_trick.at == "hopeless":
            return call.method == MAKE_MOVE and _is_hopeless(incoming["state"])
        if incoming.get("message_type") != own_trick.at:
            return False
        return own_trick.at != "GAME_OVER" or incoming["game_result"]["winner_player_id"] != self.player_id

    async def _behave(self, talk: Talk, call: Call) -> None:
        changes: dict[str, Any] = {"auth_token": self.token}
        if call.method == MAKE_MOVE:
            board = [cell for row in call.params["state"]["board"] for cell in row]
            mark, options = call.params["state"]["your_mark"], call.params["valid_options"]
            move = options[-1] if self.trick_name else _best(board, mark, options)
            changes |= {"message_type": "GAME_MOVE_RESPONSE", "move": move, "move_data": {"choice": move}}
        elif call.method == "choose_parity":
            await asyncio.sleep(self.think_s)
            # A player with a trick says even and the others odd, so that about half of its matches are lost.
            changes["parity_choice"] = "even" if self.trick_name else "odd"
        elif call.method not in (JOIN, OVER, ERROR):
            await talk.say(result(call, {"status": "received"}))
            return
        await talk.say(result(call, message(call, **changes)))


def _message_in(params: dict[str, Any]) -> dict[str, Any]:
    """The message in ``params``, or in the arguments of a tool call."""
    inner = params.get("arguments")
    return inner if isinstance(inner, dict) else params


def _wins(board: list[Any], mark: str) -> list[int]:
    """The cells with which a mark would have three in a row."""
    marks = set("XO")
    winning = []
    for line in LINES:
        free = [cell for cell in line if board[cell] not in marks]
        if len(free) == 1 and all(board[cell] == mark for cell in line if cell not in free):
            winning.append(free[0])
    return winning


def _is_hopeless(state: dict[str, Any]) -> bool:
    """Whether the opponent would win with its next move."""
    board = [cell for row in state["board"] for cell in row]
    other = next(mark for mark in state["marks"].values() if mark != state["your_mark"])
    return bool(_wins(board, other))


def _best(board: list[Any], mark: str, options: list[int]) -> int:
    """Win if possible, else block, else the middle, else any."""
    other = "O" if mark == "X" else "X"
    cells = [*_wins(board, mark), *_wins(board, other), 4, *options]
    return next(cell for cell in cells if cell in options)


async def main(options: argparse.Namespace) -> None:
    """Start and register the players, print their ids and URLs, and serve until standard input ends."""
    log = Log(Path(options.log))
    cast: list[Loser] = []
    for number, one in enumerate(options.cast):
        name, _, trick_name = one.partition(":")
        shared = {"league": options.league, "large": options.large, "think_s": options.think, "log": log}
        cast.append(
            Loser(name=name, trick_name=trick_name, port=options.fixed[number] if options.fixed else 0, **shared)
        )
        await cast[-1].start()
        if not options.known:
            await cast[-1].register(options.league_id)
    print(json.dumps({one.name: [one.player_id, one.url] for one in cast}), flush=True)
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        if line.strip() == "go":
            for one in cast:
                one.released.set()
    for one in cast:
        await one.stop()
    log.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--league", default="")
    parser.add_argument("--league-id", default="")
    parser.add_argument("--large", default="", help="a league with an expensive schedule, for hold_and_query")
    parser.add_argument("--log", required=True)
    parser.add_argument("--think", type=float, default=0.0, help="seconds before a choice")
    parser.add_argument("--fixed", type=int, nargs="*", help="the port of each player, in their order")
    parser.add_argument("--known", action="store_true", help="the players are registered already")
    parser.add_argument("cast", nargs="+", metavar="NAME:TRICK")
    asyncio.run(main(parser.parse_args()))
