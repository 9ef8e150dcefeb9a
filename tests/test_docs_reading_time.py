"""The pages for each kind of reader can be read from end to end in an hour (``docs/README.md``)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.paths import ROOT

WORDS_PER_MINUTE = 230
"""The speed at which adults read plain prose."""
LOOKED_UP = {"CHANGELOG.md", "messages.md", "errors.md"}
INDEX = ROOT / "docs" / "README.md"


def lists() -> dict[str, list[Path]]:
    """For each kind of reader the pages of its list."""
    parts = re.split(r"^\*\*(\w+)\*\*$", INDEX.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {
        who: [INDEX.parent / link for link in re.findall(r"^\d+\. \[[^\]]+\]\(([^)]+)\)", text, re.MULTILINE)]
        for who, text in zip(parts[::2], parts[1::2], strict=True)
    }


def words_of(page: Path) -> int:
    """The words of a page's prose: without samples, commands and tables."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return sum(len(line.split()) for line in text.splitlines() if not line.startswith(("    ", "|")))


@pytest.mark.parametrize("who", lists())
def test_the_pages_for_a_kind_of_reader_take_at_most_an_hour(who: str) -> None:
    read = {page.name: words_of(page) for page in lists()[who] if page.name not in LOOKED_UP}
    assert 0 < sum(read.values()) <= 60 * WORDS_PER_MINUTE, read


def test_every_page_is_in_the_list_of_a_kind_of_reader() -> None:
    listed = {page.resolve() for pages in lists().values() for page in pages}
    assert {page for page in (ROOT / "docs").glob("*.md") if page.resolve() not in listed} == {INDEX}
