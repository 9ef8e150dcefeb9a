"""Attempts to make us call somebody else: DNS rebinding, redirects, proxies, kept connections."""

from __future__ import annotations

import asyncio
import datetime as dt
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from league_sdk.transport.client import Client, NotReached, Reply
from league_sdk.transport.failures import NOT_CALLED
from league_sdk.transport.policy import EndpointPolicy
from tests.bots.base import listening
from tests.league_sdk.transport.conftest import Make, Named
from tests.league_sdk.transport.test_client import PATIENT_S, returning

METADATA = "169.254.169.254"
ANYWHERE = "/{any:.*}"


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2].partition("/")[0])


def inner(url: str) -> str:
    """A URL that only we could reach, at a server that answers every path."""
    return url.removesuffix(ANYWHERE) + "/latest/meta-data/"


async def post(url: str, client: Client) -> Reply:
    return await client.post(url, {"jsonrpc": "2.0"}, limit_s=PATIENT_S)


async def not_reached(url: str, client: Client) -> str:
    with pytest.raises(NotReached) as caught:
        await post(url, client)
    assert (caught.value.error_code, caught.value.connected) == ("E009", False)
    return str(caught.value)


class Recorder:
    """A server that records its callers, and may close each connection after its reply."""

    def __init__(self, *, close: bool = False) -> None:
        self.requests: list[tuple[str, int]] = []
        self._close = close

    async def answer(self, request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        self.requests.append((request.headers["Host"], request.transport.get_extra_info("peername")[1]))
        return web.json_response({}, headers={"Connection": "close"} if self._close else {})


# -- names ------------------------------------------------------------------------------------------------


async def test_a_name_that_changes_to_a_forbidden_address_is_not_called(named: Named) -> None:
    recorder = Recorder(close=True)
    client, names = named(["127.0.0.1"], [METADATA], ["127.0.0.1", METADATA], [METADATA, "127.0.0.1"])
    async with listening(recorder.answer) as url:
        renamed = f"http://agent:{port_of(url)}/mcp"
        assert (await post(renamed, client)).status == 200
        for _ in range(3):
            assert await not_reached(renamed, client) == str(NOT_CALLED)
    assert (len(recorder.requests), names.hosts) == (1, ["agent"] * 4)


async def test_a_name_is_looked_up_once_per_connection(named: Named) -> None:
    recorder = Recorder()
    # A second lookup, between check and connection, would find another address.
    client, names = named(["127.0.0.1"], ["127.0.0.2"])
    async with listening(recorder.answer) as url:
        assert (await post(f"http://agent:{port_of(url)}/mcp", client)).status == 200
    assert (len(recorder.requests), names.hosts) == (1, ["agent"])


async def test_the_address_of_a_connection_is_checked_again_when_connecting(
    named: Named, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if the resolver did not check its addresses."""
    monkeypatch.setattr(EndpointPolicy, "check_found", lambda _self, _host, addresses, _port: list(addresses))
    client, names = named([METADATA])
    assert await not_reached("http://agent:8101/mcp", client) == str(NOT_CALLED)
    assert names.hosts == ["agent"]


async def test_the_sites_own_port_is_not_called_by_any_name(named: Named) -> None:
    recorder = Recorder()
    async with listening(recorder.answer) as url:
        port = port_of(url)
        client, _ = named(["127.0.0.1"], policy=EndpointPolicy(refused_ports=(port,)))
        assert await not_reached(f"http://agent:{port}/mcp", client) == str(NOT_CALLED)
        for host in ("127.0.0.1", "localhost", "127.1", "0x7f.1", "[::ffff:127.0.0.1]"):
            refused = await not_reached(f"http://{host}:{port}/mcp", client)
            assert refused == f"port {port} belongs to the league site itself"
    assert recorder.requests == []


# -- connections that are kept ---------------------------------------------------------------------------------


async def test_a_kept_connection_serves_one_name_only(named: Named) -> None:
    """Each agent is called by the host of its address."""
    recorder = Recorder()
    client, _ = named(["127.0.0.1"])
    hosts = ["ada", "ada", "player_one", "ada", "127.0.0.1"]
    async with listening(recorder.answer) as url:
        for host in hosts:
            await post(f"http://{host}:{port_of(url)}/mcp", client)
        assert [host for host, _ in recorder.requests] == [f"{host}:{port_of(url)}" for host in hosts]
    ada, again, other, last, by_number = [peer for _, peer in recorder.requests]
    assert (ada, ada) == (again, last)
    assert len({ada, other, by_number}) == 3


async def test_a_client_does_not_use_a_connection_that_only_another_policy_allows(make: Make) -> None:
    recorder = Recorder()
    async with listening(recorder.answer) as url:
        free = make(agent_type="referee")
        strict = make(agent_type="referee", policy=EndpointPolicy(networks=("10.0.0.0/8",)))
        await post(url, free)
        assert await not_reached(url, strict) == "only addresses in 10.0.0.0/8 are called"
        await post(url, free)
        await asyncio.gather(free.aclose(), strict.aclose())
    assert len(recorder.requests) == 2 and len({peer for _, peer in recorder.requests}) == 1


# -- replies that lead elsewhere -------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [300, 301, 302, 303, 305, 307, 308])
async def test_a_client_does_not_follow_redirects(client: Client, status: int) -> None:
    trap = Recorder()
    async with listening(trap.answer, path=ANYWHERE) as elsewhere:
        redirecting = returning(lambda: web.Response(status=status, headers={"Location": inner(elsewhere)}))
        async with listening(redirecting) as url:
            assert (await post(url, client)).status == status
    assert trap.requests == []


@pytest.mark.parametrize("location", ["http://[::1", "http://x:y/", "//", "\\\\x"])
async def test_a_redirect_to_nowhere_is_an_answer(client: Client, location: str) -> None:
    redirecting = returning(lambda: web.Response(status=302, headers={"Location": location}))
    async with listening(redirecting) as url:
        reply = await post(url, client)
    assert (reply.status, reply.headers["location"]) == (302, location)


async def test_a_client_does_not_follow_redirects_in_headers_or_html(client: Client) -> None:
    trap = Recorder()
    async with listening(trap.answer, path=ANYWHERE) as trapped:
        elsewhere = inner(trapped)
        page = f'<meta http-equiv="refresh" content="0;url={elsewhere}"><script>location="{elsewhere}"</script>'
        more = {"Refresh": f"0; url={elsewhere}", "Link": f"<{elsewhere}>; rel=preload", "Alt-Svc": f'h2="{elsewhere}"'}
        redirecting = returning(lambda: web.Response(text=page, content_type="text/html", headers=more))
        async with listening(redirecting) as url:
            reply = await post(url, client)
            await post(url, client)
    assert (reply.status, reply.body, trap.requests) == (200, None, [])


async def test_the_environments_proxies_and_passwords_are_not_used(
    client: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen: dict[str, str] = {}

    async def handle(request: web.Request) -> web.StreamResponse:
        seen.update(request.headers)
        return web.json_response({})

    trap = Recorder()
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login league password secret\ndefault login league password secret\n")
    netrc.chmod(0o600)
    async with listening(trap.answer, path=ANYWHERE) as proxy, listening(handle) as url:
        for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.removesuffix(ANYWHERE))
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.setenv("NO_PROXY", "")
        monkeypatch.setenv("NETRC", str(netrc))
        assert (await post(url, client)).status == 200
    assert trap.requests == []
    assert [name for name in seen if "authorization" in name.lower() or "proxy" in name.lower()] == []


async def test_a_client_sends_no_cookies_back(client: Client) -> None:
    cookies: list[str | None] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        cookies.append(request.headers.get("Cookie"))
        answer = web.json_response({})
        answer.set_cookie("session", "secret")
        return answer

    async with listening(handle) as url:
        for _ in range(2):
            await post(url, client)
    assert cookies == [None, None]


@asynccontextmanager
async def secure_agent(folder: Path) -> AsyncIterator[str]:
    """An agent with a self-signed certificate."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "agent")])
    now = dt.datetime.now(dt.UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = (
        made.serial_number(1).not_valid_before(now - dt.timedelta(days=1)).not_valid_after(now + dt.timedelta(days=1))
    )
    pem = folder / "agent.pem"
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    pem.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, form, plain)
        + made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    server = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0, ssl=context)
    try:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
    finally:
        server.close()
        await server.wait_closed()


async def test_a_client_rejects_self_signed_certificates(client: Client, tmp_path: Path) -> None:
    async with secure_agent(tmp_path) as url:
        assert (await not_reached(url, client)).startswith("no secure connection")
