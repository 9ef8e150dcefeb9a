"""How often who may try: rate limits that a class behind one address never notices (our choice; SECURITY.md, "Limits").

- **The same wrong secret** (auth_token, code, API key) from one address: a broken agent's loop. Counted by address
  *and* secret, so nobody is kept out by what somebody else sends.
- **Different wrong secrets**: tokens and codes of ours cannot be guessed, so these are always looked at. Codes that an
  instructor chose may be short: of those that could be guessed, so many wrong ones are looked at in ten minutes, from
  one address and in all; then none of that kind is looked at, and longer ones still are.
- **Calls**: so many for each token, and so many without one for each address. These guard this process's own time
  and are counted in it; failures are counted in Redis where there is one, for all processes together. If Redis is
  away they are counted here, and nobody notices.

What is counted here has a bound, for each limit by itself: who calls with ever new tokens makes no count of guesses,
of passwords or of an address forgotten.

Times are in seconds throughout.
"""

from __future__ import annotations

import ipaddress
import logging
import math
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TypeVar

from django.conf import settings
from limits import RateLimitItem, RateLimitItemPerSecond, parse
from limits.errors import StorageError
from limits.storage import RedisStorage
from limits.strategies import FixedWindowRateLimiter

from agents_registry.kept_counts import KeptHere
from league_sdk.protocol import tokens
from league_sdk.protocol.errors import TooOften
from league_sdk.protocol.tokens import is_guessable

logger = logging.getLogger(__name__)
Found = TypeVar("Found")

TOKEN, CODE, API_KEY, REFEREE_KEY = "token", "code", "API key", "referee key"
"""The kinds of secrets. Registration codes and personal codes are one: they are tried at the same doors."""

CALLS, STRANGERS, ENTRANTS = "calls", "strangers", "entrants"
SAME_SECRET = RateLimitItemPerSecond(20, 60, "same")
GUESSES_FROM_ADDRESS = RateLimitItemPerSecond(500, 600, "guesses")
GUESSES = RateLimitItemPerSecond(1500, 600, "all-guesses")
NEW_GUESS = RateLimitItemPerSecond(1, 600, "new-guess")
REGISTRATIONS = RateLimitItemPerSecond(30, 60, "registrations")
LOGINS = (
    RateLimitItemPerSecond(5, 60, "logins"),
    RateLimitItemPerSecond(10, 600, "logins-again"),
    RateLimitItemPerSecond(20, 3600, "logins-and-again"),
)
"""Wrong passwords for one name from one address, or in one browser that has logged in before: each wait is longer."""

REDIS_PATIENCE_S = 0.25
REDIS_AWAY_S = 30.0


@dataclass(frozen=True, slots=True)
class Wait:
    """Why somebody has to wait: the limit by name and in words, and for how long."""

    name: str
    limit: str
    seconds: int


