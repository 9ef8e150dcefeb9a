"""Retries an instructor's action that the database aborted, or puts the error into words. (Agents are told E009.)"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from django.db import InterfaceError, OperationalError
from django.utils.translation import gettext as _

logger = logging.getLogger(__name__)
Result = TypeVar("Result")

DATABASE_ERRORS = (OperationalError, InterfaceError)
"""Raised for a deadlock, a lock timeout or a lost connection."""
RETRYABLE_SQLSTATES = ("40001", "40P01")
"""PostgreSQL's codes for a serialization failure and a deadlock: the transaction was rolled back as a whole."""


def sentence(error: Exception) -> str:
    """What the person is told; the error itself goes to the log.

    The sentence does not claim that nothing was changed: if the connection was lost, the commit may have arrived.
    """
    logger.warning("the database aborted an action: %s", error)
    return _("The database was busy or away. See whether it has been done, then try again.")


def retry_once(verb: Callable[[], Result]) -> Result:
    """Call a verb, and once more if the database rolled it back in favour of another transaction.

    Args:
        verb: does everything in one transaction.
    """
    try:
        return verb()
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", None) not in RETRYABLE_SQLSTATES:
            raise
    return verb()
