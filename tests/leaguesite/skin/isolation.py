"""Names that stand in a text beside other words, and are not set apart from them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html.parser import HTMLParser

_ENDLESS = frozenset(("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"))
_APART = frozenset(("bdi", "code", "pre", "textarea", "script", "style", "template"))
_SAID = frozenset(("alt", "aria-label", "aria-description", "content", "placeholder", "title"))
_ISOLATED = re.compile("\u2068[^\u2068\u2069]*\u2069")
_CODE = re.compile(r"\b(?:REF|P|R\d+M)\d+\b|#?\d+|[\W_]")
"""What lies beside a name without a direction of its own, or is a code, as in "P01 Alpha"."""


class _Reader(HTMLParser):
    """Collects the texts in which names may be mixed with others."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.unbalanced: list[str] = []
        self._open: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.texts += [text for name, text in given.items() if name in _SAID or name.startswith("data-word")]
        if tag not in _ENDLESS:
            self._open.append((tag, tag in _APART or given.get("dir") in ("auto", "ltr")))

    def handle_endtag(self, tag: str) -> None:
        for number in reversed(range(len(self._open))):
            if self._open[number][0] == tag:
                del self._open[number:]
                return

    def handle_data(self, data: str) -> None:
        if not any(apart for _tag, apart in self._open):
            self.texts.append(data)


def not_isolated(html: str, names: Iterable[str]) -> list[str]:
    """The texts of a page in which a name stands beside words and is not isolated, and those with open isolates."""
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
