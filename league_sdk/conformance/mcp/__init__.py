"""What MCP wants of agents that are servers of it: versions, sessions, lists of tools, results."""
