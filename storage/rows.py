"""Rows of the database become instances quickly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from django.db.models.base import ModelState


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
