"""Requests that Django cannot read, and other odd ones, are refused as they should be: findings of the fuzz tests."""

from __future__ import annotations

import json

import pytest

from tests.fuzz.site import Request, Site, site

__all__ = ["site"]
pytestmark = pytest.mark.django_db
MANY = "&" * 1200
JSON = (b"content-type", b"application/json")


@pytest.mark.parametrize("path", ["/mcp", "/", "/leagues/fall/mcp", "/register"])
@pytest.mark.parametrize("kind", [b"application/json", b"application/json; charset=utf-16"])
def test_too_many_parameters_in_an_agents_address_are_refused_as_json_rpc(site: Site, path: str, kind: bytes) -> None:
    """If a request names another charset, Django parses the query earlier, where an error is not handled."""
    answer = site.send(Request("POST", f"{path}?{MANY}", ((b"content-type", kind),), b'{"method": "ping", "id": 1}'))
    reply = json.loads(answer.body)
    assert (answer.status, reply["error"]["code"]) == (400, -32600)
    assert reply["error"]["message"] == "This request cannot be read."


def test_too_many_parameters_in_an_address_of_the_api_are_no_server_error(site: Site) -> None:
    answer = site.send(Request("GET", f"/api/leagues/fall?{MANY}"))
    assert (answer.status, json.loads(answer.body)["error"][:27]) in (
        (400, "This request cannot be read"),
        (404, "There is no league fall."),
    )


def test_a_foreign_host_is_refused_with_the_field_host(site: Site) -> None:
    answer = site.send(Request("POST", "/mcp", ((b"host", b"evil.example"), JSON), b"{}"))
    reply = json.loads(answer.body)
    assert (answer.status, reply["error"]["data"]["context"]["field"]) == (400, "Host")


def test_an_empty_method_is_null_in_original_message_type(site: Site) -> None:
    body = b'{"jsonrpc": "2.0", "method": "", "params": {"protocol": "league.v2"}, "id": 1}'
    reply = json.loads(site.send(Request("POST", "/mcp", (JSON,), body)).body)
    assert reply["error"]["data"]["original_message_type"] is None


@pytest.mark.parametrize("path", ["/api/nothing", "/api/leagues/fall/corrections/first/undo"])
def test_an_unknown_address_of_the_api_is_404_as_json(site: Site, path: str) -> None:
    answer = site.send(Request("POST", path, (JSON,), b"{}"))
    sentence = "There is no such address. Expected: one of /api/docs"
    assert (answer.status, json.loads(answer.body)) == (404, {"error": sentence, "field": None})


def test_a_foreign_host_is_one_line_in_the_log(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    """Scanners send thousands of such requests: a traceback for each would fill the log."""
    site.send(Request("GET", "/", ((b"host", b"evil.example"),)))
    (record,) = [one for one in caplog.records if one.name == "django.security.DisallowedHost"]
    assert (record.levelname, record.exc_info, "evil.example" in record.getMessage()) == ("WARNING", None, True)
