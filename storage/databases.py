"""Django's database settings, of SQLite and of PostgreSQL."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit


def database(url: str | None, folder: Path) -> dict[str, Any]:
    """Django's database settings: ``postgres://…`` when given, else SQLite in the data folder.

    The query of the URL has further keywords of libpq (``?sslmode=verify-full&sslrootcert=/etc/ca.pem``).

    Raises:
        ValueError: it is the URL of another kind of database, or cannot be read.
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
    keywords = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=True)) if parts.query else {}
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or "",
        "PORT": str(parts.port or ""),
        "CONN_MAX_AGE": 0,
        # The pool tests a connection before it hands it out: it may have died while unused.
        "CONN_HEALTH_CHECKS": True,
        # Each thread uses one connection at a time. While the server is away the pool would try again less and less
        # often, up to minutes; with a short reconnect_timeout it gives up and starts again at the next request.
        "OPTIONS": keywords | {"pool": {"min_size": 4, "max_size": 8, "timeout": 3, "reconnect_timeout": 2}},
    }
