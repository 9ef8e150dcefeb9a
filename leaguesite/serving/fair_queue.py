"""A fair queue in front of a thread: callers take turns.

A thread runs one request at a time. In a plain queue a caller that sends thirty requests at once keeps the next caller
waiting for all thirty. Here each caller has a queue of its own, and the thread takes from these in turn: a caller's
first request waits for the one that is running, and for at most one request of each other caller.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class _Job(Generic[T]):
    future: Future[T]
    run: Callable[[], T]

    def carry_out(self) -> None:
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            result = self.run()
        except BaseException as error:
            self.future.set_exception(error)
        else:
            self.future.set_result(result)


class FairQueue:
    """The queue in front of one thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queues: OrderedDict[str, deque[_Job[Any]]] = OrderedDict()

    def submit(self, thread: Executor, caller: str, run: Callable[[], T]) -> Future[T]:
        """Have something run when it is this caller's turn.

        Args:
            thread: an executor of one thread; others may submit work to it as well.
            caller: in whose name it waits; jobs of the same caller wait for each other.
            run: what to do.

        Returns the future of its result; a job that is cancelled before its turn is not run.
        """
        job = _Job[T](Future(), run)
        with self._lock:
            self._queues.setdefault(caller, deque()).append(job)
        # The executor is called once for each job, but which job runs is decided when the thread is free.
        thread.submit(self._run_next)
        return job.future

    def _run_next(self) -> None:
        with self._lock:
            caller, queue = self._queues.popitem(last=False)
            job = queue.popleft()
            if queue:
                # Back to the end: every other caller comes first.
                self._queues[caller] = queue
        job.carry_out()
