"""``python -m tests.machines.listener URL [plain]``: listens to a group of the channel layer.

It prints ``listening``, and a line for each message.
``plain``: over redis-py's own connections, to show what they do at a cut link. The kernel ends them as soon as ours.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from channels_redis.pubsub import RedisPubSubChannelLayer
from redis.asyncio import Connection

from storage.redis_links import Layer, options

GROUP = "machines"


async def _listen(layer: Any) -> None:
    channel = await layer.new_channel()
    await layer.group_add(GROUP, channel)
    print("listening", flush=True)
    while True:
        await layer.receive(channel)
        print("heard", flush=True)


if __name__ == "__main__":
    url = sys.argv[1]
    # No health checks: they would mostly end the connection before its receiver reads from it again.
    kept = ("host", "port", "db", "socket_keepalive_options")
    plain = {"connection_class": Connection} | {name: value for name, value in options(url).items() if name in kept}
    asyncio.run(_listen(RedisPubSubChannelLayer(hosts=[plain]) if "plain" in sys.argv else Layer(url)))
