"""How much a referee's door takes from whom: requests, bytes and waiting requests (decision 13).

A seat in play has a path that only its player was told, hence a budget of its own. The league manager shows its token
in the head of a request, and needs no budget. Everybody else shares what is left, and no single address all of that.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Final

from league_sdk.protocol import tokens

STRANGER: Final = "stranger"
LEAGUE: Final = "league manager"
LOOKS_IN: Final = "looks in"
"""Who asks for /health or /metrics."""
SEAT: Final = "seat"
LOOKED_AT = ("/health", "/metrics")

KIB = 1024
MOST_ADDRESSES = 4096
"""Whose budgets are kept at once; the one that was quiet longest begins with a full one again."""
MOST_WAITING_BYTES = 8 << 20
"""Of bodies that judging has not answered yet; the league manager's are not counted."""


@dataclass(frozen=True, slots=True)
class Rate:
    """So much a second, and so much at once after a pause."""

    per_s: float
    at_once: float


@dataclass(frozen=True, slots=True)
class Limits:
    """What one account may use.

    Attributes:
        requests: in number.
        size: bytes, of heads and bodies.
        waiting: requests whose bodies are being read, or that judging has not answered, at the same time.
    """

    requests: Rate
    size: Rate
    waiting: int


OF_ALL_STRANGERS = Limits(Rate(100, 400), Rate(1024 * KIB, 4096 * KIB), 64)
OF_ONE_ADDRESS = Limits(Rate(50, 200), Rate(512 * KIB, 2048 * KIB), 32)
OF_ONE_SEAT = Limits(Rate(20, 40), Rate(128 * KIB, 512 * KIB), 4)
OF_ONE_THAT_LOOKS_IN = Limits(Rate(20, 200), Rate(64 * KIB, 256 * KIB), 16)


class Bucket:
    """What is left of a rate.

    Args:
        rate: how fast it fills, and how much it holds.
        clock: seconds.
    """

    __slots__ = ("_at", "_clock", "_left", "_rate")

    def __init__(self, rate: Rate, clock: Callable[[], float]) -> None:
        self._rate = rate
        self._clock = clock
        self._left = rate.at_once
        self._at = clock()

    def has_some(self) -> bool:
        """Whether anything is left."""
        now = self._clock()
        self._left = min(self._rate.at_once, self._left + (now - self._at) * self._rate.per_s)
        self._at = now
        return self._left > 0

    def take(self, amount: float) -> bool:
        """Use this much if anything is left; what is too much is owed. Whether anything was left."""
        if not self.has_some():
            return False
        self._left -= amount
        return True


class Account:
    """The budget of one seat, one address, or all strangers."""

    __slots__ = ("limits", "requests", "size", "waiting")

    def __init__(self, limits: Limits, clock: Callable[[], float]) -> None:
        self.limits = limits
        self.requests = Bucket(limits.requests, clock)
        self.size = Bucket(limits.size, clock)
        self.waiting = 0


