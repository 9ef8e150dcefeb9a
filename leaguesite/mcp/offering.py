"""What the league manager offers to clients of MCP: its tools, resources and prompts on the core's registry."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from league_sdk.dialects import inbound
from league_sdk.dialects.words import unwrap
from league_sdk.mcp.context import Context
from league_sdk.mcp.declaring import DeclaredTool
from league_sdk.mcp.errors import Failed, ToolError
from league_sdk.mcp.kept import Encoded
from league_sdk.mcp.registry import Registry, ToolResult, text
from league_sdk.mcp.requests import takes_long
from league_sdk.mcp.stateless import InputRequired
from league_sdk.protocol import SDK_VERSION, rpc
from league_sdk.protocol.errors import InternalError, LeagueError
from league_sdk.protocol.messages import BY_METHOD, QUERY_TYPES, MessageType
from league_sdk.protocol.transcript import clean
from leaguesite.mcp import telemetry
from leaguesite.mcp.calls import Call, Held, RawJson, Source
from leaguesite.mcp.performing import perform
from leaguesite.mcp.prompts import PROMPTS
from leaguesite.mcp.resources import RESOURCES
from leaguesite.mcp.tools import TOOLS
from leaguesite.serving.database_away import Away
from leaguesite.serving.refusals import error_message
from matches.desk import busy

INSTRUCTIONS = (
    "This is the league manager of a live league of AI agents (protocol league.v2). "
    "Register with register_player; the league then calls your agent, or your agent fetches its messages. "
    "Send the auth_token from your registration as Authorization: Bearer, or as the argument auth_token. "
    "Read league://standings for the table of your league."
)
_FLAT = frozenset({*QUERY_TYPES, "list_games"})
"""Tools whose answer is the data of a query and not the message around it."""


def make_registry() -> Registry:
    """A registry with everything that the league manager offers."""
    registry = Registry(name="leaguesite", title="League manager", version=SDK_VERSION, instructions=INSTRUCTIONS)
    registry.add(*(tool.served_by(_calls(tool)) for tool in TOOLS))
    registry.add(*RESOURCES, *PROMPTS)
    return registry


def call_of(source: Source, name: str, arguments: dict[str, Any]) -> Call:
    """A tool call as a call of an agent; which may lack the fields of the envelope.

    Args:
        source: where the request comes from.
        name: the name of the tool.
        arguments: as sent.
    """
    request = inbound.Inbound("tools_call", BY_METHOD.get(name, name), unwrap(arguments))
    inbound.with_bearer(request, source.authorization)
    return Call(request, source, without_envelope=True)


def _calls(tool: DeclaredTool) -> Callable[[Context, dict[str, Any]], Awaitable[ToolResult]]:
    async def work(context: Context, arguments: dict[str, Any]) -> ToolResult:
        if isinstance(context.scope, Waiting):
            message = await context.scope.answer(context)
        else:
            message = await _answer(call_of(context.scope, tool.name, arguments))
        structured = _structured(tool.name, message)
        if isinstance(message.get("data"), RawJson):
            message = message | {"data": Encoded(message["data"])}
        return ToolResult([text(structured.decode())], Encoded(structured), extra_fields=message)

    return work


class Waiting:
    """A call of a tool whose answer has to be waited for: checked here, in a thread, and answered on the event loop.

    Args:
        source: where it comes from.
        name: the name of the tool.
        arguments: as sent.
    """

    def __init__(self, source: Source, name: str, arguments: dict[str, Any]) -> None:
        self._held: Held | None = None
        self._error: ToolError | None = None
        self._call = call_of(source, name, arguments)
        self._recorder = telemetry.Recorder(self._call)
        try:
            with self._recorder.step(), _refusing(self._recorder, self._call):
                answer = perform(self._call)
                self._held = answer if isinstance(answer, Held) else None
                self._recorder.goes_on = self._held is not None
        except ToolError as error:
            # The error is sent in the protocol's form, once the core has read the request.
            self._error = error

    async def answer(self, context: Context) -> dict[str, Any]:
        """Wait for the answer.

        Args:
            context: the request, through which the client can be asked.

        Raises:
            ToolError: it was refused, now or when it arrived.
        """
        if self._held is None:
            raise self._error or Failed("The server failed.")
        with self._recorder.step(waits=True), _refusing(self._recorder, self._call):
            return await self._held.wait(context)


async def _answer(call: Call) -> dict[str, Any]:
    """Carry out a call; what takes long may be done in another thread.

    Raises:
        ToolError: it was refused.
    """
    recorder = telemetry.Recorder(call)
    with recorder.step(), _refusing(recorder, call):
        answer = perform(call)
        recorder.goes_on = callable(answer)
    if callable(answer):
        await takes_long()
        with recorder.step(), _refusing(recorder, call):
            answer = answer()
    if isinstance(answer, Held):
        raise TypeError(f"{call.name} needs the event loop")
    return answer


@contextmanager
def _refusing(recorder: telemetry.Recorder, call: Call) -> Iterator[None]:
    """Within a step: an error of the league becomes a tool's."""
    try:
        yield
    except LeagueError as error:
        recorder.error_code = telemetry.code_of(error)
        raise _refusal(call, error) from None
    except busy.DATABASE_ERRORS as error:
        busy.sentence(error)
        recorder.error_code = Away.error_code
        raise _refusal(call, Away()) from None
    except InputRequired:
        # A question to the client ends the call; its answer comes with another one.
        raise
    except Exception:
        recorder.error_code = InternalError.error_code
        raise


def _refusal(call: Call, error: LeagueError) -> ToolError:
    refusal = clean(error_message(error, original_message_type=call.name, conversation_id=call.conversation_id))
    return ToolError(str(refusal["message"]), refusal)


def _structured(name: str, message: dict[str, Any]) -> bytes:
    """The structured content of an answer: the table as LEAGUE_STANDINGS_UPDATE has it (004 8.11.1), else the message.

    Returns JSON; data that has been encoded already, such as a long table, is inserted unchanged.
    """
    data = message.get("data")
    if name in _FLAT and isinstance(data, dict | RawJson):
        left_out = ("data", "error", "success", "query_type")
        kind = {"message_type": str(MessageType.LEAGUE_STANDINGS_UPDATE)} if name == "get_standings" else {}
        head = {field: value for field, value in message.items() if field not in left_out} | kind
        # No field of the data has the name of one of the envelope.
        return _joined(head, data) if isinstance(data, RawJson) else rpc.dumps(head | data)
    if isinstance(data, RawJson):
        head = {field: value for field, value in message.items() if field != "data"}
        return _joined(head, b'{"data":' + data + b"}")
    return rpc.dumps(message)


def _joined(fields: dict[str, Any], more: bytes) -> bytes:
    """Fields and an object that is JSON, neither of them empty, as one object."""
    return rpc.dumps(fields)[:-1] + b"," + more[1:]
