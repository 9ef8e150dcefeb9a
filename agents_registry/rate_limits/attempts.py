"""Rate limits that a class behind one address never reaches (our choice; SECURITY.md, "Limits").

- **The same wrong secret** (auth_token, code, API key) from one address: an agent in a loop. Counted by address *and*
  secret, so what one agent sends keeps nobody else out.
- **Different wrong secrets**: our own tokens and codes cannot be guessed and are always checked. Codes that an
  instructor chose may be short: a limited number of guesses is checked in ten minutes, per address and in all.
- **Calls**: per token, and per address without a known token; registrations per address. These limits protect the time
  of this process, which counts the calls itself. Everything else is counted in Redis for all processes together, if
  there is a Redis that answers.

The counts that this process keeps are bounded separately for each limit: a flood of new tokens does not push out
the counts of guesses or passwords.
"""

from __future__ import annotations

import ipaddress
import logging
import math
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from django.conf import settings
from limits import RateLimitItem, RateLimitItemPerSecond, parse
from limits.errors import StorageError
from limits.storage import RedisStorage
from limits.strategies import FixedWindowRateLimiter

from agents_registry.rate_limits.counts import MAX_COUNTS, ProcessCounts
from league_sdk.protocol import tokens
from league_sdk.protocol.errors import TooOften
from league_sdk.protocol.tokens import is_guessable

logger = logging.getLogger(__name__)
Result = TypeVar("Result")

TOKEN, CODE, API_KEY, REFEREE_KEY = "token", "code", "API key", "referee key"
"""The kinds of secrets. Registration codes and personal codes are one kind, as they are sent in the same field."""

SAME_SECRET = RateLimitItemPerSecond(20, 60, "same")
GUESSES_FROM_ADDRESS = RateLimitItemPerSecond(500, 600, "guesses")
GUESSES = RateLimitItemPerSecond(1500, 600, "all-guesses")
NEW_GUESS = RateLimitItemPerSecond(1, 600, "new-guess")
REGISTRATIONS = RateLimitItemPerSecond(30, 60, "registrations")
MOVES = RateLimitItemPerSecond(30, 3600, "moves")
LOGINS = (
    RateLimitItemPerSecond(5, 60, "logins"),
    RateLimitItemPerSecond(10, 600, "logins-again"),
    RateLimitItemPerSecond(20, 3600, "logins-and-again"),
)
"""Wrong passwords for one name from one address, or in one browser that logged in before: more of them mean a longer
wait."""

REDIS_TIMEOUT_S = 0.25
REDIS_RETRY_S = 30.0


@dataclass(frozen=True, slots=True)
class Wait:
    """Why somebody has to wait and for how long: the limit by name and in words."""

    name: str
    limit: str
    seconds: int


@dataclass(frozen=True, slots=True)
class CallLimit:
    """A limit on calls, counted by each process separately.

    Attributes:
        name: tells its counts from those of other limits.
        setting: the Django setting with the limit, such as ``3000/10 seconds``.
        words: what is counted, for the error.
        key: turns a token or an address into what is counted.
    """

    name: str
    setting: str
    words: str
    key: Callable[[str], str]

    @property
    def rule(self) -> RateLimitItem:
        """The limit as it is set now."""
        return _parsed(getattr(settings, self.setting))


_parsed = lru_cache(maxsize=64)(parse)


