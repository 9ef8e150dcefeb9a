"""What settings read from the outside world: the data folder, keys kept in it, database addresses."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

BASE_DIR = Path(__file__).resolve().parent.parent


def export_data_folder(argv: Sequence[str]) -> None:
    """Put ``--data DIR`` of a command line into ``LEAGUE_DATA``, before settings are read."""
    for position, word in enumerate(argv):
        if word == "--data" and position + 1 < len(argv):
            os.environ["LEAGUE_DATA"] = str(Path(argv[position + 1]).resolve())
        elif word.startswith("--data="):
            os.environ["LEAGUE_DATA"] = str(Path(word.partition("=")[2]).resolve())


def data_folder() -> Path:
    """The folder that holds everything the site writes (``LEAGUE_DATA``, default ``data``)."""
    folder = Path(os.environ.get("LEAGUE_DATA") or BASE_DIR / "data")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def kept_key(name: str, variable: str) -> str:
    """A secret: from the environment, else from the data folder, where it is made at first use.

    Args:
        name: the file under ``keys/`` in the data folder.
        variable: the environment variable that fixes it.
    """
    fixed = os.environ.get(variable)
    if fixed:
        return fixed
    path = data_folder() / "keys" / name
    path.parent.mkdir(mode=0o700, exist_ok=True)
    try:
        # Created with its content in one step, so that two processes agree on one key.
        scratch = path.with_name(f".{name}.{secrets.token_hex(4)}")
        if not path.exists():
            scratch.touch(mode=0o600)
            scratch.write_text(secrets.token_urlsafe(48), encoding="ascii")
            os.link(scratch, path)
            scratch.unlink()
    except FileExistsError:
        scratch.unlink()
    return path.read_text(encoding="ascii").strip()


def database(url: str | None, folder: Path) -> dict[str, Any]:
    """Django's database settings: ``postgres://…`` when given, else SQLite in the data folder."""
    if not url:
        return {
            "ENGINE": "django.db.backends.sqlite3",
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
        "OPTIONS": {"pool": True},
    }


def channel_layer(url: str | None) -> dict[str, Any]:
    """The channel layer: Redis when ``REDIS_URL`` is given, else in memory."""
    if not url:
        return {"BACKEND": "channels.layers.InMemoryChannelLayer"}
    return {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [{"address": url, "max_connections": 10000}]},
    }


def listed(variable: str) -> list[str]:
    """A comma-separated environment variable as a list."""
    return [item.strip() for item in os.environ.get(variable, "").split(",") if item.strip()]
