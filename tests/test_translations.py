"""The Hebrew translation is complete: every text has one with its placeholders, and the compiled file is up to date."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import polib
import pytest

from tests.paths import ROOT

WRITTEN = ROOT / "locale" / "he" / "LC_MESSAGES" / "django.po"
_PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|%[sd]|\{\w+\}")


@pytest.fixture(scope="module")
def entries() -> list[polib.POEntry]:
    return [entry for entry in polib.pofile(str(WRITTEN)) if not entry.obsolete]


def test_every_text_is_translated(entries: list[polib.POEntry]) -> None:
    assert [entry.msgid for entry in entries if not entry.translated() or entry.fuzzy] == []


def test_placeholders_are_those_of_the_text(entries: list[polib.POEntry]) -> None:
    wrong = []
    for entry in entries:
        allowed = set(_PLACEHOLDER.findall(entry.msgid)) | set(_PLACEHOLDER.findall(entry.msgid_plural))
        for text in [entry.msgstr, *entry.msgstr_plural.values()]:
            placeholders = set(_PLACEHOLDER.findall(text))
            # Hebrew has words for one and two, so a plural form may leave out its number.
            if placeholders - allowed or (not entry.msgid_plural and placeholders != allowed):
                wrong.append(entry.msgid)
    assert wrong == []


_NOUNS = (
    "agents attempts changes characters checks clauses codes days digits events files hours leagues letters lines"
    " losses matches messages minutes moves notes notices people places players points referees requests rounds seconds"
    " silences spellings students tries wins"
)
_COUNTED = re.compile(rf"(?:%\(|\{{)(\w+)(?:\)[sd]|\}}) (?:[\w-]+ ){{0,2}}?(?:{'|'.join(_NOUNS.split())})\b")
_NEVER_ONE = {
    # Constants, and the limits of a league, which are at least two.
    *("max", "min"),
    # At least three, or the league does not pause.
    "called",
    # The largest cross table, and how often a student may ask for a check.
    "With more than %(n)s players this table would be too large to read. Each player's page has all its matches.",
    "You have asked for %(count)d checks within a minute: wait a moment, mend something, and ask again.",
    # Constants.
    "%(count)d practice matches in %(minutes)d minutes are the most: ask for the next one at %(time)s UTC.",
    # A constant.
    "held for %(limit)s s after %(count)s lost referees",
    # A text that is longer than a limit.
    "The file has %(seen)d characters; at most %(max)d are taken.",
    "The text has %(seen)d characters; at most %(max)d are shown. Shorten it.",
    # There is a separate text for one.
    *("{n} points failed", "{n} points tolerated"),
    # The placeholder is an agent, not a number.
    "%(agent)s plays the rounds that are still to come.",
}
"""Placeholders and texts in which a plural after a number is right, as the number is never one."""


def test_counted_nouns_have_a_singular_and_a_plural(entries: list[polib.POEntry]) -> None:
    wrong = [
        entry.msgid
        for entry in entries
        if not entry.msgid_plural
        and entry.msgid not in _NEVER_ONE
        and not _NEVER_ONE.issuperset(_COUNTED.findall(entry.msgid))
    ]
    assert wrong == []


_NUMBER = re.compile(r"%\((\w+)\)d")
_SUBJECT = re.compile(r"(?:^|[;:,.(] )%\((\w+)\)d (?:was|were|is|are|has|have|does|do)\b")


def test_no_verb_of_a_text_with_several_numbers_depends_on_a_number(entries: list[polib.POEntry]) -> None:
    """Only one number of a text decides between singular and plural, and a verb might belong to another one."""
    wrong = [
        entry.msgid_plural
        for entry in entries
        if len(set(_NUMBER.findall(entry.msgid_plural))) > 1 and _SUBJECT.search(entry.msgid_plural)
    ]
    assert wrong == []


def test_the_compiled_file_is_up_to_date(entries: list[polib.POEntry]) -> None:
    compiled = polib.mofile(str(WRITTEN.with_suffix(".mo")))
    written = {(entry.msgctxt, entry.msgid): (entry.msgstr, entry.msgstr_plural) for entry in entries}
    assert {(entry.msgctxt, entry.msgid): (entry.msgstr, entry.msgstr_plural) for entry in compiled} == written


def test_the_translation_has_every_text_of_the_sources_and_no_others(
    tmp_path: Path, entries: list[polib.POEntry]
) -> None:
    if shutil.which("xgettext") is None:
        unable = pytest.fail if os.environ.get("LEAGUE_CI") else pytest.skip
        unable("xgettext is not installed (apt-get install gettext)")
    for folder in ("matches", "agents_registry", "league_sdk", "leaguesite", "templates"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    (tmp_path / "locale").mkdir()
    command = [sys.executable, str(ROOT / "manage.py"), "makemessages", "-l", "he", "--no-location", "-v", "0"]
    environment = os.environ | {"LEAGUE_DATA": str(tmp_path / "data")}
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, timeout=120)
    extracted = polib.pofile(str(tmp_path / "locale" / "he" / "LC_MESSAGES" / "django.po"))
    known = {(entry.msgctxt, entry.msgid, entry.msgid_plural) for entry in entries}
    wanted = {(entry.msgctxt, entry.msgid, entry.msgid_plural) for entry in extracted}
    assert (wanted - known, known - wanted) == (set(), set())
