"""Django's SQLite engine with cursors that cache statements; the setting ``ENGINE`` is ``storage.sqlite3``."""
