"""Statements of the busiest paths, compiled to SQL once and run many times.

The ORM takes several times longer to compile a statement than SQLite or PostgreSQL takes to run it, and recording a
result needs a dozen of them (docs/performance.md). Here the SQL is kept: of a queryset in :class:`Prepared`, of a
compare-and-swap in :func:`swap`, of an insert in :func:`insert`. The results are those of the ORM, with related
instances. Everything else uses the ORM; decision 24 says how often a statement must run to be worth it.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain, count
from typing import Any, ClassVar, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import CharField, Field, Lookup, Model, QuerySet

from storage.inside import Statement

M = TypeVar("M", bound=Model)

ROWS_AT_ONCE = 200
"""How many rows one statement inserts: PostgreSQL takes 65,535 parameters."""
_numbers = count(2**30 + secrets.randbelow(2**29))


def _mark(kind: type) -> Any:
    """A placeholder in a statement for a value that is given later; no constant of a statement equals it.

    An integer is large, so it cannot stand for a ``smallint`` of PostgreSQL.
    """
    return next(_numbers) if kind is int else secrets.token_hex(16)


class Prepared(Generic[M]):
    """A queryset whose SQL is compiled once for each thread and its connection.

    Args:
        build: makes the queryset of instances; it is called with the names of ``kinds``.
        kinds: the name and type of each value that is given later: ``int`` or ``str``. A list is passed as the text
            of :func:`listed`.
    """

    declared: ClassVar[list[Prepared[Any]]] = []
    """All statements, in the order in which their modules were imported; a test runs each."""

    def __init__(self, build: Callable[..., QuerySet[M]], **kinds: type) -> None:
        self.build = build
        self.kinds = kinds
        self._kept = threading.local()
        self.declared.append(self)

    def all(self, **values: Any) -> list[M]:
        """Every instance, with related ones as ``select_related`` says.

        Args:
            values: one for each name in ``kinds``.
        """
        connection = connections[DEFAULT_DB_ALIAS]
        statement = getattr(self._kept, "statement", None)
        if statement is None or statement.connection is not connection:
            marks = {name: _mark(kind) for name, kind in self.kinds.items()}
            names = {mark: name for name, mark in marks.items()}
            statement = self._kept.statement = Statement(self.build(**marks), names, connection)
        instances: list[M] = statement.run(values)
        return instances

    def one(self, **values: Any) -> M | None:
        """The first instance, or None."""
        return next(iter(self.all(**values)), None)


def listed(values: Sequence[Any]) -> str:
    """A list of any length as one parameter, for the lookup ``among``."""
    return json.dumps(list(values))


def _among(column: str, value: str, cast: str) -> str:
    """SQL that tests whether a column is one of a list.

    Args:
        value: the parameter or its placeholder.
        cast: the column's type on PostgreSQL; empty on SQLite.
    """
    values = f"jsonb_array_elements_text({value}::jsonb)::{cast}" if cast else f"value FROM json_each({value})"
    return f"{column} IN (SELECT {values})"


@CharField.register_lookup
class Among(Lookup):
    """``name__among=listed(texts)``: like ``__in``, which has a parameter for each text."""

    lookup_name = "among"

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[str | int, ...]]:
        """The test and its parameters."""
        lhs, before = self.process_lhs(compiler, connection)
        rhs, after = self.process_rhs(compiler, connection)
        return _among(lhs, rhs, "text" if connection.vendor == "postgresql" else ""), (*before, *after)


class Sql(str):
    """A new value that is an SQL expression."""

    __slots__ = ()


@lru_cache(maxsize=500)
def _update(model: type[Model], changes: tuple[tuple[str, str], ...], where: tuple[tuple[str, str], ...]) -> str:
    quote, column = connections[DEFAULT_DB_ALIAS].ops.quote_name, _column
    assignments = ", ".join(f"{quote(column(model, name))} = {value}" for name, value in changes)
    tests = [test.format(quote(column(model, name))) for name, test in where]
    return f"UPDATE {quote(model._meta.db_table)} SET {assignments} WHERE {' AND '.join(tests)}"  # noqa: S608 - names are ours


@cache
def _insert(model: type[Model], names: tuple[str, ...], once: bool, rows: int = 1) -> str:
    quote, column = connections[DEFAULT_DB_ALIAS].ops.quote_name, _column
    columns = ", ".join(quote(column(model, name)) for name in names)
    values = ", ".join([f"({', '.join(['%s'] * len(names))})"] * rows)
    end = " ON CONFLICT DO NOTHING" if once else ""
    return f"INSERT INTO {quote(model._meta.db_table)} ({columns}) VALUES {values}{end}"  # noqa: S608 - names are ours


def _field(model: type[Model], name: str) -> Field[Any, Any]:
    field = model._meta.pk if name == "pk" else model._meta.get_field(name)
    if not isinstance(field, Field):
        raise TypeError(f"{model.__name__}.{name} is not a field of its table")
    return field


@cache
def _column(model: type[Model], name: str) -> str:
    column = _field(model, name).column
    if column is None:
        raise TypeError(f"{model.__name__}.{name} has no column")
    return column


def swap(model: type[Model], changes: Mapping[str, Any], **where: Any) -> int:
    """Compare-and-swap by one statement: change the rows that are as expected.

    Args:
        changes: for each field, the new value, or an :class:`Sql`; a foreign key takes a primary key.
        where: for each field, the value that it must have; a tuple of a few values that it may have, or a list of
            integers, such as primary keys, of any length; None for NULL.

    Returns how many rows were changed.
    """
    connection = connections[DEFAULT_DB_ALIAS]
    if () in where.values() or [] in where.values():
        return 0
    cast = "bigint" if connection.vendor == "postgresql" else ""
    params = [
        _field(model, name).get_db_prep_save(value, connection)
        for name, value in changes.items()
        if not isinstance(value, Sql)
    ]
    assignments = tuple((name, str(value) if isinstance(value, Sql) else "%s") for name, value in changes.items())
    tests: list[tuple[str, str]] = []
    for name, value in where.items():
        if value is None:
            tests.append((name, "{} IS NULL"))
        elif isinstance(value, list):
            tests.append((name, _among("{}", "%s", cast)))
            params.append(listed(value))
        elif isinstance(value, tuple):
            tests.append((name, f"{{}} IN ({', '.join(['%s'] * len(value))})"))
            params.extend(value)
        else:
            tests.append((name, "{} = %s"))
            params.append(value)
    with connection.cursor() as cursor:
        cursor.execute(_update(model, assignments, tuple(tests)), params)
        return int(cursor.rowcount)


class JsonText(str):
    """A new value of a JSON field that is encoded already."""

    __slots__ = ()


def _param(field: Field[Any, Any], value: Any, connection: Any) -> Any:
    return str(value) if isinstance(value, JsonText) else field.get_db_prep_save(value, connection)


def insert(model: type[Model], names: Sequence[str], rows: Sequence[Sequence[Any]], *, once: bool = False) -> None:
    """Insert rows.

    On PostgreSQL by statements of many rows. Several statements in one would be sent as a pipeline: a process that is
    frozen in it keeps its locks until it goes on, as the server takes it for one that is about to say more, and none of
    the server's limits (:data:`storage.databases.SESSION`) ends that.

    Args:
        names: the fields; at least those that have no default in the database.
        rows: a value for each field, or its :class:`JsonText`; a foreign key takes a primary key.
        once: skip rows that exist already.
    """
    connection = connections[DEFAULT_DB_ALIAS]
    fields = [_field(model, name) for name in names]
    prepared: list[list[Any]] = []
    # No value is this object, so every value of the first row is prepared.
    row_before: Sequence[Any] = [object()] * len(fields)
    for row in rows:
        prepared_before = prepared[-1] if prepared else row_before
        # The half million matches of a schedule differ in a few fields only: the same object is prepared once.
        prepared.append(
            [
                param_before if value is value_before else _param(field, value, connection)
                for field, value, value_before, param_before in zip(
                    fields, row, row_before, prepared_before, strict=True
                )
            ]
        )
        row_before = row
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite" and len(prepared) > 1:
            cursor.executemany(_insert(model, tuple(names), once), prepared)
            return
        for begin in range(0, len(prepared), ROWS_AT_ONCE):
            part = prepared[begin : begin + ROWS_AT_ONCE]
            cursor.execute(_insert(model, tuple(names), once, len(part)), list(chain.from_iterable(part)))
