"""How agents come into a league through a bridge, what it keeps of them, and whom it serves."""

from __future__ import annotations

import argparse
import json
import socket
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from agents_registry.requests import spellings
from league_sdk import bridge
from league_sdk.bridge import Bridge, Reply, Server, Tokens, hosts_of, registers, without_address
from tests.league_sdk.bridge_servers import TOKEN, FakeServer, accepted, entering, ok

pytestmark = pytest.mark.usefixtures("hasty")

META = {"display_name": "Ada", "contact_endpoint": "http://localhost:8101/mcp"}
MESSAGE = {"message_type": "LEAGUE_REGISTER_REQUEST", "sender": "player:Ada", "player_meta": META}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/mcp", {"method": "register_player", "params": MESSAGE}),
        ("/mcp", {"method": "tools/call", "params": {"name": "register_player", "arguments": MESSAGE}}),
        ("/mcp", {"method": "tools/call", "params": {"name": "register", "arguments": json.dumps(MESSAGE)}}),
        ("/mcp", {"method": "handle_message", "params": {"message": MESSAGE}}),
        ("/mcp", MESSAGE),
        ("/register", {"name": "Ada", "endpoint": "http://localhost:8101/mcp"}),
        ("/register", {"data": {"displayName": "Ada", "callbackUrl": "http://localhost:8101/mcp"}}),
        ("/api/register", {"name": "Ada", "host": "localhost", "port": 8101, "path": "mcp"}),
        ("/register", {"name": "Ada", "endpoint": {"host": "localhost", "port": 8101}}),
        ("/mcp", {"method": "join_league", "params": {"agent_id": "Ada", "name": "Ada", "url": "localhost:8101"}}),
        ("/sign-up", {"name": "Ada", "uri": "localhost:8101"}),
        ("/mcp", {"method": "enroll", "params": {"name": "Ada", "port": "8101"}}),
    ],
)
def test_a_registration_of_any_shape_is_passed_on_without_its_address(path: str, body: Any) -> None:
    assert registers(path, body)
    passed = without_address(body, TOKEN)
    assert passed is not None
    assert urlsplit(passed.address).netloc == "localhost:8101"
    text = json.dumps(passed.body)
    assert ("8101" in text, "delivery" in text, TOKEN in text) == (False, True, True)
    if "path" not in str(body) and "endpoint': {" not in str(body):
        assert passed.name == "Ada"


@pytest.mark.parametrize(
    "body",
    [
        {"method": "league_query", "params": {"message_type": "LEAGUE_QUERY", "endpoint": "http://x/"}},
        {"method": "register_referee", "params": {"message_type": "REFEREE_REGISTER_REQUEST"}},
        [],
        None,
    ],
)
def test_other_calls_are_not_registrations(body: Any) -> None:
    assert not registers("/mcp", body)


@pytest.mark.parametrize("name", [name for name in spellings.ADDRESS_FIELDS if "referee" not in name])
def test_every_address_that_the_league_reads_is_taken_out(name: str) -> None:
    passed = without_address({"display_name": "Ada", name: "http://localhost:8101/mcp"})
    assert passed is not None
    assert (passed.address, passed.body) == (
        "http://localhost:8101/mcp",
        {"display_name": "Ada", "delivery": "poll"},
    )


@pytest.mark.parametrize(
    ("path", "address"), [("agents/me", "http://127.0.0.1:8101/agents/me"), ("", "http://127.0.0.1:8101")]
)
def test_host_and_port_and_path_are_an_address(path: str, address: str) -> None:
    passed = without_address({"name": "Ada", "host": "127.0.0.1", "port": 8101, **({"path": path} if path else {})})
    assert passed is not None
    assert passed.address == address


def test_a_registration_without_an_address_is_left_as_it_is() -> None:
    assert without_address({"method": "register_player", "params": {"player_meta": {"delivery": "poll"}}}) is None


def test_a_restart_comes_back_as_the_same_agent(serve: Any, tmp_path: Path) -> None:
    league, agent = serve(accepted), serve(lambda call: ok({}))
    for known in (None, TOKEN):
        one = Bridge(league.url, Tokens(tmp_path / "kept.json"))
        one.server = Server(agent.url)
        relay = one.register("Ada", ["even_odd"], "")
        assert relay is not None
        assert relay.token == TOKEN
        sent = league.calls[-1].json["params"]
        assert (sent.get("auth_token"), sent["player_meta"]["delivery"]) == (known, "poll")
    assert (tmp_path / "kept.json").stat().st_mode & 0o777 == 0o600


