"""What MCP wants of any agent that is a server of it."""

from __future__ import annotations

from league_sdk.conformance.clauses.rules import TOLERATED, Rule
from league_sdk.protocol.sentences import _

# fmt: off
FIRST = (
    Rule(
        "mcp.version", _("It says which MCP it speaks"),
        _("server/discover or initialize is answered as MCP says."), "MCP 2026-07-28; 2025-11-25, lifecycle",
        _("It speaks MCP {version}."),
        _("It takes tools/call, and answers neither server/discover nor initialize as MCP says: no client of MCP can "
          "connect to it. The league calls it all the same."), TOLERATED, for_some=True),
    Rule(
        "mcp.greeting", _("Its first answer is as MCP has it"),
        _("The result of server/discover or initialize has every field that MCP demands."),
        "MCP 2026-07-28, discovery; 2025-11-25, lifecycle",
        _("Every field is there."),
        _("{wrong}. The league calls it all the same; clients of MCP may not."), TOLERATED, for_some=True),
    Rule(
        "mcp.session", _("It keeps the session that it gave"),
        _("Calls with its Mcp-Session-Id, which is of visible ASCII characters, are answered until it is ended."),
        "MCP 2025-11-25, transports",
        _("Its session was taken each time."),
        _("{wrong}."), TOLERATED, for_some=True),
    Rule(
        "mcp.session_end", _("A session that was ended is over"),
        _("DELETE is answered with HTTP 405, or a call with that session afterwards with 404."),
        "MCP 2025-11-25, transports", "{ended}", "{wrong}.", TOLERATED, for_some=True),
    Rule(
        "mcp.list", _("Clients of MCP can read the list of its tools"),
        _("Each tool has a name and an inputSchema of type object."), "MCP, tools",
        _("Every tool can be read."),
        _("{wrong}. The league calls it all the same; clients of MCP may refuse the whole list."), TOLERATED,
        for_some=True),
)
"""Whether clients of MCP can connect and read what there is."""
RESULTS = Rule(
    "mcp.results", _("Its tools answer with results of MCP"),
    _("The result of tools/call has content, a list, and what its outputSchema promises."), "MCP, tools",
    _("They are as MCP has them."),
    _("{wrong}. The league reads it all the same; clients of MCP may not."), TOLERATED, for_some=True)
# fmt: on
"""Whether clients of MCP can read what a tool answers."""
