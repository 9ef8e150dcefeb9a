"""READS: a dict of bounded size, for what a process keeps of leagues."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(OrderedDict[K, V]):
    """A dict that keeps the entries set last and drops the others.

    Reading an entry does not make it newer; setting it again does. The dict has no lock: code that shares it between
    threads must guard it.

    Args:
        max_size: how many entries are kept at most.
    """

    def __init__(self, max_size: int) -> None:
        super().__init__()
        self.max_size = max_size

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        while len(self) > self.max_size:
            self.popitem(last=False)
