"""HTTP clients, and lookups that find what a test says."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

import pytest
import pytest_asyncio

from league_sdk.transport.client import Client
from league_sdk.transport.httpx_client import HttpxClient
from league_sdk.transport.lookups import Found, Lookups


class FakeLookups(Lookups):
    """Gives one answer after the other, addresses or an error; the last answer stays.

    Attributes:
        hosts: the names that were looked up.
    """

    def __init__(self, *answers: Iterable[str] | Exception) -> None:
        super().__init__()
        self.hosts: list[str] = []
        self._answers = [answer if isinstance(answer, Exception) else list(answer) for answer in answers]

    async def getaddrinfo(self, host: str, port: int, **more: Any) -> Found:
        self.hosts.append(host)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return [(socket.AF_INET6 if ":" in ip else socket.AF_INET, 1, 6, "", (ip, port)) for ip in answer]


Make = Callable[..., Client]
Named = Callable[..., tuple[Client, FakeLookups]]


@pytest.fixture(params=[Client, HttpxClient])
def make(request: pytest.FixtureRequest) -> Make:
    """The class of the clients for matches, and that of the others: both have to pass the tests."""
    made: Make = request.param
    return made


@pytest_asyncio.fixture
async def named(make: Make) -> AsyncIterator[Named]:
    """A function that makes clients whose lookups find what a test says, and returns both."""
    clients = []

    def find(*answers: Iterable[str] | Exception, **options: Any) -> tuple[Client, FakeLookups]:
        lookups = FakeLookups(*answers)
        clients.append(make(agent_type="referee", lookups=lookups, **options))
        return clients[-1], lookups

    yield find
    for client in clients:
        await client.aclose()


@pytest_asyncio.fixture
async def client(make: Make) -> AsyncIterator[Client]:
    made = make(agent_type="referee")
    yield made
    await made.aclose()
