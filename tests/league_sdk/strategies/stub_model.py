"""A server that speaks OpenAI's chat completions, or fails to in every way."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from league_sdk.strategies.chat import Settings
from tests.bots.base import listening

KEY = "sk-test-0123456789abcdef"
Reply = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class Model:
    """The stub: it keeps what it was asked.

    Attributes:
        reply: makes the answer to each request.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self.reply: Reply = says("even")

    @property
    def settings(self) -> Settings:
        return Settings(self.url, "stub", KEY, budget_s=60.0)

    @property
    def prompts(self) -> list[str]:
        return [body["messages"][0]["content"] for _path, _headers, body in self.requests]


@asynccontextmanager
async def stub_model() -> AsyncIterator[Model]:
    """Serve on a free port."""
    model = Model("")

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        model.requests.append((request.path, dict(request.headers), json.loads(await request.read())))
        return await model.reply(request)

    async with listening({"/v1/chat/completions": handle}) as url:
        model.url = f"{url}/v1"
        yield model


def completion(content: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "message": {"role": "assistant", "content": content}}]}


def says(content: Any) -> Reply:
    """Answers with a completion."""
    return answers(json.dumps(completion(content)).encode())


def answers(body: bytes, status: int = 200, **headers: str) -> Reply:
    """Answers with any body."""

    async def reply(_: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=status, body=body, headers=headers)

    return reply


def streams(*parts: bytes, then: str = "end") -> Reply:
    """Sends parts; after them it ends, goes on with the last one for ever, or stays silent."""

    async def reply(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for part in parts:
            await response.write(part)
        while then == "repeat":
            await response.write(parts[-1])
        if then == "silence":
            await asyncio.Event().wait()
        return response

    return reply


def event(text: str) -> bytes:
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]}).encode() + b"\n\n"
