"""Names whose name server is silent: they hold up their own zone, and neither other names nor the process' end."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from aiohttp import web

from league_sdk.transport import client as client_module
from league_sdk.transport import policy as policy_module
from league_sdk.transport.client import CallFailed, Client
from league_sdk.transport.lookups import KEPT_FOR_FOUND, MOST, MOST_OF_A_ZONE, MOST_OF_SLOW, SLOW_S, Lookups, zone
from tests.bots.base import listening
from tests.league_sdk.transport.test_client import HASTY, PATIENT

SLOW = "my-zone.example"


class Names:
    """The system's search for names: of one zone it finds none until it is told to, all others are this machine."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.most = 0
        self._now = 0
        self._lock = threading.Lock()
        self.silent = threading.Event()

    def find(self, host: str, port: int, *more: Any) -> list[tuple[Any, ...]]:
        with self._lock:
            self.asked.append(host)
            self._now += 1
            self.most = max(self.most, self._now)
        if not host.endswith(".local"):
            self.silent.wait()
        with self._lock:
            self._now -= 1
        if host.startswith("unknown"):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Iterator[Names]:
    found = Names()
    lookups = Lookups()
    monkeypatch.setattr(policy_module, "LOOKUPS", lookups)
    monkeypatch.setattr(client_module, "LOOKUPS", lookups)
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, port, *rest, **named: found.find(host, port))
    yield found
    found.silent.set()
    for thread in threading.enumerate():
        if thread.name == "lookup":
            thread.join()


async def failed(client: Client, url: str) -> tuple[str, str, str]:
    with pytest.raises(CallFailed) as caught:
        await client.post(url, {}, limit_s=HASTY)
    return caught.value.error_code, caught.value.cause, str(caught.value)


async def test_slow_names_of_one_zone_hold_up_nobody_elses(names: Names) -> None:
    client = Client(agent_type="referee")
    slow = [f"http://a{number}.{SLOW}:8101/mcp" for number in range(MOST)]
    for _ in range(2):
        # The second time their lookups are still under way: no call takes a thread that another one has.
        assert set(await asyncio.gather(*(failed(client, url) for url in slow))) == {
            ("E001", "NAME_LOOKUP", "the name of the address was not found within 0.05 s")
        }

    async def answer(request: web.Request) -> web.StreamResponse:
        return web.json_response({"status": "ok"})

    async with listening(answer) as url:
        reply = await client.post(url.replace("127.0.0.1", "alice.local"), {}, limit_s=PATIENT)
    await client.aclose()
    assert (reply.body, len(names.asked), names.asked[-1]) == ({"status": "ok"}, MOST_OF_A_ZONE + 1, "alice.local")


async def test_where_all_threads_are_taken_it_is_not_the_agents_fault(names: Names) -> None:
    client = Client(agent_type="referee")
    await asyncio.gather(*(failed(client, f"http://agent.zone{number}.example:8101/mcp") for number in range(MOST)))
    assert await failed(client, "http://alice.local:8101/mcp") == (
        "E001",
        "REFEREE",
        "this machine was busy with other names and did not look this one up within 0.05 s",
    )
    await client.aclose()
    assert names.asked.count("alice.local") == 0


async def test_a_name_that_was_found_before_is_looked_up_while_strangers_zones_are_silent(names: Names) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.json_response({"status": "ok"})

    client = Client(agent_type="referee")
    async with listening(answer) as url:
        named = url.replace("127.0.0.1", "alice.local")
        await client.post(named, {}, limit_s=PATIENT)
        await asyncio.gather(*(failed(client, f"http://agent.zone{number}.example:8101/mcp") for number in range(MOST)))
        # A connection of its own: nothing is kept of what was found.
        other = Client(agent_type="referee")
        reply = await other.post(named, {}, limit_s=PATIENT)
    await client.aclose()
    await other.aclose()
    assert (reply.body, names.asked.count("alice.local")) == ({"status": "ok"}, 2)
    assert len(names.asked) == MOST - KEPT_FOR_FOUND + 2


