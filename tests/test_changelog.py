"""The newest section of the changelog is that of the current version."""

from __future__ import annotations

import re

from league_sdk.protocol import SDK_VERSION
from tests.paths import ROOT


def test_the_newest_section_is_that_of_this_version() -> None:
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    versions = [heading for heading in headings if heading != "Unreleased"]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+, \d{4}-\d\d-\d\d", heading) for heading in versions)
    numbers = [tuple(map(int, heading.partition(",")[0].split("."))) for heading in versions]
    assert numbers == sorted(numbers, reverse=True)
    assert tuple(map(int, SDK_VERSION.split("."))) == numbers[0]
