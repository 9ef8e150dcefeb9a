"""The loops by which an agent fetches its messages, as the protocol prints them: the join page shows the same."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from django.conf import settings as site

PRINTED_SITE = "http://localhost:8000"
"""The address on the protocol's page, in whose place a page shows that of its site."""
_NAMES = {"python": "Python", "javascript": "JavaScript", "sh": "curl"}


class Loop(NamedTuple):
    """One loop: its name on a page, and its text."""

    name: str
    text: str


def of(base: str) -> list[Loop]:
    """The loops for one site.

    Args:
        base: the site's scheme and host.
    """
    printed = _printed(site.LEAGUE_DOCS_DIR / "protocol.md")
    return [Loop(_NAMES[kind], text.replace(PRINTED_SITE, base)) for kind, text in printed]


@lru_cache(maxsize=1)
def _printed(page: Path) -> list[tuple[str, str]]:
    section = page.read_text(encoding="utf-8").partition("\n## Dialling out\n")[2].partition("\n## ")[0]
    return re.findall(rf"^```({'|'.join(_NAMES)})\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
