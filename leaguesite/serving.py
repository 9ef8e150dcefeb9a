"""What makes Django fast under ASGI here, and nothing else.

Django's own ASGI handler crosses into a new thread for every middleware, signal and query. Here a
whole request runs synchronously in one job of a persistent thread ("one hop"), each kind of work
on a thread, and so on a database connection, of its own: agents' calls never wait for a page.
"""

from __future__ import annotations

import asyncio
import contextvars
import tempfile
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, HTTPScope
from django.core import signals
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.http import HttpResponseBase
from django.urls import set_script_prefix

from league_sdk.protocol.errors import TooLarge
from league_sdk.protocol.limits import MAX_BODY_BYTES
from leaguesite.refusals import refusal

MEMORY_BYTES = 256 * 1024

agents_thread = ThreadPoolExecutor(1, thread_name_prefix="agents")
pages_thread = ThreadPoolExecutor(1, thread_name_prefix="pages")
conductor_thread = ThreadPoolExecutor(1, thread_name_prefix="conductor")
papers_thread = ThreadPoolExecutor(1, thread_name_prefix="papers")
"""For what takes many seconds in a large league, and must keep no page waiting."""
LEAGUES_OF_THE_DESK = "/admin/matches/league/"


def is_agent_path(path: str) -> bool:
    """Whether a path is one that agents call: ``/mcp`` and ``/register``, also under ``/leagues/{id}``."""
    path = path.rstrip("/")
    own = path.startswith("/leagues/") and path.endswith(("/mcp", "/register"))
    return own or path in ("/mcp", "/register", "/register_player", "/api/register")


def is_import_path(path: str) -> bool:
    """Whether a path takes the export of a whole league."""
    return path == f"{LEAGUES_OF_THE_DESK}import/"


def is_paper_path(path: str) -> bool:
    """Whether a path reads or writes a whole league at once: exports, evidence sheets, the import."""
    return path.startswith(LEAGUES_OF_THE_DESK) and ("/papers/" in path or is_import_path(path))


def too_large(seen: str) -> bytes:
    """The JSON-RPC body of a 413."""
    error = TooLarge("The body is too large.", field="body", seen=seen, expected=f"at most {MAX_BODY_BYTES} bytes")
    return refusal(error)


class OneHopHandler(ASGIHandler):
    """Django as an ASGI application whose requests run whole, synchronously, in one job of a kept thread."""

    def __init__(self) -> None:
        super().__init__()
        self.load_middleware(is_async=False)

    async def __call__(self, scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        """Read the body, run the request, send the response."""
        agents = is_agent_path(scope["path"])
        with tempfile.SpooledTemporaryFile(max_size=MEMORY_BYTES) as body:
            size = 0
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return
                part = message.get("body", b"")
                size += len(part)
                if agents and size > MAX_BODY_BYTES:
                    await _send_too_large(send, size)
                    return
                body.write(part)
                if not message.get("more_body", False):
                    break
            body.seek(0)
            executor = agents_thread if agents else papers_thread if is_paper_path(scope["path"]) else pages_thread
            loop = asyncio.get_running_loop()
            status, headers, content, rest = await loop.run_in_executor(
                executor, contextvars.copy_context().run, self._respond, scope, body
            )
        await send({"type": "http.response.start", "status": status, "headers": headers, "trailers": False})
        if rest is not None:
            await self._send_parts(rest, executor, send)
        await send({"type": "http.response.body", "body": content, "more_body": False})

    async def _send_parts(self, response: Any, executor: ThreadPoolExecutor, send: ASGISendCallable) -> None:
        """A large file, a part at a time: it is never in memory as a whole, and others have their turn in between."""
        loop = asyncio.get_running_loop()
        try:
            parts = iter(response.streaming_content)
            while (part := await loop.run_in_executor(executor, next, parts, None)) is not None:
                await send({"type": "http.response.body", "body": part, "more_body": True})
        finally:
            await loop.run_in_executor(executor, response.close)

    def _respond(self, scope: HTTPScope, body: Any) -> tuple[int, list[tuple[bytes, bytes]], bytes, Any]:
        """The whole request in this thread; the response as status, headers and bytes, or itself if it is large."""
        set_script_prefix(get_script_prefix(scope))
        signals.request_started.send(sender=self.__class__, scope=scope)
        request, error = self.create_request(scope, body)
        response: HttpResponseBase = error if request is None else self.get_response(request)
        if response.streaming and int(response.get("Content-Length", 0)) > MEMORY_BYTES:
            return response.status_code, _headers(response), b"", response
        try:
            content = b"".join(response.streaming_content) if response.streaming else response.content
            return response.status_code, _headers(response), content, None
        finally:
            # Sends request_finished, which gives pooled database connections back.
            response.close()


def _headers(response: HttpResponseBase) -> list[tuple[bytes, bytes]]:
    found = [(name.encode("ascii"), value.encode("latin1")) for name, value in response.items()]
    found += [(b"Set-Cookie", cookie.output(header="").strip().encode("ascii")) for cookie in response.cookies.values()]
    return found


async def _send_too_large(send: ASGISendCallable, size: int) -> None:
    content = too_large(f"more than {size} bytes")
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 413, "headers": headers, "trailers": False})
    await send({"type": "http.response.body", "body": content, "more_body": False})
