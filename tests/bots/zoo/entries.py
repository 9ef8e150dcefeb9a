"""How bots register: each entry is a conversation that yields what to post and is sent what came back.

It returns the fields of the answer as the bot read them, or raises ``Unregistered``: real agents try once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from tests.bots.words import meta, registration, rpc
from tests.bots.zoo.speech import split, zulu_millis


@dataclass(frozen=True)
class Applicant:
    """What a bot says of itself.

    Attributes:
        name: the name to show.
        address: where it says it listens.
        address_key: how it calls that.
        leaves_out: of version, game_types, sender, timestamp, conversation_id, what it does not send.
        protocol_version: sent when not empty.
        wishes_id: an id it asks for, when not empty.
    """

    name: str
    address: str
    address_key: str = "contact_endpoint"
    leaves_out: frozenset[str] = frozenset()
    protocol_version: str = ""
    wishes_id: str = ""

    def meta(self) -> dict[str, Any]:
        """``player_meta``."""
        told = meta(self.name, self.address)
        told[self.address_key] = told.pop("contact_endpoint")
        return {name: value for name, value in told.items() if name not in self.leaves_out}

    def message(self) -> dict[str, Any]:
        """LEAGUE_REGISTER_REQUEST."""
        message = registration("player", self.name, f"conv-{self.name}-reg", self.meta())
        if self.protocol_version:
            message["protocol_version"] = self.protocol_version
        return {name: value for name, value in message.items() if name not in self.leaves_out}


@dataclass(frozen=True)
class Post:
    """One request to the league manager, at ``mcp`` or at ``register``."""

    body: dict[str, Any]
    at: str = "mcp"


@dataclass(frozen=True)
class Came:
    """The answer: status and decoded body, None when there was none."""

    status: int
    body: Any = field(default=None)


class Unregistered(Exception):
    """The answer could not be read, or was a refusal."""


Talk = Generator[Post, Came, Mapping[str, Any]]
Entry = Callable[[Applicant], Talk]
Read = Callable[[Any, Came], Mapping[str, Any]]


def _object(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise Unregistered(f"{what} is {value!r:.200}")
    return value


# -- where the answer is read from ------------------------------------------------------------------------


def from_result(rpc_id: Any, came: Came) -> Mapping[str, Any]:
    """``result`` of a JSON-RPC response to our id."""
    body = _object(came.body, "the reply")
    if body.get("jsonrpc") != "2.0" or body.get("id") != rpc_id:
        raise Unregistered(f"no JSON-RPC response to {rpc_id!r}: {came.body!r:.200}")
    return _object(body.get("result"), "result")


def from_text(rpc_id: Any, came: Came) -> Mapping[str, Any]:
    """The JSON in ``result.content[0].text``."""
    content = from_result(rpc_id, came).get("content")
    if not isinstance(content, list) or not content or _object(content[0], "content[0]").get("type") != "text":
        raise Unregistered(f"content is {content!r:.200}")
    try:
        return _object(json.loads(content[0]["text"]), "the JSON in content[0].text")
    except (KeyError, TypeError, ValueError) as error:
        raise Unregistered(f"content[0].text is no JSON: {content!r:.200}") from error


def from_payload(rpc_id: Any, came: Came) -> Mapping[str, Any]:
    """``result.payload``."""
    return _object(from_result(rpc_id, came).get("payload"), "result.payload")


def from_body(rpc_id: Any, came: Came) -> Mapping[str, Any]:
    """The body itself."""
    if came.status >= 300:
        raise Unregistered(f"HTTP {came.status}: {came.body!r:.200}")
    return _object(came.body, "the reply")


def from_data(request_id: Any, came: Came) -> Mapping[str, Any]:
    """``data`` of an envelope that repeats our ``request_id``."""
    body = from_body(request_id, came)
    if body.get("request_id") != request_id:
        raise Unregistered(f"request_id is {body.get('request_id')!r:.80}, wanted {request_id}")
    return _object(body.get("data"), "data")


# -- the entries ------------------------------------------------------------------------------------------


def method(name: str, *, wrap: Callable[[dict[str, Any]], Any] | None = None, read: Read = from_result) -> Entry:
    """One JSON-RPC call of this method; ``wrap`` puts the message into its params."""

    def entry(applicant: Applicant) -> Talk:
        message = applicant.message()
        params = wrap(message) if wrap else message
        came = yield Post(rpc(name, params))
        return read(1, came)

    return entry


register_player = method("register_player")
league_register_request = method("LEAGUE_REGISTER_REQUEST")
league_register = method("league_register")
handle_message = method("handle_message", wrap=lambda message: {"message": message})
mcp_message = method("mcp_message")
league_handle = method("league.handle", wrap=split, read=from_payload)
tools_call = method(
    "tools/call", wrap=lambda message: {"name": "register_player", "arguments": message}, read=from_text
)


def _handshake(*, initialized_first: bool) -> Entry:
    def entry(applicant: Applicant) -> Talk:
        client = {"name": applicant.name, "version": "1.0.0"}
        params = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": client}
        result = from_result(0, (yield Post(rpc("initialize", params, 0))))
        for name in ("protocolVersion", "capabilities", "serverInfo"):
            if name not in result:
                raise Unregistered(f"initialize was answered without {name}")
        initialized = Post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        if initialized_first:
            yield from _notify(initialized)
        result = from_result(1, (yield Post(rpc("tools/list", {}))))
        tools = result.get("tools")
        names = [tool.get("name") for tool in tools if isinstance(tool, Mapping)] if isinstance(tools, list) else []
        if "register_player" not in names:
            raise Unregistered(f"tools/list has no register_player: {names}")
        if not initialized_first:
            yield from _notify(initialized)
        params = {"name": "register_player", "arguments": applicant.message()}
        came = yield Post(rpc("tools/call", params, 2))
        return from_text(2, came)

    return entry


def _notify(post: Post) -> Generator[Post, Came, None]:
    came = yield post
    if came.status >= 300:
        raise Unregistered(f"{post.body['method']} was answered with HTTP {came.status}")


handshake = _handshake(initialized_first=False)
handshake_in_order = _handshake(initialized_first=True)


def flat_on_mcp(applicant: Applicant) -> Talk:
    """The message is the body, and so is the answer."""
    came = yield Post(applicant.message())
    return from_body(None, came)


def small_body(applicant: Applicant) -> Talk:
    """POST /register with a handful of fields and nothing else."""
    body: dict[str, Any] = {"name": applicant.name, applicant.address_key: applicant.address}
    if applicant.wishes_id:
        body["player_id"] = applicant.wishes_id
    came = yield Post(body, at="register")
    return from_body(None, came)


def small_body_with_games(applicant: Applicant) -> Talk:
    """The same with the fields of player_meta."""
    came = yield Post(applicant.meta(), at="register")
    return from_body(None, came)


def envelope_of_its_own(applicant: Applicant) -> Talk:
    """POST /register with ``request_id`` and ``data``."""
    request_id = str(uuid4())
    data = {"display_name": applicant.name, applicant.address_key: applicant.address}
    body = {"request_id": request_id, "type": "register", "data": data}
    came = yield Post(body, at="register")
    return from_data(request_id, came)


def seed_001(applicant: Applicant) -> Talk:
    """001: no auth_token in the envelope or in the answer; only status and player_id are promised."""
    came = yield Post(rpc("LEAGUE_REGISTER_REQUEST", applicant.message()))
    result = from_result(1, came)
    if result.get("protocol") != "league.v2" or result.get("message_type") != "LEAGUE_REGISTER_RESPONSE":
        raise Unregistered(f"not a LEAGUE_REGISTER_RESPONSE: {result!r:.200}")
    return result


def seed_002(applicant: Applicant) -> Talk:
    """002: its own envelope as the body; the answer has the same, correlated, with the token in the envelope."""
    message = message_002("PLAYER_REGISTER_REQUEST", f"player:{applicant.name}", applicant.meta())
    came = yield Post(message)
    body = from_body(None, came)
    return {**read_002(message["message_id"], body), "auth_token": body.get("auth_token")}


def seed_002_in_params(applicant: Applicant) -> Talk:
    """The same as the params of a JSON-RPC call; the token is read from the payload, 002 does not say where it is."""
    message = message_002("PLAYER_REGISTER_REQUEST", f"player:{applicant.name}", applicant.meta())
    came = yield Post(rpc("PLAYER_REGISTER_REQUEST", message))
    return read_002(message["message_id"], from_result(1, came))


def message_002(kind: str, sender: str, payload: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """A message in the envelope of 002."""
    return {
        "protocol": "league.v2",
        "message_id": str(uuid4()),
        "type": kind,
        "sender": sender,
        "timestamp": zulu_millis(),
        "payload": dict(payload),
        **more,
    }


def read_002(message_id: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The payload of PLAYER_REGISTER_RESPONSE."""
    if body.get("protocol") != "league.v2" or body.get("type") != "PLAYER_REGISTER_RESPONSE":
        raise Unregistered(f"not a PLAYER_REGISTER_RESPONSE: {body!r:.200}")
    for name in ("message_id", "sender", "timestamp"):
        if not isinstance(body.get(name), str):
            raise Unregistered(f"{name} is {body.get(name)!r:.80}")
    if body.get("correlation_id") != message_id:
        raise Unregistered(f"correlation_id is {body.get('correlation_id')!r:.80}, wanted {message_id}")
    return _object(body.get("payload"), "payload")


def never(applicant: Applicant) -> Talk:
    """Does not register: the instructor adds it by hand."""
    yield from ()
    return {}
