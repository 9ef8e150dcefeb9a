"""What settings read from the outside world: the data folder, keys kept in it, addresses of Redis."""

from __future__ import annotations

import ipaddress
import json
import os
import secrets
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

BASE_DIR = Path(__file__).resolve().parent.parent

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
SHORTEST_KEY = 16
_ANOTHER = "Give it to the user that runs the site, or choose another folder with --data."
HSTS_S = 30 * 24 * 3600
"""A browser that has been here by https comes by nothing else for so long."""


def export_data_folder(argv: Sequence[str]) -> None:
    """Put ``--data DIR`` of a command line into ``LEAGUE_DATA``, before settings are read."""
    for position, word in enumerate(argv):
        if word == "--data" and position + 1 < len(argv):
            os.environ["LEAGUE_DATA"] = str(Path(argv[position + 1]).resolve())
        elif word.startswith("--data="):
            os.environ["LEAGUE_DATA"] = str(Path(word.partition("=")[2]).resolve())


class Unusable(Exception):
    """What is on the disk cannot be worked with; the text says what is wrong and what to do."""


def data_folder() -> Path:
    """The folder that holds everything the site writes (``LEAGUE_DATA``, default ``data``).

    It and all that this process writes from here on is for this user alone, also where the folder was there before.

    Raises:
        Unusable: it cannot be made, or not be written to.
    """
    folder = Path(os.environ.get("LEAGUE_DATA") or BASE_DIR / "data")
    # Names, codes and sessions are in it: nobody else on the machine reads them.
    os.umask(0o077)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if stat.S_IMODE(folder.stat().st_mode) != 0o700:
            folder.chmod(0o700)
    except OSError as error:
        raise Unusable(f"The data folder {folder} cannot be used: {error.strerror}. {_ANOTHER}") from None
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise Unusable(f"The data folder {folder} cannot be written to. {_ANOTHER}")
    return folder


def kept_key(name: str, variable: str) -> str:
    """A secret: from the environment, else from the data folder, where it is made at first use.

    Args:
        name: the file under ``keys/`` in the data folder.
        variable: the environment variable that fixes it.

    Raises:
        Unusable: the file is empty, damaged, or cannot be read.
    """
    fixed = os.environ.get(variable)
    if fixed:
        return fixed
    path = data_folder() / "keys" / name
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        return _key_in(path)
    except OSError as error:
        raise Unusable(f"The key in {path} cannot be read: {error.strerror}. {_ANOTHER}") from None


def _key_in(path: Path) -> str:
    name = path.name
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
    key = path.read_bytes().strip()
    # Ours have 64 characters; with an empty one whoever asks would be let in.
    if len(key) < SHORTEST_KEY or not all(33 <= byte <= 126 for byte in key):
        raise Unusable(
            f"The key in {path} is damaged or empty: it must be one line of at least {SHORTEST_KEY} ASCII characters. "
            "Put it back from a backup; or delete it, and a new one is made that nobody knows yet."
        )
    return key.decode("ascii")


def channel_layer(url: str | None) -> dict[str, Any]:
    """The channel layer: Redis when ``REDIS_URL`` is given, else in memory."""
    if not url:
        return {"BACKEND": "channels.layers.InMemoryChannelLayer"}
    return {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [{"address": url, "max_connections": 10000}]},
    }


class Json:
    """How values stand in the cache: whoever can write into Redis must not be able to have code run here."""

    def dumps(self, value: Any) -> bytes:
        return json.dumps(value).encode()

    def loads(self, raw: bytes) -> Any:
        return json.loads(raw)


def cache(url: str | None) -> dict[str, Any]:
    """Django's cache: Redis when ``REDIS_URL`` is given, else in memory."""
    if not url:
        return {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
    return {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": url,
        "KEY_PREFIX": "league",
        "OPTIONS": {"serializer": Json(), "socket_timeout": 0.5, "socket_connect_timeout": 0.5},
    }


def listed(variable: str) -> list[str]:
    """A comma-separated environment variable as a list."""
    return [item.strip() for item in os.environ.get(variable, "").split(",") if item.strip()]


def networks(variable: str) -> tuple[Network, ...]:
    """A comma-separated environment variable of addresses and networks, such as ``127.0.0.1, 10.1.0.0/16``.

    Raises:
        ValueError: one of them cannot be read.
    """
    try:
        return tuple(ipaddress.ip_network(item) for item in listed(variable))
    except ValueError as error:
        raise ValueError(
            f"{variable}: {error}; expected addresses and networks such as 127.0.0.1, 10.1.0.0/16"
        ) from None


def security(public_url: str, proxies: Sequence[Network]) -> dict[str, Any]:
    """Django's settings that follow from whether people come by https, and whether a proxy is to be believed.

    Without https (a class in one room) cookies and pages go out in the clear; SECURITY.md says what that means.

    Args:
        public_url: the address students use.
        proxies: where a proxy is known to be. Only one that is known tells whether a caller came by https; without one
            nothing is redirected, as every request looks like plain http.
    """
    https = public_url.startswith("https://")
    return {
        "SESSION_COOKIE_SECURE": https,
        "CSRF_COOKIE_SECURE": https,
        "LANGUAGE_COOKIE_SECURE": https,
        "SECURE_HSTS_SECONDS": HSTS_S if https else 0,
        "SECURE_SSL_REDIRECT": https and bool(proxies),
        "SECURE_PROXY_SSL_HEADER": ("HTTP_X_FORWARDED_PROTO", "https") if proxies else None,
    }
