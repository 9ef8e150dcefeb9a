"""What becomes of an instructor's action that the database ends: once more, or a sentence. Agents are told E009."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from django.db import InterfaceError, OperationalError
from django.utils.translation import gettext as _

logger = logging.getLogger(__name__)
Done = TypeVar("Done")

AWAY = (OperationalError, InterfaceError)
"""A deadlock, a lock that was not given, a connection that is lost: nobody did anything wrong."""
ENDED_FOR_ANOTHER = ("40001", "40P01")
"""PostgreSQL's states of a serialization failure and a deadlock: all of it is undone, and the other one is through."""


def sentence(error: Exception) -> str:
    """What a person is told; the log has what the database said.

    Not that nothing was changed: when a connection is lost, the last thing that was sent may have arrived.
    """
    logger.warning("an action was ended by the database: %s", error)
    return _("The database was busy or away. See whether it has been done, then try again.")


def once_more(verb: Callable[[], Done]) -> Done:
    """Carry out a verb, a second time if the database has ended it in favour of another.

    Args:
        verb: one transaction, and nothing outside of it.
    """
    try:
        return verb()
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", None) not in ENDED_FOR_ANOTHER:
            raise
    return verb()
