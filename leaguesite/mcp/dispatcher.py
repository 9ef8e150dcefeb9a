"""POST /mcp and /register: raw body in, status and reply out.

The order of the checks is that of the ruling's section 5. Every error is turned into its wire form here, except those
of requests of MCP (:mod:`leaguesite.mcp.offering`). What a request asks for, and in which shape, is read by
``league_sdk.dialects.inbound``; the handlers are in :mod:`leaguesite.mcp.methods`.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from league_sdk.dialects import inbound
from league_sdk.dialects.exchange import AnyDialect
from league_sdk.protocol import records, rpc
from league_sdk.protocol.dispatch import NO_CONTENT, Post
from league_sdk.protocol.errors import (
    InternalError,
    LeagueError,
    TooOften,
    UnknownMethod,
)
from league_sdk.protocol.limits import MAX_ID_CHARS
from league_sdk.protocol.transcript import clean
from leaguesite.mcp import telemetry
from leaguesite.mcp.calls import Call, Deferred, Held, RawJson, Source, find_league
from leaguesite.mcp.performing import perform
from leaguesite.serving.refusals import error_message

_PLACEHOLDER = f"<{secrets.token_hex(16)}>"
"""Stands in a reply for a value that is JSON already; no sender can guess it."""


class Answering(AnyDialect):
    """One HTTP request on its way to its answer, which may be made in two steps.

    Args:
        source: where it comes from, and to which address.
    """

    failure = "The league manager failed; nothing was changed."

    def __init__(self, source: Source) -> None:
        super().__init__()
        self._source = source
        self.registers = source.register
        self._call: Call | None = None
        self._deferred: Deferred | None = None
        self._held: Held | None = None
        self._style = ""
        self._seconds = 0.0

    @property
    def deferred(self) -> bool:
        """Whether the answer takes long to make: :meth:`finish` makes it."""
        return self._deferred is not None

    @property
    def held(self) -> bool:
        """Whether the answer has to be waited for: :meth:`wait` does."""
        return self._held is not None

    def begin(self, post: Post) -> None:
        """Read the request, and answer it unless that takes long."""
        with self._recorded() as fields:
            call = self._call = Call(self.read(post), self._source)
            fields.update(telemetry.message_fields(call))
            answer = perform(call)
            if isinstance(answer, Held):
                # There is no database where it is waited for.
                self._held, self._style = answer, _error_style(call)
            elif callable(answer):
                self._deferred = answer
            else:
                self.answer(answer)

    def finish(self) -> None:
        """Make the answer that was deferred; without one, do nothing."""
        make, self._deferred = self._deferred, None
        if make is not None and self._call is not None:
            with self._recorded() as fields:
                fields.update(telemetry.message_fields(self._call))
                self.answer(make())

    async def wait(self) -> None:
        """Wait for an answer that is held; without one, do nothing.

        The wait does not count as the time of the call. A call whose caller breaks off is neither counted nor logged.
        """
        held, self._held = self._held, None
        if held is not None and self._call is not None:
            with self._recorded(waits=True) as fields:
                fields.update(telemetry.message_fields(self._call))
                self.answer(await held.wait(None))

    @contextmanager
    def _recorded(self, *, waits: bool = False) -> Iterator[dict[str, Any]]:
        """Around each step: an error becomes the reply, and the call is counted and logged once it is answered."""
        begun = time.perf_counter()
        with records.work("agent call") as fields:
            with self.guarded():
                yield fields
            if not waits:
                self._seconds += time.perf_counter() - begun
            if self._deferred is None and self._held is None:
                telemetry.record(self._call, self._error_code, self._seconds, fields)

    @property
    def _error_code(self) -> str:
        return telemetry.code_of(self.error) if self.error is not None else ""

    def answer(self, message: dict[str, Any]) -> None:
        """See :class:`Exchange`; ``data`` that is JSON already is put into the body as it is."""
        data = message.get("data")
        if not isinstance(data, RawJson) or self.request is None:
            super().answer(message)
            return
        super().answer(message | {"data": _PLACEHOLDER if self.request.plain else json.loads(data)})
        if isinstance(self.reply.body, bytes):
            self.reply.body = self.reply.body.replace(f'"{_PLACEHOLDER}"'.encode(), data, 1)

    def refusal(self, error: LeagueError, body: Any) -> Any:
        """See :class:`Exchange`; a LEAGUE_ERROR in the shape of the request (ruling, section 5)."""
        call = self._call
        original = call.name if call else body.get("method") if isinstance(body, dict) else None
        # 004 4.10.1 has a text or null: an empty one names nothing.
        original = (original[:MAX_ID_CHARS] or None) if isinstance(original, str) else None
        conversation = call.conversation_id if call else None
        # It may repeat what the sender wrote, and a token may stand in the wrong field.
        message = clean(error_message(error, original_message_type=original, conversation_id=conversation))
        if call is None:
            return rpc.error(rpc.request_id(body), error.rpc_code, message["message"], message)
        # A tool's refusal is a result in either style, and says of itself that it is an error.
        ignores_style = (
            isinstance(error, (InternalError, TooOften, UnknownMethod)) or call.request.shape == "tools_call"
        )
        if not ignores_style and (self._style or _error_style(call)) == "result":
            return inbound.reply(call.request, message)
        return inbound.refuse(call.request, code=error.rpc_code, sentence=message["message"], data=message)

    def status_of_silence(self, request: inbound.Inbound) -> int:
        """See :class:`Exchange`; MCP wants its own notifications accepted with 202."""
        return 202 if request.name.startswith("notifications/") else NO_CONTENT


def _error_style(call: Call) -> str:
    """The setting of the league that was meant, also when the request failed before that was checked."""
    league = call.league or find_league(call.league_id)
    return league.rules.error_style if league is not None else "error"
