"""Which Markdown files are pages of the documentation, under which names, and where their links lead.

``deploy/docs/hook.py`` tells mkdocs the same, so a page has one address whether it was built or not. No Django here.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Callable, Mapping
from pathlib import Path

INDEX = "README.md"
"""The first page, in ``docs/``, which lists the others."""
ELSEWHERE = {
    "README.md": "start.md",
    "SECURITY.md": "security.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "examples/README.md": "examples.md",
}
"""Files outside ``docs/`` that are pages, too: from the repository's root, and the name that each has as a page."""
DIGEST = "sources.sha256"
"""The file of the built documentation that says which sources it was built from (:func:`digest`)."""
PICTURES = (".png", ".svg")
_LINK = re.compile(r"\[([^\[\]]*)\]\(([^)\s]+)\)")
_FENCED = re.compile(r"^(?: *```.*?^ *```$)", re.DOTALL | re.MULTILINE)


def slug(title: str, _separator: str = "-") -> str:
    """The anchor of a heading, as the tests and GitHub make it. mkdocs calls it, and passes a separator."""
    return re.sub(r"[^\w -]", "", title).strip().lower().replace(" ", "-")


def pages(root: Path) -> dict[str, Path]:
    """Every page of a checkout, by its name as a page, such as ``cli.md`` or ``decisions/0001-….md``."""
    docs = root / "docs"
    found = {page.relative_to(docs).as_posix(): page for page in sorted(docs.rglob("*.md"))}
    return found | {page: root / file for file, page in ELSEWHERE.items() if (root / file).is_file()}


def pictures(root: Path) -> dict[str, Path]:
    """Every picture of a checkout's pages, by its address below ``/docs/``."""
    docs = root / "docs"
    return {file.relative_to(docs).as_posix(): file for file in docs.rglob("*") if file.suffix in PICTURES}


def digest(root: Path) -> str:
    """A digest of all pages and pictures: documentation that was built with another digest is out of date."""
    content = hashlib.sha256()
    for page, file in sorted((pages(root) | pictures(root)).items()):
        content.update(f"{page} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return content.hexdigest()


def title(text: str, page: str) -> str:
    """The first heading of a page's Markdown, or its name."""
    heading = re.search(r"^# (.+)$", text, re.MULTILINE)
    return heading[1].replace("`", "") if heading else page


def titles(root: Path) -> dict[str, str]:
    """The title of every page."""
    return {page: title(file.read_text(encoding="utf-8"), page) for page, file in pages(root).items()}


def groups(index: str) -> list[tuple[str, list[str]]]:
    """The pages, grouped by reader and in order, as the text of the first page lists them under headings in bold."""
    parts = re.split(r"^\*\*([^*]+)\*\*", index, flags=re.MULTILINE)[1:]
    listed = zip(parts[::2], parts[1::2], strict=True)
    return [(name, [target(INDEX, link[2]) for link in _LINK.finditer(text)]) for name, text in listed]


def relinked(text: str, page: str, link: Callable[[str], str], titles: Mapping[str, str]) -> str:
    """A page's Markdown with every link to a file rewritten; code blocks stay as they are.

    Args:
        text: the Markdown.
        page: its name as a page.
        link: returns the address to write for a target (:func:`target`), without the anchor, which is kept; an empty
            text if the target has no address: then the words stay without a link.
        titles: the titles of the pages; a link whose text is the file's name gets the title instead.
    """

    def replace(match: re.Match[str]) -> str:
        path, mark, anchor = match[2].partition("#")
        if not path or ":" in path or path.startswith("/"):
            return match[0]
        linked = target(page, path)
        new_address = link(linked)
        words = titles.get(linked, path) if match[1] == path else match[1]
        return f"[{words}]({new_address}{mark}{anchor})" if new_address else words

    parts, at = [], 0
    for block in _FENCED.finditer(text):
        parts += [_LINK.sub(replace, text[at : block.start()]), block[0]]
        at = block.end()
    return "".join([*parts, _LINK.sub(replace, text[at:])])


def target(page: str, path: str) -> str:
    """The target of a page's relative link: the name of a page, or a path from ``docs/`` or the repository's root."""
    file = next((outside for outside, name in ELSEWHERE.items() if name == page), f"docs/{page}")
    linked = posixpath.normpath(posixpath.join(posixpath.dirname(file), path))
    if linked in ELSEWHERE:
        return ELSEWHERE[linked]
    return linked.removeprefix("docs/")


def address(page: str) -> str:
    """The address of a page below ``/docs/``, such as ``cli/``; that of the first page is empty."""
    stem = page.removesuffix(".md")
    if posixpath.basename(page) == INDEX:
        stem = posixpath.dirname(page)
    return f"{stem}/" if stem else ""
