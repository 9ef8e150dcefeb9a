"""Detects changes of the database: first by the statements sent, which is cheap, then by comparing every row."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, TypeVar

from django.apps import apps
from django.db import connection, transaction

T = TypeVar("T")
_WRITES = ("INSERT", "UPDATE", "DELETE", "REPLACE", "TRUNCATE")


def digest() -> str:
    """A digest of every row of every table."""
    rows = hashlib.sha256()
    for model in apps.get_models(include_auto_created=True):
        rows.update(repr((model._meta.label, list(model.objects.order_by("pk").values_list()))).encode())
    return rows.hexdigest()


class Writes:
    """A context manager that collects the statements that could have changed a row."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self._wrapped = connection.execute_wrapper(self._note)

    def __enter__(self) -> Writes:
        self._wrapped.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._wrapped.__exit__(*error)

    def _note(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.lstrip(" (").upper().startswith(_WRITES):
            self.seen.append(sql)
        return execute(sql, params, many, context)


def rolled_back(act: Callable[[], T], *, may_not_write: Callable[[T], bool]) -> T:
    """Do something in the database and roll it back, so that every input of a fuzz test finds the same data.

    Args:
        act: does the work, and returns its outcome.
        may_not_write: whether ``act``, by its outcome, had to change nothing: it only read, or was refused.

    Raises:
        AssertionError: rows were changed that ``act`` was not allowed to change.
    """
    with transaction.atomic(), Writes() as writes:
        outcome = act()
        broken = connection.needs_rollback
        after = digest() if writes.seen and may_not_write(outcome) and not broken else ""
        transaction.set_rollback(True)
    if after:
        assert after == digest(), f"refused, and yet it wrote: {writes.seen}"
    assert not broken, "a transaction was left broken"
    return outcome