def test_a_league_that_refuses_is_quoted(serve: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    league = serve(lambda call: ok({"result": {"status": "REJECTED", "reason": "The name is taken."}}))
    one = Bridge(league.url, Tokens(tmp_path / "kept.json"))
    one.server = Server("http://127.0.0.1:9/mcp")
    assert one.register("Ada", ["even_odd"], "") is None
    assert "The name is taken." in capsys.readouterr().out


def test_an_agent_is_looked_for_at_its_machine_also_when_the_bridge_was_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    addresses: list[Any] = []

    def connect(address: Any, timeout: float) -> Any:
        addresses.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "create_connection", connect)
    one = Bridge("http://127.0.0.1:9", Tokens(tmp_path / "kept.json"))
    agent = Server("http://192.0.2.1:8101/mcp", ("127.0.0.1", "::1"))
    one.admitted("Ada", Reply(200, {}, b'{"auth_token": "tok_1"}'), agent)
    Bridge("http://127.0.0.1:9", one.tokens).resume()
    assert addresses == [("127.0.0.1", 8101), ("::1", 8101)] * 2


def test_an_agent_is_relayed_also_where_its_token_cannot_be_kept(
    serve: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = Bridge(serve(accepted).url, Tokens(tmp_path / "absent" / "kept.json"))
    one.server = Server("http://127.0.0.1:9/mcp")
    assert one.register("Ada", ["even_odd"], "") is not None
    assert "cannot be kept" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        ([], 2, "Give --agent"),
        (["--listen", "no port"], 2, "The command line cannot be used"),
        (["--listen", "99999"], 2, "The command line cannot be used"),
        (["--agent", "http://[bad"], 2, "The command line cannot be used"),
        (["--agent", "http://127.0.0.1:9/mcp"], 1, "The name is taken."),
    ],
)
def test_the_exit_code_and_a_sentence_say_how_it_ended(
    serve: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], code: int, says: str
) -> None:
    league = serve(lambda call: ok({"result": {"status": "REJECTED", "reason": "The name is taken."}}))
    parser = argparse.ArgumentParser()
    bridge.add_arguments(parser)
    fixed = ["--league", league.url, "--name", "Ada", "--tokens", str(tmp_path / "kept.json")]
    assert bridge.run(parser.parse_args([*fixed, *options])) == code
    assert says in capsys.readouterr().out


@pytest.mark.parametrize("content", ["", "no json", "[]", '{"x": 5}'])
def test_a_file_of_tokens_that_cannot_be_read_counts_as_empty(tmp_path: Path, content: str) -> None:
    (tmp_path / "kept.json").write_text(content)
    tokens = Tokens(tmp_path / "kept.json")
    assert tokens.all("x") == {}
    tokens.keep("x", "Ada", token=TOKEN)
    assert tokens.of("x", "Ada") == {"token": TOKEN}


@pytest.mark.parametrize(
    ("league", "target", "passed"),
    [
        ("http://site/leagues/fall/mcp?code=1", "/mcp", "/leagues/fall/mcp?code=1"),
        ("http://site/leagues/fall/mcp", "/register", "/leagues/fall/register"),
        ("http://site/mcp", "/api/register", "/register"),
        ("http://site", "/", "/mcp"),
        ("site:8000", "/leagues/x/mcp?a=1", "/leagues/x/mcp?a=1"),
        ("http://site/mcp", "/health", "/health"),
    ],
)
def test_the_path_of_an_agents_call_is_mapped_to_a_path_at_the_league(
    league: str, target: str, passed: str, tmp_path: Path
) -> None:
    assert Bridge(league, Tokens(tmp_path / "kept.json")).passed_path(target) == passed


