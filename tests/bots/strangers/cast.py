"""Every stranger by its name."""

from __future__ import annotations

from tests.bots.strangers.base import Stranger
from tests.bots.strangers.elsewhere import ELSEWHERE
from tests.bots.strangers.entering import ENTERING
from tests.bots.strangers.mcp import MCP
from tests.bots.strangers.speaking import SPEAKING
from tests.bots.strangers.wire import WIRE

STRANGERS: dict[str, type[Stranger]] = {kind.__name__: kind for kind in (*WIRE, *MCP, *SPEAKING, *ENTERING, *ELSEWHERE)}
