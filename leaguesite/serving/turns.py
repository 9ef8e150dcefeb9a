"""Fair lines in front of the kept threads: who waits takes turns with the others, and nobody fills a line alone.

A thread runs one request at a time. In a plain queue somebody who sends thirty requests at once keeps the next
caller waiting for all thirty. Here each caller has a queue of its own, and the thread takes from these in turn: a
request waits for what is running, and for at most one request of each other caller.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from agents_registry.models import Agent, Kind
from league_sdk.protocol import tokens

T = TypeVar("T")


@dataclass(slots=True)
class _Job(Generic[T]):
    future: Future[T]
    run: Callable[[], T]

    def do(self) -> None:
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            found = self.run()
        except BaseException as error:
            self.future.set_exception(error)
        else:
            self.future.set_result(found)


class Turns:
    """The line in front of one thread: each caller has a queue, and these take turns."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queues: OrderedDict[str, deque[_Job[Any]]] = OrderedDict()

    def submit(self, thread: Executor, who: str, run: Callable[[], T]) -> Future[T]:
        """Have something run when it is this caller's turn.

        Args:
            thread: an executor of one thread; it may be given work from elsewhere as well.
            who: whose turn is used; callers of the same name wait for each other.
            run: what to do.

        Returns its result to come; cancelled before its turn it is not run.
        """
        job = _Job[T](Future(), run)
        with self._lock:
            self._queues.setdefault(who, deque()).append(job)
        # One call of the executor for each job: which job it is for is decided when the thread is free.
        thread.submit(self._next)
        return job.future

    def _next(self) -> None:
        with self._lock:
            who, queue = self._queues.popitem(last=False)
            job = queue.popleft()
            if queue:
                # Back to the end: every other caller comes first.
                self._queues[who] = queue
        job.do()


@dataclass(frozen=True, slots=True)
class Bearer:
    """Whose a token was when it was last looked up.

    Attributes:
        agent: its primary key.
        kind: player or referee.
        ours: a referee that registered with the site's own key.
    """

    agent: int
    kind: str
    ours: bool


class KnownTokens:
    """Tokens that were good when they were last used, by their SHA-256: what line a request waits in.

    It decides about nothing else: a call is authenticated by the database all the same. A token is learned when it is
    given out or has been authenticated, and forgotten when the database says that it is nobody's.

    Args:
        most: how many are kept; the one not used for the longest time goes first.
    """

    def __init__(self, most: int = 20_000) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._found: OrderedDict[str, Bearer] = OrderedDict()

    def learn(self, token: str, agent: Agent) -> None:
        """This token is that agent's."""
        bearer = Bearer(agent.pk, agent.kind, agent.kind == Kind.REFEREE and agent.site_key)
        digest = tokens.digest(token)
        with self._lock:
            self._found[digest] = bearer
            self._found.move_to_end(digest)
            while len(self._found) > self._most:
                self._found.popitem(last=False)

    def forget(self, token: str) -> None:
        """This token is nobody's."""
        with self._lock:
            self._found.pop(tokens.digest(token), None)

    def forget_all(self) -> None:
        """As after a start."""
        with self._lock:
            self._found.clear()

    def owner(self, token: str) -> Bearer | None:
        """Whose it was, or None for one that was not seen yet."""
        return self._found.get(tokens.digest(token))


known_tokens = KnownTokens()
"""Of this process."""
