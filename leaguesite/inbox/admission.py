"""Who may open a line, and how many lines there may be at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from agents_registry.models import Agent
from agents_registry.rate_limits.attempts import CALLS, STRANGERS, TOKEN, attempts, network_of
from agents_registry.registering import credentials
from league_sdk.protocol.errors import TokenInvalid, TooOften
from leaguesite.serving.known_tokens import known_tokens
from leaguesite.serving.refusals import refuse_if_too_often
from matches.observing import metrics

MAX_LINES = 5000
"""Polls and sockets of agents that may be open at once at this process."""
MAX_LINES_PER_ADDRESS = 1000
"""The limit of lines from one address, behind which a whole school may be. Each agent has one line."""

MAX_UNKNOWN, MAX_UNKNOWN_PER_ADDRESS = 1000, 300
"""How many sockets may be open whose token is not checked yet. Anybody may open one, so they are counted apart from the
lines, and keep out no agent that sends a token that this process knows in the Authorization header."""


def owner_of(token: str, address: str) -> Agent:
    """The agent that owns a token which came from an address; the call is counted.

    Raises:
        TokenInvalid: E012, nobody owns it.
        TooOften: too many calls with this token, or too many with unknown ones from this address.
    """
    refuse_if_too_often(attempts.refuse_secret(TOKEN, address, token))
    if known_tokens.owner(token) is None:
        refuse_if_too_often(attempts.refuse_call(STRANGERS, address))
    refuse_if_too_often(attempts.count_call(CALLS, token))
    try:
        agent = credentials.authenticate(token)
    except TokenInvalid:
        known_tokens.forget(token)
        attempts.count_call(STRANGERS, address)
        attempts.secret_was_wrong(TOKEN, address, token)
        raise
    known_tokens.learn(token, agent)
    return agent


class LineCounts:
    """Counts open lines by address, and refuses too many; used on the event loop only.

    Args:
        max_lines: lines of all addresses together.
        max_per_address: lines of one address.
    """

    def __init__(self, max_lines: int = MAX_LINES, max_per_address: int = MAX_LINES_PER_ADDRESS) -> None:
        self._max_lines, self._max_per_address = max_lines, max_per_address
        self._open: Counter[str] = Counter()

    @contextmanager
    def taken(self, address: str) -> Iterator[None]:
        """Count one line while the context lasts.

        Raises:
            TooOften: there are too many.
        """
        network = network_of(address)
        if self._open.total() >= self._max_lines or self._open[network] >= self._max_per_address:
            metrics.limited("inbox-lines")
            raise TooOften(
                "Too many agents wait for messages at once.", field="inbox", expected="fewer lines", retry_after_s=5
            )
        self._open[network] += 1
        try:
            yield
        finally:
            self._open[network] -= 1
            if not self._open[network]:
                del self._open[network]


OPEN_LINES = LineCounts()
"""The lines that are open at this process."""
UNKNOWN_SOCKETS = LineCounts(MAX_UNKNOWN, MAX_UNKNOWN_PER_ADDRESS)
"""The sockets at this process of which it is not known yet whose they are."""
