"""Bots of kinds that were seen after the first version, and that the site could not play with at first."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.bots.words import CHOOSE, ERROR, INVITE, LEAGUE_END, OVER, ROUND, ROUND_END, TABLE, rpc_error
from tests.bots.zoo import entries, parsers, speech
from tests.bots.zoo.base import Bot, Callback
from tests.bots.zoo.documents import Seed002
from tests.bots.zoo.speech import Incoming, Reply


class AsksForLists(Bot):
    """``initialize``, ``tools/list``, ``resources/list``, ``prompts/list``, then registers; gives up at an error. Wants
    ``protocol/message``; answers MOVE_REQUEST with a number and CHOOSE_PARITY_CALL with a parity; ten requests at
    once and a hundred a minute, "Rate limit exceeded" with retry_after for the rest."""

    enters = entries.asks_for_lists
    parser = parsers.handle_message(
        {"GAME_INVITE": INVITE, "MOVE_REQUEST": CHOOSE, CHOOSE: CHOOSE, "GAME_RESULT": OVER, OVER: OVER},
        ("protocol/message",),
    )
    refuses = speech.success(success=False)
    refuses_fields = None
    shape = speech.in_success
    minimal = True
    join = "accepted"
    max_burst, refill_per_s = 10.0, 100 / 60
    """How many requests it answers at once, and how many per second after that."""

    def __init__(self, league: str, port: int, referee_port: int = 8001) -> None:
        super().__init__(league, port, referee_port)
        self.left, self.counted_at = self.max_burst, 0.0

    def serve(self, path: str, raw: bytes) -> Reply:
        """Answer one POST within the rate limit."""
        now = self.now()
        self.left = min(self.max_burst, self.left + (now - self.counted_at) * self.refill_per_s)
        self.counted_at = now
        if self.left < 1:
            error = rpc_error(-32000, "Rate limit exceeded", None)
            error["error"]["data"] = {"retry_after": round((1 - self.left) / self.refill_per_s, 2)}
            return Reply(200, error, verdict="too often")
        self.left -= 1
        return super().serve(path, raw)

    def act(self, incoming: Incoming) -> Reply:
        """Answer a message; a MOVE_REQUEST by a number."""
        if incoming.kind == CHOOSE and incoming.fields.get("message_type") == "MOVE_REQUEST":
            body = self.shaped({"move": self.rng.randint(1, 5)}, incoming)
            return Reply(200, body, verdict="a number", kind=CHOOSE)
        return super().act(incoming)


@dataclass(frozen=True)
class DataParser(parsers.MessagesOnly):
    """Takes a flat envelope with the message in ``data``, which must have exactly the fields of its model."""

    models: Mapping[str, tuple[str, Mapping[str, Callable[[Any], bool]]]]

    def parse(self, body: Mapping[str, Any]) -> Incoming | None:
        named = self.models.get(str(body.get("message_type", body.get("type"))))
        data = body.get("data")
        if "jsonrpc" in body or named is None or not isinstance(data, Mapping):
            return None
        if not isinstance(body.get("request_id"), str):
            return None
        kind, model = named
        if set(data) != set(model) or not all(fits(data[name]) for name, fits in model.items()):
            return None
        return Incoming(kind, data, body)


def _matches(pattern: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and re.fullmatch(pattern, value) is not None


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


_MATCH, _SIDE = _matches(r"M-\d+"), _matches("even|odd")
STRICT_MODELS = {
    INVITE: (
        INVITE,
        {
            "match_id": _MATCH,
            "round_id": lambda value: _whole(value) or _text(value),
            "opponent_id": _matches("player:.+"),
            "role_in_match": _matches("[AB]"),
        },
    ),
    "CHOOSE_PARITY": (CHOOSE, {"match_id": _MATCH}),
    OVER: (
        OVER,
        {
            "match_id": _MATCH,
            "winner": _text,
            "player_a_choice": _SIDE,
            "player_b_choice": _SIDE,
            "random_number": _whole,
            "calculation": _text,
            "round_duration_ms": _whole,
        },
    ),
}


class StrictData(Bot):
    """A flat envelope of its own with the message in ``data``, which must fit its model exactly; ids ``M-<digits>``,
    CHOOSE_PARITY, and a GAME_OVER that it must understand before it takes another invitation; answers
    ``{status, request_id, data: {…, data: {accepted}}}``."""

    enters = entries.envelope_of_its_own
    address_key = "endpoint"
    parser = DataParser(STRICT_MODELS)
    refuses = speech.bare(422, error={"code": "VALIDATION_ERROR", "message": "Field required"})
    stays_busy = True
    join = "accepted"

    def say(self, incoming: Incoming, fields: Mapping[str, Any]) -> Reply:
        """The answer, in an envelope like that of the call."""
        data = {"message_type": f"{incoming.kind}_RESPONSE", "sender": f"player:{self.given_id}", "data": dict(fields)}
        body = {"status": "success", "request_id": incoming.body["request_id"], "data": data}
        return Reply(200, body, kind=incoming.kind)


class CapitalPath(Bot):
    """POSTs its registration to ``/MCP``, gives ``/MCP`` as its path and listens at ``/mcp`` only; its choice goes to
    ``/MCP`` of the first referee."""

    enters = entries.register_at_capitals
    path = "/MCP"
    callback = Callback(to="hard_coded", kinds=frozenset({CHOOSE}))

    def post_to(self, incoming: Incoming) -> str:
        """The first referee's ``/MCP``."""
        return f"http://127.0.0.1:{self.referee_port}/MCP"


