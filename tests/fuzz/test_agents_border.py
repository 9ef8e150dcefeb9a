"""Any bytes at /mcp and /register: no failure, every answer well-formed, nothing changed by what is refused."""

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
from tests.fuzz.profile import long
from tests.fuzz.site import Answer, Request, Site, throw
from tests.fuzz.world import World
from tests.fuzz.writes import put_back

pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")
QUICK, LONG = 700, 66_000
SHARDS = 4
ID = {"type": ["string", "number", "null"]}
HEAD = {"type": "object", "required": ["jsonrpc", "id"], "properties": {"jsonrpc": {"const": "2.0"}, "id": ID}}
REPLY = Draft202012Validator(
    HEAD
    | {
        "oneOf": [
            {"required": ["result"], "properties": {"result": {"type": "object"}}},
            {
                "required": ["error"],
                "properties": {
                    "error": {
                        "type": "object",
                        "required": ["code", "message", "data"],
                        "additionalProperties": False,
                        "properties": {
                            "code": {"enum": [-32700, -32600, -32601, -32602, -32603, -32001, -32000]},
                            "message": {"type": "string", "minLength": 1, "maxLength": 500},
                            "data": {"type": "object", "required": ["error_code"]},
                        },
                    }
                },
            },
        ],
        "propertyNames": {"enum": ["jsonrpc", "id", "result", "error"]},
    }
)
"""JSON-RPC 2.0, section 5, written down once more."""
ANSWERS = ("LEAGUE_ERROR", "LEAGUE_REGISTER_RESPONSE", "REFEREE_REGISTER_RESPONSE", "MATCH_RESULT_ACK")
TOKEN = re.compile(r"tok_[0-9a-f]{32}")


@cache
def schema_of(message_type: str) -> Draft202012Validator:
    return Draft202012Validator(schemas.json_schema(message_type))


def said(answer: Answer) -> Any:
    """The body as strict JSON, or None where there is none."""
    return json.loads(answer.body.decode("utf-8"), parse_constant=pytest.fail) if answer.body else None


def error_of(body: Any) -> dict[str, Any] | None:
    """The LEAGUE_ERROR in an answer, in whatever clothes."""
    if not isinstance(body, dict):
        return None
    if "error" in body and isinstance(body["error"], dict):
        return body["error"]["data"]
    inner = body.get("result", body)
    kinds = (inner.get("message_type"), inner.get("type"))
    return inner if "LEAGUE_ERROR" in kinds else None


def refused(answer: Answer) -> bool:
    if answer.status in (202, 204):
        # Whether a notification did anything is nobody's to know.
        return False
    body = said(answer) if answer.headers.get("content-type", [""])[0].startswith("application/json") else None
    inner = body.get("result", body) if isinstance(body, dict) else {}
    rejected = isinstance(inner, dict) and "REJECTED" in (inner.get("status"), inner.get("payload", {}))
    return answer.status >= 400 or error_of(body) is not None or rejected


def check(request: Request, answer: Answer, world: World) -> None:
    """The answer is what it may be."""
    text = answer.body.decode("utf-8", "replace")
    secrets = set(world.tokens) - world.owed(text)
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
    body = said(answer)
    assert isinstance(body, dict)
    if "jsonrpc" in body:
        REPLY.validate(body)
    error = error_of(body)
    found = error if error is not None else body.get("result", body)
    kind = found.get("message_type")
    if kind in ANSWERS and "content" not in found and "type" not in found:
        assert not schemas.problems(kind, found)
        schema_of(kind).validate(found)
    if error is not None and "error_code" in error:
        assert error["error_code"] != "E009", "the league manager says that it failed"
        assert len(answer.body) < 16_000, "an error repeats too much of what came"
    asked = _asked(request.body)
    kind = dict(request.headers).get(b"content-type", b"")
    read = "jsonrpc" in body and body.get("error", {}).get("code") != -32700
    if asked is not None and answer.status == 200 and kind == b"application/json" and read:
        assert (type(body["id"]), body["id"]) == (type(asked), asked)


def _asked(raw: bytes) -> str | int | None:
    """The id of a request that has one that can only be read in one way."""
    try:
        body = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    found = body.get("id") if isinstance(body, dict) and raw.count(b'"id"') == 1 else None
    return found if isinstance(found, (str, int)) and not isinstance(found, bool) else None


def run(site: Site, world: World, count: int, shard: int = 0) -> int:
    def act(request: Request) -> None:
        check(request, put_back(lambda: site.send(request), refused=refused), world)

    return throw(messages.requests(world), act, count, "agents", shard)


def test_anything_at_the_border_of_agents(site: Site, world: World) -> None:
    assert run(site, world, QUICK) >= QUICK


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("shard", range(1, SHARDS + 1))
def test_very_much_at_the_border_of_agents(
    site: Site, world: World, shard: int, record_property: Callable[[str, object], None]
) -> None:
    record_property("inputs", run(site, world, long(LONG // SHARDS), shard))


@pytest.mark.parametrize("request_", [Request("POST", "/mcp", body=b'{"method": "ping", "id": 1}')])
def test_a_failure_would_be_seen(site: Site, world: World, request_: Request, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever fails inside is answered in order, and logged: that is what the tests above look for."""
    check(request_, site.send(request_), world)
    fails = methods.Method(lambda call: {}[call.name], lenient=True)
    monkeypatch.setitem(methods.METHODS, "ping", fails)
    with pytest.raises(AssertionError, match="a call of ping failed"):
        site.send(request_)


def test_a_change_would_be_seen(site: Site, world: World) -> None:
    """What writes although it is refused does not get by."""

    def act() -> str:
        world.player.agent.save()
        type(world.player.agent).objects.filter(pk=world.player.agent.pk).update(name="another")
        return "no"

    with pytest.raises(AssertionError, match="refused, and yet it wrote"):
        put_back(act, refused=lambda said: said == "no")
    assert world.player.fresh().name == "Player 1"
    assert put_back(act, refused=lambda said: False) == "no"
    assert world.player.fresh().name == "Player 1"
