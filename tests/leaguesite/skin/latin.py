"""Finds what is not translated on a Hebrew page: words in Latin letters in its text and in its attributes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from html.parser import HTMLParser

_VOID = frozenset(("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"))
_NO_WORDS = frozenset(("script", "style", "template", "code", "pre", "kbd", "samp", "bdi", "textarea"))
"""Elements whose text is not shown, or is code, or was written by somebody."""
_TEXT_ATTRIBUTES = frozenset(("alt", "aria-description", "aria-label", "aria-roledescription", "placeholder", "title"))
"""Attributes that a browser or a screen reader shows; those that scripts show begin with ``data-word``."""
_CODES = re.compile(
    r"""
    https?://\S+ | \S+@\S+\.\w+ | \b[\w.]+:\d+/\S*  # addresses
    | [\w/-]+\.(?:csv|json|md|zip)\b                # files
    | \b[A-Z]+=\S+ | --[a-z-]+ | manage\.py\ \w+   # settings, options and commands
    | \S*\*{6,}                                     # secrets that are not shown
    | \{\w+\}                                       # what a script fills in
    | \b[A-Za-z\d]*_[A-Za-z_\d]+\b                  # names of messages, fields and settings
    | \b[a-z]+\.[a-z_-]+\b                          # names of actions in the log of who did what
    | \b(?:REF|E|P|R\d+M)\d+\b                      # ids of agents, errors and matches
    | \b[0-9a-f]{32,}\b                             # digests
    """,
    re.VERBOSE,
)
_ISOLATED = re.compile("\u2068[^\u2068\u2069]*\u2069")
"""A name or a quotation in a sentence (``agents_registry.isolating``)."""
_TIME = re.compile(r"\b\d{1,2}:\d{2}\b(?!:\d{2}:)|\b20\d\d-\d\d-\d\d\b")
_WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*")


class _Reader(HTMLParser):
    """Collects what a page says."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        # The texts outside <time>, whose times a script writes in the reader's zone.
        self.timeless: list[str] = []
        self._open: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        foreign = (
            attributes.get("lang") == "en"
            or attributes.get("translate") == "no"
            or "material-symbols" in attributes.get("class", "")
        )
        if not self._is_silent() and not foreign:
            self.texts += [
                text for name, text in attributes.items() if name in _TEXT_ATTRIBUTES or name.startswith("data-word")
            ]
            if tag == "input" and attributes.get("type") in ("submit", "button"):
                self.texts.append(attributes.get("value", ""))
        if tag not in _VOID:
            self._open.append((tag, foreign or tag in _NO_WORDS))

    def handle_endtag(self, tag: str) -> None:
        for number in reversed(range(len(self._open))):
            if self._open[number][0] == tag:
                del self._open[number:]
                return

    def handle_data(self, data: str) -> None:
        if not self._is_silent():
            self.texts.append(data)
            if not any(tag == "time" for tag, _ in self._open):
                self.timeless.append(data)

    def _is_silent(self) -> bool:
        return any(silent for _, silent in self._open)


def texts_of(html: str) -> list[str]:
    """Every text of a page that somebody reads or hears."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return [" ".join(text.split()) for text in reader.texts if text.strip()]


def times_without_zone(html: str) -> list[str]:
    """The texts of a page with a time that no script writes in the reader's zone, and that do not say UTC."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return [" ".join(text.split()) for text in reader.timeless if _TIME.search(text) and "UTC" not in text]


def latin(texts: Iterable[str], allowed: Collection[str], written: Iterable[str] = ()) -> list[str]:
    """The texts with a word in Latin letters that is neither a code nor a name nor allowed, each with its words.

    Args:
        texts: the texts of a page.
        allowed: words.
        written: what people wrote themselves: it is left out wherever it stands.
    """
    own = sorted({" ".join(text.split()) for text in written if text}, key=len, reverse=True)
    found = []
    for text in texts:
        rest = _CODES.sub(" ", _ISOLATED.sub(" ", text))
        for one in own:
            rest = rest.replace(one, " ")
        words = [word for word in _WORD.findall(rest) if word not in allowed]
        if words:
            found.append(f"{' '.join(words)}: {text[:160]}")
    return found


ALLOWED = frozenset(
    (
        # Protocols, formats, units, programs, and what stands in a program's own text.
        *(
            "API",
            "CSV",
            "DELETE",
            "HMAC-SHA",
            "SHA-",
            "md",
            "salt",
            "HTTP",
            "ID",
            "JSON",
            "JSON-RPC",
            "LDAP",
            "MB",
            "MCP",
            "POST",
            "UTC",
            "WebSocket",
        ),
        *("ZIP", "JavaScript", "Node", "Python", "curl", "localhost", "leaguesite", "canonical", "YOUR-TOKEN"),
        # Django's Hebrew has these.
        *("Single", "Sign-On", "Control", "Command"),
        # The names of the games.
        *("Even", "Odd", "Tic-Tac-Toe", "Connect", "Four"),
    )
)
"""Words that stand on a Hebrew page as they are; ``Even/Odd with numbers`` is left out as a whole."""
PROTOCOL = frozenset(
    (
        *(
            "accept",
            "choice",
            "error",
            "id",
            "jsonrpc",
            "league",
            "params",
            "ping",
            "player",
            "protocol",
            "result",
            "sender",
        ),
        *("status", "success", "timestamp", "v"),
        *("true", "false", "null", "even", "odd", "EVEN", "ACCEPTED", "WIN", "DRAW", "CANCELLED"),
        *("tools", "list", "call", "server", "discover", "initialize", "content"),
        *("session", "Mcp-Session-Id", "ASCII", "inputSchema", "outputSchema", "object"),
        *("Content-Type", "Content-Length", "application", "json", "KiB", "Z", "YYYY-MM-DDTHH", "MM", "SSZ"),
    )
)
"""Words of the protocol that a report of a check names; they stay in Latin letters."""
GAMES = ("Even/Odd with numbers",)