class Attempts:
    """The counts of a site, or of one of its processes.

    Args:
        clock: seconds since the epoch.
        redis_url: where counts are that all processes share.
    """

    def __init__(self, clock: Callable[[], float] = time.time, redis_url: str | None = None) -> None:
        self._clock = clock
        self._here: defaultdict[str, FixedWindowRateLimiter] = defaultdict(self._new_limiter)
        self._shared: FixedWindowRateLimiter | None = None
        self._away_until = 0.0
        self._free: set[str] = set()
        if redis_url:
            patience = {"socket_timeout": REDIS_PATIENCE_S, "socket_connect_timeout": REDIS_PATIENCE_S}
            storage = RedisStorage(redis_url, wrap_exceptions=True, key_prefix="league-limits", **patience)
            self._shared = FixedWindowRateLimiter(storage)

    # Secrets --------------------------------------------------------------------------------------

    def refuse_secret(self, kind: str, address: str, secret: str) -> Wait | None:
        """Whether a secret is looked at now; to be asked before it is.

        Args:
            kind: what it is to be, such as ``token`` or ``code``.
            address: where it comes from.
            secret: the secret.
        """
        who = (kind, network_of(address))
        wait = self._wait(SAME_SECRET, *who, tokens.digest(secret), words="the same wrong value")
        if wait is None and is_guessable(secret):
            wait = self._wait(GUESSES_FROM_ADDRESS, *who, words="different wrong values from one address")
            wait = wait or self._wait(GUESSES, kind, words="different wrong values")
        return wait

    def secret_was_wrong(self, kind: str, address: str, secret: str) -> None:
        """Count a secret that was nobody's."""
        self._hit(SAME_SECRET, kind, network_of(address), tokens.digest(secret))
        self.guess_was_wrong(kind, address, secret)

    def guess_was_wrong(self, kind: str, address: str, secret: str) -> None:
        """The same where a whole class may bring the same wrong one in good faith, and is let in without it."""
        who = (kind, network_of(address))
        if is_guessable(secret) and self._hit(NEW_GUESS, *who, tokens.digest(secret)):
            self._hit(GUESSES, kind)
            if not self._hit(GUESSES_FROM_ADDRESS, *who):
                logger.warning("many different wrong values for a %s come from %s", kind, address or "behind a proxy")

    # Calls of agents ------------------------------------------------------------------------------

    def count_call(self, token: str) -> Wait | None:
        """Count a call with a token, whoever's it is; whether there were too many with it."""
        digest = tokens.digest(token)
        if digest in self._free or self._here[CALLS].hit(_setting("LEAGUE_CALLS_PER_TOKEN"), CALLS, digest):
            return None
        return self.refuse_call(token)

    def refuse_call(self, token: str) -> Wait | None:
        """Whether there were too many calls with a token; nothing is counted."""
        digest = tokens.digest(token)
        if digest in self._free:
            return None
        rule = _setting("LEAGUE_CALLS_PER_TOKEN")
        return self._of(self._here[CALLS], rule, (CALLS, digest), "calls with one auth_token")

    def let_call(self, token: str) -> None:
        """Count no calls with this token from now on: a referee of the site reports for everybody."""
        self._free.add(tokens.digest(token))

    def count_stranger(self, address: str) -> Wait | None:
        """Count a call without a token that is known; whether its address has made too many."""
        if self._here[STRANGERS].hit(_setting("LEAGUE_CALLS_PER_ADDRESS"), STRANGERS, network_of(address)):
            return None
        return self.refuse_stranger(address)

    def refuse_stranger(self, address: str) -> Wait | None:
        """Whether an address has made too many calls without a token that is known; nothing is counted."""
        who = (STRANGERS, network_of(address))
        words = "calls without auth_token from one address"
        return self._of(self._here[STRANGERS], _setting("LEAGUE_CALLS_PER_ADDRESS"), who, words)

    def count_entrant(self, address: str) -> Wait | None:
        """Count a call that is to register somebody; whether its address has made too many of these.

        A budget of its own: a neighbour's pings, queries and answers with made-up tokens leave it alone.
        """
        rule, who = _setting("LEAGUE_REGISTRATIONS_PER_ADDRESS"), (ENTRANTS, network_of(address))
        return None if self._here[ENTRANTS].hit(rule, *who) else self.refuse_entrant(address)

    def refuse_entrant(self, address: str) -> Wait | None:
        """Whether an address has sent too many registrations; nothing is counted."""
        rule, who = _setting("LEAGUE_REGISTRATIONS_PER_ADDRESS"), (ENTRANTS, network_of(address))
        return self._of(self._here[ENTRANTS], rule, who, "registrations from one address")

    def count_registration(self, address: str, name: str, endpoint: str, codes: tuple[str, ...] = ()) -> Wait | None:
        """Count a registration; whether this one has come too often.

        Args:
            address: where it comes from.
            name, endpoint: whose it is to be.
            codes: that came with it. Who sends somebody's name without end does not have that one's personal code.
        """
        who = (network_of(address), *(tokens.digest(text) for text in (name, endpoint, *codes)))
        return (
            None
            if self._hit(REGISTRATIONS, *who)
            else self._wait(REGISTRATIONS, *who, words="registrations of one agent")
        )

    # Logins ---------------------------------------------------------------------------------------

    def refuse_login(self, *who: str) -> Wait | None:
        """Whether a password is looked at now: after every few wrong ones the wait is longer."""
        found = [self._wait(rule, *who, words="wrong passwords") for rule in LOGINS]
        return max((wait for wait in found if wait is not None), key=lambda wait: wait.seconds, default=None)

    def login_was_wrong(self, *who: str) -> None:
        """Count a wrong password."""
        for rule in LOGINS:
            self._hit(rule, *who)

    def login_was_right(self, *who: str) -> None:
        """Whoever has the password has not been guessing."""
        for rule in LOGINS:
            self._ask(rule, partial(_clear, rule, who))

    def forget_all(self) -> None:
        """As if nobody had tried yet."""
        self._free.clear()
        self._here.clear()
        if self._shared is not None:
            self._ask(SAME_SECRET, lambda limiter: limiter.storage.reset())

    def _now(self) -> float:
        return self._clock()

    def _new_limiter(self) -> FixedWindowRateLimiter:
        return FixedWindowRateLimiter(KeptHere(self._now))

    # Counting -------------------------------------------------------------------------------------

    def _ask(self, rule: RateLimitItem, do: Callable[[FixedWindowRateLimiter], Found]) -> Found:
        """With the counts that all share; with ours of that rule while they cannot be reached."""
        if self._shared is not None and self._clock() >= self._away_until:
            try:
                return do(self._shared)
            except StorageError as error:
                self._away_until = self._clock() + REDIS_AWAY_S
                logger.warning("Redis does not answer (%s): failed attempts are counted in this process", error)
        return do(self._here[rule.namespace])

    def _hit(self, rule: RateLimitItem, *who: str) -> bool:
        return self._ask(rule, lambda limiter: limiter.hit(rule, *who))

    def _wait(self, rule: RateLimitItem, *who: str, words: str) -> Wait | None:
        return self._ask(rule, lambda limiter: self._of(limiter, rule, who, words))

    def _of(
        self, limiter: FixedWindowRateLimiter, rule: RateLimitItem, who: tuple[str, ...], words: str
    ) -> Wait | None:
        counts = limiter.storage
        if (isinstance(counts, KeptHere) and counts.is_empty()) or limiter.test(rule, *who):
            return None
        ends = limiter.get_window_stats(rule, *who).reset_time
        limit = f"at most {rule.amount} {words} in {rule.get_expiry()} s"
        return Wait(name=rule.namespace.lower(), limit=limit, seconds=max(1, math.ceil(ends - self._clock())))


def too_often(wait: Wait, *, field: str | None = None) -> TooOften:
    """The error that an agent is told."""
    return TooOften(
        f"Too many: wait {wait.seconds} s.",
        field=field,
        seen="more than that",
        expected=wait.limit,
        retry_after_s=wait.seconds,
    )


@lru_cache(maxsize=4096)
def network_of(address: str) -> str:
    """What counts as one address: all that one machine may take for itself in IPv6 (/64), else the address."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    return address if found.version == 4 else str(ipaddress.ip_network((found, 64), strict=False).network_address)


def _clear(rule: RateLimitItem, who: tuple[str, ...], limiter: FixedWindowRateLimiter) -> None:
    limiter.clear(rule, *who)


_parsed: dict[str, RateLimitItem] = {}


def _setting(name: str) -> RateLimitItem:
    text = getattr(settings, name)
    if text not in _parsed:
        _parsed[text] = parse(text)
    return _parsed[text]


attempts = Attempts(redis_url=settings.LEAGUE_LIMITS_REDIS_URL)