def test_an_agents_calls_are_passed_on_unchanged_and_pages_are_refused(serve: Any, calling: Any) -> None:
    league = serve(lambda call: (418, b"as it is"))
    call, raw = calling(league), b'{"method": "league_query",   "params": {}}'
    reply = call(raw, Authorization="Bearer x")
    assert (reply.status, reply.body, league.calls[0].body) == (418, b"as it is", raw)
    assert league.calls[0].headers["Authorization"] == "Bearer x"
    assert call(raw, Origin="http://evil").status == 403
    assert call(b"x" * 300_000).status == 413
    assert len(league.calls) == 1


def chunked(*chunks: bytes) -> bytes:
    """A body in chunks."""
    return b"".join(b"%x;x=y\r\n%s\r\n" % (len(one), one) for one in chunks) + b"0\r\nTrailer: x\r\n\r\n"


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (chunked(b'{"method": ', b'"league_query"}'), b"200"),
        (chunked(), b"200"),
        (chunked(*[b"x" * 60_000] * 5), b"413"),
        (b"ffffffffffff\r\n", b"413"),
        (b"-5\r\nhello\r\n", b"413"),
        (b"no number\r\n", b"413"),
    ],
)
def test_a_call_in_chunks_is_passed_on_unless_it_is_too_large_or_malformed(
    serve: Any, listening: Any, raw: bytes, status: bytes
) -> None:
    league = serve(lambda call: ok({}))
    with socket.create_connection(("127.0.0.1", listening(league)), timeout=20) as connection:
        connection.sendall(
            b"POST /mcp HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n" + raw
        )
        assert connection.makefile("rb").readline().split()[1] == status
    assert len(league.calls) == (status == b"200")
    if b"league_query" in raw:
        assert league.calls[0].body == b'{"method": "league_query"}'


def test_nobody_else_reaches_a_bridge_by_default(tmp_path: Path) -> None:
    servers = bridge.listen(Bridge("http://127.0.0.1:9", Tokens(tmp_path / "kept.json")), "0")
    assert {server.server_address[0] for server in servers} <= {"127.0.0.1", "::1"}
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("is_gone", [True, False])
def test_an_agent_that_comes_back_brings_its_token_and_another_of_its_name_only_when_it_is_gone(
    serve: Any, calling: Any, is_gone: bool
) -> None:
    league, first, second = serve(accepted), serve(lambda call: ok({})), serve(lambda call: ok({}))
    call = calling(league)

    def brings_token(agent: FakeServer) -> bool:
        assert call(entering("Ada", agent)).status == 200
        return TOKEN in next(one.body.decode() for one in reversed(league.calls) if one.verb == "POST")

    assert [brings_token(first), brings_token(first)] == [False, True]
    if is_gone:
        first.close()
    assert brings_token(second) is is_gone


@pytest.mark.parametrize("address", ["http://[bad/mcp", "http://localhost:port/mcp", "http://localhost:99999/mcp"])
def test_an_invalid_address_is_left_to_the_league(serve: Any, calling: Any, address: str) -> None:
    league = serve(lambda call: (400, b"what is wrong"))
    body = {"method": "register_player", "params": {"display_name": "Ada", "endpoint": address}}
    reply = calling(league)(body)
    assert (reply.status, reply.body, league.calls[0].json) == (400, b"what is wrong", body)


@pytest.mark.parametrize(
    ("address", "caller", "hosts"),
    [
        ("http://localhost:8101/mcp", "127.0.0.1", ("127.0.0.1", "::1")),
        ("http://[::1]:8101/mcp", "127.0.0.1", ("::1", "127.0.0.1")),
        ("http://127.0.0.6:8101/mcp", "127.0.0.1", ("127.0.0.6", "127.0.0.1", "::1")),
        ("http://192.0.2.1:8101/mcp", "::1", ("::1", "127.0.0.1")),
        ("http://localhost:22/", "192.0.2.7", ("192.0.2.7",)),
        ("http://127.0.0.1:22/", "192.0.2.7", ("192.0.2.7",)),
    ],
)
def test_an_agent_is_looked_for_where_it_calls_from(address: str, caller: str, hosts: tuple[str, ...]) -> None:
    assert hosts_of(address, caller) == hosts


def test_the_reason_of_a_refusal_is_its_message_or_else_its_status() -> None:
    assert bridge.reason(Reply(400, {}, b'{"error": {"message": "No name."}}')) == "No name."
    assert bridge.reason(Reply(502, {}, b"<html>")) == "HTTP 502"
