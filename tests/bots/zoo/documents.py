"""Bots that each follow one document to the letter: 000, 001, 002, 003 and the sample agent of 004 section 5.3.2."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping
from typing import Any

from tests.bots.words import CHAPTER_8, CHOOSE, INVITE, OVER, REQUIRED_TOOLS, ROUND
from tests.bots.zoo import entries, needs, parsers, speech
from tests.bots.zoo.base import Bot
from tests.bots.zoo.entries import message_002
from tests.bots.zoo.needs import EVERYTHING, GAME, has, is_object, is_text, is_whole
from tests.bots.zoo.speech import BROADCASTS, Incoming, Reply

ENDS_IN_Z = has(
    "timestamp",
    EVERYTHING,
    lambda v: isinstance(v, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", v) is not None,
    "ISO-8601 UTC with a Z",
)
SENDER_000 = has(
    "sender",
    EVERYTHING,
    lambda v: isinstance(v, str) and re.fullmatch(r"league_manager(:\S+)?|referee:\S+|player:\S+", v) is not None,
    "<type>:<id>",
)
ROLE = has("role_in_match", {INVITE}, lambda v: v in ("PLAYER_A", "PLAYER_B"), "PLAYER_A or PLAYER_B")


class Parser000(parsers.MessagesOnly):
    """Tells messages apart by the methods that section 8 names, and by message_type where it names none."""

    named = {"handle_game_invitation": INVITE, "choose_parity": CHOOSE, "notify_round": ROUND}

    def parse(self, body: Mapping[str, Any]) -> Incoming | None:
        params = parsers.params_of(body)
        if params is None:
            return None
        method, kind = str(body["method"]), str(params.get("message_type"))
        if method in self.named:
            return Incoming(self.named[method], params, body) if kind == self.named[method] else None
        return Incoming(kind, params, body) if kind in CHAPTER_8.values() and kind not in self.named.values() else None


class Seed000(Bot):
    """000: requires the whole envelope, a time that ends in Z and a token in every message."""

    parser = Parser000()
    needs = (
        needs.protocol_v2, SENDER_000, ENDS_IN_Z, needs.token_everywhere, has("conversation_id", EVERYTHING),
        has("match_id", GAME), has("game_type", {INVITE, CHOOSE}), has("opponent_id", {INVITE}), ROLE,
        has("deadline", {CHOOSE}), has("context.opponent_id", {CHOOSE}),
        has("context.round_id", {CHOOSE}, lambda v: is_text(v) or is_whole(v)),
        has("game_result.choices", {OVER}, is_object), has("game_result.drawn_number", {OVER}, is_whole),
    )  # fmt: skip


class Seed001(Bot):
    """001: the message type as method; no auth_token anywhere; its own lists of required fields; integer rounds."""

    enters = entries.as_in_001
    wants_token = False
    says_token = "none"
    parser = parsers.ByMethod(parsers.TYPES)
    needs = (
        needs.protocol_v2, has("sender", EVERYTHING), has("timestamp", EVERYTHING), has("conversation_id", EVERYTHING),
        has("league_id", {INVITE}), has("round_id", {INVITE}, is_whole), has("match_id", GAME), ROLE,
        has("game_type", {INVITE, CHOOSE, OVER}), has("opponent_id", {INVITE}), has("player_id", {CHOOSE}),
        has("context.opponent_id", {CHOOSE}), has("context.round_id", {CHOOSE}, is_whole), has("deadline", {CHOOSE}),
        has("context.your_standings", {CHOOSE}, is_object), has("game_result.status", {OVER}), needs.integer_id,
    )  # fmt: skip


class Seed002(Bot):
    """002: ``message_id``, ``type``, ``payload``, ``correlation_id`` as the body of a POST; its own vocabulary."""

    enters = entries.as_in_002
    address_key = "endpoint"
    parser = parsers.Envelope002()
    refuses = speech.bare(400, error="invalid message")
    shape = speech.bare_body
    words = {INVITE: "GAME_INVITE_RESPONSE", CHOOSE: "MOVE_RESPONSE"}
    join = "accepted"
    choice = "choice"

    def choose(self, match: str, incoming: Incoming) -> str | int:  # type: ignore[override]
        """A number in the game of 002, a parity in that of the league."""
        parity = super().choose(match, incoming)
        return self.rng.randint(1, 5) if incoming.fields.get("game_type") == "even_odd_numbers" else parity

    def message(self, incoming: Incoming, fields: Mapping[str, Any], conversation: Any) -> dict[str, Any]:
        """An answer in the envelope of 002."""
        where = {"match_id": incoming.fields.get("match_id"), "player_id": self.given_id}
        return message_002(
            self.words[incoming.kind],
            f"player:{self.given_id}",
            {**where, **fields},
            correlation_id=incoming.fields["message_id"],
            auth_token=self.auth_token,
        )


class Seed002InParams(Seed002):
    """002 with its envelope as the params of JSON-RPC calls, as MCP, which its title names, would have it."""

    enters = entries.as_in_002_in_params
    parser = parsers.Envelope002(in_params=True)
    refuses = speech.rpc_error(-32600)
    shape = speech.in_result


class Seed003(Bot):
    """003: tools as methods, the message type for the others; the whole envelope, validated; errors with E-codes."""

    parser = parsers.ByMethod({**CHAPTER_8, **{kind: kind for kind in BROADCASTS | {OVER, INVITE}}})
    needs = (
        needs.protocol_v2, has("message_type", EVERYTHING), has("sender", EVERYTHING), ENDS_IN_Z,
        has("conversation_id", EVERYTHING), needs.token_everywhere, has("match_id", GAME),
    )  # fmt: skip

    @staticmethod
    def refuses_fields(rpc_id: Any, why: str) -> Reply:
        """-32602 with E002 in data (003 section 7)."""
        error = {"code": -32602, "message": why, "data": {"error_code": "E002", "details": why}}
        return Reply(200, {"jsonrpc": "2.0", "error": error, "id": rpc_id})


class Sample004(Bot):
    """004 5.3.2 as printed: three methods, bare answers, local time without a zone, no token, no id of its own.

    It registers as in 004 5.11.1: without timestamp and conversation_id.
    """

    leaves_out = frozenset({"timestamp", "conversation_id"})
    refuses = speech.bare(error="Unknown method")

    def serve(self, path: str, raw: bytes) -> Reply:
        """Answer one POST; as in FastAPI, a body that does not fit MCPRequest gets a 422."""
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        fits = isinstance(body, dict) and isinstance(body.get("method"), str)
        fits = fits and isinstance(body.get("params", {}), dict) and needs.is_whole(body.get("id", 1))
        if path == self.listens_at and not fits:
            return self.refusal(speech.unprocessable, None, "does not fit MCPRequest")
        return super().serve(path, raw)

    class Parser(parsers.MessagesOnly):
        """Tells messages apart by the method only, as the sample's three branches do."""

        def parse(self, body: Mapping[str, Any]) -> Incoming | None:
            params = body.get("params", {})
            kind = REQUIRED_TOOLS.get(str(body.get("method")))
            return None if kind is None else Incoming(kind, params, body)

    parser = Parser()

    def act(self, incoming: Incoming) -> Reply:
        """Answer as the three functions of the sample do."""
        params = incoming.fields
        if incoming.kind == INVITE:
            answer = {
                "message_type": "GAME_JOIN_ACK",
                "match_id": params.get("match_id"),
                "arrival_timestamp": speech.naive_local(),
                "accept": True,
            }
        elif incoming.kind == CHOOSE:
            answer = {
                "message_type": "CHOOSE_PARITY_RESPONSE",
                "match_id": params.get("match_id"),
                "player_id": params.get("player_id"),
                "parity_choice": random.choice(["even", "odd"]),
            }
        else:
            answer = {"status": "ok"}
        return Reply(200, answer, kind=incoming.kind)


class SampleServer(Sample004):
    """The sample on the basic server of 004 5.2.1: answers in result, an unknown method is a success with id 1."""

    @staticmethod
    def refuses(rpc_id: Any, why: str) -> Reply:
        """An error in result; its id is 1, the default of MCPResponse."""
        return Reply(200, {"jsonrpc": "2.0", "result": {"error": "Unknown method"}, "id": 1})

    def act(self, incoming: Incoming) -> Reply:
        """Answer as the sample, wrapped in MCPResponse."""
        reply = super().act(incoming)
        return Reply(200, speech.in_result(reply.body, incoming.body.get("id", 1)), kind=reply.kind)
