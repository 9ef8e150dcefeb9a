"""Calls to agents that would rather have us call somebody else: rebinding, redirects, proxies, kept connections."""

from __future__ import annotations

import asyncio
import datetime as dt
import ssl
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.abc import ResolveResult
from aiohttp.resolver import ThreadedResolver
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from league_sdk.transport.client import Client, NotReached, Reply
from league_sdk.transport.failures import NOT_CALLED
from league_sdk.transport.policy import EndpointPolicy, PolicyResolver
from tests.bots.base import listening
from tests.league_sdk.transport.test_client import PATIENT, returning

METADATA = "169.254.169.254"
ANYWHERE = "/{any:.*}"


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2].partition("/")[0])


def inner(url: str) -> str:
    """Something that only we could reach, at a trap that serves every path."""
    return url.removesuffix(ANYWHERE) + "/latest/meta-data/"


async def post(url: str, client: Client | None = None) -> Reply:
    """One call, by a client of its own where none is given."""
    used = client or Client(agent_type="referee")
    try:
        return await used.post(url, {"jsonrpc": "2.0"}, limit_s=PATIENT)
    finally:
        if client is None:
            await used.aclose()


async def not_reached(url: str, client: Client | None = None) -> str:
    with pytest.raises(NotReached) as caught:
        await post(url, client)
    assert (caught.value.error_code, caught.value.connected) == ("E009", False)
    return str(caught.value)


class Names:
    """A name server that answers differently every time; the last answer stays."""

    def __init__(self, *answers: Iterable[str]) -> None:
        self.answers = [list(one) for one in answers]
        self.asked: list[str] = []

    async def resolve(self, host: str, port: int = 0, family: Any = 0) -> list[ResolveResult]:
        self.asked.append(host)
        hosts = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return [ResolveResult(hostname=host, host=one, port=port, family=family, proto=0, flags=0) for one in hosts]


def named(monkeypatch: pytest.MonkeyPatch, *answers: Iterable[str]) -> Names:
    names = Names(*answers)
    monkeypatch.setattr(ThreadedResolver, "resolve", names.resolve)
    return names