class Attempts:
    """Counts attempts and says who has to wait.

    Args:
        clock: seconds since the epoch.
        redis_url: the Redis with the counts that all processes share.
        redis_retry_s: seconds for which Redis is left alone after it did not answer.
        max_counts: how many counts of one limit this process keeps.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.time,
        redis_url: str | None = None,
        *,
        redis_retry_s: float = REDIS_RETRY_S,
        max_counts: int = MAX_COUNTS,
    ) -> None:
        self._clock = clock
        self._redis_retry_s = redis_retry_s
        self._in_process = defaultdict[str, FixedWindowRateLimiter](
            lambda: FixedWindowRateLimiter(ProcessCounts(self._now, max_counts))
        )
        self._shared: FixedWindowRateLimiter | None = None
        self._redis_away_until = 0.0
        self._unlimited: set[str] = set()
        if redis_url:
            storage = RedisStorage(
                redis_url,
                wrap_exceptions=True,
                key_prefix="league-limits",
                socket_timeout=REDIS_TIMEOUT_S,
                socket_connect_timeout=REDIS_TIMEOUT_S,
            )
            self._shared = FixedWindowRateLimiter(storage)

    # Secrets --------------------------------------------------------------------------------------

    def refuse_secret(self, kind: str, address: str, secret: str) -> Wait | None:
        """How long the sender of a secret has to wait; None if the secret may be checked now. Call it before that."""
        who = (kind, network_of(address))
        wait = self._wait(SAME_SECRET, *who, tokens.digest(secret), words="tries of one wrong value")
        if wait is None and is_guessable(secret):
            wait = self._wait(GUESSES_FROM_ADDRESS, *who, words="different wrong values from one address")
            wait = wait or self._wait(GUESSES, kind, words="different wrong values")
        return wait

    def secret_was_wrong(self, kind: str, address: str, secret: str) -> None:
        """Count a wrong secret."""
        self._hit(SAME_SECRET, kind, network_of(address), tokens.digest(secret))
        self.guess_was_wrong(kind, address, secret)

    def guess_was_wrong(self, kind: str, address: str, secret: str) -> None:
        """Count a wrong secret as a guess only: for secrets that a whole class may send wrongly in good faith."""
        who = (kind, network_of(address))
        if is_guessable(secret) and self._hit(NEW_GUESS, *who, tokens.digest(secret)):
            self._hit(GUESSES, kind)
            if not self._hit(GUESSES_FROM_ADDRESS, *who):
                logger.warning("many different wrong values for a %s come from %s", kind, address or "behind a proxy")

    # Calls of agents ------------------------------------------------------------------------------

    def count_call(self, limit: CallLimit, caller: str) -> Wait | None:
        """Count a call; returns how long its caller has to wait, None if there were not too many calls."""
        key = limit.key(caller)
        if key in self._unlimited or self._in_process[limit.name].hit(limit.rule, limit.name, key):
            return None
        return self.refuse_call(limit, caller)

    def refuse_call(self, limit: CallLimit, caller: str) -> Wait | None:
        """Returns how long a caller has to wait, None if it has not called too often; nothing is counted."""
        key = limit.key(caller)
        if key in self._unlimited:
            return None
        return self._wait_of(self._in_process[limit.name], limit.rule, (limit.name, key), limit.words)

    def let_call(self, token: str) -> None:
        """Count no more calls with this token: a referee of the site reports for all players."""
        self._unlimited.add(tokens.digest(token))

    def count_registration(self, address: str, name: str, endpoint: str, codes: tuple[str, ...] = ()) -> Wait | None:
        """Count a registration of an agent; returns how long it has to wait, None if it has not registered too often.

        The codes count as part of the agent: somebody else who sends its name does not have its personal code.
        """
        who = (network_of(address), *(tokens.digest(text) for text in (name, endpoint, *codes)))
        if self._hit(REGISTRATIONS, *who):
            return None
        return self._wait(REGISTRATIONS, *who, words="registrations of one agent")

    def count_move(self, agent_id: int) -> Wait | None:
        """Count a registration at another address; returns how long that is not called, None if it may be now."""
        if self._hit(MOVES, str(agent_id)):
            return None
        return self._wait(MOVES, str(agent_id), words="registrations at other addresses")

    # Logins ---------------------------------------------------------------------------------------

    def refuse_login(self, *who: str) -> Wait | None:
        """How long to wait before a password is checked, None if it may be now; each few wrong ones make it longer."""
        waits = [self._wait(rule, *who, words="wrong passwords") for rule in LOGINS]
        return max((wait for wait in waits if wait is not None), key=lambda wait: wait.seconds, default=None)

    def login_was_wrong(self, *who: str) -> None:
        """Count a wrong password."""
        for rule in LOGINS:
            self._hit(rule, *who)

    def login_was_right(self, *who: str) -> None:
        """Forget the wrong passwords: somebody who knows the password was not guessing."""
        for rule in LOGINS:
            self._clear(rule, *who)

    def forget_all(self) -> None:
        """Forget all counts."""
        self._unlimited.clear()
        self._in_process.clear()
        if self._shared is not None:
            self._ask(SAME_SECRET, lambda limiter: limiter.storage.reset())

    def _now(self) -> float:
        return self._clock()

    # Counting -------------------------------------------------------------------------------------

    def _ask(self, rule: RateLimitItem, do: Callable[[FixedWindowRateLimiter], Result]) -> Result:
        """Use the shared counts, or this process's own counts of the rule while Redis does not answer."""
        if self._shared is not None and self._clock() >= self._redis_away_until:
            try:
                return do(self._shared)
            except StorageError as error:
                self._redis_away_until = self._clock() + self._redis_retry_s
                logger.warning("Redis does not answer (%s): failed attempts are counted in this process", error)
        return do(self._in_process[rule.namespace])

    def _hit(self, rule: RateLimitItem, *who: str) -> bool:
        return self._ask(rule, lambda limiter: limiter.hit(rule, *who))

    def _clear(self, rule: RateLimitItem, *who: str) -> None:
        self._ask(rule, lambda limiter: limiter.clear(rule, *who))

    def _wait(self, rule: RateLimitItem, *who: str, words: str) -> Wait | None:
        return self._ask(rule, lambda limiter: self._wait_of(limiter, rule, who, words))

    def _wait_of(
        self, limiter: FixedWindowRateLimiter, rule: RateLimitItem, who: tuple[str, ...], words: str
    ) -> Wait | None:
        if limiter.test(rule, *who):
            return None
        ends = limiter.get_window_stats(rule, *who).reset_time
        limit = f"at most {rule.amount} {words} in {rule.get_expiry()} s"
        return Wait(name=rule.namespace.lower(), limit=limit, seconds=max(1, math.ceil(ends - self._clock())))


def too_often(wait: Wait, *, field: str | None = None) -> TooOften:
    """The error for an agent that has to wait."""
    return TooOften(
        f"Too many: wait {wait.seconds} s.",
        field=field,
        seen="more than that",
        expected=wait.limit,
        retry_after_s=wait.seconds,
    )


@lru_cache(maxsize=4096)
def network_of(address: str) -> str:
    """What counts as one address: an IPv4 address, or the IPv6 network (/64) that one machine may have."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address
    return address if ip.version == 4 else str(ipaddress.ip_network((ip, 64), strict=False).network_address)


CALLS = CallLimit("calls", "LEAGUE_CALLS_PER_TOKEN", "calls with one auth_token", tokens.digest)
"""Calls with any token."""
STRANGERS = CallLimit("strangers", "LEAGUE_CALLS_PER_ADDRESS", "calls without auth_token from one address", network_of)
"""Calls without a known token."""
ENTRANTS = CallLimit("entrants", "LEAGUE_REGISTRATIONS_PER_ADDRESS", "registrations from one address", network_of)
"""Registrations: other calls with made-up tokens from the same address do not use up this limit."""

attempts = Attempts(redis_url=settings.LEAGUE_LIMITS_REDIS_URL)
