"""Calls that bring no reply: what the error says, and whose fault it is."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import socket

import aiohttp
import pytest
from aiohttp import web

from league_sdk.transport.client import CallFailed, Client
from tests.bots.base import listening
from tests.league_sdk.transport.conftest import Make, Named
from tests.league_sdk.transport.test_client import HASTY_S, PATIENT_S, returning


async def failure_of(client: Client, url: str, limit_s: float = PATIENT_S) -> tuple[str, str, str, bool, bool]:
    with pytest.raises(CallFailed) as caught:
        await client.post(url, {}, limit_s=limit_s)
    error = caught.value
    return error.error_code, error.cause, str(error.detail), error.connected, error.maybe_offline


def make_connections_fail(monkeypatch: pytest.MonkeyPatch, *numbers: int) -> None:
    async def connect(*_: object, **__: object) -> object:
        if len(numbers) > 1:
            raise OSError(f"Multiple exceptions: {numbers}, ('10.1.2.3', 8101)")
        raise OSError(numbers[0], f"Connect call failed ('10.1.2.3', 8101): {os.strerror(numbers[0])}")

    monkeypatch.setattr(aiohttp.connector.aiohappyeyeballs, "start_connection", connect)


async def test_a_call_fails_with_connect_if_nobody_listens(client: Client) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        assert await failure_of(client, url) == ("E009", "CONNECT", "nobody listens at its address", False, False)


@pytest.mark.parametrize(
    ("numbers", "cause", "detail", "maybe_offline"),
    [
        ([errno.EHOSTUNREACH], "CONNECT", "no way through the network to its address, as on guest Wi-Fi", False),
        ([errno.ENETUNREACH], "CONNECT", "no connection: Network is unreachable", True),
        ([errno.ECONNREFUSED, errno.EADDRNOTAVAIL], "CONNECT", "no connection", False),
        ([errno.EACCES], "CONNECT", "its address is that of a whole network, not of one machine", False),
        ([errno.EMFILE], "REFEREE", "this machine cannot call anyone: Too many open files", False),
        ([errno.ENETDOWN], "REFEREE", "this machine cannot call anyone: Network is down", False),
    ],
)
async def test_a_failed_connection_is_blamed_on_the_agent_or_this_machine(
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    numbers: list[int],
    cause: str,
    detail: str,
    maybe_offline: bool,
) -> None:
    make_connections_fail(monkeypatch, *numbers)
    assert await failure_of(client, "http://10.1.2.3:8101/mcp") == ("E009", cause, detail, False, maybe_offline)


@pytest.mark.parametrize(
    ("error", "cause", "detail"),
    [
        (socket.gaierror(socket.EAI_NONAME, "x"), "NAME_LOOKUP", "the name of the address is not known"),
        (OSError("resolves to nothing"), "NAME_LOOKUP", "the name of the address is not known"),
        (socket.gaierror(socket.EAI_AGAIN, "x"), "NAME_LOOKUP", "the name server of the address gave no answer"),
        (socket.gaierror(socket.EAI_SYSTEM, "x"), "REFEREE", "this machine cannot look names up"),
    ],
)
async def test_a_failed_lookup_is_blamed_on_the_name_or_this_machine(
    named: Named, error: OSError, cause: str, detail: str
) -> None:
    failure = await failure_of(named(error)[0], "http://agent.example:8101/mcp")
    assert failure == ("E009", cause, detail, False, False)


async def test_a_failure_of_this_machine_is_blamed_on_the_caller(make: Make) -> None:
    for caller, cause in (("referee", "REFEREE"), ("league_manager", "LEAGUE")):
        made = make(agent_type=caller)
        with pytest.MonkeyPatch.context() as patch:
            make_connections_fail(patch, errno.EMFILE)
            assert (await failure_of(made, "http://10.1.2.3:8101/mcp"))[1] == cause
        await made.aclose()


async def test_a_call_without_free_file_descriptors_is_this_machines_failure(client: Client, named: Named) -> None:
    """The test really uses up all file descriptors, so no socket can be opened."""
    async with listening(returning(lambda: web.json_response({}))) as url:
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        spare = []
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, limits[0]), limits[1]))
        try:
            with pytest.raises(OSError, match="Too many open files"):
                while True:
                    spare.append(socket.socket())
            failure = await failure_of(client, url)
            # The system's answer to a lookup if it cannot open its own files.
            unknown, _ = named(socket.gaierror(socket.EAI_NONAME, "Name or service not known"))
            of_name = await failure_of(unknown, "http://agent.example:8101/mcp")
        finally:
            for one in spare:
                one.close()
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        assert failure == ("E009", "REFEREE", "this machine cannot call anyone: Too many open files", False, False)
        assert of_name == ("E009", "REFEREE", "this machine cannot look names up", False, False)
        assert (await client.post(url, {}, limit_s=PATIENT_S)).body == {}


async def test_a_call_fails_if_an_https_address_has_no_tls(client: Client) -> None:
    async with listening(returning(web.Response)) as url:
        failure = await failure_of(client, url.replace("http:", "https:"))
    assert failure == ("E009", "CONNECT", "no secure connection (SSLError)", False, False)


async def test_a_timeout_before_the_connection_is_blamed_on_the_connection(client: Client) -> None:
    """A firewall that drops packets looks like this: the agent is not slow, it is not reached."""
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        queue = [socket.socket() for _ in range(4)]
        for one in queue:
            one.setblocking(False)
            one.connect_ex(full.getsockname())
        failure = await failure_of(client, f"http://127.0.0.1:{full.getsockname()[1]}/mcp", HASTY_S)
        for one in queue:
            one.close()
    assert failure == ("E001", "CONNECT", "no connection within 0.05 s", False, False)


async def test_a_timeout_on_a_kept_connection_is_blamed_on_the_answer(client: Client) -> None:
    never = asyncio.Event()
    served = 0

    async def once(request: web.Request) -> web.StreamResponse:
        nonlocal served
        served += 1
        if served > 1:
            await never.wait()
        return web.json_response({})

    async with listening(once) as url:
        await client.post(url, {}, limit_s=PATIENT_S)
        failure = await failure_of(client, url, HASTY_S)
        never.set()
    assert failure == ("E001", "DEADLINE", "no answer within 0.05 s", True, False)
