"""``docs/errors.md`` has every error code with its causes, and quotes the sentences that the source raises it with."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest

from league_sdk.protocol import errors
from tests.paths import ROOT

TEXT = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
SECTIONS = {
    match[1]: (match[2], match[3]) for match in re.finditer(r"^## (E\d{3}) (\w+)\n(.*?)(?=^## |\Z)", TEXT, re.M | re.S)
}
KINDS = {
    name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, errors.LeagueError)
}
ANY = "…"
WITH_MANY_SENTENCES = ("E002", "E003")
"""Codes with very many sentences, which name the field that they mean: the page quotes only the usual ones."""


def words(node: ast.expr) -> str:
    """A sentence as the source has it, with … for each value filled in; empty if it is written elsewhere."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else ANY for part in node.values)
    return ""


@cache
def sentences() -> frozenset[tuple[str, str]]:
    """Every sentence that an error is raised with, and its code."""
    found = set()
    for package in ("leaguesite", "matches", "agents_registry", "league_sdk"):
        for path in sorted((ROOT / package).rglob("*.py")):
            if "conformance" in path.parts:
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and node.args:
                    name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                    if name in KINDS and (sentence := words(node.args[0])):
                        found.add((KINDS[name].error_code, sentence))
    return frozenset(found)


def quoted(section: str) -> list[str]:
    """The sentences in the first column of the section's table."""
    cells = re.findall(r"^\| ([^|]+?) \|", section, re.MULTILINE)
    return [cell for cell in cells if cell not in ("it says", "---") and cell.endswith((".", ANY))]


def test_every_code_has_its_section_and_its_name() -> None:
    assert {code: name for code, (name, _) in SECTIONS.items()} == errors.NAMES


@pytest.mark.parametrize("code", errors.NAMES)
def test_a_section_says_who_gets_it_and_what_to_do(code: str) -> None:
    section = SECTIONS[code][1]
    assert "**Who gets it**: " in section
    assert "| it says | usual cause | what to do |" in section
    rows = [line for line in section.splitlines() if line.startswith("|")][2:]
    assert rows and all(len([cell for cell in row.strip("|").split("|") if cell.strip()]) == 3 for row in rows)


@pytest.mark.parametrize("code", errors.NAMES)
def test_every_sentence_that_a_section_quotes_is_in_the_source(code: str) -> None:
    in_source = {sentence.rstrip(f"{ANY}. ") for of, sentence in sentences() if of == code}
    assert [sentence for sentence in quoted(SECTIONS[code][1]) if sentence.rstrip(f"{ANY}. ") not in in_source] == []


@pytest.mark.parametrize("code", [code for code in errors.NAMES if code not in WITH_MANY_SENTENCES])
def test_every_sentence_of_a_code_is_quoted(code: str) -> None:
    in_docs = {sentence.rstrip(f"{ANY}. ") for sentence in quoted(SECTIONS[code][1])}
    in_source = {sentence for of, sentence in sentences() if of == code}
    assert sorted(sentence for sentence in in_source if sentence.rstrip(f"{ANY}. ") not in in_docs) == []


def test_codes_of_refused_registrations_and_retryable_codes_are_right() -> None:
    names = dict(re.findall(r"^\| ([LG]\d{3}) (\w+) \|", TEXT, re.MULTILINE))
    assert names.items() <= errors.LEGACY_NAMES.items()
    assert len(names) == 3
    retried = re.findall(r"Only (E\d{3})\s+and (E\d{3}) say `.retryable.: true`", TEXT)
    assert [{*pair} for pair in retried] == [errors.RETRYABLE]
