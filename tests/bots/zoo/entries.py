"""Ways to register: each entry is a generator that yields the requests to post and is sent the responses.

It returns the fields of the answer as the bot reads them, or raises ``Unregistered``: like real agents it tries once.
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
    """The data of a bot's registration.

    Attributes:
        name: its display name.
        address: the URL that it registers with.
        address_key: the name of the field with that URL.
        leaves_out: the fields that it does not send, of version, game_types, sender, timestamp, conversation_id.
        protocol_version: a field of that name, unless empty.
        wanted_id: the player_id that it asks for; empty for none.
    """

    name: str
    address: str
    address_key: str = "contact_endpoint"
    leaves_out: frozenset[str] = frozenset()
    protocol_version: str = ""
    wanted_id: str = ""

    def meta(self) -> dict[str, Any]:
        """``player_meta``."""
        fields = meta(self.name, self.address)
        fields[self.address_key] = fields.pop("contact_endpoint")
        return {name: value for name, value in fields.items() if name not in self.leaves_out}

    def message(self) -> dict[str, Any]:
        """LEAGUE_REGISTER_REQUEST."""
        message = registration("player", self.name, f"conv-{self.name}-reg", self.meta())
        if self.protocol_version:
            message["protocol_version"] = self.protocol_version
        return {name: value for name, value in message.items() if name not in self.leaves_out}


@dataclass(frozen=True)
class Post:
    """A request to the league manager; ``at`` is its path, such as ``mcp`` or ``register``."""

    body: dict[str, Any]
    at: str = "mcp"


@dataclass(frozen=True)
class Received:
    """The response to a request: HTTP status and decoded body (None when there was none)."""

    status: int
    body: Any = field(default=None)


class Unregistered(Exception):
    """The bot cannot read the answer to its registration, or was refused."""


Talk = Generator[Post, Received, Mapping[str, Any]]
Entry = Callable[[Applicant], Talk]
Read = Callable[[Any, Received], Mapping[str, Any]]


def _object(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise Unregistered(f"{what} is {value!r:.200}")
    return value


# -- where the answer is read from ------------------------------------------------------------------------


def from_result(rpc_id: Any, received: Received) -> Mapping[str, Any]:
    """``result`` of a JSON-RPC response with the id of our request."""
    body = _object(received.body, "the reply")
    if body.get("jsonrpc") != "2.0" or body.get("id") != rpc_id:
        raise Unregistered(f"no JSON-RPC response to {rpc_id!r}: {received.body!r:.200}")
    return _object(body.get("result"), "result")


def from_text(rpc_id: Any, received: Received) -> Mapping[str, Any]:
    """The JSON in ``result.content[0].text``."""
    content = from_result(rpc_id, received).get("content")
    if not isinstance(content, list) or not content or _object(content[0], "content[0]").get("type") != "text":
        raise Unregistered(f"content is {content!r:.200}")
    try:
        return _object(json.loads(content[0]["text"]), "the JSON in content[0].text")
    except (KeyError, TypeError, ValueError) as error:
        raise Unregistered(f"content[0].text is no JSON: {content!r:.200}") from error


def from_payload(rpc_id: Any, received: Received) -> Mapping[str, Any]:
    """``result.payload``."""
    return _object(from_result(rpc_id, received).get("payload"), "result.payload")


def from_body(rpc_id: Any, received: Received) -> Mapping[str, Any]:
    """The whole body."""
    if received.status >= 300:
        raise Unregistered(f"HTTP {received.status}: {received.body!r:.200}")
    return _object(received.body, "the reply")


def from_data(request_id: Any, received: Received) -> Mapping[str, Any]:
    """``data`` of an envelope that repeats our ``request_id``."""
    body = from_body(request_id, received)
    if body.get("request_id") != request_id:
        raise Unregistered(f"request_id is {body.get('request_id')!r:.80}, wanted {request_id}")
    return _object(body.get("data"), "data")


# -- ways to register ------------------------------------------------------------------------------------------


def method(name: str, *, wrap: Callable[[dict[str, Any]], Any] | None = None, read: Read = from_result) -> Entry:
    """Register by one JSON-RPC call of this method; ``wrap`` makes its params of the message."""

    def entry(applicant: Applicant) -> Talk:
        message = applicant.message()
        params = wrap(message) if wrap else message
        received = yield Post(rpc(name, params))
        return read(1, received)

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
        received = yield Post(rpc("tools/call", params, 2))
        return from_text(2, received)

    return entry


def asks_for_lists(applicant: Applicant) -> Talk:
    """``initialize``, every list that MCP has, then ``register_player``; gives up at an error or a missing list."""
    client = {"name": applicant.name, "version": "1.0.0"}
    params = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": client}
    from_result(0, (yield Post(rpc("initialize", params, 0))))
    for number, (name, key) in enumerate(_LISTS.items()):
        listed = from_result(10 + number, (yield Post(rpc(name, {}, 10 + number)))).get(key)
        if not isinstance(listed, list):
            raise Unregistered(f"{name} was answered with {listed!r:.80}")
    params = {"name": "register_player", "arguments": applicant.message()}
    return from_text(2, (yield Post(rpc("tools/call", params, 2))))


_LISTS = {"tools/list": "tools", "resources/list": "resources", "prompts/list": "prompts"}


def _notify(post: Post) -> Generator[Post, Received, None]:
    received = yield post
    if received.status >= 300:
        raise Unregistered(f"{post.body['method']} was answered with HTTP {received.status}")


handshake = _handshake(initialized_first=False)
handshake_in_order = _handshake(initialized_first=True)


def register_at_capitals(applicant: Applicant) -> Talk:
    """``register_player`` at ``/MCP``."""
    received = yield Post(rpc("register_player", applicant.message()), at="MCP")
    return from_result(1, received)


def ready(applicant: Applicant) -> Talk:
    """``league.handle``: REGISTER_PLAYER_REQUEST, then AGENT_READY_REQUEST with the token and id that it got."""
    message = applicant.message() | {"message_type": "REGISTER_PLAYER_REQUEST"}
    registration = from_payload(1, (yield Post(rpc("league.handle", split(message)))))
    about = {"message_type": "AGENT_READY_REQUEST", "sender": f"player:{registration.get('player_id')}"}
    about |= {"auth_token": registration.get("auth_token"), "player_id": registration.get("player_id")}
    from_payload(2, (yield Post(rpc("league.handle", split(message | about), 2))))
    return registration


def flat_on_mcp(applicant: Applicant) -> Talk:
    """A flat message on ``/mcp``, answered by a flat message."""
    received = yield Post(applicant.message())
    return from_body(None, received)


def small_body(applicant: Applicant) -> Talk:
    """POST /register with name, URL and perhaps an id."""
    body: dict[str, Any] = {"name": applicant.name, applicant.address_key: applicant.address}
    if applicant.wanted_id:
        body["player_id"] = applicant.wanted_id
    received = yield Post(body, at="register")
    return from_body(None, received)


def small_body_with_games(applicant: Applicant) -> Talk:
    """POST /register with the fields of player_meta."""
    received = yield Post(applicant.meta(), at="register")
    return from_body(None, received)


def envelope_of_its_own(applicant: Applicant) -> Talk:
    """POST /register with ``request_id`` and ``data``."""
    request_id = str(uuid4())
    data = {"display_name": applicant.name, applicant.address_key: applicant.address}
    body = {"request_id": request_id, "type": "register", "data": data}
    received = yield Post(body, at="register")
    return from_data(request_id, received)


def as_in_001(applicant: Applicant) -> Talk:
    """001: no auth_token in the request or in the answer, which has status and player_id."""
    received = yield Post(rpc("LEAGUE_REGISTER_REQUEST", applicant.message()))
    result = from_result(1, received)
    if result.get("protocol") != "league.v2" or result.get("message_type") != "LEAGUE_REGISTER_RESPONSE":
        raise Unregistered(f"not a LEAGUE_REGISTER_RESPONSE: {result!r:.200}")
    return result


def as_in_002(applicant: Applicant) -> Talk:
    """002: its own envelope as the body; the answer has the same with our correlation_id and the token."""
    message = message_002("PLAYER_REGISTER_REQUEST", f"player:{applicant.name}", applicant.meta())
    received = yield Post(message)
    body = from_body(None, received)
    return {**read_002(message["message_id"], body), "auth_token": body.get("auth_token")}


def as_in_002_in_params(applicant: Applicant) -> Talk:
    """002's envelope as the params of a JSON-RPC call; the token is read from the payload: 002 leaves that open."""
    message = message_002("PLAYER_REGISTER_REQUEST", f"player:{applicant.name}", applicant.meta())
    received = yield Post(rpc("PLAYER_REGISTER_REQUEST", message))
    return read_002(message["message_id"], from_result(1, received))


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
    """Does not register: the instructor adds the bot by hand."""
    yield from ()
    return {}
