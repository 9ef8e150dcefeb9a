"""The paths whose routes, threads, limits or redirects differ from those of ordinary pages.

``deploy/haproxy/leaguesite.cfg`` has the same paths and limits; ``tests/test_deploy.py`` holds it equal.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from league_sdk.protocol.limits import MAX_BODY_BYTES


def _in_any_case(word: str) -> str:
    return "".join(f"[{letter}{letter.upper()}]" if letter.isalpha() else letter for letter in word)


@dataclass(frozen=True, slots=True)
class AgentPath:
    """One path at which agents call the league manager; a slash at its end may be there or not.

    Attributes:
        path: without slashes around it; ``{league_id}`` stands for one part.
        name: the name of its route, which the metrics show.
        register: whether a name and an address are enough there, without JSON-RPC around them.
    """

    path: str
    name: str
    register: bool = False

    def pattern(self, league_id: str = "[^/]+") -> str:
        """The path as a regular expression, with this pattern for the league's id, to be matched in any case."""
        return self.path.replace("{league_id}", league_id)

    def pattern_in_any_case(self, league_id: str) -> str:
        """Like :meth:`pattern`, for Django's URLs; Django builds addresses with the first character of each class."""
        parts = [league_id if part == "{league_id}" else _in_any_case(part) for part in self.path.split("/")]
        return "/".join(parts)


AGENT_PATHS = (
    AgentPath("mcp", "mcp_endpoint"),
    AgentPath("leagues/{league_id}/mcp", "league_mcp_endpoint"),
    AgentPath("register", "register_endpoint", register=True),
    AgentPath("register_player", "register_endpoint", register=True),
    AgentPath("api/register", "register_endpoint", register=True),
    AgentPath("leagues/{league_id}/register", "league_register_endpoint", register=True),
)
INBOX, DELIVER = "inbox", "inbox/deliver"
"""The paths at which agents that dial out fetch messages and send answers, and referees deliver messages for them."""
INBOX_SOCKET = "ws/inbox"
AGENTS_PATTERN = f"({'|'.join([*(one.pattern() for one in AGENT_PATHS), INBOX, DELIVER])})/?$"
"""A pattern of all these paths but the socket's, without the slash in front."""
_IS_AGENTS = re.compile(f"/{AGENTS_PATTERN}", re.IGNORECASE)
NEVER_REDIRECTED = [f"(?i)^{AGENTS_PATTERN}", r"^(health|metrics)\b"]
"""Callers of these follow no redirect to https, or would lose their POST: agents, and monitoring."""
DESK = "/admin/"
LOGIN = f"{DESK}login/"
LEAGUES_OF_THE_DESK = f"{DESK}matches/league/"
IMPORTS = (f"{LEAGUES_OF_THE_DESK}import/", "/api/import")
"""The paths at which a whole league is imported: the desk's form, and the API."""
_API_PAPERS = re.compile("/api/leagues/[^/]+/(export/.*|evidence)")

BODY_TIMEOUT_S = 10.0
"""How long the head or the body of a request may take to arrive."""
MAX_FORM_BYTES = 2 * 1024 * 1024
"""The largest body of a page's form (a roster in the admin); of an agent's call it is ``MAX_BODY_BYTES``."""
MAX_IMPORT_BYTES, IMPORT_TIMEOUT_S = 65 * 1024 * 1024, 120.0
"""The limits of body and time for the import of a whole league."""


def is_agent_path(path: str) -> bool:
    """Whether a path is one that agents call."""
    return _IS_AGENTS.fullmatch(path) is not None


def is_paper_path(path: str) -> bool:
    """Whether a path reads or writes a whole league at once: exports, evidence sheets, the import."""
    if path in IMPORTS or _API_PAPERS.fullmatch(path):
        return True
    return path.startswith(LEAGUES_OF_THE_DESK) and "/papers/" in path


def body_limits(path: str) -> tuple[int, float]:
    """The size limit of a body at a path in bytes, and the time in seconds that it may take to arrive."""
    if path in IMPORTS:
        return MAX_IMPORT_BYTES, IMPORT_TIMEOUT_S
    return MAX_BODY_BYTES if is_agent_path(path) else MAX_FORM_BYTES, BODY_TIMEOUT_S
