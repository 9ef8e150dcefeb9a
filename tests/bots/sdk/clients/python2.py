"""A client made with version 2 of MCP's Python SDK, in the mode of the variable MODE: auto, legacy, or a version."""

import asyncio
import os

from mcp import Client
from mcp.client.subscriptions import ResourceUpdated
from mcp_types import ResourceUpdatedNotification
from playing import LEAGUE_URL, STANDINGS, show, take_part


class Adapter:
    """The SDK's client, with the coroutines that :func:`playing.take_part` calls."""

    def __init__(self, client):
        self._client = client

    async def lists(self):
        """The names in every list."""
        templates = await self._client.list_resource_templates()
        return {
            "tools": [one.name for one in (await self._client.list_tools()).tools],
            "resources": [str(one.uri) for one in (await self._client.list_resources()).resources],
            "templates": [one.uri_template for one in templates.resource_templates],
            "prompts": [one.name for one in (await self._client.list_prompts()).prompts],
        }

    async def read(self, uri):
        """The text of a resource."""
        return (await self._client.read_resource(uri)).contents[0].text

    async def prompt(self, name, arguments):
        """The text of a prompt."""
        return (await self._client.get_prompt(name, arguments)).messages[0].content.text

    async def call(self, name, arguments):
        """Call a tool; returns its answer."""
        result = await self._client.call_tool(name, arguments)
        assert not result.is_error, result
        return result.structured_content


async def main():
    """Take part in the league, with the kind of subscription that the agreed protocol version has."""
    change = asyncio.Event()

    async def on_message(message):
        if isinstance(message, ResourceUpdatedNotification) and str(message.params.uri) == STANDINGS:
            change.set()

    async def follow(subscription):
        async for event in subscription:
            if isinstance(event, ResourceUpdated) and str(event.uri) == STANDINGS:
                change.set()

    mode = os.environ["MODE"]
    async with Client(LEAGUE_URL, mode=mode, message_handler=on_message) as client:
        show(version=client.protocol_version)
        if mode == "legacy":
            await client.subscribe_resource(STANDINGS)
            await take_part(Adapter(client), change)
            return
        async with client.listen(resource_subscriptions=[STANDINGS]) as subscription:
            following = asyncio.create_task(follow(subscription))
            await take_part(Adapter(client), change)
            following.cancel()


if __name__ == "__main__":
    asyncio.run(main())
