"""Code that uses undocumented parts of Django's ORM and SQLite engine. After an upgrade of Django, look here first.

``tests/storage/test_inside.py`` compares the results with Django's own, for every :class:`storage.prepared.Prepared` of
the site and every model with :class:`QuickLoad`; ``test_sqlite3.py`` tests the cursor. Decision 24 says what each part
saves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any, Self

from django.db.backends.sqlite3.base import SQLiteCursorWrapper
from django.db.models import Model, QuerySet
from django.db.models.base import ModelState
from django.db.models.query import get_related_populators

MAX_STATEMENTS = 2000
"""How many statements are cached in SQLite's syntax."""


class Statement:
    """A queryset, compiled to SQL once for one connection.

    Args:
        queryset: the queryset of instances, with a placeholder for each value that is given later.
        marks: the names of those values, by placeholder.
        connection: the connection it is run on.

    Raises:
        ValueError: a placeholder is not among the parameters.
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
        # The stubs are those of Django 6.1, where it takes one argument more.
        self._related = get_related_populators(info, select, connection.alias)  # type: ignore[call-arg]
        self._converters = self._compiler.get_converters([column[0] for column in select])

    def run(self, values: Mapping[str, Any]) -> list[Any]:
        """Run the statement and return the instances.

        Args:
            values: by name, the values for the placeholders.
        """
        connection = self.connection
        with connection.cursor() as cursor:
            cursor.execute(self._sql, [param if name is None else values[name] for name, param in self._params])
            rows = cursor.fetchall()
        if not rows:
            return []
        instances = []
        for row in self._compiler.apply_converters(rows, self._converters):
            instance = self._model.from_db(connection.alias, self._names, row[self._start : self._end])
            for related in self._related:
                related.populate(row, instance)
            instances.append(instance)
        return instances


class QuickLoad:
    """A base class, put before ``models.Model``, for models whose rows are read by the thousand.

    ``Model.__init__`` sets one field after the other, for signals and defaults that a row from the database does not
    need; that took as long as running the statement. Fields that were not read are fetched when they are used, as in
    any model.
    """

    @classmethod
    def from_db(
        cls, db: str | None, field_names: Collection[str], values: Collection[Any], *, fetch_mode: object = None
    ) -> Self:
        """Make an instance of a row; Django calls this. Only Django 6.1 has ``fetch_mode``."""
        new = cls.__new__(cls)
        attributes = vars(new)
        attributes["_state"] = state = ModelState()
        state.adding, state.db = False, db
        attributes.update(zip(field_names, values, strict=True))
        return new


def delete_rows(model: type[Model], keys: Collection[Any]) -> None:
    """Delete rows by their primary keys, by one statement.

    Django's ``delete`` loads each row first, and all that refer to it. No row that stays may refer to these.
    """
    if keys:
        rows = model._base_manager.filter(pk__in=keys)
        rows._raw_delete(rows.db)


class Cursor(SQLiteCursorWrapper):
    """A cursor for SQLite that translates each statement into SQLite's syntax once.

    Django marks parameters by ``%s``, SQLite by ``?``. Django translates a statement each time, which takes longer than
    SQLite needs to find a row: 60 µs for a statement with a hundred columns.
    """

    def convert_query(self, query: str, *, param_names: Iterable[str] | None = None) -> str:
        """The statement in SQLite's syntax; one with named parameters is left to Django."""
        return _positional(query) if param_names is None else super().convert_query(query, param_names=param_names)


@lru_cache(maxsize=MAX_STATEMENTS)
def _positional(query: str) -> str:
    # Django's own method does not use the cursor.
    return SQLiteCursorWrapper.convert_query(None, query)  # type: ignore[arg-type]
