"""Nothing that proves anybody is printed: for log lines, tracebacks and reports of crashes (ruling, section 9).

Messages and transcripts are cleaned field by field (``transcript.clean``). A log line or a traceback is text of any
make: JSON, a Python dict, a URL, a header. What is taken out here is found by its shape (our tokens), by the name in
front of it (``auth_token``, ``Authorization: Bearer``, ``?code=``, a password in a URL), or because it was named
(:func:`hide`). A word too many is better than a secret too few.
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
"""Fields whose values are blanked, whatever they hold; in any case, with ``-`` for ``_`` too."""
SHORTEST_HIDDEN = 6
"""A shorter secret would blank half of every line."""

_names = "|".join(sorted((name.replace("_", "[-_]?") for name in SECRET_NAMES), key=len, reverse=True))
# In JSON, in JSON inside JSON (\"), as Python prints a dict, as a keyword argument, as a header.
_NAMED = re.compile(
    rf"""(?P<before>(?:{_names})\\*["']?\s*(?:=>|[:=])\s*(?:b?\\*["'])?)(?P<value>(?:(?:bearer|basic)\s+)?[^\s"'\\,;&)}}\]>]+)""",
    re.IGNORECASE,
)
_SCHEME = re.compile(r"""(\b(?:bearer|basic)\s+)[^\s"'\\,;]{6,}""", re.IGNORECASE)
_QUERY = re.compile(r"""([?&](?:code|token|key|secret)=)[^&\s"'\\<>]+""", re.IGNORECASE)
_USERINFO = re.compile(r"""(://[^\s/:@"']*:)[^\s/@"']+(?=@)""")
_hidden: set[str] = set()


def hide(*secrets: str) -> None:
    """Have these values taken out of everything that is redacted in this process from now on.

    Args:
        secrets: such as the site's keys; those shorter than ``SHORTEST_HIDDEN`` characters are left out.
    """
    _hidden.update(secret for secret in secrets if len(secret) >= SHORTEST_HIDDEN)


def redact_text(text: str) -> str:
    """A text without tokens, credentials, codes in addresses, passwords in URLs and hidden values."""
    for secret in _hidden:
        text = text.replace(secret, BLANK)
    text = redact_tokens(text)
    text = _NAMED.sub(lambda found: found["before"] + BLANK, text)
    text = _SCHEME.sub(rf"\1{BLANK}", text)
    text = _QUERY.sub(rf"\1{BLANK}", text)
    return _USERINFO.sub(rf"\1{BLANK}", text)


def redact(value: Any) -> Any:
    """The same through mappings, lists and tuples: fields with a secret's name are blanked whole.

    Numbers, truth values and None stay as they are; anything else is taken as the text it would be printed as.
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
