"""Settings of Python's garbage collector for server processes."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

NEW_OBJECTS = 20_000
"""A collection starts after this many new objects; Python's default (700 up to 3.12, then 2,000) would start far
more of them."""


def exempt_loaded_objects() -> None:
    """Exempt all existing objects from garbage collection; call this after loading and before serving.

    Modules, models and templates live as long as the process: searching them for garbage again and again finds nothing
    and takes a tenth of a busy process's time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS)


@contextmanager
def paused() -> Iterator[None]:
    """Collect no garbage meanwhile: for work that makes millions of objects, all of which are needed to its end.

    Each full collection would search them all, and every thread of the process would wait for more than a second.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
