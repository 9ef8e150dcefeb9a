"""Silent name servers: how far they delay the names of other zones, and that they do not delay the process' end."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web

from league_sdk.transport.client import CallFailed, Client
from league_sdk.transport.lookups import (
    MAX_LOOKUPS,
    MAX_LOOKUPS_OF_SLOW_ZONES,
    MAX_LOOKUPS_PER_ZONE,
    RESERVED_FOR_FOUND,
    SLOW_S,
    Lookups,
    zone,
)
from tests.bots.base import listening
from tests.league_sdk.transport.test_client import HASTY_S, PATIENT_S

SLOW = "my-zone.example"


class Names:
    """Replaces ``getaddrinfo``: ``.local`` is this machine, lookups of other names wait until ``may_answer`` is set."""

    def __init__(self) -> None:
        self.hosts: list[str] = []
        self.max_running = 0
        self._running = 0
        self._lock = threading.Lock()
        self.may_answer = threading.Event()
        self.now = 0.0
        self.lookups = Lookups(clock=lambda: self.now, getaddrinfo=self.find)

    def find(self, host: str, port: int, *more: Any) -> list[tuple[Any, ...]]:
        with self._lock:
            self.hosts.append(host)
            self._running += 1
            self.max_running = max(self.max_running, self._running)
        if not host.endswith(".local"):
            self.may_answer.wait()
        with self._lock:
            self._running -= 1
        if host.startswith("unknown"):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]


@pytest.fixture
def names() -> Iterator[Names]:
    names = Names()
    yield names
    names.may_answer.set()
    for thread in threading.enumerate():
        if thread.name == "lookup":
            thread.join()


@pytest_asyncio.fixture
async def client(names: Names) -> AsyncIterator[Client]:
    made = Client(agent_type="referee", lookups=names.lookups)
    yield made
    await made.aclose()


async def failed(client: Client, url: str) -> tuple[str, str, str]:
    with pytest.raises(CallFailed) as caught:
        await client.post(url, {}, limit_s=HASTY_S)
    return caught.value.error_code, caught.value.cause, str(caught.value)


async def fill_lookups(client: Client) -> None:
    """Look up more new names than may be looked up at a time, each in a zone of its own, none of which answers."""
    urls = (f"http://agent.zone{number}.example:8101/mcp" for number in range(MAX_LOOKUPS))
    await asyncio.gather(*(failed(client, url) for url in urls))


async def answer_ok(request: web.Request) -> web.StreamResponse:
    return web.json_response({"status": "ok"})


async def test_slow_names_of_one_zone_do_not_delay_names_of_other_zones(names: Names, client: Client) -> None:
    slow = [f"http://a{number}.{SLOW}:8101/mcp" for number in range(MAX_LOOKUPS)]
    for _ in range(2):
        # The second time the lookups still run: equal requests share one lookup.
        assert set(await asyncio.gather(*(failed(client, url) for url in slow))) == {
            ("E001", "NAME_LOOKUP", "the name of the address was not found within 0.05 s")
        }
    async with listening(answer_ok) as url:
        reply = await client.post(url.replace("127.0.0.1", "alice.local"), {}, limit_s=PATIENT_S)
    assert (reply.body, len(names.hosts), names.hosts[-1]) == (
        {"status": "ok"},
        MAX_LOOKUPS_PER_ZONE + 1,
        "alice.local",
    )


async def test_a_lookup_that_waits_for_other_zones_is_not_the_agents_fault(names: Names, client: Client) -> None:
    await fill_lookups(client)
    assert await failed(client, "http://alice.local:8101/mcp") == (
        "E001",
        "REFEREE",
        "this machine was busy with other names and did not look this one up within 0.05 s",
    )
    assert names.hosts.count("alice.local") == 0


async def test_a_known_name_is_looked_up_while_other_zones_are_silent(names: Names, client: Client) -> None:
    async with listening(answer_ok) as url:
        named = url.replace("127.0.0.1", "alice.local")
        await client.post(named, {}, limit_s=PATIENT_S)
        await fill_lookups(client)
        # Another client has no open connection, so it looks the name up again.
        other = Client(agent_type="referee", lookups=names.lookups)
        reply = await other.post(named, {}, limit_s=PATIENT_S)
    await other.aclose()
    assert (reply.body, names.hosts.count("alice.local")) == ({"status": "ok"}, 2)
    assert len(names.hosts) == MAX_LOOKUPS - RESERVED_FOR_FOUND + 2


async def test_a_lookup_that_waits_for_its_own_zone_is_the_agents_fault(names: Names, client: Client) -> None:
    own = [f"http://a{number}.{SLOW}:8101/mcp" for number in range(MAX_LOOKUPS_PER_ZONE + 1)]
    assert {failure[1] for failure in await asyncio.gather(*(failed(client, url) for url in own))} == {"NAME_LOOKUP"}
    await fill_lookups(client)
    assert (await failed(client, own[-1]))[1] == "NAME_LOOKUP"


async def test_zones_that_were_slow_share_one_limit(names: Names) -> None:
    lookups = names.lookups

    def ask(hosts: list[str]) -> list[asyncio.Future[Any]]:
        return [asyncio.ensure_future(lookups.getaddrinfo(host, 80)) for host in hosts]

    hosts = [f"agent.zone{number}.example" for number in range(MAX_LOOKUPS_OF_SLOW_ZONES * 2)]
    first = ask(hosts)
    await lookups.getaddrinfo("alice.local", 80)
    names.now += SLOW_S * 2
    names.may_answer.set()
    await asyncio.gather(*first)
    names.may_answer.clear()
    again = ask(hosts)
    await lookups.getaddrinfo("bob.local", 80)
    assert len(names.hosts) == len(hosts) + 2 + MAX_LOOKUPS_OF_SLOW_ZONES
    names.may_answer.set()
    await asyncio.gather(*again)
    # They were found quickly this time, so they are not slow any more.
    names.may_answer.clear()
    last = ask(hosts)
    await lookups.getaddrinfo("bob.local", 80)
    assert len(names.hosts) == 3 * len(hosts) + 3
    names.may_answer.set()
    await asyncio.gather(*last)


async def test_all_names_of_a_zone_are_looked_up_a_few_at_a_time(names: Names) -> None:
    lookups = names.lookups
    hosts = [f"a{number}.{SLOW}" for number in range(20)]
    waiting = [asyncio.ensure_future(lookups.getaddrinfo(host, 80)) for host in [*hosts, *hosts, f"unknown.{SLOW}"]]
    await lookups.getaddrinfo("alice.local", 80)
    assert len(names.hosts) == MAX_LOOKUPS_PER_ZONE + 1
    names.may_answer.set()
    *found, unknown = await asyncio.gather(*waiting, return_exceptions=True)
    assert found == [[(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 80))]] * 40
    assert isinstance(unknown, socket.gaierror)
    assert sorted(names.hosts) == sorted(["alice.local", *hosts, f"unknown.{SLOW}"])
    assert names.max_running <= MAX_LOOKUPS_PER_ZONE + 1


async def test_a_lookup_fails_if_no_thread_can_be_started(names: Names, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    lookups = Lookups(1, getaddrinfo=names.find)
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
        # Names in a local network: each is a zone of its own.
        ("alice.local", "alice.local"),
        ("www.uni.ac.il", "uni.ac.il"),
        ("uni.ac.il", "uni.ac.il"),
        ("co.il", "co.il"),
        ("bob.lan", "bob.lan"),
        ("carol", "carol"),
        ("a.carol.local", "carol.local"),
    ],
)
def test_zone_is_the_part_of_a_name_with_one_name_server(host: str, expected: str) -> None:
    assert zone(host) == expected


LOOK_UP_AND_END = """
import asyncio, socket, threading
from league_sdk.transport.client import CallFailed, Client
never = threading.Event()
asked = []
socket.getaddrinfo = lambda host, *_: (asked.append(host), never.wait())

async def main():
    client = Client(agent_type="referee")
    try:
        await client.post("http://agent.my-zone.example:8101/mcp", {}, limit_s=0.05)
    except CallFailed as error:
        print(error.cause, *asked)
    await client.aclose()

asyncio.run(main())
"""


def test_a_process_ends_while_a_name_is_being_looked_up() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", LOOK_UP_AND_END], check=False, capture_output=True, text=True, timeout=60
    )
    assert (ended.returncode, ended.stdout.split(), ended.stderr) == (0, ["NAME_LOOKUP", "agent.my-zone.example"], "")


# The first lookup of a process imports the codec of host names, which needs a file; ``lookups`` has imported it before.
FIRST_LOOKUP_WITHOUT_FILES = """
import socket, sys
from league_sdk.transport import lookups

class NoFiles:
    def find_spec(self, name, path=None, target=None):
        raise ImportError(f"{name}: too many open files")

sys.meta_path.insert(0, NoFiles())
print(socket.getaddrinfo("127.0.0.1", 80)[0][4])
"""


def test_the_first_lookup_of_a_process_imports_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FIRST_LOOKUP_WITHOUT_FILES], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.stdout.strip(), done.stderr) == ("('127.0.0.1', 80)", "")
