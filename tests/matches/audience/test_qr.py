"""QR codes: what a camera reads back, and nothing of the text in the markup."""

import re
from itertools import chain

import pytest
import segno

from matches.audience import qr

ADDRESS = "http://192.168.1.20:8000/leagues/league_2025_even_odd/join/"


def modules(svg: str) -> set[tuple[int, int]]:
    """The dark modules of a drawn code, as columns and rows."""
    runs = re.findall(r"M(\d+) (\d+)h(\d+)v1h-(\d+)z", svg)
    assert all(there == back for *_, there, back in runs)
    return set(chain.from_iterable([(int(x) + i, int(y)) for i in range(int(w))] for x, y, w, _ in runs))


def test_the_drawing_is_the_code_of_the_text() -> None:
    drawn = qr.svg(ADDRESS, label="register here")
    wanted = segno.make(ADDRESS, error="m", micro=False)

    dark = {
        (x + qr.QUIET, y + qr.QUIET)
        for y, row in enumerate(wanted.matrix)
        for x, module in enumerate(row)
        if module & 1
    }
    assert modules(drawn) == dark
    side = len(wanted.matrix) + 2 * qr.QUIET
    assert f'viewBox="0 0 {side} {side}"' in drawn


def test_it_has_a_name_and_takes_the_colour_of_the_text() -> None:
    drawn = qr.svg(ADDRESS, label='<script>"&')

    assert 'role="img" aria-label="&lt;script&gt;&quot;&amp;"' in drawn
    assert drawn.count("<path") == 1 and 'fill="currentColor"' in drawn


@pytest.mark.parametrize("text", ["", "x" * 5000])
def test_what_cannot_be_drawn_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        qr.svg(text, label="x")
