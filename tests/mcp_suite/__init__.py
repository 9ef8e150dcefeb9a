"""The official conformance suite of MCP against our server core and our client, and the fixtures that it calls."""
