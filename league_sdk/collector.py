"""Python's collector of cyclic garbage, set for a process that serves for days."""

from __future__ import annotations

import gc

NEW_OBJECTS = 20_000
"""So many more objects than have gone are looked through for cycles; Python's 700 are the work of one request."""


def settle() -> None:
    """To be called when all is loaded and before the process serves.

    What is there now (modules, models, templates) stays to the end: to go through it again and again, in the middle of
    whatever is being done, finds nothing and takes a tenth of a busy process's time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS)
