"""Statements of the busiest paths, put into SQL once and run many times.

The ORM takes several times longer to put a statement together than SQLite or PostgreSQL takes to carry it out, and
a result that counts needs a dozen of them (docs/performance.md). Here the text is kept: of a queryset in
:class:`Prepared`, of a compare-and-swap in :func:`swap`, of an insert in :func:`insert`. What comes out is what the
ORM would have given, instances with their related ones included. Everything else uses the ORM as it is; decision 24
says how often a statement must be run to stand here.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import count
from typing import Any, ClassVar, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import CharField, Lookup, Model, QuerySet

from storage.inside import Statement

M = TypeVar("M", bound=Model)

_numbers = count(2**30 + secrets.randbelow(2**29))


def _mark(kind: type) -> Any:
    """A value that stands in a statement for one that comes later; no constant of a statement equals it.

    Large, and so for no small integer: PostgreSQL has columns that cannot hold it.
    """
    return next(_numbers) if kind is int else secrets.token_hex(16)


class Prepared(Generic[M]):
    """A queryset whose SQL is put together once for each thread and its connection.

    Args:
        build: makes the queryset of instances; it is called with the names of ``kinds``.
        kinds: by name, ``int`` or ``str``: what values come later. A list is the text of :func:`listed`.
    """

    declared: ClassVar[list[Prepared[Any]]] = []
    """All there are, in the order in which their modules were imported; a test runs each."""

    def __init__(self, build: Callable[..., QuerySet[M]], **kinds: type) -> None:
        self.build = build
        self.kinds = kinds
        self._kept = threading.local()
        self.declared.append(self)

    def all(self, **values: Any) -> list[M]:
        """Every instance, with what ``select_related`` names.

        Args:
            values: one for each name that was given at the start.
        """
        connection = connections[DEFAULT_DB_ALIAS]
        statement = getattr(self._kept, "statement", None)
        if statement is None or statement.connection is not connection:
            marks = {name: _mark(kind) for name, kind in self.kinds.items()}
            names = {mark: name for name, mark in marks.items()}
            statement = self._kept.statement = Statement(self.build(**marks), names, connection)
        found: list[M] = statement.run(values)
        return found

    def one(self, **values: Any) -> M | None:
        """The first instance, or None."""
        return next(iter(self.all(**values)), None)


def listed(values: Sequence[Any]) -> str:
    """A list of any length as the one parameter that ``among`` and :func:`swap` take it as."""
    return json.dumps(list(values))


def _among(column: str, value: str, cast: str) -> str:
    """A test for being one of a list.

    Args:
        value: the parameter or its mark.
        cast: the column's type on PostgreSQL; empty on SQLite.
    """
    values = f"jsonb_array_elements_text({value}::jsonb)::{cast}" if cast else f"value FROM json_each({value})"
    return f"{column} IN (SELECT {values})"


@CharField.register_lookup
class Among(Lookup):
    """``name__among=listed(texts)``: one of these, however many they are; ``__in`` has a parameter for each."""

    lookup_name = "among"

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        """The test and its parameters."""
        lhs, before = self.process_lhs(compiler, connection)
        rhs, after = self.process_rhs(compiler, connection)
        return _among(lhs, rhs, "text" if connection.vendor == "postgresql" else ""), [*before, *after]


class Sql(str):
    """A new value that the database works out, as it stands in the statement."""

    __slots__ = ()


@lru_cache(maxsize=500)
def _update(model: type[Model], changes: tuple[tuple[str, str], ...], where: tuple[tuple[str, str], ...]) -> str:
    quote, column = connections[DEFAULT_DB_ALIAS].ops.quote_name, _column
    news = ", ".join(f"{quote(column(model, name))} = {value}" for name, value in changes)
    tests = [test.format(quote(column(model, name))) for name, test in where]
    return f"UPDATE {quote(model._meta.db_table)} SET {news} WHERE {' AND '.join(tests)}"  # noqa: S608 - names are ours


@cache
def _insert(model: type[Model], names: tuple[str, ...], once: bool) -> str:
    quote, column = connections[DEFAULT_DB_ALIAS].ops.quote_name, _column
    columns = ", ".join(quote(column(model, name)) for name in names)
    values = ", ".join(["%s"] * len(names))
    end = " ON CONFLICT DO NOTHING" if once else ""
    return f"INSERT INTO {quote(model._meta.db_table)} ({columns}) VALUES ({values}){end}"  # noqa: S608 - names are ours


@cache
def _column(model: type[Model], name: str) -> str:
    return str(model._meta.pk.column if name == "pk" else model._meta.get_field(name).column)  # type: ignore[union-attr]


def swap(model: type[Model], changes: Mapping[str, Any], **where: Any) -> int:
    """Compare-and-swap by one statement: change the rows that are as expected.

    Args:
        changes: by field, the new value, or an :class:`Sql`; a foreign key takes a primary key.
        where: by field, what it must be; a tuple of a few that it may be, or a list of any length; None for NULL.

    Returns how many rows were changed.
    """
    connection = connections[DEFAULT_DB_ALIAS]
    if () in where.values() or [] in where.values():
        return 0
    cast = "bigint" if connection.vendor == "postgresql" else ""
    params = [
        model._meta.get_field(name).get_db_prep_save(value, connection)
        for name, value in changes.items()
        if not isinstance(value, Sql)
    ]
    news = tuple((name, str(value) if isinstance(value, Sql) else "%s") for name, value in changes.items())
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
        cursor.execute(_update(model, news, tuple(tests)), params)
        return int(cursor.rowcount)


class JsonText(str):
    """A new value of a JSON field that is JSON text already."""

    __slots__ = ()


def _param(field: Any, value: Any, connection: Any) -> Any:
    return str(value) if isinstance(value, JsonText) else field.get_db_prep_save(value, connection)


def insert(model: type[Model], names: Sequence[str], rows: Sequence[Sequence[Any]], *, once: bool = False) -> None:
    """Insert rows by one statement.

    Args:
        names: the fields; all that the database has no default for.
        rows: a value for each field, or its :class:`JsonText`; a foreign key takes a primary key.
        once: leave alone what is there already.
    """
    connection = connections[DEFAULT_DB_ALIAS]
    fields = [model._meta.get_field(name) for name in names]
    prepared: list[list[Any]] = []
    before: Sequence[Any] = [object()] * len(fields)
    for row in rows:
        last = prepared[-1] if prepared else before
        # Half a million matches of a schedule differ in a few fields: what is the same is prepared once.
        prepared.append(
            [
                made if value is old else _param(field, value, connection)
                for field, value, old, made in zip(fields, row, before, last, strict=True)
            ]
        )
        before = row
    with connection.cursor() as cursor:
        if len(prepared) == 1:
            cursor.execute(_insert(model, tuple(names), once), prepared[0])
        else:
            cursor.executemany(_insert(model, tuple(names), once), prepared)