class Door:
    """A server that writes down who came, and may close each connection behind its answer."""

    def __init__(self, *, close: bool = False) -> None:
        self.came: list[tuple[str, int]] = []
        self._close = close

    async def answer(self, request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        self.came.append((request.headers["Host"], request.transport.get_extra_info("peername")[1]))
        return web.json_response({}, headers={"Connection": "close"} if self._close else {})


# -- names ------------------------------------------------------------------------------------------------


async def test_a_name_that_turns_elsewhere_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    door = Door(close=True)
    client = Client(agent_type="referee")
    async with listening(door.answer) as url:
        names = named(monkeypatch, ["127.0.0.1"], [METADATA], ["127.0.0.1", METADATA], [METADATA, "127.0.0.1"])
        renamed = f"http://agent:{port_of(url)}/mcp"
        assert (await post(renamed, client)).status == 200
        for _ in range(3):
            assert await not_reached(renamed, client) == str(NOT_CALLED)
    await client.aclose()
    assert (len(door.came), names.asked) == (1, ["agent"] * 4)


async def test_what_was_checked_is_what_is_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    door = Door()
    async with listening(door.answer) as url:
        # Whoever asked a second time, between check and connection, would be led away.
        names = named(monkeypatch, ["127.0.0.1"], ["127.0.0.2"])
        assert (await post(f"http://agent:{port_of(url)}/mcp")).status == 200
    assert (len(door.came), names.asked) == (1, ["agent"])


async def test_the_connection_itself_is_checked_whoever_found_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last wall: an address that came past the resolver's check."""
    names = Names([METADATA])
    monkeypatch.setattr(PolicyResolver, "resolve", names.resolve)
    assert await not_reached("http://agent:8101/mcp") == str(NOT_CALLED)
    assert names.asked == ["agent"]


async def test_the_sites_own_port_is_not_called_by_any_name(monkeypatch: pytest.MonkeyPatch) -> None:
    door = Door()
    async with listening(door.answer) as url:
        port = port_of(url)
        named(monkeypatch, ["127.0.0.1"])
        client = Client(agent_type="referee", policy=EndpointPolicy(refused_ports=(port,)))
        assert await not_reached(f"http://agent:{port}/mcp", client) == str(NOT_CALLED)
        assert await not_reached(f"http://127.1:{port}/mcp", client) == f"port {port} belongs to the league site itself"
        await client.aclose()
    assert door.came == []


async def test_the_agent_is_called_by_the_host_it_gave(monkeypatch: pytest.MonkeyPatch) -> None:
    door = Door()
    async with listening(door.answer) as url:
        named(monkeypatch, ["127.0.0.1"])
        for host in ("agent", "player_one", "127.0.0.1"):
            await post(f"http://{host}:{port_of(url)}/mcp")
    assert [host for host, _ in door.came] == [f"{one}:{port_of(url)}" for one in ("agent", "player_one", "127.0.0.1")]


# -- connections that are kept ---------------------------------------------------------------------------------


async def test_a_kept_connection_serves_one_name_only(monkeypatch: pytest.MonkeyPatch) -> None:
    door = Door()
    client = Client(agent_type="referee")
    async with listening(door.answer) as url:
        named(monkeypatch, ["127.0.0.1"])
        for host in ("ada", "ada", "bob", "ada"):
            await post(f"http://{host}:{port_of(url)}/mcp", client)
        await client.aclose()
    ada, again, bob, last = [peer for _, peer in door.came]
    assert (ada, ada) == (again, last) and bob != ada


async def test_a_kept_connection_does_not_outlive_its_policy() -> None:
    door = Door()
    async with listening(door.answer) as url:
        free = Client(agent_type="referee")
        strict = Client(agent_type="referee", policy=EndpointPolicy(networks=("10.0.0.0/8",)))
        await post(url, free)
        assert await not_reached(url, strict) == "only addresses in 10.0.0.0/8 are called"
        await post(url, free)
        await asyncio.gather(free.aclose(), strict.aclose())
    assert len(door.came) == 2 and len({peer for _, peer in door.came}) == 1


# -- led away -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [300, 301, 302, 303, 305, 307, 308])
async def test_a_redirect_is_an_answer_and_not_followed(status: int) -> None:
    trap = Door()
    async with listening(trap.answer, path=ANYWHERE) as elsewhere:
        led = returning(lambda: web.Response(status=status, headers={"Location": inner(elsewhere)}))
        async with listening(led) as url:
            assert (await post(url)).status == status
    assert trap.came == []


async def test_neither_is_one_in_a_header_or_in_the_page() -> None:
    trap = Door()
    async with listening(trap.answer, path=ANYWHERE) as trapped:
        elsewhere = inner(trapped)
        page = f'<meta http-equiv="refresh" content="0;url={elsewhere}"><script>location="{elsewhere}"</script>'
        more = {"Refresh": f"0; url={elsewhere}", "Link": f"<{elsewhere}>; rel=preload", "Alt-Svc": f'h2="{elsewhere}"'}
        led = returning(lambda: web.Response(text=page, content_type="text/html", headers=more))
        async with listening(led) as url:
            reply = await post(url)
            await post(url)
    assert (reply.status, reply.body, trap.came) == (200, None, [])


async def test_the_environments_proxies_and_passwords_are_not_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen: dict[str, str] = {}

    async def handle(request: web.Request) -> web.StreamResponse:
        seen.update(request.headers)
        return web.json_response({})

    trap = Door()
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login league password secret\ndefault login league password secret\n")
    netrc.chmod(0o600)
    async with listening(trap.answer, path=ANYWHERE) as proxy, listening(handle) as url:
        for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.removesuffix(ANYWHERE))
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.setenv("NO_PROXY", "")
        monkeypatch.setenv("NETRC", str(netrc))
        assert (await post(url)).status == 200
    assert trap.came == []
    assert [name for name in seen if "authorization" in name.lower() or "proxy" in name.lower()] == []


async def test_no_cookie_comes_back() -> None:
    cookies: list[str | None] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        cookies.append(request.headers.get("Cookie"))
        answer = web.json_response({})
        answer.set_cookie("session", "secret")
        return answer

    client = Client(agent_type="referee")
    async with listening(handle) as url:
        for _ in range(2):
            await post(url, client)
        await client.aclose()
    assert cookies == [None, None]


@asynccontextmanager
async def secure_agent(folder: Path) -> AsyncIterator[str]:
    """An agent with a certificate that it has made for itself."""
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


async def test_a_certificate_that_nobody_has_signed_is_not_believed(tmp_path: Path) -> None:
    async with secure_agent(tmp_path) as url:
        assert (await not_reached(url)).startswith("no secure connection")
