"""Any bytes at /mcp and /register: no failure, every answer is well-formed, and refused requests change nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from league_sdk.protocol import schemas
from leaguesite.mcp import methods
from tests.fuzz import messages
from tests.fuzz.profile import long_count
from tests.fuzz.site import Answer, Request, Site, for_each_input
from tests.fuzz.world import World
from tests.fuzz.writes import rolled_back
from tests.sizes import examples

pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")
QUICK, LONG = examples(300), 66_000
SHARDS = 4
ID = {"type": ["string", "number", "null"]}
RPC_RESPONSE = {"type": "object", "required": ["jsonrpc", "id"], "properties": {"jsonrpc": {"const": "2.0"}, "id": ID}}


def reply_schema(error: dict[str, Any]) -> Draft202012Validator:
    """The schema of a response (JSON-RPC 2.0, section 5), independent of the site's code.

    Args:
        error: ``required``, the fields that an error must have, and ``properties``, the schemas of the further ones.
    """
    properties = {
        "code": {"enum": [-32700, -32600, -32601, -32602, -32603, -32001, -32000]},
        "message": {"type": "string", "minLength": 1, "maxLength": 500},
    }
    whole = {"type": "object", "additionalProperties": False, "properties": properties | error["properties"]}
    return Draft202012Validator(
        RPC_RESPONSE
        | {
            "oneOf": [
                {"required": ["result"], "properties": {"result": {"type": "object"}}},
                {"required": ["error"], "properties": {"error": whole | {"required": error["required"]}}},
            ],
            "propertyNames": {"enum": ["jsonrpc", "id", "result", "error"]},
        }
    )


REPLY = reply_schema(
    {
        "required": ["code", "message", "data"],
        "properties": {"data": {"type": "object", "required": ["error_code"]}},
    }
)
MCP_REPLY = reply_schema({"required": ["code", "message"], "properties": {"data": {"type": "object"}}})
"""Like ``REPLY``, but errors need no ``data``, as in MCP."""
ANSWERS = ("LEAGUE_ERROR", "LEAGUE_REGISTER_RESPONSE", "REFEREE_REGISTER_RESPONSE", "MATCH_RESULT_ACK")
MCP_METHODS = (b"initialize", b"tools/list")
"""A request with one of these texts may be answered as MCP: they stand in those of ``messages.METHODS`` that are MCP
without a header of MCP, ``initialize`` also in ``notifications/initialized``."""
TOKEN = re.compile(r"tok_[0-9a-f]{32}")


@cache
def schema_of(message_type: str) -> Draft202012Validator:
    return Draft202012Validator(schemas.json_schema(message_type))


def json_of(answer: Answer) -> Any:
    """The body as strict JSON, or None where there is none."""
    return json.loads(answer.body.decode("utf-8"), parse_constant=pytest.fail) if answer.body else None


def error_of(body: Any) -> dict[str, Any] | None:
    """The LEAGUE_ERROR in an answer, in whatever shape; None if there is none."""
    if not isinstance(body, dict):
        return None
    if "error" in body and isinstance(body["error"], dict):
        return body["error"].get("data", {})
    inner = body.get("result", body)
    kinds = (inner.get("message_type"), inner.get("type"))
    return inner if "LEAGUE_ERROR" in kinds else None


def refused(answer: Answer) -> bool:
    if answer.status in (202, 204):
        # The answer to a notification does not say whether it was refused.
        return False
    body = json_of(answer) if answer.headers.get("content-type", [""])[0].startswith("application/json") else None
    inner = body.get("result", body) if isinstance(body, dict) else {}
    # In every shape the fields of the answer stand at the top, too.
    rejected = isinstance(inner, dict) and inner.get("status") == "REJECTED"
    return answer.status >= 400 or error_of(body) is not None or rejected


def check(request: Request, answer: Answer, world: World) -> None:
    """Assert that an answer is well-formed and repeats no token."""
    text = answer.body.decode("utf-8", "replace")
    secrets = set(world.tokens) - world.tokens_allowed_in(text)
    for token in TOKEN.findall(text):
        assert token not in secrets, "a token was repeated"
    if request.method.upper() != "POST":
        assert answer.status in (200, 400, 403, 404, 405, 413)
        return
    assert answer.status in (200, 202, 204, 400, 413, 429), answer.status
    if answer.status in (202, 204):
        assert answer.body == b""
        return
    assert answer.headers["content-type"] == ["application/json"]
    body = json_of(answer)
    assert isinstance(body, dict)
    if "jsonrpc" in body:
        may_be_mcp = any(name in request.body for name in MCP_METHODS)
        (MCP_REPLY if may_be_mcp else REPLY).validate(body)
    error = error_of(body)
    message = error if error is not None else body.get("result", body)
    kind = message.get("message_type")
    if kind in ANSWERS and "content" not in message and "type" not in message:
        assert not schemas.problems(kind, message)
        schema_of(kind).validate(message)
    if error is not None and "error_code" in error:
        assert error["error_code"] != "E009", "the league manager says that it failed"
        assert len(answer.body) < 16_000, "an error repeats too much of what came"
    sent_id = _id_in(request.body)
    headers = dict(request.headers)
    if answer.status != 200 or headers.get(b"content-type") != b"application/json":
        return
    if b"content-encoding" in headers:
        # It is refused before it is parsed, so the answer cannot have its id.
        refusal = (body["id"], body["error"]["code"], body["error"]["data"]["context"]["field"])
        assert refusal == (None, -32600, "Content-Encoding")
        return
    was_parsed = "jsonrpc" in body and body.get("error", {}).get("code") != -32700
    if sent_id is not None and was_parsed:
        assert (type(body["id"]), body["id"]) == (type(sent_id), sent_id)


def _id_in(raw: bytes) -> str | int | None:
    """The JSON-RPC id of a request; None if it has none, or if parsers could disagree about it."""
    try:
        body = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    rpc_id = body.get("id") if isinstance(body, dict) and raw.count(b'"id"') == 1 else None
    return rpc_id if isinstance(rpc_id, (str, int)) and not isinstance(rpc_id, bool) else None


def run(site: Site, world: World, count: int, shard: int = 0) -> int:
    def act(request: Request) -> None:
        check(request, rolled_back(lambda: site.send(request), may_not_write=refused), world)

    return for_each_input(messages.requests(world), act, count, "agents", shard)


def test_any_request_of_an_agent_gets_a_well_formed_answer(site: Site, world: World) -> None:
    assert run(site, world, QUICK) >= QUICK


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("shard", range(1, SHARDS + 1))
def test_any_request_of_an_agent_gets_a_well_formed_answer_at_length(
    site: Site, world: World, shard: int, record_property: Callable[[str, object], None]
) -> None:
    record_property("inputs", run(site, world, long_count(LONG // SHARDS), shard))


@pytest.mark.parametrize("request_", [Request("POST", "/mcp", body=b'{"method": "ping", "id": 1}')])
def test_send_notices_a_failure_inside_the_site(
    site: Site, world: World, request_: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failure inside gets a well-formed answer, but is logged as an error, which ``send`` has to notice."""
    check(request_, site.send(request_), world)
    fails = methods.Method(lambda call: {}[call.name], lenient=True)
    monkeypatch.setitem(methods.METHODS, "ping", fails)
    with pytest.raises(AssertionError, match="a call of ping failed"):
        site.send(request_)


