"""Django's database settings, of SQLite and of PostgreSQL."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit


def database(url: str | None, folder: Path) -> dict[str, Any]:
    """Django's database settings: ``postgres://…`` when given, else SQLite in the data folder.

    Raises:
        ValueError: the address is of another database.
    """
    if not url:
        return {
            "ENGINE": "storage.sqlite3",
            "NAME": folder / "league.sqlite3",
            "CONN_MAX_AGE": None,
            "OPTIONS": {
                "transaction_mode": "IMMEDIATE",
                "timeout": 20,
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-16000;",
            },
        }
    parts = urlsplit(url)
    if parts.scheme not in ("postgres", "postgresql"):
        raise ValueError(f"DATABASE_URL must begin with postgres://, not {parts.scheme}://")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or "",
        "PORT": str(parts.port or ""),
        "CONN_MAX_AGE": 0,
        # A connection that died while nobody used it is found out before it is given to anybody.
        "CONN_HEALTH_CHECKS": True,
        # Each kind of work has a thread of its own: there are never more at once. The pool tries a server that is gone
        # less and less often, up to minutes: one that gives up soon begins anew when somebody asks.
        "OPTIONS": {"pool": {"min_size": 4, "max_size": 8, "timeout": 3, "reconnect_timeout": 2}},
    }
