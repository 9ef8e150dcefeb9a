"""POST /mcp: the dispatcher, methods, tools, admission."""
