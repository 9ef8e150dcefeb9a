"""How many files and connections a process may have open: some systems begin with 256."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable

if sys.platform != "win32":
    import resource

MAX_FILES = 65_536

Limits = tuple[int, int]
"""The soft and the hard limit of a process."""


def raise_file_limit(
    read: Callable[[int], Limits] | None = None, write: Callable[[int, Limits], None] | None = None
) -> int:
    """Let this process open as many files as the system allows, up to MAX_FILES; returns the limit.

    Args:
        read: returns the limits; ``resource.getrlimit`` if not given.
        write: sets them; ``resource.setrlimit`` if not given.
    """
    if sys.platform == "win32":
        return MAX_FILES
    read, write = read or resource.getrlimit, write or resource.setrlimit
    soft, hard = read(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    limit = MAX_FILES if hard == unlimited else min(hard, MAX_FILES)
    if soft != unlimited and soft < limit:
        # Some systems refuse the limit that they report.
        with contextlib.suppress(ValueError, OSError):
            write(resource.RLIMIT_NOFILE, (limit, hard))
    soft = read(resource.RLIMIT_NOFILE)[0]
    return MAX_FILES if soft == unlimited else soft
