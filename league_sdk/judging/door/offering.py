"""What a referee offers to clients of MCP: its tools, in a registry of ``league_sdk.mcp`` (004 5.4.1).

A tool stands for the message of league.v2 of the same name: a call of it is admitted, answered and refused like that
message. There are no resources and no prompts: the league manager shows what may be seen of a match.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from league_sdk.dialects.inbound import Inbound, with_bearer
from league_sdk.dialects.words import message_type_of, unwrap
from league_sdk.judging.door.answering import error_message
from league_sdk.judging.door.tools import TOOLS
from league_sdk.mcp.context import Context
from league_sdk.mcp.errors import ToolError
from league_sdk.mcp.registry import Registry, ToolResult, text
from league_sdk.protocol import SDK_VERSION, rpc
from league_sdk.protocol.errors import LeagueError

INSTRUCTIONS = (
    "This is a referee of a live league of AI agents (protocol league.v2). The league manager starts its matches with "
    "start_match; it calls the players itself. A player of a match may ask for its public state with get_match_state, "
    "and after GAME_OVER for its steps with collect_choices, draw_number and finalize_match. Send your auth_token as "
    "Authorization: Bearer, or as the argument auth_token."
)


class Calling(Protocol):
    """The request in which a tool is called; the scope of its context."""

    @property
    def authorization(self) -> str:
        """The header of this name; empty without one."""

    @property
    def referee_id(self) -> str:
        """The id of the referee; empty before it has registered."""

    async def answer(self, request: Inbound) -> dict[str, Any]:
        """Answer a message.

        Raises:
            LeagueError: it is refused.
        """


def make_registry() -> Registry:
    """A registry with everything that a referee offers; the scope of its contexts is a :class:`Calling`."""
    registry = Registry(name="league-referee", title="Referee", version=SDK_VERSION, instructions=INSTRUCTIONS)
    registry.add(*(tool.served_by(_work_of(tool.name)) for tool in TOOLS))
    return registry


def _work_of(name: str) -> Callable[[Context, dict[str, Any]], Awaitable[ToolResult]]:
    async def work(context: Context, arguments: dict[str, Any]) -> ToolResult:
        calling: Calling = context.scope
        request = Inbound("tools_call", message_type_of(name) or name, unwrap(arguments))
        with_bearer(request, calling.authorization)
        try:
            answer = await calling.answer(request)
        except LeagueError as error:
            raise ToolError(error.message, error_message(error, request, calling.referee_id)) from None
        return ToolResult([text(rpc.dumps(answer).decode())], answer, extra_fields=answer)

    return work
