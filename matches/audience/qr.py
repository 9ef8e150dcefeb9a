"""QR codes, drawn into the page itself: one colour, that of the text around, so that light and dark are free."""

from __future__ import annotations

import segno
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

QUIET = 4
"""Modules of free margin that ISO/IEC 18004 asks for on every side."""


def svg(text: str, *, label: str) -> SafeString:
    """A QR code as inline SVG, as large as its box; the error correction is M (15 %) or better.

    It is drawn in ``currentColor`` on nothing: the page gives it a light ground (cameras want dark on light).

    Args:
        text: what is read by the camera, such as an address.
        label: what it leads to, for those who do not see it.

    Raises:
        ValueError: the text is empty or longer than a code can hold.
    """
    if not text:
        raise ValueError("a QR code of nothing")
    code = segno.make(text, error="m", micro=False)
    size = code.symbol_size(border=0)[0] + 2 * QUIET
    path = "".join(_rows(code))
    # Only digits and the letters of a path: nothing of the text gets into the markup.
    drawn = mark_safe(f'<path fill="currentColor" d="{escape(path)}"/>')  # noqa: S308
    return format_html(
        '<svg class="qr" role="img" aria-label="{}" viewBox="0 0 {} {}" shape-rendering="crispEdges">{}</svg>',
        label,
        size,
        size,
        drawn,
    )


def _rows(code: segno.QRCode) -> list[str]:
    """The dark modules, each run of a row as one rectangle."""
    found = []
    for y, row in enumerate(code.matrix):
        x = 0
        while x < len(row):
            run = x
            while run < len(row) and row[run] & 1:
                run += 1
            if run > x:
                found.append(f"M{x + QUIET} {y + QUIET}h{run - x}v1h-{run - x}z")
            x = run + 1
    return found
