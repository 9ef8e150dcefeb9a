"""POST /mcp and /register: raw body in, status and reply out.

The order of the checks is that of the ruling's section 5. Every error is turned into its wire form here, except those
of requests of MCP (:mod:`leaguesite.mcp.offering`). What a request asks for, and in which shape, is read by
``league_sdk.dialects.inbound``; the handlers are in :mod:`leaguesite.mcp.methods`.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from league_sdk.dialects import inbound
from league_sdk.dialects.exchange import AnyDialect
from league_sdk.protocol import rpc
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
from leaguesite.serving.database_away import Away
from leaguesite.serving.refusals import error_message
from matches.desk import busy

_PLACEHOLDER = f"<{secrets.token_hex(16)}>"
"""Stands in a reply for a value that is JSON already; no sender can guess it."""


class Answering(AnyDialect):
    """One HTTP request on its way to its answer, which may be made in two steps.

    Args:
        source: where it comes from, and to which address.

    Attributes:
        deferred: what makes an answer that takes long, for :meth:`finish`.
        held: what an answer has to be waited for, for :meth:`wait`.
    """

    failure = "The league manager failed; nothing was changed."

    def __init__(self, source: Source) -> None:
        super().__init__()
        self._source = source
        self.registers = source.register
        self._recorder = telemetry.Recorder()
        self.deferred: Deferred | None = None
        self.held: Held | None = None
        self._style = ""

    def begin(self, post: Post) -> None:
        """Read the request, and answer it unless that takes long."""
        with self._recorder.step() as fields, self.guarded():
            call = self._recorder.call = Call(self.read(post), self._source)
            fields.update(telemetry.message_fields(call))
            answer = perform(call)
            if isinstance(answer, Held):
                # There is no database where it is waited for.
                self.held, self._style = answer, _error_style(call)
            elif callable(answer):
                self.deferred = answer
            else:
                self.answer(answer)
            self._recorder.goes_on = bool(self.held or self.deferred)

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """See :class:`Exchange`; when the database is away the sender is told to try again, with HTTP 503."""
        with super().guarded():
            try:
                yield
            except busy.DATABASE_ERRORS as error:
                busy.sentence(error)
                raise Away from None

    def finish(self) -> None:
        """Make the answer that was deferred; without one, do nothing."""
        make, self.deferred = self.deferred, None
        if make is not None:
            with self._recorder.step(), self.guarded():
                self.answer(make())

    async def wait(self) -> None:
        """Wait for an answer that is held; without one, do nothing.

        The wait does not count as the time of the call. A call whose caller breaks off is neither counted nor logged.
        """
        held, self.held = self.held, None
        if held is not None:
            with self._recorder.step(waits=True), self.guarded():
                self.answer(await held.wait(None))

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
        self._recorder.error_code = telemetry.code_of(error)
        call = self._recorder.call
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