def test_rolled_back_notices_a_change_by_a_refused_request(site: Site, world: World) -> None:
    """``rolled_back`` fails if a refused request has changed a row, and undoes every change."""

    def act() -> str:
        world.player.agent.save()
        type(world.player.agent).objects.filter(pk=world.player.agent.pk).update(name="another")
        return "no"

    with pytest.raises(AssertionError, match="refused, and yet it wrote"):
        rolled_back(act, may_not_write=lambda answer: answer == "no")
    assert world.player.fresh().name == "Player 1"
    assert rolled_back(act, may_not_write=lambda answer: False) == "no"
    assert world.player.fresh().name == "Player 1"


@pytest.mark.parametrize(
    "body",
    [
        b'{"jsonrpc": "2.0", "method": "notifications/initialized", "params": {"protocol": "league.v2"}, "id": 1}',
        b'{"type": "LEAGUE_QUERY", "message_id": "m1", "payload": {"protocol": "league.v2"}, "method": "initialize"}',
        b'{"jsonrpc": "2.0", "method": "initialize", "params": {}, "id": [1]}',
    ],
)
def test_a_message_with_a_method_of_mcp_gets_a_well_formed_answer(site: Site, world: World, body: bytes) -> None:
    request = Request("POST", "/mcp", ((b"content-type", b"application/json"),), body)
    check(request, rolled_back(lambda: site.send(request), may_not_write=refused), world)
