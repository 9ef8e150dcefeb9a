"""Finds names in a page that can change the direction of the words beside them (Unicode's bidirectional algorithm).

A name may be in Hebrew in an English sentence, or the reverse. It is safe if it is isolated: in ``<bdi>``, in an
element with ``dir="auto"`` or ``dir="ltr"``, or between U+2068 and U+2069.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html.parser import HTMLParser

_VOID = frozenset(("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"))
"""Elements without an end tag."""
_SEPARATE = frozenset(("bdi", "code", "pre", "textarea", "script", "style", "template"))
"""Elements whose text does not affect the text around them."""
_TEXT_ATTRIBUTES = frozenset(("alt", "aria-label", "aria-description", "content", "placeholder", "title"))
"""Attributes whose values are shown or read to people."""
_ISOLATED = re.compile("\u2068[^\u2068\u2069]*\u2069")
_CODE = re.compile(r"\b(?:REF|P|R\d+M)\d+\b|#?\d+|[\W_]")
"""The texts that may be next to a name: characters without a direction of their own, and ids, as in "P01 Alpha"."""


class _Reader(HTMLParser):
    """Collects the texts in which names may be mixed with others."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._open: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.texts += [
            text for name, text in attributes.items() if name in _TEXT_ATTRIBUTES or name.startswith("data-word")
        ]
        if tag not in _VOID:
            self._open.append((tag, tag in _SEPARATE or attributes.get("dir") in ("auto", "ltr")))

    def handle_endtag(self, tag: str) -> None:
        for number in reversed(range(len(self._open))):
            if self._open[number][0] == tag:
                del self._open[number:]
                return

    def handle_data(self, data: str) -> None:
        if not any(separate for _tag, separate in self._open):
            self.texts.append(data)


def not_isolated(html: str, names: Iterable[str]) -> list[str]:
    """The texts of a page in which a name stands beside words and is not isolated, or an isolate is not closed."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    found = []
    for text in (" ".join(one.split()) for one in reader.texts):
        rest = _ISOLATED.sub(" ", text)
        if "\u2068" in rest or "\u2069" in rest:
            found.append(f"open: {text[:160]}")
        for name in names:
            if name in rest and _CODE.sub("", rest.replace(name, "")):
                found.append(text[:200])
    return found