async def test_who_waits_for_the_own_zone_is_not_excused_when_others_take_the_rest(names: Names) -> None:
    client = Client(agent_type="referee")
    own = [f"http://a{number}.{SLOW}:8101/mcp" for number in range(MOST_OF_A_ZONE + 1)]
    assert {found[1] for found in await asyncio.gather(*(failed(client, url) for url in own))} == {"NAME_LOOKUP"}
    await asyncio.gather(*(failed(client, f"http://agent.zone{number}.example:8101/mcp") for number in range(MOST)))
    assert (await failed(client, own[-1]))[1] == "NAME_LOOKUP"
    await client.aclose()


async def test_zones_that_were_slow_have_one_share_together(names: Names) -> None:
    now = [0.0]
    lookups = Lookups(clock=lambda: now[0])

    def ask(hosts: list[str]) -> list[asyncio.Future[Any]]:
        return [asyncio.ensure_future(lookups.getaddrinfo(host, 80)) for host in hosts]

    hosts = [f"agent.zone{number}.example" for number in range(MOST_OF_SLOW * 2)]
    first = ask(hosts)
    await lookups.getaddrinfo("alice.local", 80)
    now[0] += SLOW_S * 2
    names.silent.set()
    await asyncio.gather(*first)
    names.silent.clear()
    again = ask(hosts)
    await lookups.getaddrinfo("bob.local", 80)
    assert len(names.asked) == len(hosts) + 2 + MOST_OF_SLOW
    names.silent.set()
    await asyncio.gather(*again)
    # They were found quickly this time: they count as any other again.
    names.silent.clear()
    last = ask(hosts)
    await lookups.getaddrinfo("bob.local", 80)
    assert len(names.asked) == 3 * len(hosts) + 3
    names.silent.set()
    await asyncio.gather(*last)


async def test_a_zone_is_looked_up_to_its_end_a_few_at_a_time(names: Names) -> None:
    lookups = Lookups()
    asked = [f"a{number}.{SLOW}" for number in range(20)]
    waiting = [asyncio.ensure_future(lookups.getaddrinfo(host, 80)) for host in [*asked, *asked, f"unknown.{SLOW}"]]
    await lookups.getaddrinfo("alice.local", 80)
    assert len(names.asked) == MOST_OF_A_ZONE + 1
    names.silent.set()
    *found, unknown = await asyncio.gather(*waiting, return_exceptions=True)
    assert found == [[(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 80))]] * 40
    assert isinstance(unknown, socket.gaierror)
    assert sorted(names.asked) == sorted(["alice.local", *asked, f"unknown.{SLOW}"])
    assert names.most <= MOST_OF_A_ZONE + 1


async def test_no_thread_is_to_be_had(names: Names, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    lookups = Lookups(most=1)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        with pytest.raises(socket.gaierror) as caught:
            await lookups.getaddrinfo("alice.local", 80)
    assert caught.value.errno == socket.EAI_MEMORY
    assert len(await lookups.getaddrinfo("alice.local", 80)) == 1


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("a1.my-zone.example", "my-zone.example"),
        ("A1.b.My-Zone.Example.", "my-zone.example"),
        # Nobody's zone but its own: a classroom's names all end like this.
        ("alice.local", "alice.local"),
        ("www.uni.ac.il", "uni.ac.il"),
        ("uni.ac.il", "uni.ac.il"),
        ("co.il", "co.il"),
        ("bob.lan", "bob.lan"),
        ("carol", "carol"),
        ("a.carol.local", "carol.local"),
    ],
)
def test_whose_zone_a_name_is_of(host: str, expected: str) -> None:
    assert zone(host) == expected


ENDS = """
import asyncio, socket, threading
from league_sdk.transport.client import CallFailed, Client
never = threading.Event()
socket.getaddrinfo = lambda *_, **__: never.wait()

async def main():
    client = Client(agent_type="referee")
    try:
        await client.post("http://agent.my-zone.example:8101/mcp", {}, limit_s=0.05)
    except CallFailed as error:
        print(error.cause)
    await client.aclose()

asyncio.run(main())
"""


def test_a_process_ends_while_a_name_is_being_looked_up() -> None:
    ended = subprocess.run([sys.executable, "-c", ENDS], check=False, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout.split(), ended.stderr) == (0, ["NAME_LOOKUP"], "")
