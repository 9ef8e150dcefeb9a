"""GET /health and /metrics of a conductor that runs in a process of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from aiohttp import web

from agents_registry.words import too_many_attempts
from league_sdk.protocol.errors import TooOften
from leaguesite.api.keys import METRICS_KEY
from leaguesite.observing import health
from leaguesite.serving.threads import pages_thread
from matches.conducting.conductor import Conductor
from matches.observing import metrics
from storage.databases import outside_requests

NO_LOOK = "no look at the database for five seconds"


async def watch(conductor: Conductor, host: str, port: int) -> None:
    """Serve /health and /metrics of a conductor until cancelled.

    Args:
        conductor: runs on the same loop.
        host: the address to listen at.
        port: its port; 0: serve nothing.
    """
    health.add_check("conductor", lambda: conductor.trouble or ("" if conductor.alive else NO_LOOK))
    runner = web.AppRunner(application(), access_log=None)
    try:
        if port:
            await runner.setup()
            await web.TCPSite(runner, host, port).start()
        await asyncio.get_running_loop().create_future()
    finally:
        await runner.cleanup()


def application() -> web.Application:
    """An application with the two routes."""

    async def in_thread(work: Callable[[], Any]) -> Any:
        # This process serves no pages, so their thread is free; the conductor's thread must not wait for monitoring.
        return await asyncio.get_running_loop().run_in_executor(pages_thread, outside_requests()(work))

    async def show_health(request: web.Request) -> web.Response:
        # No query is needed: if the conductor has looked at the rows, the database works.
        status = health.status()
        return web.json_response(status, status=200 if status["status"] == "ok" else 503)

    async def show_metrics(request: web.Request) -> web.Response:
        scheme, _space, key = request.headers.get("Authorization", "").partition(" ")
        caller = request.remote or ""
        try:
            known = scheme.lower() == "bearer" and await in_thread(lambda: METRICS_KEY.opens(key.strip(), caller))
        except TooOften as error:
            seconds = error.context["retry_after_s"]
            content = {"error": too_many_attempts(seconds)}
            return web.json_response(content, status=429, headers={"Retry-After": str(seconds)})
        if not known:
            sentence = "Send the instructor's API key: Authorization: Bearer <key>."
            return web.json_response({"error": sentence}, status=401, headers={"WWW-Authenticate": "Bearer"})
        return web.Response(body=await in_thread(metrics.text), headers={"Content-Type": metrics.CONTENT_TYPE})

    app = web.Application(client_max_size=1024)
    app.router.add_get("/health", show_health)
    app.router.add_get("/metrics", show_metrics)
    return app
