"""Addresses that a person types on a command line."""

from __future__ import annotations

from urllib.parse import urlsplit

import httpx

EXAMPLE = "http://127.0.0.1:8000/mcp"


def read_address(text: str, *, example: str = EXAMPLE) -> httpx.URL:
    """Read an http or https address, as httpx and the standard library both read it.

    Args:
        example: an address such as is wanted here, for the sentence.

    Raises:
        ValueError: it is none, in a sentence for the person.
    """
    try:
        url = httpx.URL(text)
        # A host can be wrong in ways that show only when it is decoded; httpx writes a space in it as %20.
        has_host = bool(url.host) and "%" not in url.host
        has_port = urlsplit(text).port != 0
    except (httpx.InvalidURL, ValueError):
        url, has_host, has_port = httpx.URL(), False, False
    if url.scheme not in ("http", "https") or not (has_host and has_port):
        raise ValueError(f"{text!r:.100} is not an address such as {example}")
    return url
