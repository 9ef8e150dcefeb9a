"""GET /health and /metrics of a conductor that is a process of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web
from django.db import close_old_connections

from leaguesite.api import keys
from leaguesite.observing import health, metrics
from leaguesite.serving.threads import pages_thread
from matches.conducting.conductor import Conductor

NO_LOOK = "no look at the database for five seconds"


def beside(host: str, port: int) -> Callable[[Conductor], Awaitable[None]]:
    """What a conductor is watched by, to run beside it until it is cancelled.

    Args:
        host: the address to listen at.
        port: its port; 0: nobody watches.
    """

    async def watch(conductor: Conductor) -> None:
        health.add_check("conductor", lambda: conductor.trouble or ("" if conductor.alive else NO_LOOK))
        runner = await _serve(host, port) if port else None
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            if runner is not None:
                await runner.cleanup()

    return watch


def application() -> web.Application:
    """The two routes."""

    async def in_thread(work: Callable[[], Any]) -> Any:
        # Nobody asks for pages here, and the conductor's own thread must not wait for whoever watches.
        return await asyncio.get_running_loop().run_in_executor(pages_thread, _closing, work)

    async def show_health(request: web.Request) -> web.Response:
        # Its condition asks no database: a look is what shows that there is one.
        found = health.status()
        return web.json_response(found, status=200 if found["status"] == "ok" else 503)

    async def show_metrics(request: web.Request) -> web.Response:
        scheme, _space, key = request.headers.get("Authorization", "").partition(" ")
        caller = request.remote or ""
        try:
            known = scheme.lower() == "bearer" and await in_thread(
                lambda: keys.opens(key.strip(), caller, keys.may_read_metrics)
            )
        except keys.TooManyKeys as wait:
            return web.json_response({"error": str(wait)}, status=429, headers={"Retry-After": str(wait.seconds)})
        if not known:
            sentence = "Send the instructor's API key: Authorization: Bearer <key>."
            return web.json_response({"error": sentence}, status=401, headers={"WWW-Authenticate": "Bearer"})
        return web.Response(body=await in_thread(metrics.text), headers={"Content-Type": metrics.CONTENT_TYPE})

    made = web.Application(client_max_size=1024)
    made.router.add_get("/health", show_health)
    made.router.add_get("/metrics", show_metrics)
    return made


async def _serve(host: str, port: int) -> web.AppRunner:
    runner = web.AppRunner(application(), access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
    except OSError:
        await runner.cleanup()
        raise
    return runner


def _closing(work: Callable[[], Any]) -> Any:
    try:
        return work()
    finally:
        close_old_connections()
