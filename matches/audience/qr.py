"""QR codes; the template ``leagues/qr.html`` draws them as SVG in the colour of the surrounding text."""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple

import segno

QUIET_MODULES = 4
"""Width of the margin in modules, as ISO/IEC 18004 demands."""


class Code(NamedTuple):
    """A QR code.

    Attributes:
        label: the accessible name.
        size: width and height in modules, margin included.
        path: the dark modules as an SVG path, with one rectangle for each run in a row.
    """

    label: str
    size: int
    path: str


def code_of(text: str, *, label: str) -> Code:
    """The QR code of a text, such as an address, with error correction M (15 %) or better.

    Raises:
        ValueError: the text is empty or longer than a code can hold.
    """
    if not text:
        raise ValueError("the text of a QR code is empty")
    code = segno.make(text, error="m", micro=False)
    path = []
    for y, row in enumerate(code.matrix, start=QUIET_MODULES):
        x = QUIET_MODULES
        for dark, modules in groupby(module & 1 for module in row):
            width = len(list(modules))
            if dark:
                path.append(f"M{x} {y}h{width}v1h-{width}z")
            x += width
    return Code(label, len(code.matrix) + 2 * QUIET_MODULES, "".join(path))
