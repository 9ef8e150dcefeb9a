"""The cursor of a long poll: which of the messages that wait for it an agent has already.

It names these messages themselves. So it means the same at every process and after a restart, and a cursor that cannot
be read, or none, means that the agent has nothing: it is offered everything that is unanswered (ruling, section 13).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from matches.inbox.hub import MAX_OFFERS_PER_AGENT

_CURSOR = re.compile(r"[0-9a-f]{1,14}(-[0-9a-f]{1,14})*")
MAX_CURSOR_CHARS = 15 * MAX_OFFERS_PER_AGENT
NOTHING = "0"
"""The cursor of an agent for which nothing waits."""


def write(ids: Iterable[int]) -> str:
    """The cursor of an agent that has these messages."""
    return "-".join(f"{number:x}" for number in sorted(ids)) or NOTHING


def read(text: str) -> set[int]:
    """The messages that an agent with this cursor has received; empty for anything that is not a cursor."""
    if len(text) > MAX_CURSOR_CHARS or not _CURSOR.fullmatch(text):
        return set()
    return {int(part, 16) for part in text.split("-")} - {0}
