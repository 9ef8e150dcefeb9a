"""Django's SQLite engine, with statements that are read once; ``ENGINE`` is ``leaguesite.sqlite3``."""
