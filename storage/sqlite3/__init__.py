"""Django's SQLite engine, with statements that are read once; ``ENGINE`` is ``storage.sqlite3``."""
