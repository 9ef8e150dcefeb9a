"""Hebrew is whole: every text has a translation with its placeholders, and what is compiled is what is written."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import polib
import pytest

from tests.places import ROOT

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
            found = set(_PLACEHOLDER.findall(text))
            # Hebrew has words for one and two: a plural form may do without its number.
            if found - allowed or (not entry.msgid_plural and found != allowed):
                wrong.append(entry.msgid)
    assert wrong == []


def test_what_is_compiled_is_what_is_written(entries: list[polib.POEntry]) -> None:
    compiled = polib.mofile(str(WRITTEN.with_suffix(".mo")))
    written = {(entry.msgctxt, entry.msgid): (entry.msgstr, entry.msgstr_plural) for entry in entries}
    assert {(entry.msgctxt, entry.msgid): (entry.msgstr, entry.msgstr_plural) for entry in compiled} == written


def test_no_text_is_missing(tmp_path: Path, entries: list[polib.POEntry]) -> None:
    if shutil.which("xgettext") is None:
        unable = pytest.fail if os.environ.get("LEAGUE_CI") else pytest.skip
        unable("xgettext is not installed (apt-get install gettext)")
    for folder in ("matches", "agents_registry", "league_sdk", "leaguesite", "templates"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    (tmp_path / "locale").mkdir()
    command = [sys.executable, str(ROOT / "manage.py"), "makemessages", "-l", "he", "--no-location", "-v", "0"]
    environment = os.environ | {"LEAGUE_DATA": str(tmp_path / "data")}
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, timeout=120)
    found = polib.pofile(str(tmp_path / "locale" / "he" / "LC_MESSAGES" / "django.po"))
    known = {(entry.msgctxt, entry.msgid, entry.msgid_plural) for entry in entries}
    wanted = {(entry.msgctxt, entry.msgid, entry.msgid_plural) for entry in found}
    assert (wanted - known, known - wanted) == (set(), set())
