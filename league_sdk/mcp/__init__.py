"""The Model Context Protocol for our servers, in both eras: from HTTP requests to replies of bytes or of a stream.

It knows no HTTP library, no database and no league. A server fills a :class:`~league_sdk.mcp.registry.Registry` and
mounts a :class:`~league_sdk.mcp.server.McpServer` at a path (``docs/decisions/0028-one-mcp-core.md``).
"""
