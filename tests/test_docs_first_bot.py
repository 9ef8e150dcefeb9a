"""``docs/first-bot.md`` has each language's commands, needs and file; ``tests/e2e/test_first_bot.py`` runs them."""

from __future__ import annotations

import re

import pytest

from league_sdk.kits import LANGUAGES
from tests.e2e.first_bot import SECTIONS, TEXT, commands


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_language_has_its_commands_and_says_what_it_needs(language: str) -> None:
    kit = LANGUAGES[language]
    new, cd, start = commands(kit.name)
    assert new == ["league", "new", "my-agent", "--language", language]
    assert cd == ["cd", "my-agent"]
    assert " ".join(start).startswith(f"{kit.start} --name My Agent --league ")
    row = re.search(rf"^\| \[{kit.name}\]\(#{kit.name.lower()}\) \| (.+) \| `(.+)` \|$", TEXT, re.MULTILINE)
    assert row is not None
    assert (row[1], row[2]) == (kit.needs, kit.files[0])


def test_every_section_of_a_language_is_in_the_table() -> None:
    listed = re.findall(r"^\| \[(.+?)\]\(#", TEXT, re.MULTILINE)
    assert [name[0].upper() + name[1:] for name in listed] == list(SECTIONS)[: len(listed)]
    # Python with the SDK and an SDK of MCP are in the table, too.
    assert len(listed) == len(LANGUAGES) + 2
