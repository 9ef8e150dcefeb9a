"""Django's SQLite engine with cursors of our own; the setting ``ENGINE`` is ``storage.sqlite3``."""
