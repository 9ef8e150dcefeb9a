"""The paths that are served in a way of their own: routes, threads, limits and exceptions follow from here.

``deploy/nginx/leaguesite.conf`` has the same paths and limits; ``tests/test_deploy.py`` holds it equal.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from league_sdk.protocol.limits import MAX_BODY_BYTES


@dataclass(frozen=True, slots=True)
class AgentPath:
    """One path at which agents call the league manager; a slash at its end may be there or not.

    Attributes:
        path: without the slashes around it; ``{league_id}`` stands for one part.
        name: of its route, which the metrics show.
        register: whether a name and an address are enough there, without JSON-RPC around them.
    """

    path: str
    name: str
    register: bool = False

    def pattern(self, league_id: str = "[^/]+") -> str:
        """The path as a regular expression, with this one in the place of the league's id."""
        return self.path.replace("{league_id}", league_id)


AGENT_PATHS = (
    AgentPath("mcp", "mcp_endpoint"),
    AgentPath("leagues/{league_id}/mcp", "league_mcp_endpoint"),
    AgentPath("register", "register_endpoint", register=True),
    AgentPath("register_player", "register_endpoint", register=True),
    AgentPath("api/register", "register_endpoint", register=True),
    AgentPath("leagues/{league_id}/register", "league_register_endpoint", register=True),
)
AGENTS_PATTERN = f"({'|'.join(one.pattern() for one in AGENT_PATHS)})/?$"
"""All of them, without the slash in front."""
_IS_AGENTS = re.compile(f"/{AGENTS_PATTERN}")
NEVER_REDIRECTED = [f"^{AGENTS_PATTERN}", r"^(health|metrics)\b"]
"""Who calls these follows no redirect to https, or would lose its POST: agents, and what watches over the site."""
DESK = "/admin/"
LOGIN = f"{DESK}login/"
LEAGUES_OF_THE_DESK = f"{DESK}matches/league/"
IMPORT = f"{LEAGUES_OF_THE_DESK}import/"
"""Takes the export of a whole league."""

BODY_LIMIT_S = 10.0
"""How long a head or a body may take to arrive."""
FORM_BYTES = 2 * 1024 * 1024
"""The largest body of a page's form (a roster in the admin); of an agent's call it is ``MAX_BODY_BYTES``."""
LEAGUE_BYTES, LEAGUE_LIMIT_S = 65 * 1024 * 1024, 120.0
"""The same for the export of a whole league."""


def is_agent_path(path: str) -> bool:
    """Whether a path is one that agents call."""
    return _IS_AGENTS.fullmatch(path) is not None


def is_paper_path(path: str) -> bool:
    """Whether a path reads or writes a whole league at once: exports, evidence sheets, the import."""
    return path.startswith(LEAGUES_OF_THE_DESK) and ("/papers/" in path or path == IMPORT)


def body_cap(path: str) -> tuple[int, float]:
    """The most bytes that a body may have at a path, and the seconds it may take to arrive."""
    if path == IMPORT:
        return LEAGUE_BYTES, LEAGUE_LIMIT_S
    return MAX_BODY_BYTES if is_agent_path(path) else FORM_BYTES, BODY_LIMIT_S
