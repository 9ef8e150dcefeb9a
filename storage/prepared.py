"""Statements of the busiest paths, put into SQL once and run many times.

The ORM takes several times longer to put a statement together than SQLite or PostgreSQL takes to carry it out, and
a result that counts needs a dozen of them (docs/performance.md). Here the text is kept: of a queryset in
:class:`Prepared`, of a compare-and-swap in :func:`swap`, of an insert in :func:`insert`. What comes out is what the
ORM would have given, instances with their related ones included. Everything else uses the ORM as it is.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import count
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import Model, QuerySet
from django.db.models.query import get_related_populators

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
        kinds: by name, ``int`` or ``str``: what values come later. A list of varying length is no such value.
    """

    def __init__(self, build: Callable[..., QuerySet[M]], **kinds: type) -> None:
        self._build = build
        self._marks = {name: _mark(kind) for name, kind in kinds.items()}
        self._kept = threading.local()

    def all(self, **values: Any) -> list[M]:
        """Every instance, with what ``select_related`` names.

        Args:
            values: one for each name that was given at the start.
        """
        connection = connections[DEFAULT_DB_ALIAS]
        statement = getattr(self._kept, "statement", None)
        if statement is None or statement.connection is not connection:
            statement = self._kept.statement = _Statement(self._build(**self._marks), self._marks, connection)
        found: list[M] = statement.run(values)
        return found

    def one(self, **values: Any) -> M | None:
        """The first instance, or None."""
        return next(iter(self.all(**values)), None)


class _Statement:
    """One queryset in SQL, on one connection."""

    def __init__(self, queryset: QuerySet[Any], marks: Mapping[str, Any], connection: Any) -> None:
        self.connection = connection
        self._compiler = queryset.query.get_compiler(connection=connection)
        self._sql, params = self._compiler.as_sql()
        names = {mark: name for name, mark in marks.items()}
        self._params = [(names.get(param) if isinstance(param, (int, str)) else None, param) for param in params]
        missing = set(marks) - {name for name, _ in self._params}
        if missing:
            raise ValueError(f"not in the statement: {', '.join(sorted(missing))}")
        select, info = self._compiler.select, self._compiler.klass_info
        fields = info["select_fields"]
        self._start, self._end = fields[0], fields[-1] + 1
        self._model = info["model"]
        self._names = [column[0].target.attname for column in select[self._start : self._end]]
        self._related = get_related_populators(info, select, connection.alias)
        self._converters = self._compiler.get_converters([column[0] for column in select])

    def run(self, values: Mapping[str, Any]) -> list[Any]:
        connection = self.connection
        with connection.cursor() as cursor:
            cursor.execute(self._sql, [param if name is None else values[name] for name, param in self._params])
            rows = cursor.fetchall()
        if not rows:
            return []
        found = []
        for row in self._compiler.apply_converters(rows, self._converters):
            one = self._model.from_db(connection.alias, self._names, row[self._start : self._end])
            for related in self._related:
                related.populate(row, one)
            found.append(one)
        return found


class Sql(str):
    """A new value that the database works out, as it stands in the statement."""

    __slots__ = ()


@lru_cache(maxsize=500)
def _update(model: type[Model], changes: tuple[tuple[str, str], ...], where: tuple[tuple[str, str], ...]) -> str:
    quote, column = connections[DEFAULT_DB_ALIAS].ops.quote_name, _column
    news = ", ".join(f"{quote(column(model, name))} = {value}" for name, value in changes)
    tests = [f"{quote(column(model, name))} {test}" for name, test in where]
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
        where: by field, what it must be, or a tuple of what it may be; None for NULL.

    Returns how many rows were changed.
    """
    connection = connections[DEFAULT_DB_ALIAS]
    if () in where.values():
        return 0
    params = [
        model._meta.get_field(name).get_db_prep_save(value, connection)
        for name, value in changes.items()
        if not isinstance(value, Sql)
    ]
    news = tuple((name, str(value) if isinstance(value, Sql) else "%s") for name, value in changes.items())
    tests: list[tuple[str, str]] = []
    for name, value in where.items():
        if value is None:
            tests.append((name, "IS NULL"))
        elif isinstance(value, tuple):
            tests.append((name, f"IN ({', '.join(['%s'] * len(value))})"))
            params.extend(value)
        else:
            tests.append((name, "= %s"))
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
