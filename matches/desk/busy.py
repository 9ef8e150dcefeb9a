"""Retries an instructor's action that the database aborted, or puts the error into words. (Agents are told E009.)"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from django.db import InterfaceError, InternalError, OperationalError, connection
from django.utils.translation import gettext as _

logger = logging.getLogger(__name__)
Result = TypeVar("Result")

DATABASE_ERRORS = (OperationalError, InterfaceError, InternalError)
"""Raised for a deadlock, a lock timeout, a lost connection, an idle transaction, a server that only reads."""
RETRYABLE_SQLSTATES = ("40001", "40P01", "55P03", "25P03")
"""PostgreSQL's codes for a serialization failure, a deadlock, a lock timeout, and the end of a transaction that stood
still: it was rolled back as a whole."""


def sentence(error: Exception) -> str:
    """What the person is told; the error itself goes to the log.

    The sentence does not claim that nothing was changed: if the connection was lost, the commit may have arrived.
    """
    # The log has it once in a while (leaguesite.observing.logs).
    logger.warning("the database aborted an action", exc_info=error)
    return _("The database was busy or away. See whether it has been done, then try again.")


def retry_once(verb: Callable[[], Result]) -> Result:
    """Call a verb, and once more if the database rolled it back in favour of another transaction.

    Args:
        verb: does everything in one transaction. In a larger one it is not called again: all of that was rolled back.
    """
    try:
        return verb()
    except DATABASE_ERRORS as error:
        if getattr(error.__cause__, "sqlstate", None) not in RETRYABLE_SQLSTATES or connection.in_atomic_block:
            raise
    return verb()
