"""Django's SQLite engine with other cursors."""

from __future__ import annotations

from typing import Any

from django.db.backends.sqlite3 import base

from storage.inside import Cursor


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection with cursors that translate each statement into SQLite's syntax once."""

    def create_cursor(self, name: str | None = None) -> Any:
        """A cursor of this connection."""
        return self.connection.cursor(factory=Cursor)
