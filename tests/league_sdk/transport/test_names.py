"""The cache of names: what it answers at once, and how long it waits for a silent name server."""

from __future__ import annotations

import socket

from league_sdk.transport.lookups import Answer, Found, Lookups
from league_sdk.transport.names import CACHE_S, RETRY_INTERVAL_S, SILENCE_TIMEOUT_S, Names
from tests.clock import Clock


class Zones(Lookups):
    """Lookups that answer when the test calls :meth:`settle`."""

    def __init__(self) -> None:
        super().__init__()
        self.leads_to: dict[str, str | OSError] = {}
        self.lookups: list[tuple[str, Answer]] = []
        self.busy = False

    def look_up(self, host: str, port: int, answer: Answer, **more: int) -> None:
        self.lookups.append((host, answer))

    def waits_for_others(self, host: str) -> bool:
        return self.busy

    def settle(self) -> None:
        lookups, self.lookups = self.lookups, []
        for host, answer in lookups:
            target = self.leads_to[host]
            if isinstance(target, OSError):
                answer([], target)
            else:
                answer(_found(target), None)


def _found(ip: str) -> Found:
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, 0))]


def test_names_waits_for_a_silent_name_server_for_a_limited_time() -> None:
    clock, zones = Clock(), Zones()
    names = Names(zones, clock)
    calls: list[int] = []

    def tell() -> None:
        calls.append(1)

    zones.leads_to["a.example"] = socket.gaierror(socket.EAI_AGAIN, "x")
    assert names.addresses("a.example", tell) is None
    zones.settle()
    assert (names.addresses("a.example", tell), zones.lookups, calls) == (None, [], [1])
    clock.now += RETRY_INTERVAL_S
    assert (names.addresses("a.example", tell), len(zones.lookups)) == (None, 1)
    clock.now += SILENCE_TIMEOUT_S
    # While other zones hold all threads, this name's server is not silent.
    zones.busy = True
    assert names.addresses("a.example", tell) is None
    zones.busy = False
    assert names.addresses("a.example", tell) == ()
    zones.leads_to["a.example"] = "192.0.2.7"
    zones.settle()
    assert names.addresses("a.example", tell) == ("192.0.2.7",)
    clock.now += CACHE_S + 1
    assert (names.addresses("a.example", tell), len(zones.lookups)) == (None, 1)


def test_names_keeps_a_limited_number_of_names() -> None:
    zones = Zones()
    names = Names(zones, max_names=3)
    for _ in range(2):
        for number in range(4):
            names.addresses(f"a{number}.example", lambda: None)
    # Each name was forgotten before it was asked for again, so each is looked up twice.
    assert len(zones.lookups) == 8
