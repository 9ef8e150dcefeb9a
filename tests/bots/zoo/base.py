"""A bot: what it is made of, how it takes one request. No I/O here; ``serving.py`` puts it on a port."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any
from uuid import uuid4

from tests.bots import words
from tests.bots.words import ANSWERS, CHAPTER_8, CHOOSE, INVITE, OVER, rpc
from tests.bots.zoo import ears, entries, speech
from tests.bots.zoo.entries import Applicant, Unregistered
from tests.bots.zoo.needs import Need
from tests.bots.zoo.speech import Heard, Refusal, Reply


@dataclass(frozen=True)
class Callback:
    """Answers are POSTed instead of replied.

    Attributes:
        to: ``invitation`` (its referee_endpoint), ``hard_coded`` (the first referee's port), ``manager``.
        ack: what the HTTP reply says meanwhile.
        first: POST before the reply goes out.
        kinds: the messages that are answered so; the others in the reply.
        flat: no JSON-RPC around what is POSTed.
    """

    to: str = "invitation"
    ack: Mapping[str, Any] | None = None
    first: bool = False
    kinds: frozenset[str] = frozenset({INVITE, CHOOSE})
    flat: bool = False


class Bot:
    """The traits of one agent; a subclass says in which it differs and which rows of the documents it stands for.

    Args:
        league: the league manager's ``/mcp`` address.
        port: where this bot listens.
        referee_port: the first referee's, for those that know it by heart.
    """

    name = ""
    """Its class's."""
    # where it is
    host = "127.0.0.1"
    claims = "localhost"
    registers_first = False
    path = "/mcp"
    """The path in the address it gives."""
    listens_at = "/mcp"
    redirects: Mapping[str, str] = {}
    # how it registers
    enters: entries.Entry = staticmethod(entries.register_player)
    address_key = "contact_endpoint"
    leaves_out: frozenset[str] = frozenset()
    protocol_version = ""
    accepted_word = "ACCEPTED"
    wants_token = True
    manager_sender = ""
    wishes_id = ""
    # what it listens to
    ear: ears.Ear = ears.ByMethod(CHAPTER_8)
    needs: tuple[Need, ...] = ()
    refuses: Refusal = staticmethod(speech.rpc_error(-32601))
    complains: Refusal | None = staticmethod(speech.rpc_error(-32602))
    """How it refuses a message it knows for a field; None: as it refuses an unknown one."""
    # how it answers
    shape: speech.Shape = staticmethod(speech.in_result)
    minimal = False
    join = "accept"
    choice = "parity_choice"
    match_key = "match_id"
    stamp: Any = staticmethod(words.stamp)
    reply_id = "right"
    own_id = ""
    says_id = "given"
    """given, own, message (the id in the message it answers) or none."""
    says_token = "given"
    """given, caller, placeholder or none."""
    callback: Callback | None = None
    # how it behaves
    changes_mind = False
    refuses_repeated = False
    stays_busy = False

    def __init_subclass__(cls) -> None:
        cls.name = cls.__name__
        # A plain function among the traits is a value, not a method.
        for trait in ("enters", "refuses", "complains", "shape", "stamp"):
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
        """The address it gives."""
        return f"http://{self.claims}:{self.port}{self.path}"

    @property
    def endpoint(self) -> str:
        """Where it really listens."""
        return f"http://{self.host}:{self.port}{self.listens_at}"

    # -- registration -------------------------------------------------------------------------------------

    def applicant(self) -> Applicant:
        """What it says of itself."""
        return Applicant(
            self.name, self.address, self.address_key, self.leaves_out, self.protocol_version, self.wishes_id
        )

    def read_registration(self, fields: Mapping[str, Any]) -> None:
        """Take the answer's fields, or raise Unregistered: most agents then live on unregistered."""
        if fields.get("status") != self.accepted_word:
            raise Unregistered(f"status is {fields.get('status')!r:.80}, wanted {self.accepted_word}: {fields!r:.300}")
        if self.manager_sender and not re.fullmatch(self.manager_sender, str(fields.get("sender"))):
            raise Unregistered(f"sender is {fields.get('sender')!r:.80}, wanted {self.manager_sender}")
        token, given = fields.get("auth_token"), fields.get("player_id")
        if self.wants_token and not (isinstance(token, str) and token):
            raise Unregistered(f"no auth_token where it is read: {sorted(fields)}")
        if self.says_id == "given" and not (isinstance(given, str) and given):
            raise Unregistered(f"no player_id where it is read: {sorted(fields)}")
        self.auth_token, self.given_id = str(token or ""), str(given or "")
        self.registered = True

    # -- one request --------------------------------------------------------------------------------------

    def serve(self, path: str, raw: bytes) -> Reply:
        """Take one POST."""
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
        chat = self.ear.chat(body)
        if chat is not None:
            return Reply(200, speech.in_result(chat, body.get("id")), verdict="chat")
        heard = self.ear.hear(body)
        if heard is None:
            return self.refusal(self.refuses, body.get("id"), f"Unknown method {body.get('method')!r:.60}")
        for need in self.needs:
            wrong = need(heard)
            if wrong:
                reply = self.refusal(self.complains or self.refuses, body.get("id"), wrong, "refused")
                return Reply(**{**vars(reply), "kind": heard.kind})
        return self.act(heard)

    @staticmethod
    def refusal(how: Refusal, rpc_id: Any, why: str, verdict: str = "not understood") -> Reply:
        """A refusal in this bot's spelling."""
        return Reply(**{**vars(how(rpc_id, why)), "verdict": f"{verdict}: {why}"})

    def act(self, heard: Heard) -> Reply:
        """Do what an understood message asks for."""
        match = str(heard.fields.get(self.match_key))
        if heard.kind == INVITE:
            return self.say(heard, self.join_fields(self.accepts(match, heard)))
        if heard.kind == CHOOSE:
            return self.say(heard, self.choice_fields(self.choose(match, heard)))
        if heard.kind == OVER:
            self.busy_with = None
        return Reply(200, self.shaped({"status": "ok"}, heard), kind=heard.kind)

    def accepts(self, match: str, heard: Heard) -> bool:
        """Whether it joins."""
        refused = (self.refuses_repeated and match in self.invited) or (self.stays_busy and self.busy_with is not None)
        self.invited[match] = str(heard.fields.get("referee_endpoint"))
        if not refused:
            self.busy_with = match
        return not refused

    def choose(self, match: str, heard: Heard) -> str:
        """Its choice."""
        before = self.chosen.get(match)
        choice = self.rng.choice(["even", "odd"])
        if before is not None:
            choice = {"even": "odd", "odd": "even"}[before] if self.changes_mind else before
        self.chosen[match] = choice
        return choice

    # -- what it says -------------------------------------------------------------------------------------

    def join_fields(self, accepts: bool) -> dict[str, Any]:
        """Yes or no in its own word."""
        if self.join in ("accept", "accepted"):
            return {self.join: accepts}
        return {"status": self.join if accepts else "REJECTED"}

    def choice_fields(self, choice: str) -> dict[str, Any]:
        """The choice under its own name."""
        return {self.choice: choice}

    def identity(self, heard: Heard) -> str | None:
        """The player_id it gives."""
        if self.says_id == "message":
            return str(heard.fields.get("player_id"))
        return {"given": self.given_id, "own": self.own_id, "none": None}[self.says_id]

    def token(self, heard: Heard) -> Any:
        """The auth_token it gives."""
        placeholder = f"tok_{self.name.lower()}_temp"
        told = {"given": self.auth_token, "caller": heard.fields.get("auth_token"), "placeholder": placeholder}
        return told.get(self.says_token)

    def message(self, heard: Heard, fields: Mapping[str, Any], conversation: Any) -> dict[str, Any]:
        """An answer with its envelope, or without when this one is minimal."""
        if self.minimal:
            return dict(fields)
        identity, stamp = self.identity(heard), self.stamp()
        full = {
            "protocol": "league.v2",
            "message_type": ANSWERS[heard.kind],
            "sender": f"player:{identity}" if identity else None,
            "timestamp": stamp,
            "conversation_id": conversation,
            "auth_token": self.token(heard),
            self.match_key: heard.fields.get(self.match_key),
            "player_id": identity,
            "arrival_timestamp": stamp if heard.kind == INVITE else None,
        }
        return {name: value for name, value in full.items() if value is not None} | dict(fields)

    def say(self, heard: Heard, fields: Mapping[str, Any]) -> Reply:
        """The answer: in the reply, or by a POST of its own."""
        callback = self.callback
        if callback is None or heard.kind not in callback.kinds:
            answer = self.message(heard, fields, heard.fields.get("conversation_id"))
            return Reply(200, self.shaped(answer, heard), kind=heard.kind)
        answer = self.message(heard, fields, str(uuid4()))
        body = answer
        if not callback.flat:
            body = rpc(ANSWERS[heard.kind], answer, str(uuid4()))
        ack = self.shaped(dict(callback.ack or {"status": "RECEIVED"}), heard)
        return Reply(200, ack, kind=heard.kind, posts=((self.post_to(heard), body),))

    def post_to(self, heard: Heard) -> str:
        """Where a callback goes."""
        assert self.callback is not None
        if self.callback.to == "manager":
            return self.league
        if self.callback.to == "hard_coded":
            return f"http://127.0.0.1:{self.referee_port}/mcp"
        return self.invited[str(heard.fields.get(self.match_key))]

    def shaped(self, fields: dict[str, Any], heard: Heard) -> Any:
        """The reply's body."""
        self.counter += 1
        rpc_id = {"right": heard.rpc_id, "one": 1, "counter": self.counter}[self.reply_id]
        return self.shape(fields, rpc_id)
