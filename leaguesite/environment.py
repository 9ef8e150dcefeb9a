"""What the settings read from outside: the environment's variables, the data folder, the keys in it."""

from __future__ import annotations

import ipaddress
import json
import os
import secrets
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

BASE_DIR = Path(__file__).resolve().parent.parent
"""The folder of the packages: the checkout, or the environment that the wheel was installed into."""
_IN_WHEEL = Path(__file__).resolve().parent / "resources"
RESOURCES_DIR = _IN_WHEEL if _IN_WHEEL.is_dir() else BASE_DIR
"""The folder of templates, static files and translations: the checkout, or inside this package in a wheel."""

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
LOOPBACK: tuple[Network, ...] = (ipaddress.IPv4Network("127.0.0.0/8"), ipaddress.IPv6Network("::1/128"))
MIN_KEY_CHARS = 16
MAX_DIGITS = 10
_WHAT_TO_DO = "Give it to the user that runs the site, or choose another folder with --data."
HSTS_S = 30 * 24 * 3600
"""How long a browser that opened the site by https refuses to open it by http (Strict-Transport-Security)."""


def export_data_folder(argv: Sequence[str]) -> None:
    """Put ``--data DIR`` of a command line into ``LEAGUE_DATA``, before settings are read."""
    for position, word in enumerate(argv):
        if word == "--data" and position + 1 < len(argv):
            os.environ["LEAGUE_DATA"] = str(Path(argv[position + 1]).resolve())
        elif word.startswith("--data="):
            os.environ["LEAGUE_DATA"] = str(Path(word.partition("=")[2]).resolve())


class UnusableData(CommandError):
    """The data folder or a file in it cannot be used; the text, with which a command ends, says what to do."""


def data_folder() -> Path:
    """The folder that holds everything the site writes (``LEAGUE_DATA``, default ``data``).

    The default lies in the checkout; for a site that was installed from a wheel, in the current folder.

    Only the user that runs this process can read the folder, even if it existed before, and every file that this
    process writes after this call.

    Raises:
        UnusableData: the folder cannot be made or written to.
    """
    parent = Path.cwd() if RESOURCES_DIR == _IN_WHEEL else BASE_DIR
    folder = Path(os.environ.get("LEAGUE_DATA") or parent / "data")
    # It holds names, codes and sessions, which nobody else on the machine may read.
    os.umask(0o077)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if stat.S_IMODE(folder.stat().st_mode) != 0o700:
            folder.chmod(0o700)
    except OSError as error:
        raise UnusableData(f"The data folder {folder} cannot be used: {error.strerror}. {_WHAT_TO_DO}") from None
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise UnusableData(f"The data folder {folder} cannot be written to. {_WHAT_TO_DO}")
    return folder


def read_or_make_key(name: str, variable: str) -> str:
    """A secret from the environment, else from the data folder, where it is made at first use.

    Args:
        name: the file under ``keys/`` in the data folder.
        variable: the environment variable that fixes it.

    Raises:
        UnusableData: the file is empty, damaged, or cannot be read.
    """
    fixed = os.environ.get(variable)
    if fixed:
        return fixed
    path = data_folder() / "keys" / name
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        return _key_in(path)
    except OSError as error:
        raise UnusableData(f"The key in {path} cannot be read: {error.strerror}. {_WHAT_TO_DO}") from None


def _key_in(path: Path) -> str:
    # Created with its content in one step, so that two processes agree on one key.
    scratch = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        if not path.exists():
            scratch.touch(mode=0o600)
            scratch.write_text(secrets.token_urlsafe(48), encoding="ascii")
            os.link(scratch, path)
            scratch.unlink()
    except FileExistsError:
        scratch.unlink()
    key = path.read_bytes().strip()
    # Keys that we make have 64 characters; an empty one would let anybody in.
    if len(key) < MIN_KEY_CHARS or not all(33 <= byte <= 126 for byte in key):
        raise UnusableData(
            f"The key in {path} is damaged or empty: it must be one line of at least {MIN_KEY_CHARS} ASCII characters. "
            "Put it back from a backup; or delete it, and a new one is made that nobody knows yet."
        )
    return key.decode("ascii")


def channel_layer(url: str | None) -> dict[str, Any]:
    """The channel layer: Redis when ``REDIS_URL`` is given, else in memory."""
    if not url:
        return {"BACKEND": "channels.layers.InMemoryChannelLayer"}
    return {"BACKEND": "storage.redis_links.Layer", "CONFIG": {"url": url}}


class Json:
    """Serialiser of the cache, in place of pickle: a writer into Redis must not be able to run code here."""

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


def listed(variable: str, environ: Mapping[str, str] = os.environ) -> list[str]:
    """A comma-separated environment variable as a list."""
    return [item.strip() for item in environ.get(variable, "").split(",") if item.strip()]


def whole_number(variable: str, maximum: int, environ: Mapping[str, str] = os.environ) -> int:
    """An environment variable that is a whole number from 0 on; 0 if it is not set.

    Raises:
        ValueError: it is something else, or larger.
    """
    text = environ.get(variable, "").strip() or "0"
    if not (text.isascii() and text.isdecimal() and len(text) < MAX_DIGITS and int(text) <= maximum):
        raise ValueError(f"{variable} is {text!r}, not a whole number from 0 to {maximum}")
    return int(text)


def networks(variable: str, environ: Mapping[str, str] = os.environ) -> tuple[Network, ...]:
    """A comma-separated environment variable of addresses and networks, such as ``127.0.0.1, 10.1.0.0/16``.

    Raises:
        ValueError: one of them cannot be read.
    """
    return tuple(network(item, variable) for item in listed(variable, environ))


def network(item: str, variable: str) -> Network:
    """An address or network of an environment variable.

    Raises:
        ValueError: it cannot be read; the text names the variable.
    """
    try:
        return ipaddress.ip_network(item)
    except ValueError as error:
        raise ValueError(
            f"{variable}: {error}; expected addresses and networks such as 127.0.0.1, 10.1.0.0/16"
        ) from None


def security(public_url: str, proxies: Sequence[Network]) -> dict[str, Any]:
    """Django's settings that depend on https and on trusted proxies.

    Without https (a class in one room) cookies and pages are sent in the clear; SECURITY.md says what that means.

    Args:
        public_url: the address students use.
        proxies: the trusted proxies. Only they can say that a caller uses https.
    """
    https = public_url.startswith("https://")
    return {
        "SESSION_COOKIE_SECURE": https,
        "CSRF_COOKIE_SECURE": https,
        "LANGUAGE_COOKIE_SECURE": https,
        "SECURE_HSTS_SECONDS": HSTS_S if https else 0,
        "SECURE_PROXY_SSL_HEADER": ("HTTP_X_FORWARDED_PROTO", "https") if proxies else None,
    }
