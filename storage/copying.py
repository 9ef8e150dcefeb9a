"""Every row of another database, copied into the site's own, whichever engines the two have.

Columns keep their values to the microsecond. JSON is copied as its text, so that ``null`` in JSON and NULL of SQL stay
two things.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from graphlib import TopologicalSorter
from hashlib import blake2b
from itertools import islice
from typing import Any

from django.apps import apps
from django.core.management.color import no_style
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import JSONField, Model, TextField
from django.db.models.functions import Cast

from storage.prepared import JsonText, insert

SOURCE = "source"
"""Django's alias of the other database."""
BATCH_ROWS = 500
"""How many rows of a table are in memory at once."""
MADE_BY_MIGRATE = ("auth_permission", "django_content_type")
"""The tables that have rows in a database which was migrated and never used; the rows of the source replace them."""
_DIGEST_BYTES = 16


class CopyDiffers(Exception):
    """What was written is not what was read; the text names the table."""


@dataclass(frozen=True, slots=True)
class Digest:
    """The rows of a table, in whatever order they were read.

    Attributes:
        rows: how many there are.
        value: the sum of the hashes of all rows, hexadecimal.
    """

    rows: int
    value: str


def _digest(batches: Iterable[list[list[Any]]], use: Callable[[list[list[Any]]], object] | None = None) -> Digest:
    """The digest of rows as they come; ``use`` is called with each batch after it was counted."""
    count = total = 0
    for rows in batches:
        for row in rows:
            # PostgreSQL orders the names in JSON and writes numbers in its own way, so what JSON says is compared. It
            # stands in a list, so that null in JSON is not NULL.
            values = [[json.loads(one, parse_float=_number)] if type(one) is JsonText else one for one in row]
            text = json.dumps(values, sort_keys=True, default=_plain)
            total += int.from_bytes(blake2b(text.encode(), digest_size=_DIGEST_BYTES).digest())
        count += len(rows)
        if use is not None:
            use(rows)
    return Digest(count, f"{total % 256**_DIGEST_BYTES:0{2 * _DIGEST_BYTES}x}")


def _number(text: str) -> float | int:
    """A number of JSON: 1e25 and 10000000000000000000000000 are the same, and so are 0 and -0.0."""
    number = float(text)
    # From the text, as PostgreSQL reads it: the float is not 1e25, but the nearest number that has 53 bits.
    return int(Decimal(text)) if number.is_integer() else number


def _plain(value: Any) -> str:
    return bytes(value).hex() if isinstance(value, (bytes, memoryview)) else f"{value!r}"


@contextmanager
def opened(settings: dict[str, Any]) -> Iterator[Any]:
    """A connection to another database, with the alias :data:`SOURCE` until the block ends.

    Args:
        settings: as of :func:`storage.databases.database`.
    """
    # It is used by one thread, for minutes.
    options = {name: value for name, value in settings["OPTIONS"].items() if name != "pool"}
    complete = connections.configure_settings({DEFAULT_DB_ALIAS: settings | {"OPTIONS": options}})
    connections.databases[SOURCE] = complete[DEFAULT_DB_ALIAS]
    try:
        yield connections[SOURCE]
    finally:
        connections[SOURCE].close()
        del connections[SOURCE]
        del connections.databases[SOURCE]


def tables() -> list[type[Model]]:
    """Every model with a table of its own, each after those that its rows point to.

    Raises:
        graphlib.CycleError: two tables point to each other.
    """
    models = [one for one in apps.get_models(include_auto_created=True) if one._meta.managed and not one._meta.proxy]
    return list(TopologicalSorter({model: _targets(model) for model in models}).static_order())


def _targets(model: type[Model]) -> set[type[Model]]:
    related = (field.related_model for field in model._meta.local_fields)
    concrete = {one._meta.concrete_model for one in related if isinstance(one, type)}
    return {one for one in concrete if one is not None and one is not model}


def filled() -> dict[str, int]:
    """The tables of the site's own database that somebody has written to, with their numbers of rows."""
    counts = {
        model._meta.db_table: model._base_manager.using(DEFAULT_DB_ALIAS).count()
        for model in tables()
        if model._meta.db_table not in MADE_BY_MIGRATE
    }
    return {table: count for table, count in counts.items() if count}


def copy() -> Iterator[tuple[str, Digest]]:
    """Copy every table from :data:`SOURCE` into the site's own database, and read it back.

    To be called in a transaction of each of them. Yields each table with what both databases have in it.

    Raises:
        CopyDiffers: a table reads otherwise than it was written.
    """
    target, models = connections[DEFAULT_DB_ALIAS], tables()
    with target.cursor() as cursor:
        for table in MADE_BY_MIGRATE:
            cursor.execute(f"DELETE FROM {target.ops.quote_name(table)}")  # noqa: S608 - a name of ours
    for model in models:
        table, names = model._meta.db_table, [field.attname for field in model._meta.local_concrete_fields]
        there = _digest(_batches(model, SOURCE), partial(insert, model, names))
        # Foreign keys would be checked at the end of the transaction, and the server keeps a note of each until then.
        target.check_constraints([table])
        here = _digest(_batches(model, DEFAULT_DB_ALIAS))
        if here != there:
            raise CopyDiffers(f"{table} has {there.rows} rows ({there.value}), and its copy {here.rows} ({here.value})")
        yield table, here
    with target.cursor() as cursor:
        for statement in target.ops.sequence_reset_sql(no_style(), models):
            cursor.execute(statement)


def _batches(model: type[Model], alias: str) -> Iterator[list[list[Any]]]:
    """The rows of a table, with the columns in the order of its model."""
    fields = model._meta.local_concrete_fields
    is_json = [isinstance(field, JSONField) for field in fields]
    columns = [
        Cast(field.attname, TextField()) if json_ else field.attname
        for field, json_ in zip(fields, is_json, strict=True)
    ]
    rows = model._base_manager.using(alias).order_by().values_list(*columns).iterator(BATCH_ROWS)
    while batch := list(islice(rows, BATCH_ROWS)):
        yield [
            [
                JsonText(value) if json_ and value is not None else value
                for value, json_ in zip(row, is_json, strict=True)
            ]
            for row in batch
        ]
