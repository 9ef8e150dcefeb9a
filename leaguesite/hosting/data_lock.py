"""One host for a data folder: two on one database would each give the matches of the other away."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

NAME = "host.lock"


class Held(Exception):
    """Another host has the folder; the text says which, and what to do."""


def take(folder: Path, about: str) -> int:
    """Lock the data folder for as long as this process lives, however it ends; children do not inherit it.

    Args:
        folder: the data folder.
        about: who we are, for whoever comes second.

    Returns the descriptor that holds the lock: closed, it is given up.

    Raises:
        Held: another process has it.
        OSError: the folder cannot be written to.
    """
    descriptor = os.open(folder / NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        who = os.read(descriptor, 200).decode("utf-8", "replace").strip()
        os.close(descriptor)
        raise Held(
            f"The data folder {folder} is in use by another host ({who or 'it does not say which'}). "
            "Stop that one, or choose another folder with --data."
        ) from None
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, about.encode(), 0)
    return descriptor
