"""The base class of the zoo's bots: their traits, and how they answer a request. No I/O; see ``serving.py``."""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any
from uuid import uuid4

from tests.bots import words
from tests.bots.words import ANSWERS, CHAPTER_8, CHOOSE, INVITE, OVER, rpc
from tests.bots.zoo import entries, parsers, speech
from tests.bots.zoo.entries import Applicant, Unregistered
from tests.bots.zoo.needs import Need
from tests.bots.zoo.speech import Incoming, Refusal, Reply


@dataclass(frozen=True)
class Callback:
    """How a bot answers by callbacks.

    Attributes:
        to: where callbacks go: ``invitation`` (its referee_endpoint), ``hard_coded`` (the first referee's port) or
            ``manager``.
        ack: the fields of the HTTP reply, which only acknowledges the message.
        first: whether the callback is made before the reply goes out.
        kinds: the messages that are answered by callback; others are answered in the reply.
        flat: whether the callback has no JSON-RPC around it.
    """

    to: str = "invitation"
    ack: Mapping[str, Any] | None = None
    first: bool = False
    kinds: frozenset[str] = frozenset({INVITE, CHOOSE})
    flat: bool = False


class Bot:
    """An agent as in 004 chapter 8; a subclass changes some traits; its docstring says which real agents it is like.

    Args:
        league: the league manager's ``/mcp`` address.
        port: where this bot listens.
        referee_port: the port of the first referee, for bots that have it hard-coded.
    """

    name = ""
    """The name of its class."""
    # where it listens
    host = "127.0.0.1"
    registered_host = "localhost"
    registers_first = False
    """Whether it registers before it listens."""
    path = "/mcp"
    """The path in the URL that it registers with."""
    listens_at = "/mcp"
    redirects: Mapping[str, str] = {}
    """The paths that get a 307, and where it points."""
    # how it registers
    enters: entries.Entry = staticmethod(entries.register_player)
    address_key = "contact_endpoint"
    leaves_out: frozenset[str] = frozenset()
    protocol_version = ""
    accepted_word = "ACCEPTED"
    """The only ``status`` that it takes for an accepted registration."""
    wants_token = True
    manager_sender = ""
    """A pattern that the ``sender`` of the answer to its registration must match; empty for any sender."""
    wanted_id = ""
    """The player_id that it asks for; empty for none."""
    # which messages it understands
    parser: parsers.Parser = parsers.ByMethod(CHAPTER_8)
    needs: tuple[Need, ...] = ()
    refuses: Refusal = staticmethod(speech.rpc_error(-32601))
    refuses_fields: Refusal | None = staticmethod(speech.rpc_error(-32602))
    """How it refuses a message with a wrong or missing field; None: in the same way as an unknown message."""
    # how it answers
    shape: speech.Shape = staticmethod(speech.in_result)
    minimal = False
    """Whether it answers without an envelope."""
    join = "accept"
    """How it joins: by ``accept`` or ``accepted``, or by this word as its ``status``."""
    choice = "parity_choice"
    match_key = "match_id"
    stamp: Any = staticmethod(words.stamp)
    reply_id = "right"
    """The JSON-RPC id of its replies: right (that of the call), one (always 1) or counter."""
    own_id = ""
    says_id = "given"
    """The player_id in its answers: given, own, message (that of the message it answers) or none."""
    says_token = "given"
    """The token in its answers: given, caller (that of the message it answers), placeholder or none."""
    callback: Callback | None = None
    # how it behaves
    changes_mind = False
    refuses_repeated = False
    stays_busy = False
    now: Callable[[], float] = staticmethod(time.monotonic)
    """A clock in seconds, for bots that limit the rate of requests."""

    def __init_subclass__(cls) -> None:
        cls.name = cls.__name__
        # A function that is a trait is called without self.
        for trait in ("enters", "refuses", "refuses_fields", "shape", "stamp"):
            if isinstance(cls.__dict__.get(trait), FunctionType):
                setattr(cls, trait, staticmethod(cls.__dict__[trait]))

    def __init__(self, league: str, port: int, referee_port: int = 8001) -> None:
        self.league, self.port, self.referee_port = league, port, referee_port
        self.rng = random.Random(self.name)
        self.given_id = self.auth_token = ""
        self.registered = False
        self.counter = 0
        self.invited: dict[str, str] = {}
        self.chosen: dict[str, str] = {}
        self.busy_with: str | None = None

    @property
    def address(self) -> str:
        """The URL that it registers with."""
        return f"http://{self.registered_host}:{self.port}{self.path}"

    @property
    def endpoint(self) -> str:
        """The URL at which it really listens."""
        return f"http://{self.host}:{self.port}{self.listens_at}"

    # -- registration -------------------------------------------------------------------------------------

    def applicant(self) -> Applicant:
        """The data of its registration."""
        return Applicant(
            self.name, self.address, self.address_key, self.leaves_out, self.protocol_version, self.wanted_id
        )

    def read_registration(self, fields: Mapping[str, Any]) -> None:
        """Take id and token from the answer's fields.

        Raises:
            Unregistered: it cannot use the answer; like most agents it goes on listening, unregistered.
        """
        if fields.get("status") != self.accepted_word:
            raise Unregistered(f"status is {fields.get('status')!r:.80}, wanted {self.accepted_word}: {fields!r:.300}")
        if self.manager_sender and not re.fullmatch(self.manager_sender, str(fields.get("sender"))):
            raise Unregistered(f"sender is {fields.get('sender')!r:.80}, wanted {self.manager_sender}")
        token, player_id = fields.get("auth_token"), fields.get("player_id")
        if self.wants_token and not (isinstance(token, str) and token):
            raise Unregistered(f"no auth_token where it is read: {sorted(fields)}")
        if self.says_id == "given" and not (isinstance(player_id, str) and player_id):
            raise Unregistered(f"no player_id where it is read: {sorted(fields)}")
        self.auth_token, self.given_id = str(token or ""), str(player_id or "")
        self.registered = True

    # -- one request --------------------------------------------------------------------------------------

    def serve(self, path: str, raw: bytes) -> Reply:
        """Answer one POST."""
        if path != self.listens_at:
            if path in self.redirects:
                return Reply(307, location=self.redirects[path], text="", verdict="not here")
            return Reply(404, {"detail": "Not Found"}, verdict="not here")
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        if not isinstance(body, Mapping):
            return self.refusal(self.refuses, None, "the body is no JSON object", "not understood")
        if self.enters is not entries.never and not self.registered:
            return self.refusal(self.refuses, body.get("id"), "not registered", "not registered")
        # Calls that are no message of a game, such as initialize or tools/list.
        direct_result = self.parser.result_of(body)
        if direct_result is not None:
            return Reply(200, speech.in_result(direct_result, body.get("id")), verdict="chat")
        incoming = self.parser.parse(body)
        if incoming is None:
            return self.refusal(self.refuses, body.get("id"), f"Unknown method {body.get('method')!r:.60}")
        for need in self.needs:
            wrong = need(incoming)
            if wrong:
                reply = self.refusal(self.refuses_fields or self.refuses, body.get("id"), wrong, "refused")
                return Reply(**{**vars(reply), "kind": incoming.kind})
        return self.act(incoming)

    @staticmethod
    def refusal(how: Refusal, rpc_id: Any, why: str, verdict: str = "not understood") -> Reply:
        """A refusal in this bot's format."""
        return Reply(**{**vars(how(rpc_id, why)), "verdict": f"{verdict}: {why}"})

    def act(self, incoming: Incoming) -> Reply:
        """Answer a message that was understood."""
        match = str(incoming.fields.get(self.match_key))
        if incoming.kind == INVITE:
            return self.say(incoming, self.join_fields(self.accepts(match, incoming)))
        if incoming.kind == CHOOSE:
            return self.say(incoming, self.choice_fields(self.choose(match, incoming)))
        if incoming.kind == OVER:
            self.busy_with = None
        return Reply(200, self.shaped({"status": "ok"}, incoming), kind=incoming.kind)

    def accepts(self, match: str, incoming: Incoming) -> bool:
        """Whether it joins this match."""
        refused = (self.refuses_repeated and match in self.invited) or (self.stays_busy and self.busy_with is not None)
        self.invited[match] = str(incoming.fields.get("referee_endpoint"))
        if not refused:
            self.busy_with = match
        return not refused

    def choose(self, match: str, incoming: Incoming) -> str:
        """The bot's choice in this match."""
        earlier = self.chosen.get(match)
        choice = self.rng.choice(["even", "odd"])
        if earlier is not None:
            choice = {"even": "odd", "odd": "even"}[earlier] if self.changes_mind else earlier
        self.chosen[match] = choice
        return choice

    # -- its answers --------------------------------------------------------------------------------------

    def join_fields(self, accepts: bool) -> dict[str, Any]:
        """The field that says whether it joins."""
        if self.join in ("accept", "accepted"):
            return {self.join: accepts}
        return {"status": self.join if accepts else "REJECTED"}

    def choice_fields(self, choice: str) -> dict[str, Any]:
        """The field that has its choice."""
        return {self.choice: choice}

    def identity(self, incoming: Incoming) -> str | None:
        """The player_id in its answer."""
        if self.says_id == "message":
            return str(incoming.fields.get("player_id"))
        return {"given": self.given_id, "own": self.own_id, "none": None}[self.says_id]

    def token(self, incoming: Incoming) -> Any:
        """The auth_token in its answer."""
        placeholder = f"tok_{self.name.lower()}_temp"
        tokens = {"given": self.auth_token, "caller": incoming.fields.get("auth_token"), "placeholder": placeholder}
        return tokens.get(self.says_token)

    def message(self, incoming: Incoming, fields: Mapping[str, Any], conversation: Any) -> dict[str, Any]:
        """An answer with its envelope, or without for a minimal bot."""
        if self.minimal:
            return dict(fields)
        identity, stamp = self.identity(incoming), self.stamp()
        full = {
            "protocol": "league.v2",
            "message_type": ANSWERS[incoming.kind],
            "sender": f"player:{identity}" if identity else None,
            "timestamp": stamp,
            "conversation_id": conversation,
            "auth_token": self.token(incoming),
            self.match_key: incoming.fields.get(self.match_key),
            "player_id": identity,
            "arrival_timestamp": stamp if incoming.kind == INVITE else None,
        }
        return {name: value for name, value in full.items() if value is not None} | dict(fields)

    def say(self, incoming: Incoming, fields: Mapping[str, Any]) -> Reply:
        """The answer, in the reply or by callback."""
        callback = self.callback
        if callback is None or incoming.kind not in callback.kinds:
            answer = self.message(incoming, fields, incoming.fields.get("conversation_id"))
            return Reply(200, self.shaped(answer, incoming), kind=incoming.kind)
        answer = self.message(incoming, fields, str(uuid4()))
        body = answer
        if not callback.flat:
            body = rpc(ANSWERS[incoming.kind], answer, str(uuid4()))
        ack = self.shaped(dict(callback.ack or {"status": "RECEIVED"}), incoming)
        return Reply(200, ack, kind=incoming.kind, posts=((self.post_to(incoming), body),))

    def post_to(self, incoming: Incoming) -> str:
        """The URL for a callback."""
        assert self.callback is not None
        if self.callback.to == "manager":
            return self.league
        if self.callback.to == "hard_coded":
            return f"http://127.0.0.1:{self.referee_port}/mcp"
        return self.invited[str(incoming.fields.get(self.match_key))]

    def shaped(self, fields: dict[str, Any], incoming: Incoming) -> Any:
        """The body of a reply with these fields, in this bot's shape."""
        self.counter += 1
        rpc_id = {"right": incoming.rpc_id, "one": 1, "counter": self.counter}[self.reply_id]
        return self.shape(fields, rpc_id)
