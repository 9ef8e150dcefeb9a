"""Bots that differ in how they register."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.bots.words import CHOOSE, INVITE, OVER, REQUIRED_TOOLS
from tests.bots.zoo import entries, needs, parsers, speech
from tests.bots.zoo.base import Bot, Callback
from tests.bots.zoo.speech import Incoming


class Chapter8(Bot):
    """As in 004 chapter 8: ``register_player``; ``contact_endpoint`` with ``/mcp``; methods; full answers in result."""


class TypeAsMethod(Bot):
    """Entry ``LEAGUE_REGISTER_REQUEST``; the message type as method; -32601 under HTTP 404; +00:00; ``choice``."""

    enters = entries.league_register_request
    parser = parsers.ByMethod(parsers.TYPES)
    refuses = speech.rpc_error(-32601, 404)
    choice = "choice"
    stamp = speech.offset


class LeagueRegister(Bot):
    """Entry ``league_register``; ``parity_choose``; -32601 under HTTP 400; the reply's id is always 1."""

    enters = entries.league_register
    parser = parsers.ByMethod(parsers.PARITY_CHOOSE)
    refuses = speech.rpc_error(-32601, 400)
    reply_id = "one"


class ToolsDirect(Bot):
    """Entry ``tools/call``, no handshake, token from content[0].text; names of tools that only
    ``tools/list`` tells; -32602 for others; answers in content[0].text."""

    enters = entries.tools_call
    parser = parsers.Tools(
        {"receive_game_invitation": INVITE, "pick_a_side": CHOOSE, "receive_game_over": OVER},
        {
            "receive_game_invitation": "Receive an invitation to a game and accept or decline it.",
            "pick_a_side": "Choose even or odd for a match.",
            "receive_game_over": "Receive the result of a finished game.",
        },
    )
    refuses = speech.rpc_error(-32602)
    shape = speech.in_text


class HandshakeFirst(Bot):
    """``initialize``, ``tools/list``, ``notifications/initialized``, then ``tools/call``; wants ``protocol/message``
    with GAME_INVITE and a game_id; answers ``success`` and ``accepted``; {"success": false} for others."""

    enters = entries.handshake
    parser = parsers.handle_message(parsers.MIXED_WORDS, ("protocol/message",))
    needs = (needs.game_id,)
    refuses = speech.success(success=False)
    refuses_fields = None
    shape = speech.in_success
    minimal = True
    join = "accepted"
    match_key = "game_id"

    def choice_fields(self, choice: str) -> dict[str, object]:
        """The choice, and a meaningless ``move``."""
        return {"parity_choice": choice, "move": 1}


class NestedMessage(Bot):
    """Entry ``handle_message`` with ``params.message``, takes messages likewise; others: ``unknown_message_type``."""

    enters = entries.handle_message
    parser = parsers.handle_message()
    refuses = speech.success(status="unknown_message_type")


class LeagueHandle(Bot):
    """Entry ``league.handle`` with {envelope, payload}, token from result.payload; takes messages and answers likewise;
    requires an auth_token in every message."""

    enters = entries.league_handle
    parser = parsers.EnvelopeAndPayload()
    needs = (needs.token_everywhere,)
    shape = speech.in_envelope_and_payload


class FlatOnMcp(Bot):
    """A flat message on ``/mcp``, no JSON-RPC in either direction; answers are the bare body."""

    enters = entries.flat_on_mcp
    parser = parsers.Flat(parsers.TYPES)
    refuses = speech.bare(400, error="Unknown message type")
    shape = speech.bare_body


class SmallBody(Bot):
    """``POST /register`` with a small flat body that asks for an id; joins and chooses by callbacks to the invitation's
    referee_endpoint with half an envelope and a new conversation_id; ``status`` ACCEPTED."""

    enters = entries.small_body
    address_key = "endpoint"
    wanted_id = "P77"
    join = "ACCEPTED"
    callback = Callback()

    def message(self, incoming: Incoming, fields: Mapping[str, Any], conversation: Any) -> dict[str, Any]:
        """Half an envelope: no message_type, since the method says it."""
        full = super().message(incoming, fields, conversation)
        return {name: full[name] for name in ("sender", "auth_token", "match_id", *fields, "conversation_id")}


