"""QR codes: their modules, label and limits."""

import re
from itertools import chain

import pytest
import segno
from django.template.loader import render_to_string

from matches.audience import qr

ADDRESS = "http://192.168.1.20:8000/leagues/league_2025_even_odd/join/"


def svg(text: str, label: str) -> str:
    """A code as a page draws it."""
    return render_to_string("leagues/qr.html", {"code": qr.code_of(text, label=label)})


def modules(svg: str) -> set[tuple[int, int]]:
    """The dark modules of a drawn code, as columns and rows."""
    runs = re.findall(r"M(\d+) (\d+)h(\d+)v1h-(\d+)z", svg)
    assert all(right == left for *_, right, left in runs)
    return set(chain.from_iterable([(int(x) + i, int(y)) for i in range(int(w))] for x, y, w, _ in runs))


def test_the_drawn_modules_are_those_of_the_qr_code() -> None:
    drawn = svg(ADDRESS, "register here")
    expected = segno.make(ADDRESS, error="m", micro=False)

    dark = {
        (x + qr.QUIET_MODULES, y + qr.QUIET_MODULES)
        for y, row in enumerate(expected.matrix)
        for x, module in enumerate(row)
        if module & 1
    }
    assert modules(drawn) == dark
    side = len(expected.matrix) + 2 * qr.QUIET_MODULES
    assert f'viewBox="0 0 {side} {side}"' in drawn


def test_a_qr_code_has_an_escaped_label_and_uses_the_current_colour() -> None:
    drawn = svg(ADDRESS, '<script>"&')

    assert 'role="img" aria-label="&lt;script&gt;&quot;&amp;"' in drawn
    assert drawn.count("<path") == 1 and 'fill="currentColor"' in drawn


@pytest.mark.parametrize("text", ["", "x" * 5000])
def test_an_empty_or_too_long_text_raises_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):
        qr.code_of(text, label="x")