class Budgets:
    """Who is calling, and what is left for whom.

    Args:
        clock: seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seats: dict[str, Account] = {}
        self._strangers = Account(OF_ALL_STRANGERS, clock)
        self._addresses: OrderedDict[tuple[str, str], Account] = OrderedDict()
        self._league_digest = ""
        self._waiting_bytes = 0
        self.turned_away: Counter[str] = Counter()
        """How many requests and connections were refused, by who called."""

    # What judging tells -----------------------------------------------------------------------

    def open_seats(self, secrets: Iterable[str]) -> None:
        """These seats are in play from now on."""
        for secret in secrets:
            self._seats.setdefault(secret, Account(OF_ONE_SEAT, self._clock))

    def shut_seats(self, secrets: Iterable[str]) -> None:
        """These are in play no more; who still calls there is a stranger."""
        for secret in secrets:
            self._seats.pop(secret, None)

    def expect_league(self, digest: str) -> None:
        """The SHA-256 of the token that the league manager shows; empty for none."""
        self._league_digest = digest

    # Who is calling ---------------------------------------------------------------------------

    def is_league(self, token: object) -> bool:
        """Whether this is the token that the league manager shows."""
        return isinstance(token, str) and bool(token) and tokens.same(tokens.digest(token), self._league_digest)

    def seat_at(self, path: str) -> str:
        """The secret of the seat in play that a path leads to; empty when it leads to none."""
        secret = path.partition("?")[0].rpartition("/")[2]
        return secret if secret in self._seats else ""

    def caller(self, path: str, authorization: str) -> str:
        """Who is calling, by nothing but the head: a seat's secret, or one of the names above."""
        scheme, _, token = authorization.strip().partition(" ")
        if scheme.lower() == "bearer" and self.is_league(token.strip()):
            return LEAGUE
        if secret := self.seat_at(path):
            return secret
        return LOOKS_IN if path.partition("?")[0] in LOOKED_AT else STRANGER

    # What is left -----------------------------------------------------------------------------

    def _accounts(self, caller: str, address: str) -> tuple[Account, ...]:
        if caller == LEAGUE:
            return ()
        if caller in self._seats:
            return (self._seats[caller],)
        if caller == LOOKS_IN:
            return (self._of_address(caller, address, OF_ONE_THAT_LOOKS_IN),)
        # Also at a seat that is in play no more.
        return (self._of_address(STRANGER, address, OF_ONE_ADDRESS), self._strangers)

    def _of_address(self, caller: str, address: str, limits: Limits) -> Account:
        key = caller, _network(address)
        found = self._addresses.get(key)
        if found is None:
            found = self._addresses[key] = Account(limits, self._clock)
            while len(self._addresses) > MOST_ADDRESSES:
                self._addresses.popitem(last=False)
        else:
            self._addresses.move_to_end(key)
        return found

    def has_room(self, caller: str, address: str) -> bool:
        """Whether one more request of this caller would be taken; uses nothing. A refusal is counted."""
        room = all(one.requests.has_some() and one.size.has_some() for one in self._accounts(caller, address))
        return room or self._refuse(caller)

    def take_request(self, caller: str, address: str) -> bool:
        """One request begins; whether it is within every budget of its caller. A refusal is counted."""
        accounts = self._accounts(caller, address)
        # Who is over one of its budgets uses up none of the others.
        if not all(one.requests.has_some() for one in accounts):
            return self._refuse(caller)
        return all(one.requests.take(1) for one in accounts)

    def take_bytes(self, caller: str, address: str, size: int) -> bool:
        """So many bytes came; whether they are within the budgets. A refusal is counted."""
        accounts = self._accounts(caller, address)
        if not all(one.size.has_some() for one in accounts):
            return self._refuse(caller)
        return all(one.size.take(size) for one in accounts)

    @contextmanager
    def waiting(self, caller: str, address: str) -> Iterator[bool]:
        """Read and hand over one request meanwhile; gives whether that is within the budgets."""
        accounts = self._accounts(caller, address)
        if any(one.waiting >= one.limits.waiting for one in accounts):
            yield self._refuse(caller)
            return
        for one in accounts:
            one.waiting += 1
        try:
            yield True
        finally:
            for one in accounts:
                one.waiting -= 1

    @contextmanager
    def handed_over(self, caller: str, size: int) -> Iterator[bool]:
        """A body of so many bytes waits for judging meanwhile; gives whether there is room for it."""
        if caller == LEAGUE:
            yield True
            return
        if self._waiting_bytes + size > MOST_WAITING_BYTES:
            yield self._refuse(caller)
            return
        self._waiting_bytes += size
        try:
            yield True
        finally:
            self._waiting_bytes -= size

    def kind(self, caller: str) -> str:
        """A caller in a word that tells no secret."""
        return caller if caller in (LEAGUE, LOOKS_IN, STRANGER) else SEAT

    def _refuse(self, caller: str) -> bool:
        self.turned_away[self.kind(caller)] += 1
        return False


def _network(address: str) -> str:
    """An address as budgets have it: of IPv6 the network, as one customer has all addresses of that."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, IPv6Address):
        return str(found.ipv4_mapped) if found.ipv4_mapped else found.exploded[:19]
    return str(found)
