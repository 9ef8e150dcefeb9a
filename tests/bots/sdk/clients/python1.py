"""A client made with version 1 of MCP's Python SDK."""

import asyncio

from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ResourceUpdatedNotification, ServerNotification
from playing import LEAGUE_URL, STANDINGS, show, take_part
from pydantic import AnyUrl


class Adapter:
    """The SDK's session, with the coroutines that :func:`playing.take_part` calls."""

    def __init__(self, session):
        self._session = session

    async def lists(self):
        """The names in every list."""
        templates = await self._session.list_resource_templates()
        return {
            "tools": [one.name for one in (await self._session.list_tools()).tools],
            "resources": [str(one.uri) for one in (await self._session.list_resources()).resources],
            "templates": [one.uriTemplate for one in templates.resourceTemplates],
            "prompts": [one.name for one in (await self._session.list_prompts()).prompts],
        }

    async def read(self, uri):
        """The text of a resource."""
        return (await self._session.read_resource(AnyUrl(uri))).contents[0].text

    async def prompt(self, name, arguments):
        """The text of a prompt."""
        return (await self._session.get_prompt(name, arguments)).messages[0].content.text

    async def call(self, name, arguments):
        """Call a tool; returns its answer."""
        result = await self._session.call_tool(name, arguments)
        assert not result.isError, result
        return result.structuredContent


async def main():
    """Take part in the league."""
    change = asyncio.Event()

    async def on_message(message):
        update = message.root if isinstance(message, ServerNotification) else None
        if isinstance(update, ResourceUpdatedNotification) and str(update.params.uri) == STANDINGS:
            change.set()

    async with (
        streamable_http_client(LEAGUE_URL) as (read, write, _session_id),
        ClientSession(read, write, message_handler=on_message) as session,
    ):
        show(version=(await session.initialize()).protocolVersion)
        await session.subscribe_resource(AnyUrl(STANDINGS))
        await take_part(Adapter(session), change)


if __name__ == "__main__":
    asyncio.run(main())
