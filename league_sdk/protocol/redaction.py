"""Remove credentials from log lines, tracebacks and crash reports (ruling, section 9).

Messages and transcripts are cleaned field by field (``transcript.clean``), but a log line or a traceback is text of any
form: JSON, a Python dict, a URL, a header. Secrets in it are found by their form (tokens), by the name before them
(``auth_token``, ``Authorization: Bearer``, ``?code=``, a password in a URL), or because they were registered
(:func:`hide`). In doubt a word is removed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from league_sdk.protocol.errors import SECRET_FIELDS
from league_sdk.protocol.tokens import redact as redact_tokens

BLANK = "…"
SECRET_NAMES = SECRET_FIELDS | {
    "authorization",
    "cookie",
    "set_cookie",
    "password",
    "api_key",
    "referee_key",
    "secret_key",
    "site_key",
    "demo_key",
    "personal_code",
    "sessionid",
    "csrftoken",
    "csrfmiddlewaretoken",
}
"""Fields whose values are always blanked; upper and lower case, ``-`` and ``_`` are the same."""
MIN_HIDDEN_CHARS = 6
"""Shorter secrets are not hidden, because they would blank parts of ordinary words."""

_names = "|".join(sorted((name.replace("_", "[-_]?") for name in SECRET_NAMES), key=len, reverse=True))
# A name and its value in JSON, in JSON inside JSON (\"), in a printed dict, as a keyword argument or as a header.
_NAMED = re.compile(
    rf"""(?P<before>(?:{_names})\\*["']?\s*(?:=>|[:=])\s*(?:b?\\*["'])?)(?P<value>(?:(?:bearer|basic)\s+)?[^\s"'\\,;&)}}\]>]+)""",
    re.IGNORECASE,
)
_SCHEME = re.compile(r"""(\b(?:bearer|basic)\s+)[^\s"'\\,;]{6,}""", re.IGNORECASE)
_QUERY = re.compile(r"""([?&](?:code|token|key|secret)=)[^&\s"'\\<>]+""", re.IGNORECASE)
_USERINFO = re.compile(r"""(://[^\s/:@"']*:)[^\s/@"']+(?=@)""")
_hidden: list[str] = []
"""The longest come first, because one may be a part of another."""


def hide(*secrets: str) -> None:
    """Register values that this process removes from every text that it redacts from now on.

    Args:
        secrets: for example the site's keys; those shorter than ``MIN_HIDDEN_CHARS`` characters are ignored.
    """
    new = {secret for secret in secrets if len(secret) >= MIN_HIDDEN_CHARS}
    _hidden[:] = sorted({*_hidden, *new}, key=len, reverse=True)


def hidden() -> tuple[str, ...]:
    """The values that are registered so far."""
    # Another thread may register one meanwhile.
    return tuple(_hidden)


def redact_text(text: str) -> str:
    """Remove tokens, credentials, codes in URLs, passwords in URLs and registered values from a text."""
    for secret in hidden():
        text = text.replace(secret, BLANK)
    text = redact_tokens(text)
    text = _NAMED.sub(lambda match: match["before"] + BLANK, text)
    text = _SCHEME.sub(rf"\1{BLANK}", text)
    text = _QUERY.sub(rf"\1{BLANK}", text)
    return _USERINFO.sub(rf"\1{BLANK}", text)


def redact(value: Any) -> Any:
    """Apply :func:`redact_text` inside mappings, lists and tuples, and blank the fields in ``SECRET_NAMES``.

    Numbers, booleans and None stay as they are; any other value is replaced by the text that it would be printed as.
    """
    if isinstance(value, str):
        return redact_text(value)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, Mapping):
        return {
            redact_text(str(name)): BLANK if _is_secret(name) and item else redact(item) for name, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [redact(item) for item in value]
    return redact_text(str(value))


def _is_secret(name: object) -> bool:
    return str(name).lower().replace("-", "_") in SECRET_NAMES