class OwnEnvelope(Bot):
    """``POST /register`` with ``request_id``, ``data``, ``callback_url``; by message_type; {status, data: {...}}."""

    enters = entries.envelope_of_its_own
    address_key = "callback_url"
    parser = parsers.ByType(parsers.TYPES)
    refuses = speech.success(status="unknown_message_type")
    shape = speech.in_data


class HalfEnvelope(Bot):
    """``endpoint_url``, without version, game_types, sender, timestamp and conversation_id; HTTP 500 for what it does
    not know; only the three tools the course requires."""

    address_key = "endpoint_url"
    leaves_out = frozenset({"version", "game_types", "sender", "timestamp", "conversation_id"})
    parser = parsers.ByMethod(REQUIRED_TOOLS)
    refuses = speech.server_error
    refuses_fields = None


class ReadsRegistered(Bot):
    """``protocol_version: "league.v2"`` and wants "REGISTERED"; answers with fractions of a second."""

    protocol_version = "league.v2"
    accepted_word = "REGISTERED"
    stamp = speech.zulu_fractions


class OwnId(Bot):
    """Answers with an id of its own and a placeholder token; timestamps ``20261121T202723Z``; a counter as reply id."""

    says_id = "own"
    own_id = "P01"
    says_token = "placeholder"
    stamp = speech.compact
    reply_id = "counter"


class IdFromEachMessage(Bot):
    """Takes its id from each message; ``"error": null`` beside the result; answers with the caller's token."""

    says_id = "message"
    says_token = "caller"
    needs = (needs.player_id_in_questions,)
    shape = speech.null_error


class PortLater(Bot):
    """Registers before its port is open; a repeated choice request gets the other choice."""

    registers_first = True
    changes_mind = True


class CapitalManager(Bot):
    """Requires sender ``league_manager:<CAPITALS OR DIGITS>``, also in the answer to its registration."""

    manager_sender = r"league_manager:[A-Z0-9]+"
    needs = (needs.manager_id_in_capitals,)


class TwoReferees(Bot):
    """Takes only REF01 and REF02, timestamps in whole seconds and integer ids; refuses by -32602."""

    needs = (needs.referee_01_or_02, needs.whole_second_stamp, needs.whole_second_deadline, needs.integer_id)


class PortByHeart(Bot):
    """Has a referee's port hard-coded: callbacks go to the first referee, whichever judges the match; ``choice``."""

    callback = Callback(to="hard_coded")
    choice = "choice"


class RootOnly(Bot):
    """Registers with a URL without a path and listens at ``/`` only: 404 elsewhere."""

    address_key = "endpoint"
    path = ""
    listens_at = "/"


class NoPath(Bot):
    """Registers with localhost without a path, but listens at ``/mcp`` of another loopback address."""

    path = ""
    host = "127.0.0.5"


class SlashRedirected(Bot):
    """Registers with a URL without a path and listens at ``/mcp/``; ``/mcp`` gets a 307."""

    path = ""
    listens_at = "/mcp/"
    redirects = {"/mcp": "/mcp/"}


class SlashStrict(Bot):
    """Registers with ``/mcp/`` and listens there only: 404 without the slash. On another loopback address."""

    path = "/mcp/"
    listens_at = "/mcp/"
    host = "127.0.0.6"
    registered_host = "127.0.0.1"


class SlashMissing(Bot):
    """Registers with a URL without a path and listens at ``/mcp/`` only: ``/mcp`` is a 404."""

    path = ""
    listens_at = "/mcp/"


class Mounted(Bot):
    """Registers with ``/mcp`` and listens at ``/mcp/``, as a mounted application does: ``/mcp`` gets a 307."""

    listens_at = "/mcp/"
    redirects = {"/mcp": "/mcp/"}


class AddedByHand(Bot):
    """Never registers: the instructor enters its name and URL. It knows neither its token nor its id."""

    enters = entries.never
    says_id = "none"
    says_token = "none"
