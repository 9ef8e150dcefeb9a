"""What a player offers to clients of MCP: its tools, a resource and a prompt on the core's registry.

Anybody may read and call here, an opponent, too: nothing shows how the player decides, and its history needs a token.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

from league_sdk.mcp.context import Context
from league_sdk.mcp.errors import ToolError
from league_sdk.mcp.registry import Prompt, PromptArgument, Registry, Resource, ToolResult, text
from league_sdk.player.agent import Player
from league_sdk.player.tools import TOOLS
from league_sdk.protocol import PROTOCOL, SDK_VERSION, rpc
from league_sdk.protocol.dispatch import error_data
from league_sdk.protocol.envelope import stamp
from league_sdk.protocol.errors import LeagueError
from league_sdk.protocol.messages import BY_METHOD

STATE = "player://state"
INSTRUCTIONS = (
    "This is a player of a live league of AI agents (protocol league.v2). A referee invites it with "
    "handle_game_invitation, asks for its moves with choose_parity or make_move, and tells the end with "
    "notify_match_result. Its history needs its auth_token, as Authorization: Bearer or as the argument auth_token."
)


def make_registry(player: Player) -> Registry:
    """A registry with everything that a player offers; a context's scope is the token in the request's header."""
    registry = Registry(
        name="league-player", title=f"Player {player.name}", version=SDK_VERSION, instructions=INSTRUCTIONS
    )
    registry.add(*(tool.served_by(_calling(player, tool.name)) for tool in TOOLS))
    registry.add(
        Resource(
            STATE,
            "state",
            "The player",
            "Its name, its version and its games; with its token in the header Authorization its matches, too.",
            "application/json",
            _reading_state(player),
        ),
        Prompt(
            "try_player",
            "Try this player",
            "Play a match with this player, which no league counts.",
            _trying(player),
            [
                PromptArgument(
                    "game_type",
                    "One of its games.",
                    complete=lambda typed: [game for game in player.plays if game.startswith(typed)],
                )
            ],
        ),
    )
    return registry


def _calling(player: Player, name: str) -> Callable[[Context, dict[str, Any]], Awaitable[ToolResult]]:
    async def work(context: Context, arguments: dict[str, Any]) -> ToolResult:
        params = _filled(name, arguments, context.scope)
        await player.note_call(params)
        try:
            answer = await player.call(name, params)
        except LeagueError as error:
            raise ToolError(error.message, error_data(error)) from None
        return ToolResult([text(rpc.dumps(answer).decode())], answer, extra_fields=answer)

    return work


def _filled(name: str, arguments: dict[str, Any], token: str) -> dict[str, Any]:
    """The message of a call, with the envelope that a person or a language model leaves out."""
    fields = {field: value for field, value in arguments.items() if value is not None}
    if token and not fields.get("auth_token"):
        fields["auth_token"] = token
    if name not in BY_METHOD:
        return fields
    match_id = fields.get("match_id")
    # A choice is the same for the same match and conversation, so a call that is repeated gets the same answer; a
    # referee's conversation is another one.
    about = match_id[:100] if isinstance(match_id, str) else secrets.token_hex(8)
    head = {
        "protocol": PROTOCOL,
        "message_type": str(BY_METHOD[name]),
        "timestamp": stamp(datetime.now(UTC)),
        "conversation_id": f"conv-mcp-{about}",
    }
    return head | fields


def _reading_state(player: Player) -> Callable[[Context, str, dict[str, str]], Awaitable[list[dict[str, Any]]]]:
    async def read(context: Context, uri: str, values: dict[str, str]) -> list[dict[str, Any]]:
        shown: dict[str, Any] = {
            "display_name": player.name,
            "player_id": player.player_id,
            "league_id": player.league_id,
            "version": SDK_VERSION,
            "protocol": PROTOCOL,
            "game_types": list(player.plays),
        }
        if context.scope and player.is_own(context.scope):
            shown |= await player.call("get_player_state", {"auth_token": context.scope})
        return [{"uri": uri, "mimeType": "application/json", "text": rpc.dumps(shown).decode()}]

    return read


def _trying(player: Player) -> Callable[[Context, dict[str, str]], Awaitable[list[dict[str, Any]]]]:
    async def tried(context: Context, arguments: dict[str, str]) -> list[dict[str, Any]]:
        game = arguments.get("game_type") or player.plays[0]
        match_id = f"TRY-{secrets.token_hex(4)}"
        words = (
            f"Play a match of {game} with this player: you are the referee and its opponent. Call "
            f"handle_game_invitation with match_id {match_id}, then for each of its moves choose_parity (even_odd) or "
            "make_move (any other game, with the moves that are allowed now). Ask me for my moves, tell me both, and "
            "say who has won by the rules. Do not call notify_match_result: the match does not count."
        )
        return [{"role": "user", "content": text(words)}]

    return tried
