"""``python -m league_sdk.judging``: one referee worker as a process."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from aiohttp import web

from league_sdk.judging.clock import SystemClock
from league_sdk.judging.league_link import Card, LeagueLink, Refused
from league_sdk.judging.referee import Referee
from league_sdk.protocol import rpc
from league_sdk.protocol.envelope import LEAGUE_MANAGER, envelope
from league_sdk.protocol.errors import LeagueError, UnknownMethod, league_error
from league_sdk.protocol.limits import MAX_BODY_BYTES
from league_sdk.rules.registry import games

DRAIN_S = 3.0
EXIT_PORT_TAKEN, EXIT_REJECTED = 4, 3


def main() -> int:
    """Run a referee until SIGTERM; returns the exit code."""
    options = _parse()
    logging.basicConfig(
        level=os.environ.get("LEAGUE_LOG_LEVEL", "WARNING"),
        format=f"%(asctime)s %(levelname)s {options.name}: %(message)s",
    )
    # One line for each player call is httpx's idea of INFO.
    logging.getLogger("httpx").setLevel(logging.WARNING)
    return asyncio.run(run(options))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="referee", description="A referee worker of a league.")
    parser.add_argument("--league", required=True, help="the league manager's address, http://…/mcp")
    parser.add_argument("--port", type=int, default=8001)
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen at")
    parser.add_argument("--endpoint", help="the address players and the league manager call")
    parser.add_argument("--name", help="shown in the admin; with the port it fixes the referee's id")
    parser.add_argument("--max-concurrent", type=int, default=32, help="matches at once")
    parser.add_argument("--exit-with-parent", action="store_true", help="end when standard input ends")
    parser.add_argument("--started-by", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
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
    referee = Referee(link, endpoint=endpoint, max_concurrent=options.max_concurrent)
    runner = web.AppRunner(_application(referee, link), access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, options.host, options.port, reuse_address=True).start()
    except OSError as error:
        sys.stderr.write(f"referee: port {options.port} cannot be used: {error.strerror}\n")
        await runner.cleanup()
        return EXIT_PORT_TAKEN
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
    await runner.cleanup()
    await referee.aclose()
    await link.aclose()
    return EXIT_REJECTED if work.done() and not work.cancelled() and work.exception() else 0


def _watch_parent(stop: asyncio.Event, loop: asyncio.AbstractEventLoop) -> None:
    """Whoever started us is gone when our standard input ends: nobody would stop us otherwise."""
    if not os.read(sys.stdin.fileno(), 4096):
        loop.remove_reader(sys.stdin.fileno())
        # There is nobody left to hand matches back to.
        os._exit(0)


async def _work(link: LeagueLink, referee: Referee, name: str, stop: asyncio.Event) -> None:
    try:
        identity = await link.register()
        sys.stdout.write(f"{name} is {identity.referee_id}\n")
        sys.stdout.flush()
        await referee.keep_reporting()
    except Refused as error:
        sys.stderr.write(f"{name} is not wanted: {error}\n")
        stop.set()
        raise


def _acknowledge(params: dict[str, Any]) -> dict[str, Any]:
    """For messages that need no action here."""
    return {"status": "ok"}


def _application(referee: Referee, link: LeagueLink) -> web.Application:
    begun = time.monotonic()
    clock = SystemClock()
    methods: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
        "start_match": referee.start_match,
        "get_match_state": referee.match_state,
        "ping": _acknowledge,
        "notify_round": _acknowledge,
        "notify_league_completed": _acknowledge,
    }

    async def mcp(request: web.Request) -> web.Response:
        raw = await request.read()
        body = None
        try:
            rpc.check_http(request.headers.get("Content-Type", ""), len(raw))
            body = rpc.loads(raw)
            call = rpc.read_request(body)
            handler = methods.get(call.method)
            if handler is None:
                raise UnknownMethod(
                    "This referee has no such method.",
                    field="method",
                    seen=call.method,
                    expected=", ".join(sorted(methods)),
                )
            reply = rpc.result(call.id, handler(call.params))
            if call.notification:
                return web.Response(status=204)
        except LeagueError as error:
            who = link.identity
            data = league_error(error, original_message_type=None)
            message = envelope(
                data.pop("message_type"),
                sender=f"referee:{who.referee_id}" if who else LEAGUE_MANAGER,
                conversation_id="conv-error",
                now=clock.now(),
                **data,
            )
            reply = rpc.error(rpc.request_id(body), error.rpc_code, error.message, message)
        return web.Response(body=rpc.dumps(reply), content_type="application/json")

    async def health(request: web.Request) -> web.Response:
        who = link.identity
        return web.json_response(
            {
                "status": "ok" if who else "starting",
                "agent_id": who.referee_id if who else None,
                "uptime": int(time.monotonic() - begun),
            },
            status=200 if who else 503,
        )

    application = web.Application(client_max_size=MAX_BODY_BYTES + 1)
    application.router.add_post("/mcp", mcp)
    application.router.add_get("/health", health)
    return application


if __name__ == "__main__":
    sys.exit(main())
