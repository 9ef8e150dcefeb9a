"""The estimated breadth of names: rather too wide than too narrow, and each step has a font size in the stylesheet."""

from __future__ import annotations

import re

import pytest

from matches.audience.breadth import STEPS, breadth, width_of
from tests.paths import ROOT


@pytest.mark.parametrize(
    ("name", "step"),
    [("", 4), ("Ada", 4), ("Agent Farah", 7), ("W" * 64, 80), ("四目" * 9, 21), ("נועה", 4), ("\ufdfd" * 64, 120)],
)
def test_a_name_has_the_step_of_its_breadth(name: str, step: int) -> None:
    assert breadth(name) == step


def test_marks_that_take_no_room_count_nothing() -> None:
    assert width_of("e\u0301\u0301\u200d") == width_of("e")


def test_every_step_has_a_size() -> None:
    css = (ROOT / "static/css/screen.css").read_text(encoding="utf-8")
    # Beside a drawing only names from this step on have a size of their own.
    for selector, first in ((r"^\.whole", STEPS[0]), (r"^\.screen-side \.whole", 10)):
        sizes = [int(step) for step in re.findall(selector + r'\[data-w="(\d+)"\]', css, re.M)]
        assert sizes == [step for step in STEPS if step >= first]