class Ready(Bot):
    """``league.handle`` with REGISTER_PLAYER_REQUEST, then AGENT_READY_REQUEST, then waits for REQUEST_MOVE; it
    understands no invitation."""

    enters = entries.ready
    parser = parsers.EnvelopeAndPayload(types={"REQUEST_MOVE": CHOOSE, OVER: OVER})
    shape = speech.in_envelope_and_payload

    def choose(self, match: str, incoming: Incoming) -> str:
        """One of the ``valid_options``; even or odd without them."""
        options = incoming.fields.get("valid_options")
        return self.rng.choice(options) if options else super().choose(match, incoming)

    def choice_fields(self, choice: str) -> dict[str, Any]:
        """The fields of a MOVE_RESPONSE with the move."""
        return {"message_type": "MOVE_RESPONSE", "move": choice}


class AckAlone(Bot):
    """Joins by a GAME_JOIN_ACK that says neither yes nor no."""

    def join_fields(self, accepts: bool) -> dict[str, Any]:
        """No field that says yes or no."""
        return {}


class Loud(Bot):
    """Chooses ``EVEN`` or ``ODD``."""

    def choice_fields(self, choice: str) -> dict[str, Any]:
        """The choice in capitals."""
        return {self.choice: choice.upper()}


OWN_TOOLS = {
    "handle_game_invitation": INVITE,
    "choose_parity": CHOOSE,
    "notify_match_result": OVER,
    "notify_standings": TABLE,
    "notify_round_start": ROUND,
    "notify_round_end": ROUND_END,
    "notify_league_end": LEAGUE_END,
    "notify_error": ERROR,
}


class OwnNotices(Bot):
    """An MCP server whose tools for broadcasts have names of its own: ``notify_standings`` and the like."""

    enters = entries.tools_call
    parser = parsers.Tools(OWN_TOOLS, {})
    refuses = speech.tool_error
    refuses_fields = None
    shape = speech.in_text


class Whole002(Seed002):
    """002 with its whole vocabulary: a MOVE_REQUEST before GAME_START is G004; takes ROUND_START and ROUND_RESULT."""

    parser = parsers.Envelope002(
        types=parsers.TYPES_002
        | {"GAME_START": "GAME_START", "ROUND_START": "ROUND_START", "ROUND_RESULT": "ROUND_RESULT"}
    )

    def __init__(self, league: str, port: int, referee_port: int = 8001) -> None:
        super().__init__(league, port, referee_port)
        self.started: set[str] = set()

    def act(self, incoming: Incoming) -> Reply:
        """Answer a message; refuses a MOVE_REQUEST before GAME_START."""
        match = str(incoming.fields.get(self.match_key))
        if incoming.kind == "GAME_START":
            self.started.add(match)
        if incoming.kind == CHOOSE and match not in self.started:
            why = "G004 NOT_YOUR_TURN: no GAME_START yet"
            return Reply(400, {"error": why}, kind=CHOOSE, verdict=f"refused: {why}")
        return super().act(incoming)


class _UnlistedTools(parsers.Tools):
    """Tools of a server without ``tools/list``."""

    def result_of(self, body: Mapping[str, Any]) -> dict[str, Any] | None:
        """Returns None: ``initialize``, ``tools/list`` and ``ping`` are unknown to this bot."""
        return None


class GuessReceive(Bot):
    """``tools/call`` with ``receive_game_invitation``, ``choose_parity``, ``notify_game_over``; ``tools/list`` is an
    unknown method."""

    parser = _UnlistedTools({"receive_game_invitation": INVITE, "choose_parity": CHOOSE, "notify_game_over": OVER}, {})
    shape = speech.in_text


class GuessSubmit(Bot):
    """``tools/call`` with ``receive_invitation``, ``submit_choice``, ``receive_match_result``; no ``tools/list``."""

    enters = entries.tools_call
    parser = _UnlistedTools({"receive_invitation": INVITE, "submit_choice": CHOOSE, "receive_match_result": OVER}, {})
    refuses = speech.tool_error
    refuses_fields = None
    shape = speech.in_text
