"""The documentation where ``make docs`` has not built it: the Markdown files, rendered like the other pages."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

from leaguesite.docs import sources

_COMMENT = re.compile(r"^<!--.*?-->\n", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Entry:
    """A page in a list of pages, or a heading in one of headings."""

    title: str
    address: str


@dataclass(frozen=True, slots=True)
class Text:
    """A page, rendered: its title, its HTML, its headings."""

    title: str
    html: SafeString
    headings: tuple[Entry, ...]


def listed(root: Path, base: str) -> list[tuple[str, list[Entry]]]:
    """The pages, grouped by the readers that they are for, as the first page (``docs/README.md``) lists them."""
    found, titles = sources.pages(root), sources.titles(root)
    index = found.get(sources.INDEX)
    groups = sources.groups(index.read_text(encoding="utf-8")) if index else [("", [*found])]
    return [
        (name, [Entry(titles[page], base + sources.address(page)) for page in pages if page in found])
        for name, pages in groups
    ]


def page_at(root: Path, path: str) -> str | None:
    """The page that has an address below ``/docs/``, with or without its last slash; None if none has."""
    return next((page for page in sources.pages(root) if sources.address(page).rstrip("/") == path.rstrip("/")), None)


def text(root: Path, page: str, base: str) -> Text:
    """A page, rendered."""
    file = sources.pages(root)[page]
    titles = tuple(sources.titles(root).items())
    return _render(file.read_text(encoding="utf-8"), page, base, frozenset(sources.pictures(root)), titles)


@lru_cache(maxsize=128)
def _render(markdown: str, page: str, base: str, pictures: frozenset[str], titles: tuple[tuple[str, str], ...]) -> Text:
    """Render Markdown; HTML in it is shown as text, since none of our pages needs any."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    without = _COMMENT.sub("", markdown)
    link = partial(_address, base=base, pictures=pictures)
    tokens = parser.parse(sources.relinked(without, page, link, dict(titles)))
    headings = []
    for opening, inline in itertools.pairwise(tokens):
        if opening.type == "heading_open":
            anchor = sources.slug(inline.content)
            opening.attrSet("id", anchor)
            if opening.tag == "h2":
                headings.append(Entry(inline.content.replace("`", ""), f"#{anchor}"))
    html: str = parser.renderer.render(tokens, parser.options, {})
    return Text(sources.title(markdown, page), mark_safe(html), tuple(headings))  # noqa: S308 - HTML in it is escaped


def _address(target: str, base: str, pictures: frozenset[str]) -> str:
    if target.endswith(".md") and "/" not in target.removeprefix("decisions/"):
        return base + sources.address(target)
    return base + target if target in pictures else ""
