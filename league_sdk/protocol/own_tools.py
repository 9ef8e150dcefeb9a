"""What our own servers call the list of their tools (ruling, section 3)."""

LIST_NAMES = frozenset({"list_tools", "tools/list"})
"""The course's name of the list, and that of MCP."""
