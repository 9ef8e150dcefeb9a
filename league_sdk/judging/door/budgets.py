"""How many requests and bytes a referee's door takes, and from whom (decision 13).

A seat in play has a budget of its own. A request counts against it if it comes to the path that only the seat's player
was told, or has that player's auth_token in a header. The league manager sends its token in a header, too, and has no
budget. A monitor, which asks for /health or /metrics, has a budget for each address. All others share one budget, of
which one address gets only a part.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Final

from league_sdk.protocol import tokens
from league_sdk.protocol.errors import TooOften

STRANGER: Final = "stranger"
LEAGUE: Final = "league manager"
MONITOR: Final = "monitor"
"""Asks for /health or /metrics."""
SEAT: Final = "seat"
MONITORED_PATHS = ("/health", "/metrics")

KIB = 1024
MAX_ADDRESSES = 4096
MAX_PENDING_BYTES = 8 << 20
"""The limit for all unanswered bodies together, except those of the league manager."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate limit: so much per second on average, and ``burst`` at once."""

    per_s: float
    burst: float


@dataclass(frozen=True, slots=True)
class Limits:
    """What one account may use.

    Attributes:
        requests: requests per second.
        size: bytes of heads and bodies per second.
        pending: requests at the same time whose bodies are being read, or that judging has not answered.
    """

    requests: Rate
    size: Rate
    pending: int


STRANGERS_LIMITS = Limits(Rate(100, 400), Rate(1024 * KIB, 4096 * KIB), 64)
ADDRESS_LIMITS = Limits(Rate(50, 200), Rate(512 * KIB, 2048 * KIB), 32)
SEAT_LIMITS = Limits(Rate(20, 40), Rate(128 * KIB, 512 * KIB), 4)
MONITOR_LIMITS = Limits(Rate(20, 200), Rate(64 * KIB, 256 * KIB), 16)


class Bucket:
    """A token bucket.

    Args:
        rate: how fast it fills, and how much it holds.
        clock: seconds.
    """

    __slots__ = ("_at", "_clock", "_left", "_rate")

    def __init__(self, rate: Rate, clock: Callable[[], float]) -> None:
        self._rate = rate
        self._clock = clock
        self._left = rate.burst
        self._at = clock()

    def has_any(self) -> bool:
        """Whether anything is left."""
        now = self._clock()
        self._left = min(self._rate.burst, self._left + (now - self._at) * self._rate.per_s)
        self._at = now
        return self._left > 0

    def take(self, amount: float) -> bool:
        """Use this much if anything is left, even if it leaves a debt; returns whether anything was left."""
        if not self.has_any():
            return False
        self._left -= amount
        return True


class Account:
    """The budget of one seat, one address, or all strangers."""

    __slots__ = ("limits", "pending", "requests", "size")

    def __init__(self, limits: Limits, clock: Callable[[], float]) -> None:
        self.limits = limits
        self.requests = Bucket(limits.requests, clock)
        self.size = Bucket(limits.size, clock)
        self.pending = 0


