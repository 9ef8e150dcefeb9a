"""The commands and programs of ``docs/first-bot.md``, for tests that run them."""

from __future__ import annotations

import re
import shlex

from tests.paths import ROOT

TEXT = (ROOT / "docs" / "first-bot.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", TEXT, re.DOTALL | re.MULTILINE))
SITE, LEAGUE = "http://127.0.0.1:8000", "http://127.0.0.1:8000/mcp"
"""The URLs of the site and of its league in the page's examples."""
BOT = "http://127.0.0.1:8101/mcp"


def commands(section: str) -> list[list[str]]:
    """The commands of a section, each as its words."""
    return [shlex.split(line) for line in re.findall(r"^    (\S.*)$", _prose(section), re.MULTILINE)]


def program(section: str) -> str:
    """The program of a section."""
    [code] = re.findall(r"^```python\n(.*?)^```$", SECTIONS[section], re.DOTALL | re.MULTILINE)
    return str(code)


def _prose(section: str) -> str:
    return re.sub(r"^```.*?^```$", "", SECTIONS[section], flags=re.DOTALL | re.MULTILINE)
