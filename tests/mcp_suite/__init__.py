"""The official conformance suite of MCP against our server core, and the fixtures that it calls by name."""
