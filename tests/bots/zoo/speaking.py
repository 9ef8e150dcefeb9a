"""Bots that differ in which messages they understand and how they answer."""

from __future__ import annotations

from typing import Any

from tests.bots.words import CHAPTER_8, CHOOSE, ERROR, INVITE, OVER, REQUIRED_TOOLS
from tests.bots.zoo import entries, needs, parsers, speech
from tests.bots.zoo.base import Bot, Callback
from tests.bots.zoo.speech import Incoming, Reply


class TypeInside(Bot):
    """Tells messages apart by params.message_type; "Unknown method" in result for others; joins by status RECEIVED."""

    parser = parsers.ByType(parsers.TYPES)
    refuses = speech.success(error="Unknown method")
    join = "RECEIVED"


class StatusOk(Bot):
    """Registers as in 004 chapter 8 and then wants ``handle_message``; answers ``ok`` to what it does not know."""

    parser = parsers.handle_message()
    refuses = speech.success(status="ok")


class UnknownMethod(Bot):
    """Registers as in chapter 8, wants the message type as method; {"error": "Unknown method"} in result for others."""

    parser = parsers.ByMethod(parsers.TYPES)
    refuses = speech.success(error="Unknown method")
    join = "accepted"


class ToolsAfterChapter8(Bot):
    """Registers as in chapter 8 and then is an MCP server: tools with the chapter's names, isError for others."""

    parser = parsers.Tools(REQUIRED_TOOLS, {name: name.replace("_", " ") for name in REQUIRED_TOOLS})
    refuses = speech.tool_error
    refuses_fields = None
    shape = speech.in_text
    minimal = True


class OtherWords(Bot):
    """``protocol/message`` with the vocabulary of 002 throughout: GAME_INVITE, MOVE_REQUEST, GAME_RESULT; -32601."""

    enters = entries.handshake_in_order
    parser = parsers.handle_message(parsers.TYPES_002, ("protocol/message",))
    needs = (needs.game_id,)
    match_key = "game_id"
    join = "accepted"


class FlatAfterRegister(Bot):
    """``POST /register`` with player_meta as the body, then flat messages; framework's 422; answers as the bare body
    with a callback for the choice, without JSON-RPC either."""

    enters = entries.small_body_with_games
    address_key = "endpoint_url"
    parser = parsers.Flat(parsers.TYPES)
    refuses = speech.unprocessable
    shape = speech.bare_body
    callback = Callback(kinds=frozenset({CHOOSE}), flat=True, ack={"status": "ACK"})


class LeagueAndRound(Bot):
    """Needs league_id in every message, an integer round_id in all but LEAGUE_COMPLETED, and a JSON-RPC id; refuses by
    {"success": false}."""

    needs = (needs.league_id_everywhere, needs.round_id_everywhere, needs.any_id)
    refuses_fields = speech.success(success=False)


class NestedObjects(Bot):
    """Needs game_id, ``game_invitation`` and ``parity_context`` objects; answers {status, data} as the bare body."""

    needs = (needs.game_id, needs.nested_invitation, needs.nested_parity_context)
    shape = speech.bare_data


class TokenOnBroadcasts(Bot):
    """Needs protocol league.v2, and a non-empty auth_token even on broadcasts; answers with no token itself."""

    needs = (needs.token_everywhere, needs.protocol_v2)
    says_token = "none"


class Hesitant(Bot):
    """Chooses ``neither`` until it gets its first GAME_ERROR with nested retry_info."""

    needs = (needs.nested_retry_info,)

    def __init__(self, league: str, port: int, referee_port: int = 8001) -> None:
        super().__init__(league, port, referee_port)
        self.had_game_error = False

    def act(self, incoming: Incoming) -> Reply:
        """Answer a message; after a GAME_ERROR its choices are valid."""
        if incoming.kind == ERROR:
            self.had_game_error = True
        return super().act(incoming)

    def choose(self, match: str, incoming: Incoming) -> str:
        """``neither`` before the first GAME_ERROR."""
        return super().choose(match, incoming) if self.had_game_error else "neither"


class RequestForReply(Bot):
    """Replies with a JSON-RPC request instead of a response; a counter as its id."""

    shape = speech.as_request
    reply_id = "counter"


class Sparse(Bot):
    """Answers with ``status`` ACK and with ``choice`` only: no id, no token, no timestamp; -32601 for broadcasts."""

    parser = parsers.ByMethod(REQUIRED_TOOLS)
    minimal = True
    join = "ACK"
    choice = "choice"


class ToTheManager(Bot):
    """Calls back the league manager, before its reply; without player_id and timestamp."""

    callback = Callback(to="manager", first=True)
    says_id = "none"
    stamp = speech.no_stamp

    def message(self, incoming: Incoming, fields: Any, conversation: Any) -> dict[str, Any]:
        """An answer whose sender has the id it was given."""
        return super().message(incoming, fields, conversation) | {"sender": f"player:{self.given_id}"}


class OkThenCallback(Bot):
    """Joins in the reply and chooses by callback; replies ``ok`` then, as it does to unknown messages."""

    callback = Callback(ack={"status": "ok"}, kinds=frozenset({CHOOSE}))
    refuses = speech.success(status="ok")
    join = "accepted"


class OkToEverything(Bot):
    """Wants the message type as method, replies ``ok`` to all else, and calls back before it replies RECEIVED: the
    answer arrives while the call is open, and only that reply shows which method was right."""

    parser = parsers.ByMethod(parsers.TYPES)
    refuses = speech.success(status="ok")
    callback = Callback(first=True)
    join = "ACK"


class BusyUntilOver(Bot):
    """After joining a match it refuses every invitation until it is called by the method GAME_OVER."""

    enters = entries.league_register_request
    parser = parsers.ByMethod(parsers.TYPES)
    stays_busy = True
    join = "accepted"


class OnceInvited(Bot):
    """Refuses a repeated invitation, gives a repeated choice request the other choice; answers in content[0].text."""

    refuses_repeated = True
    changes_mind = True
    shape = speech.in_text


class LocalTime(Bot):
    """Registers with localhost but listens at another loopback address; local time without a zone; an id of its own;
    bare answers."""

    host = "127.0.0.5"
    stamp = speech.naive_local
    says_id = "own"
    own_id = "agent-007"
    shape = speech.bare_body
    parser = parsers.ByMethod({name: kind for name, kind in CHAPTER_8.items() if kind in (INVITE, CHOOSE, OVER)})
    refuses = speech.bare(error="Unknown method")