class Budgets:
    """Knows who is calling, and what is left for whom.

    Args:
        clock: seconds.
        max_addresses: how many addresses have a budget at once. Beyond that, the address that was silent longest loses
            its budget; when it sends again, it gets a new one.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, *, max_addresses: int = MAX_ADDRESSES) -> None:
        self._clock = clock
        self._max_addresses = max_addresses
        self._seats: dict[str, Account] = {}
        self._players: dict[str, str] = {}
        self._strangers = Account(STRANGERS_LIMITS, clock)
        self._addresses: OrderedDict[tuple[str, str], Account] = OrderedDict()
        self._league_digest = ""
        self._pending_bytes = 0
        self.turned_away: Counter[str] = Counter()
        """How many requests and connections were refused, by the kind of caller."""

    # What judging tells -----------------------------------------------------------------------

    def open_seats(self, secrets: Iterable[str]) -> None:
        """Note that these seats are in play now."""
        for secret in secrets:
            self._seats.setdefault(secret, Account(SEAT_LIMITS, self._clock))

    def know_players(self, digests: Mapping[str, str]) -> None:
        """Add players of seats in play: by the SHA-256 of a player's auth_token, the secret of its seat."""
        self._players |= digests

    def close_seats(self, secrets: Iterable[str]) -> None:
        """Note that these seats are not in play any more; callers that still use their paths count as strangers."""
        for secret in secrets:
            self._seats.pop(secret, None)
        self._players = {digest: secret for digest, secret in self._players.items() if secret in self._seats}

    def expect_league(self, digest: str) -> None:
        """Set the SHA-256 of the league manager's token; empty for none."""
        self._league_digest = digest

    # Who is calling ---------------------------------------------------------------------------

    def is_league(self, token: object) -> bool:
        """Whether this is the league manager's token."""
        return isinstance(token, str) and bool(token) and tokens.same(tokens.digest(token), self._league_digest)

    def is_known(self, caller: str) -> bool:
        """Whether a caller is the league manager or the player of a seat that is still in play."""
        return caller == LEAGUE or caller in self._seats

    def seat_at(self, path: str) -> str:
        """The secret of the seat in play that a path belongs to; empty if there is none."""
        secret = path.partition("?")[0].rpartition("/")[2].lower()
        return secret if secret in self._seats else ""

    def caller(self, path: str, authorization: str) -> str:
        """The caller of a request, from its path and its header alone: a seat's secret, LEAGUE, MONITOR or STRANGER."""
        scheme, _, token = authorization.strip().partition(" ")
        token = token.strip() if scheme.lower() == "bearer" else ""
        if self.is_league(token):
            return LEAGUE
        if secret := self.seat_at(path):
            return secret
        if path.partition("?")[0] in MONITORED_PATHS:
            return MONITOR
        return self._players.get(tokens.digest(token), STRANGER) if token and self._players else STRANGER

    # What is left -----------------------------------------------------------------------------

    def _accounts(self, caller: str, address: str) -> tuple[Account, ...]:
        if caller == LEAGUE:
            return ()
        if caller in self._seats:
            return (self._seats[caller],)
        if caller == MONITOR:
            return (self._address_account(caller, address, MONITOR_LIMITS),)
        # The seat of a caller may have been closed since its connection began.
        return (self._address_account(STRANGER, address, ADDRESS_LIMITS), self._strangers)

    def _address_account(self, caller: str, address: str, limits: Limits) -> Account:
        key = caller, network_of(address)
        if key not in self._addresses:
            self._addresses[key] = Account(limits, self._clock)
            while len(self._addresses) > self._max_addresses:
                self._addresses.popitem(last=False)
        self._addresses.move_to_end(key)
        return self._addresses[key]

    def has_room(self, caller: str, address: str) -> bool:
        """Whether a request of this caller would be taken; uses nothing, and counts a refusal."""
        accounts = self._accounts(caller, address)
        room = all(account.requests.has_any() and account.size.has_any() for account in accounts)
        return room or self._refuse(caller)

    def take_request(self, caller: str, address: str) -> bool:
        """Take one request if every budget of the caller allows it; counts a refusal."""
        accounts = self._accounts(caller, address)
        # A request that one budget refuses must not use up another.
        if not all(account.requests.has_any() for account in accounts):
            return self._refuse(caller)
        return all(account.requests.take(1) for account in accounts)

    def take_bytes(self, caller: str, address: str, size: int) -> bool:
        """Take this many bytes if every budget of the caller allows it; counts a refusal."""
        accounts = self._accounts(caller, address)
        if not all(account.size.has_any() for account in accounts):
            return self._refuse(caller)
        return all(account.size.take(size) for account in accounts)

    @contextmanager
    def pending_request(self, caller: str, address: str) -> Iterator[None]:
        """Count a request as pending for the time of the context.

        Raises:
            TooOften: a budget does not allow it.
        """
        accounts = self._accounts(caller, address)
        if any(account.pending >= account.limits.pending for account in accounts):
            self._refuse(caller)
            raise too_often()
        for account in accounts:
            account.pending += 1
        try:
            yield
        finally:
            for account in accounts:
                account.pending -= 1

    @contextmanager
    def pending_body(self, caller: str, size: int) -> Iterator[None]:
        """Count a body as waiting for judging for the time of the context; the league manager's always may.

        Raises:
            TooOften: there is no room for it.
        """
        if caller == LEAGUE:
            size = 0
        elif self._pending_bytes + size > MAX_PENDING_BYTES:
            self._refuse(caller)
            raise too_often()
        self._pending_bytes += size
        try:
            yield
        finally:
            self._pending_bytes -= size

    def kind(self, caller: str) -> str:
        """The kind of a caller, without its secret."""
        return caller if caller in (LEAGUE, MONITOR, STRANGER) else SEAT

    def _refuse(self, caller: str) -> bool:
        self.turned_away[self.kind(caller)] += 1
        return False


def too_often() -> TooOften:
    """The refusal of what is over a budget."""
    return TooOften("Too much comes from here: try again in a moment.", retry_after_s=1)


def network_of(address: str) -> str:
    """What has one budget: an IPv4 address, or an IPv6 /64 network, because one customer has all its addresses."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address):
        return str(parsed.ipv4_mapped) if parsed.ipv4_mapped else parsed.exploded[:19]
    return str(parsed)
