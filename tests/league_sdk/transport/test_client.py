"""The HTTP client against real servers, good and bad, on free ports."""

import asyncio
import errno
import gzip
import json
import os
import resource
import socket
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import aiohttp
import pytest
import pytest_asyncio
from aiohttp import web
from aiohttp.resolver import ThreadedResolver

from league_sdk.protocol import SDK_VERSION
from league_sdk.protocol.limits import MAX_ANSWER_BYTES
from league_sdk.transport.client import Broken, CallFailed, Client, NotReached, Reply, TimedOut
from league_sdk.transport.policy import EndpointPolicy
from tests.bots.base import Handler, listening

PATIENT, HASTY = 60.0, 0.05


@asynccontextmanager
async def raw_agent(answer: bytes, *, reset: bool = False) -> AsyncIterator[str]:
    """A server that reads a request, writes these bytes and closes the connection."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        if reset:
            plug = writer.get_extra_info("socket")
            plug.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
    finally:
        server.close()
        await server.wait_closed()


@pytest_asyncio.fixture
async def client() -> AsyncIterator[Client]:
    made = Client(agent_type="referee")
    yield made
    await made.aclose()


def returning(response: Callable[[], web.StreamResponse]) -> Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        return response()

    return handle


async def failure(client: Client, url: str, limit_s: float = PATIENT) -> tuple[type[CallFailed], str, bool, str]:
    with pytest.raises(CallFailed) as caught:
        await client.post(url, {"jsonrpc": "2.0"}, limit_s=limit_s)
    error = caught.value
    return type(error), error.error_code, error.connected, str(error)


# -- answers ----------------------------------------------------------------------------------------------


async def test_a_call_and_its_answer(client: Client) -> None:
    seen = {}

    async def handle(request: web.Request) -> web.StreamResponse:
        seen.update(request.headers, method=request.method, body=await request.read())
        return web.json_response({"jsonrpc": "2.0", "result": {"status": "ok"}, "id": 7})

    async with listening(handle) as url:
        reply = await client.post(url, {"name": "Zoë"}, limit_s=PATIENT)
    answer = {"jsonrpc": "2.0", "result": {"status": "ok"}, "id": 7}
    assert (reply.status, reply.body, reply.problem) == (200, answer, "")
    assert (seen["method"], seen["body"]) == ("POST", '{"name":"Zoë"}'.encode())
    names = ("User-Agent", "Content-Type", "Accept", "Accept-Encoding")
    expected = [f"referee/{SDK_VERSION}", "application/json", "application/json, text/event-stream", "identity"]
    assert [seen[name] for name in names] == expected
    assert [name for name in ("Cookie", "Authorization") if name in seen] == []


async def test_a_body_that_is_encoded_already_is_sent_as_it_is(client: Client) -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        return web.json_response((await request.read()).decode())

    async with listening(handle) as url:
        assert (await client.post(url, b'{"a": 1}', limit_s=PATIENT)).body == '{"a": 1}'


@pytest.mark.parametrize("status", [200, 400, 404, 500])
async def test_json_is_read_whatever_the_status_and_the_content_type(client: Client, status: int) -> None:
    async with listening(
        returning(lambda: web.Response(body=b'{"a":1}', status=status, content_type="text/plain"))
    ) as url:
        reply = await client.post(url, {}, limit_s=PATIENT)
    assert (reply.status, reply.body, reply.problem) == (status, {"a": 1}, "")


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"<html>Not found</html>", "The body is not JSON: Expecting value: line 1 column 1 (char 0)."),
        (b"\xff\xfa", "The body is not valid UTF-8 text: invalid start byte."),
        (b"\xff\xfe{", "The body is not valid utf-16 text: truncated data."),
        (b'{"choice": NaN}', "The body is not JSON: NaN is not JSON."),
    ],
)
async def test_what_is_not_json_is_a_reply_with_a_problem(client: Client, body: bytes, problem: str) -> None:
    async with listening(returning(lambda: web.Response(body=body, content_type="text/html"))) as url:
        reply = await client.post(url, {}, limit_s=PATIENT)
    assert reply == Reply(200, None, problem, reply.elapsed_s)


async def test_a_redirect_is_not_followed(client: Client) -> None:
    visited = []

    async def elsewhere(request: web.Request) -> web.StreamResponse:
        visited.append(request.path)
        return web.json_response({})

    async with listening(elsewhere) as target:
        away = returning(lambda: web.Response(status=307, headers={"Location": target}))
        async with listening(away) as url:
            reply = await client.post(url, {}, limit_s=PATIENT)
        assert (reply.status, reply.body, visited) == (307, None, [])
        await client.post(target, {}, limit_s=PATIENT)
    assert visited == ["/mcp"]


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (gzip.compress(b'{"a":1}', mtime=0), {"Content-Encoding": "gzip"}),
        (zlib.compress(b'{"a":1}'), {"Content-Encoding": "Deflate"}),
        (b'\xef\xbb\xbf{"a":1}', {"Content-Type": "application/json"}),
        ('{"a":1}'.encode("utf-16"), {"Content-Type": "application/json; charset=utf-16"}),
        (b'{"a":1}', {"Content-Type": "text/plain; charset=iso-8859-1"}),
    ],
)
async def test_json_is_read_however_it_is_packed_and_encoded(
    client: Client, body: bytes, headers: dict[str, str]
) -> None:
    async with listening(returning(lambda: web.Response(body=body, headers=headers))) as url:
        reply = await client.post(url, {}, limit_s=PATIENT)
    assert (reply.body, reply.problem) == ({"a": 1}, "")


@pytest.mark.parametrize(
    ("body", "charset", "name"),
    [
        ("Jürgen".encode("latin-1"), "ISO-8859-1", "Jürgen"),
        ("רותם".encode("cp1255"), '"windows-1255"', "רותם"),
        ("Zoë".encode(), "no-such-charset", "Zoë"),
    ],
)
async def test_a_declared_character_set_is_honoured(client: Client, body: bytes, charset: str, name: str) -> None:
    headers = {"Content-Type": f"application/json; charset={charset}; x=1"}
    async with listening(returning(lambda: web.Response(body=b'{"name":"%s"}' % body, headers=headers))) as url:
        assert (await client.post(url, {}, limit_s=PATIENT)).body == {"name": name}


async def test_a_stream_that_stays_open_is_read_up_to_its_answer(client: Client) -> None:
    """Progress first, then the answer, then nothing for ever."""
    never = asyncio.Event()

    async def streaming(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b': ping\n\ndata: {"jsonrpc": "2.0", "method": "notifications/progress"}\n\n')
        await response.write(b'id: 2\nevent: message\ndata: {"jsonrpc": "2.0",\ndata: "result": 5, "id": 1}\n\n')
        await never.wait()
        return response

    async with listening(streaming) as url:
        reply = await client.post(url, {}, limit_s=PATIENT)
        never.set()
    assert reply.body == {"jsonrpc": "2.0", "result": 5, "id": 1}


async def test_headers_go_out_beside_our_own_and_those_of_the_answer_come_back(client: Client) -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        seen = [request.headers["Mcp-Session-Id"], request.headers["User-Agent"]]
        return web.json_response(seen, headers={"Mcp-Session-Id": "new"})

    async with listening(handle) as url:
        reply = await client.post(url, {}, limit_s=PATIENT, headers={"mcp-session-id": "s1"})
    assert (reply.body, reply.headers["mcp-session-id"]) == (["s1", f"referee/{SDK_VERSION}"], "new")


@pytest.mark.parametrize("packed", [b"\x1f\x8bnot gzip at all", b"{}"])
async def test_what_is_not_packed_as_it_says_is_broken(client: Client, packed: bytes) -> None:
    headers = {"Content-Encoding": "gzip"}
    async with listening(returning(lambda: web.Response(body=packed, headers=headers))) as url:
        assert (await failure(client, url))[:3] == (Broken, "E009", True)


async def test_a_compressed_body_is_unpacked_up_to_the_limit(client: Client) -> None:
    """A small body could unpack to gigabytes."""
    packed = gzip.compress(json.dumps({"bomb": "x" * 10_000_000}).encode())
    assert len(packed) < MAX_ANSWER_BYTES
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    async with listening(returning(lambda: web.Response(body=packed, headers=headers))) as url:
        sentence = f"the answer is larger than {MAX_ANSWER_BYTES} bytes"
        assert await failure(client, url) == (Broken, "E009", True, sentence)


async def test_cookies_are_not_kept(client: Client) -> None:
    cookies = []

    async def handle(request: web.Request) -> web.StreamResponse:
        cookies.append(dict(request.cookies))
        response = web.json_response({})
        response.set_cookie("session", "1")
        return response

    async with listening(handle) as url:
        for _ in range(2):
            await client.post(url, {}, limit_s=PATIENT)
    assert cookies == [{}, {}]


@pytest.mark.parametrize(("size", "fits"), [(MAX_ANSWER_BYTES, True), (MAX_ANSWER_BYTES + 1, False)])
async def test_an_answer_has_at_most_64_kib(client: Client, size: int, fits: bool) -> None:
    async with listening(returning(lambda: web.Response(body=b'"' + b"x" * (size - 2) + b'"'))) as url:
        if fits:
            assert len((await client.post(url, {}, limit_s=PATIENT)).body) == size - 2
        else:
            sentence = f"the answer is larger than {MAX_ANSWER_BYTES} bytes"
            assert await failure(client, url) == (Broken, "E009", True, sentence)


# -- no answer --------------------------------------------------------------------------------------------


async def test_an_endless_body_is_cut_off(client: Client) -> None:
    ended = asyncio.Event()

    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            while True:
                await response.write(b"x" * 4096)
        finally:
            ended.set()

    async with listening(endless) as url:
        assert (await failure(client, url))[:3] == (Broken, "E009", True)
        await ended.wait()


async def test_a_body_that_comes_byte_by_byte_runs_out_of_time(client: Client) -> None:
    """A limit between two bytes would never be reached."""

    async def dripping(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b" ")
            await asyncio.sleep(0.001)

    async with listening(dripping) as url:
        assert await failure(client, url, HASTY) == (TimedOut, "E001", True, "no answer within 0.05 s")


async def test_an_agent_that_never_answers_runs_out_of_time(client: Client) -> None:
    never = asyncio.Event()

    async def silent(request: web.Request) -> web.StreamResponse:
        await never.wait()
        return web.Response()

    async with listening(silent) as url:
        found = await failure(client, url, HASTY)
        never.set()
    assert found == (TimedOut, "E001", True, "no answer within 0.05 s")


async def test_a_refused_connection_was_not_connected(client: Client) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: nobody else gets the port
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/mcp"
        kind, code, connected, _ = await failure(client, url)
    assert (kind, code, connected) == (NotReached, "E009", False)


OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    ("answer", "reset"),
    [
        (b"", False),
        (b"", True),
        (OK, False),
        (OK + b"Content-Length: 100\r\n\r\n{}", False),
        (OK + b"Content-Length: 100\r\n\r\n{}", True),
        (OK + b'Content-Length: 7\r\n\r\n{"a":1}{"a":2}', False),
        (OK + b"Content-Length: -5\r\n\r\n{}", False),
        (OK + b"Content-Length: two\r\n\r\n{}", False),
        (OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}", False),
        (OK + b"X-Long: " + b"x" * 100_000 + b"\r\n\r\n{}", False),
        (b"I am not HTTP\r\n\r\n", False),
    ],
)
async def test_a_connection_that_breaks_off_may_have_reached_the_agent(
    client: Client, answer: bytes, reset: bool
) -> None:
    async with raw_agent(answer, reset=reset) as url:
        assert (await failure(client, url))[:3] == (Broken, "E009", True)


@pytest.mark.parametrize(
    "url",
    ["http://169.254.169.254/mcp", "http://user:pw@127.0.0.1:1/mcp", "file:///etc/passwd", "http://[::", "127.0.0.1:1"],
)
async def test_what_the_policy_forbids_is_not_called(client: Client, url: str) -> None:
    kind, code, connected, _ = await failure(client, url)
    assert (kind, code, connected) == (NotReached, "E009", False)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]"])
async def test_the_sites_own_port_is_not_called_under_any_name(host: str) -> None:
    visited = []

    async def own(request: web.Request) -> web.StreamResponse:
        visited.append(request.path)
        return web.json_response({})

    async with listening(own) as url:
        port = int(url.rpartition(":")[2].partition("/")[0])
        client = Client(agent_type="referee", policy=EndpointPolicy(refused_ports=(port,)))
        kind, code, connected, _ = await failure(client, f"http://{host}:{port}/mcp")
        await client.aclose()
    assert (kind, code, connected, visited) == (NotReached, "E009", False, [])


async def test_an_agent_is_called_again_on_the_same_connection(client: Client) -> None:
    ports = []

    async def handle(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        ports.append(request.transport.get_extra_info("peername")[1])
        return web.json_response({})

    async with listening(handle) as url:
        for _ in range(3):
            await client.post(url, {}, limit_s=PATIENT)
    assert ports == [ports[0]] * 3


@pytest.mark.parametrize(
    ("body", "content_type", "expected"),
    [
        (b"", "application/json", (None, "")),
        (b"  \n", "text/plain", (None, "")),
        (b'event: message\r\ndata: {"id": 1}\r\n\r\n', "text/event-stream", ({"id": 1}, "")),
        (
            b'data: {"n": 1}\n\n: still there\n\ndata: {"id": 2}\n\n',
            "text/event-stream; charset=utf-8",
            ({"id": 2}, ""),
        ),
    ],
)
async def test_no_body_and_a_stream_of_events(
    client: Client, body: bytes, content_type: str, expected: tuple[object, str]
) -> None:
    async with listening(returning(lambda: web.Response(body=body, headers={"Content-Type": content_type}))) as url:
        reply = await client.post(url, {}, limit_s=PATIENT)
    assert (reply.body, reply.problem) == expected


# -- whose fault it is ------------------------------------------------------------------------------------


async def seen(client: Client, url: str, limit_s: float = PATIENT) -> tuple[str, str, str, bool, bool]:
    with pytest.raises(CallFailed) as caught:
        await client.post(url, {}, limit_s=limit_s)
    error = caught.value
    return error.error_code, error.cause, str(error.detail), error.connected, error.cut_off


def lookups_end_with(monkeypatch: pytest.MonkeyPatch, error: OSError) -> None:
    async def resolve(*_: object) -> list[object]:
        raise error

    monkeypatch.setattr(ThreadedResolver, "resolve", resolve)


def connections_end_with(monkeypatch: pytest.MonkeyPatch, *numbers: int) -> None:
    async def connect(*_: object, **__: object) -> object:
        if len(numbers) > 1:
            raise OSError(f"Multiple exceptions: {numbers}, ('10.1.2.3', 8101)")
        raise OSError(numbers[0], f"Connect call failed ('10.1.2.3', 8101): {os.strerror(numbers[0])}")

    monkeypatch.setattr(aiohttp.connector.aiohappyeyeballs, "start_connection", connect)


async def test_nobody_listens(client: Client) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/mcp"
        assert await seen(client, url) == ("E009", "CONNECT", "nobody listens at its address", False, False)


@pytest.mark.parametrize(
    ("numbers", "cause", "detail", "cut_off"),
    [
        ([errno.EHOSTUNREACH], "CONNECT", "no connection: No route to host", False),
        ([errno.ENETUNREACH], "CONNECT", "no connection: Network is unreachable", True),
        ([errno.ECONNREFUSED, errno.EADDRNOTAVAIL], "CONNECT", "no connection", False),
        ([errno.EACCES], "CONNECT", "its address is that of a whole network, not of one machine", False),
        ([errno.EMFILE], "REFEREE", "this machine cannot call anyone: Too many open files", False),
        ([errno.ENETDOWN], "REFEREE", "this machine cannot call anyone: Network is down", False),
    ],
)
async def test_connections_that_are_not_made(
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    numbers: list[int],
    cause: str,
    detail: str,
    cut_off: bool,
) -> None:
    connections_end_with(monkeypatch, *numbers)
    assert await seen(client, "http://10.1.2.3:8101/mcp") == ("E009", cause, detail, False, cut_off)


@pytest.mark.parametrize(
    ("error", "cause", "detail", "cut_off"),
    [
        (socket.gaierror(socket.EAI_NONAME, "x"), "NAME_LOOKUP", "the name of the address is not known", False),
        (OSError("resolves to nothing"), "NAME_LOOKUP", "the name of the address is not known", False),
        (socket.gaierror(socket.EAI_AGAIN, "x"), "NAME_LOOKUP", "the name server of the address gave no answer", False),
        (socket.gaierror(socket.EAI_SYSTEM, "x"), "REFEREE", "this machine cannot look names up", False),
    ],
)
async def test_names_that_are_not_found(
    client: Client, monkeypatch: pytest.MonkeyPatch, error: OSError, cause: str, detail: str, cut_off: bool
) -> None:
    lookups_end_with(monkeypatch, error)
    assert await seen(client, "http://agent.example:8101/mcp") == ("E009", cause, detail, False, cut_off)


async def test_our_own_failure_is_the_callers() -> None:
    for caller, cause in (("referee", "REFEREE"), ("league_manager", "LEAGUE")):
        made = Client(agent_type=caller)
        with pytest.MonkeyPatch.context() as patch:
            connections_end_with(patch, errno.EMFILE)
            assert (await seen(made, "http://10.1.2.3:8101/mcp"))[1] == cause
        await made.aclose()


async def test_a_machine_that_has_no_file_left(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """For real: no socket can be opened any more."""
    async with listening(returning(lambda: web.json_response({}))) as url:
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        spare = []
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, limits[0]), limits[1]))
        try:
            with pytest.raises(OSError, match="Too many open files"):
                while True:
                    spare.append(socket.socket())
            found = await seen(client, url)
            # What the system says of a name for which it cannot open its own files.
            lookups_end_with(monkeypatch, socket.gaierror(socket.EAI_NONAME, "Name or service not known"))
            named = await seen(client, "http://agent.example:8101/mcp")
        finally:
            for one in spare:
                one.close()
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        assert found == ("E009", "REFEREE", "this machine cannot call anyone: Too many open files", False, False)
        assert named == ("E009", "REFEREE", "this machine cannot look names up", False, False)
        assert (await client.post(url, {}, limit_s=PATIENT)).body == {}


async def test_a_server_without_tls_at_an_https_address(client: Client) -> None:
    async with listening(returning(web.Response)) as url:
        found = await seen(client, url.replace("http:", "https:"))
    assert found == ("E009", "CONNECT", "no secure connection (SSLError)", False, False)


async def test_out_of_time_before_anyone_has_taken_the_call(client: Client) -> None:
    """As behind a firewall that swallows what comes: that is no slow agent."""
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        queue = [socket.socket() for _ in range(4)]
        for one in queue:
            one.setblocking(False)
            one.connect_ex(full.getsockname())
        found = await seen(client, f"http://127.0.0.1:{full.getsockname()[1]}/mcp", HASTY)
        for one in queue:
            one.close()
    assert found == ("E001", "CONNECT", "no connection within 0.05 s", False, False)


async def test_out_of_time_while_the_name_is_looked_up(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    never = asyncio.Event()

    async def resolve(*_: object) -> list[object]:
        await never.wait()
        return []

    monkeypatch.setattr(ThreadedResolver, "resolve", resolve)
    found = await seen(client, "http://agent.example:8101/mcp", HASTY)
    assert found == ("E001", "NAME_LOOKUP", "the name of the address was not found within 0.05 s", False, False)


async def test_a_connection_that_is_used_again_waits_for_the_answer_only(client: Client) -> None:
    never = asyncio.Event()
    served = 0

    async def once(request: web.Request) -> web.StreamResponse:
        nonlocal served
        served += 1
        if served > 1:
            await never.wait()
        return web.json_response({})

    async with listening(once) as url:
        await client.post(url, {}, limit_s=PATIENT)
        found = await seen(client, url, HASTY)
        never.set()
    assert found == ("E001", "DEADLINE", "no answer within 0.05 s", True, False)
