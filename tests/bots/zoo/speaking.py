"""Bots that stand for the rows "What they listen to" and "How they answer" of the table of dialects."""

from __future__ import annotations

from typing import Any

from tests.bots.words import CHAPTER_8, CHOOSE, ERROR, INVITE, OVER, REQUIRED_TOOLS
from tests.bots.zoo import ears, entries, needs, speech
from tests.bots.zoo.base import Bot, Callback
from tests.bots.zoo.speech import Heard, Reply


class TypeInside(Bot):
    """Dispatches on params.message_type alone; "Unknown method" inside a success; status RECEIVED."""

    ear = ears.ByType(ears.TYPES)
    refuses = speech.success(error="Unknown method")
    join = "RECEIVED"


class StatusOk(Bot):
    """Registers as chapter 8 and then wants ``handle_message``; whatever it does not know is answered ``ok``."""

    ear = ears.handle_message()
    refuses = speech.success(status="ok")


class UnknownMethod(Bot):
    """Registers as chapter 8, wants the message type as method, {"error": "Unknown method"} as a success."""

    ear = ears.ByMethod(ears.TYPES)
    refuses = speech.success(error="Unknown method")
    join = "accepted"


class ToolsAfterChapter8(Bot):
    """Registers as chapter 8 and then is an MCP server: tools with the chapter's names, isError for others."""

    ear = ears.Tools(REQUIRED_TOOLS, {name: name.replace("_", " ") for name in REQUIRED_TOOLS})
    refuses = speech.tool_error
    complains = None
    shape = speech.in_text
    minimal = True


class OtherWords(Bot):
    """``protocol/message`` with the vocabulary of 002 throughout: GAME_INVITE, MOVE_REQUEST, GAME_RESULT; -32601."""

    enters = entries.handshake_in_order
    ear = ears.handle_message(ears.SEED_002, ("protocol/message",))
    needs = (needs.game_id,)
    match_key = "game_id"
    join = "accepted"


class FlatAfterRegister(Bot):
    """``POST /register`` with player_meta as the body, then flat messages; framework's 422; answers as the bare body
    with a callback for the choice, without JSON-RPC either."""

    enters = entries.small_body_with_games
    address_key = "endpoint_url"
    ear = ears.Flat(ears.TYPES)
    refuses = speech.unprocessable
    shape = speech.bare_body
    callback = Callback(kinds=frozenset({CHOOSE}), flat=True, ack={"status": "ACK"})


class LeagueAndRound(Bot):
    """Needs league_id and an integer round_id in everything, a JSON-RPC id always; refuses by {"success": false}."""

    needs = (needs.league_id_everywhere, needs.round_id_everywhere, needs.round_is_no_string, needs.any_id)
    complains = speech.success(success=False)


class NestedObjects(Bot):
    """Needs game_id, ``game_invitation`` and ``parity_context`` objects; answers {status, data} as the bare body."""

    needs = (needs.game_id, needs.nested_invitation, needs.nested_parity_context)
    shape = speech.bare_data


class TokenOnBroadcasts(Bot):
    """Needs a non-empty auth_token even on broadcasts and protocol league.v2; answers with no token itself."""

    needs = (needs.token_everywhere, needs.protocol_v2)
    says_token = "none"


class Hesitant(Bot):
    """Its first choice of a league is none; it mends it only after a GAME_ERROR with nested retry_info."""

    needs = (needs.nested_retry_info,)

    def __init__(self, league: str, port: int, referee_port: int = 8001) -> None:
        super().__init__(league, port, referee_port)
        self.told = False

    def act(self, heard: Heard) -> Reply:
        """As others; a readable GAME_ERROR teaches it."""
        if heard.kind == ERROR:
            self.told = True
        return super().act(heard)

    def choose(self, match: str, heard: Heard) -> str:
        """No choice until it has been told."""
        return super().choose(match, heard) if self.told else "neither"


class RequestForReply(Bot):
    """A JSON-RPC request in place of a reply, with an id of its own counting."""

    shape = speech.as_request
    reply_id = "counter"


class Sparse(Bot):
    """``status`` ACK and ``choice`` and nothing else: no id, no token, no timestamp; broadcasts get -32601."""

    ear = ears.ByMethod(REQUIRED_TOOLS)
    minimal = True
    join = "ACK"
    choice = "choice"


class ToTheManager(Bot):
    """Callbacks go to the league manager's address, before the reply; no id of a player in them."""

    callback = Callback(to="manager", first=True)
    says_id = "none"
    stamp = speech.no_stamp

    def message(self, heard: Heard, fields: Any, conversation: Any) -> dict[str, Any]:
        """The sender is there, by the id it was given."""
        return super().message(heard, fields, conversation) | {"sender": f"player:{self.given_id}"}


class OkThenCallback(Bot):
    """Joins in the reply and chooses by callback; meanwhile it says ``ok``, as it does to what it does not know."""

    callback = Callback(ack={"status": "ok"}, kinds=frozenset({CHOOSE}))
    refuses = speech.success(status="ok")
    join = "accepted"


class OkToEverything(Bot):
    """Wants the message type as method, says ``ok`` to all else, and POSTs its answers before it replies RECEIVED: an
    answer comes while its question is open, and only that reply tells the right name from the wrong ones."""

    ear = ears.ByMethod(ears.TYPES)
    refuses = speech.success(status="ok")
    callback = Callback(first=True)
    join = "ACK"


class BusyUntilOver(Bot):
    """Refuses every invitation after the one it accepted until a GAME_OVER it can read, a method of that name."""

    enters = entries.league_register_request
    ear = ears.ByMethod(ears.TYPES)
    stays_busy = True
    join = "accepted"


class OnceInvited(Bot):
    """A repeated invitation is refused, a repeated choice request gets the other choice; answers in content[0].text."""

    refuses_repeated = True
    changes_mind = True
    shape = speech.in_text


class LocalTime(Bot):
    """``localhost`` from another loopback address; naive local time; ids of its own; the bare body."""

    host = "127.0.0.5"
    stamp = speech.naive_local
    says_id = "own"
    own_id = "agent-007"
    shape = speech.bare_body
    ear = ears.ByMethod({name: kind for name, kind in CHAPTER_8.items() if kind in (INVITE, CHOOSE, OVER)})
    refuses = speech.bare(error="Unknown method")
