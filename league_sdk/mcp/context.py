"""What the function behind a tool, resource or prompt knows of its request, and how it reaches the client.

MCP has two eras (:mod:`league_sdk.mcp.versions`): in that of the handshake a client opens a session with
``initialize``, in the stateless one every request stands alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from league_sdk.mcp.asking import Question
from league_sdk.mcp.errors import CapabilityMissing
from league_sdk.mcp.versions import Era

LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""From the least to the most severe."""

Emit = Callable[[dict[str, Any]], Awaitable[None]]
"""Sends a JSON-RPC message to the client before the answer."""


class Context(ABC):
    """One request in progress.

    Attributes:
        principal: who calls, if the web server around this MCP server knows; else empty.
        capabilities: what the client has declared.
        scope: what else that web server passes on about the request.
    """

    era: Era

    def __init__(self, *, principal: str, capabilities: Mapping[str, Any], scope: Any, emit: Emit) -> None:
        self.principal = principal
        self.capabilities = capabilities
        self.scope = scope
        self._emit = emit
        self._progress_token: Any = None
        self._log_level: str | None = None

    async def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Tell how far the request is, if the client wants to know.

        Args:
            done: grows from call to call.
            total: what it grows to; None if that is not known.
            message: for a person; None without.
        """
        if self._progress_token is None:
            return
        params = {"progressToken": self._progress_token, "progress": done, "total": total, "message": message}
        await self._notify(
            "notifications/progress", {name: value for name, value in params.items() if value is not None}
        )

    async def log(self, level: str, data: Any) -> None:
        """Send a line of log, if the client wants lines of this level.

        Args:
            level: one of :data:`LOG_LEVELS`.
            data: JSON, mostly a sentence.
        """
        if self._log_level is None or LOG_LEVELS.index(level) < LOG_LEVELS.index(self._log_level):
            return
        await self._notify("notifications/message", {"level": level, "logger": "server", "data": data})

    async def ask(self, questions: Mapping[str, Question], *, bound: bool = True) -> dict[str, dict[str, Any]]:
        """Ask the client's person or language model.

        In the stateless era the function that asks is run again from its start once the answers are there: what it does
        before it asks must be harmless when done twice.

        Args:
            questions: by a name that no other question of this request has.
            bound: whether an answer counts only with the state that came with its question: once, from the same caller,
                within its time. Without it a client may answer before it was asked. Stateless era only: a session
                binds its answers.

        Returns:
            The answers by the same names, in the shape that their question asks for.

        Raises:
            CapabilityMissing: the client has not declared that it can be asked for this.
            InvalidParams, ToolError: an answer is not valid, or (handshake era) nobody answered in time.
        """
        missing = {question.capability for question in questions.values()} - set(self.capabilities)
        if missing:
            raise CapabilityMissing(missing)
        return await self._ask(questions, bound)

    @abstractmethod
    async def _ask(self, questions: Mapping[str, Question], bound: bool) -> dict[str, dict[str, Any]]:
        """Get the answers in the way of the era."""

    async def _notify(self, method: str, params: dict[str, Any]) -> None:
        await self._emit({"jsonrpc": "2.0", "method": method, "params": params})

    def read_progress_token(self, params: Mapping[str, Any]) -> None:
        """Learn from ``params._meta`` whether the client wants progress."""
        meta = params.get("_meta")
        token = meta.get("progressToken") if isinstance(meta, Mapping) else None
        if isinstance(token, str | int) and not isinstance(token, bool):
            self._progress_token = token
