"""All foreign agents by name."""

from __future__ import annotations

from tests.bots.base import bots_in
from tests.bots.foreign_agents import entering, mcp, new_era, processes, speaking, wire
from tests.bots.foreign_agents.base import ForeignAgent

FOREIGN_AGENTS = bots_in(ForeignAgent, wire, mcp, new_era, speaking, entering, processes)
