"""A client made with fastmcp; for subscriptions it uses the session of the SDK on which fastmcp is built."""

import asyncio

from fastmcp import Client
from mcp.client.subscriptions import listen
from playing import LEAGUE_URL, STANDINGS, show, take_part


class Adapter:
    """fastmcp's client, with the coroutines that :func:`playing.take_part` calls."""

    def __init__(self, client):
        self._client = client

    async def lists(self):
        """The names in every list."""
        return {
            "tools": [one.name for one in await self._client.list_tools()],
            "resources": [str(one.uri) for one in await self._client.list_resources()],
            "templates": [one.uri_template for one in await self._client.list_resource_templates()],
            "prompts": [one.name for one in await self._client.list_prompts()],
        }

    async def read(self, uri):
        """The text of a resource."""
        return (await self._client.read_resource(uri))[0].text

    async def prompt(self, name, arguments):
        """The text of a prompt."""
        return (await self._client.get_prompt(name, arguments)).messages[0].content.text

    async def call(self, name, arguments):
        """Call a tool; returns its answer, raises its error."""
        return (await self._client.call_tool(name, arguments)).structured_content


async def main():
    """Take part in the league."""
    change = asyncio.Event()

    async def follow(subscription):
        async for event in subscription:
            if str(event.uri) == STANDINGS:
                change.set()

    async with Client(LEAGUE_URL) as client:
        show(version=client.protocol_version)
        async with listen(client.session, resource_subscriptions=[STANDINGS]) as subscription:
            following = asyncio.create_task(follow(subscription))
            await take_part(Adapter(client), change)
            following.cancel()


if __name__ == "__main__":
    asyncio.run(main())
