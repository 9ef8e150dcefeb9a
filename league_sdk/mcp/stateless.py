"""The stateless era (2026-07-28): every request stands alone."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from league_sdk.mcp import features, headers
from league_sdk.mcp.asking import Question
from league_sdk.mcp.context import LOG_LEVELS, Context, Emit
from league_sdk.mcp.errors import BadRequest, Failed, InvalidParams, McpError, MethodNotFound, VersionUnsupported
from league_sdk.mcp.listening import Filter, Listeners
from league_sdk.mcp.registry import Registry
from league_sdk.mcp.requests import HttpRequest, Mailbox, Message, answered, stream_reply
from league_sdk.mcp.states import States, subject_of
from league_sdk.mcp.versions import (
    META_CAPABILITIES,
    META_LOG_LEVEL,
    META_SERVER,
    META_SUBSCRIPTION,
    META_VERSION,
    STATELESS_VERSIONS,
    VERSION_HEADER,
    Era,
)
from league_sdk.protocol.dispatch import Reply

logger = logging.getLogger(__name__)

LIST_TTL_MS = 60_000
"""How long a client may keep a list of what is offered: it changes when the site is updated."""
READ_TTL_MS = 0
"""A client must not keep what it has read: it may change at any moment."""
_CACHEABLE = {
    "server/discover": LIST_TTL_MS,
    "tools/list": LIST_TTL_MS,
    "resources/list": LIST_TTL_MS,
    "resources/templates/list": LIST_TTL_MS,
    "prompts/list": LIST_TTL_MS,
    "resources/read": READ_TTL_MS,
}
_MAY_ASK = ("tools/call", "prompts/get", "resources/read")
"""The methods that a client may be asked questions for."""


class InputRequired(Exception):
    """The request goes on when the client has answered.

    Args:
        questions: what it is asked, by name.
        bound: whether its answers need a state.
    """

    def __init__(self, questions: Mapping[str, Question], bound: bool) -> None:
        super().__init__()
        self.questions = questions
        self.bound = bound


class StatelessContext(Context):
    """See :class:`Context`.

    Attributes:
        answers: what the client has answered so far, by name.
        new_answers: what came with this request, as sent.
        has_state: whether a state came with them that is good.
    """

    era = Era.STATELESS

    def __init__(self, message: Message, meta: Mapping[str, Any], request: HttpRequest, emit: Emit) -> None:
        super().__init__(
            principal=request.principal, capabilities=meta[META_CAPABILITIES], scope=request.scope, emit=emit
        )
        self.answers: dict[str, Any] = {}
        self.new_answers: Mapping[str, Any] = {}
        self.has_state = False
        self.read_progress_token(message.params)
        level = meta.get(META_LOG_LEVEL)
        self._log_level = level if level in LOG_LEVELS else None

    async def _ask(self, questions: Mapping[str, Question], bound: bool) -> dict[str, dict[str, Any]]:
        for name, question in questions.items():
            if name in self.new_answers and (self.has_state or not bound):
                self.answers[name] = question.check(self.new_answers[name], f"inputResponses.{name}")
        missing = {name: question for name, question in questions.items() if name not in self.answers}
        if missing:
            raise InputRequired(missing, bound or bool(self.answers))
        return {name: self.answers[name] for name in questions}


class StatelessEra:
    """Serves the requests of the stateless era.

    Args:
        registry: what is offered.
        states: signs what clients bring back.
        listeners: who wants to be told of changes.
    """

    def __init__(self, registry: Registry, states: States, listeners: Listeners) -> None:
        self._registry = registry
        self._states = states
        self._listeners = listeners

    async def serve(self, request: HttpRequest, message: Message) -> Reply:
        """Answer a message.

        Raises:
            McpError: it is refused.
        """
        if message.response is not None:
            raise BadRequest("This version knows no requests of the server, so it takes no responses.")
        if message.id is None:
            return Reply(202)
        meta = _read_meta(message)
        headers.check_version(request.headers, meta[META_VERSION])
        headers.check_names(request.headers, message)
        if meta[META_VERSION] not in STATELESS_VERSIONS:
            raise VersionUnsupported(meta[META_VERSION])
        if message.method == "subscriptions/listen":
            return self._listen(request, message)
        if message.method != "server/discover" and not features.offers(self._registry, message.method):
            raise MethodNotFound(message.method)
        headers.check_arguments(request.headers, message, self._registry)

        async def work(emit: Emit) -> tuple[int, dict[str, Any]]:
            return await self._perform(message, StatelessContext(message, meta, request, emit))

        return await answered(work, request, {VERSION_HEADER: STATELESS_VERSIONS[0]})

    async def _perform(self, message: Message, context: StatelessContext) -> tuple[int, dict[str, Any]]:
        """The HTTP status and the response."""
        status, outcome = 200, {}
        try:
            outcome = {"result": self._finish(message.method, await self._result(message, context))}
        except McpError as error:
            status, outcome = error.status, {"error": error.as_json()}
        except Exception:
            logger.exception("%s failed", message.method)
            status, outcome = Failed.status, {"error": Failed("The server failed.").as_json()}
        return status, {"jsonrpc": "2.0", "id": message.id} | outcome

    async def _result(self, message: Message, context: StatelessContext) -> dict[str, Any]:
        if message.method == "server/discover":
            return {
                "supportedVersions": list(STATELESS_VERSIONS),
                "capabilities": features.capabilities(self._registry, logging_lines=True),
                "instructions": self._registry.instructions,
            }
        feature = features.FEATURES[message.method]
        if message.method not in _MAY_ASK:
            return await feature(self._registry, context, message.params)
        subject = _subject(message, context.principal)
        self._take_answers(message, context, subject)
        try:
            return await feature(self._registry, context, message.params)
        except InputRequired as asked:
            requests = {name: question.as_json() for name, question in asked.questions.items()}
            result = {"resultType": "input_required", "inputRequests": requests}
            return result | ({"requestState": self._states.seal(subject, context.answers)} if asked.bound else {})

    def _take_answers(self, message: Message, context: StatelessContext, subject: str) -> None:
        """Read the answers that came with a call."""
        context.new_answers = message.params.get("inputResponses", {})
        if not isinstance(context.new_answers, dict):
            raise InvalidParams("inputResponses must be an object.")
        if "requestState" in message.params:
            context.answers = self._states.open(message.params["requestState"], subject)
            context.has_state = True

    def _finish(self, method: str, result: dict[str, Any]) -> dict[str, Any]:
        """Add what every result of this version has."""
        finished = {"resultType": "complete"} | result | {"_meta": {META_SERVER: self._registry.server_info}}
        if method in _CACHEABLE and finished["resultType"] == "complete":
            finished |= {
                "ttlMs": _CACHEABLE[method],
                "cacheScope": "private" if method == "resources/read" else "public",
            }
        return finished

    def _listen(self, request: HttpRequest, message: Message) -> Reply:
        """``subscriptions/listen``: a stream that begins with what will be told."""
        accepted = Filter.read(message.params.get("notifications"), self._registry)
        mailbox = Mailbox()
        # Nothing else of the message is kept as long as the stream lives.
        request_id = message.id
        tag = {"_meta": {META_SUBSCRIPTION: request_id}}

        def tell(method: str, params: dict[str, Any]) -> None:
            mailbox.put({"jsonrpc": "2.0", "method": method, "params": params | tag})

        def close() -> None:
            mailbox.put({"jsonrpc": "2.0", "id": request_id, "result": {"resultType": "complete"} | tag})
            mailbox.end()

        listener = self._listeners.add(accepted, request.caller, tell, close)
        tell("notifications/subscriptions/acknowledged", {"notifications": accepted.as_json()})
        body = mailbox.stream(lambda: self._listeners.remove(listener))
        return stream_reply(body, {VERSION_HEADER: STATELESS_VERSIONS[0]})


def _read_meta(message: Message) -> Mapping[str, Any]:
    meta = message.params.get("_meta")
    if not isinstance(meta, Mapping):
        raise InvalidParams("params._meta is missing.")
    if not isinstance(meta.get(META_VERSION), str):
        raise InvalidParams(f"params._meta[{META_VERSION!r}] must be a string.")
    if not isinstance(meta.get(META_CAPABILITIES), Mapping):
        raise InvalidParams(f"params._meta[{META_CAPABILITIES!r}] must be an object.")
    return meta


def _subject(message: Message, principal: str) -> str:
    params = message.params
    name = params.get(headers.NAMED_BY[message.method])
    return subject_of(principal, message.method, str(name), params.get("arguments") or {})
