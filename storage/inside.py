"""All that leans on what Django does not document. After an upgrade of Django, look here first.

``tests/storage/test_inside.py`` holds each part against Django's own result, a compiled statement for every
:class:`storage.prepared.Prepared` of the site. Decision 24 says what each part saves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Self

from django.db.backends.sqlite3.base import SQLiteCursorWrapper
from django.db.models import QuerySet
from django.db.models.base import ModelState
from django.db.models.query import get_related_populators

MOST_STATEMENTS = 2000
"""Statements whose text in SQLite's words is kept at a time."""


class Statement:
    """A queryset in SQL, compiled once for one connection.

    Args:
        queryset: of instances, with a mark in place of each value that comes later.
        marks: those values' names by their marks.
        connection: the connection it is run on.

    Raises:
        ValueError: a mark is not among the parameters.
    """

    def __init__(self, queryset: QuerySet[Any], marks: Mapping[Any, str], connection: Any) -> None:
        self.connection = connection
        self._compiler = queryset.query.get_compiler(connection=connection)
        self._sql, params = self._compiler.as_sql()
        self._params = [(marks.get(param) if isinstance(param, (int, str)) else None, param) for param in params]
        missing = set(marks.values()) - {name for name, _ in self._params}
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
        """The instances.

        Args:
            values: by name, what stands in place of the marks.
        """
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


class Quick:
    """Of a model whose rows are read by the thousand: put before ``models.Model``.

    ``Model.__init__`` sets one field after the other, for signals and defaults that a row from the database has no use
    for: it took as long as the statement. Fields that were not read are fetched when they are asked for, as ever.
    """

    @classmethod
    def from_db(cls, db: str | None, field_names: Sequence[str], values: Sequence[Any]) -> Self:
        """An instance of a row, as Django asks for it."""
        new = cls.__new__(cls)
        found = vars(new)
        found["_state"] = state = ModelState()
        state.adding, state.db = False, db
        found.update(zip(field_names, values, strict=True))
        return new


class Cursor(SQLiteCursorWrapper):
    """A cursor for SQLite that puts a statement into SQLite's own words once.

    Django marks parameters with ``%s``, SQLite with ``?``. Django looks for them in every statement each time, which
    takes longer than SQLite takes to find a row: 60 µs where a hundred columns are named.
    """

    def convert_query(self, query: str, *, param_names: Iterable[str] | None = None) -> str:
        """The statement with SQLite's marks; one with named parameters is left to Django."""
        return _positional(query) if param_names is None else super().convert_query(query, param_names=param_names)


@lru_cache(maxsize=MOST_STATEMENTS)
def _positional(query: str) -> str:
    # Django's own, which uses nothing of the cursor.
    return str(SQLiteCursorWrapper.convert_query(None, query))
