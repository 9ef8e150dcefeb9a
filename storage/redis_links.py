"""Connections to Redis that notice a link that is cut (decision 42)."""

from __future__ import annotations

import socket
from typing import Any

from channels_redis.pubsub import RedisPubSubChannelLayer
from redis.asyncio import Connection, SSLConnection, UnixDomainSocketConnection
from redis.asyncio.connection import parse_url
from redis.asyncio.retry import Retry
from redis.backoff import ConstantBackoff
from redis.exceptions import ConnectionError as RedisConnectionError

ANSWER_TIMEOUT_S = 2.0
"""How long Redis may take to answer a command, and to be connected with."""
HEALTH_CHECK_INTERVAL_S = 5.0
"""After this long without a message a connection is asked whether it still works."""
DEAD_AFTER_MS = 4000
"""How long what was sent may stay unacknowledged; the kernel then ends the connection."""
MAX_CONNECTIONS = 10_000
"""Without a limit that it is told, redis-py ends at a hundred, and messages are lost."""
RETRIES, RETRY_PAUSE_S = 2, 0.2
"""How often a command or a connection is tried again at once, and after which pause."""


class _KnowsItsEnd:
    """Ends a connection whose socket has timed out.

    In Python 3.11 the ETIMEDOUT of a socket is a ``TimeoutError``, which redis-py takes for the end of its own waiting:
    it keeps the connection and returns that no message has come. The next read fails at once in the same way, for ever.
    What redis-py itself waits for it ends from outside, by a cancellation, so a ``TimeoutError`` here is the socket's.
    """

    async def _read_response_from_parser(self, *args: Any, **options: Any) -> Any:
        try:
            return await super()._read_response_from_parser(*args, **options)  # type: ignore[misc]
        except TimeoutError as error:
            raise RedisConnectionError(f"the link to Redis is cut: {error}") from error


class Link(_KnowsItsEnd, Connection):
    """A connection by TCP."""


class SecureLink(_KnowsItsEnd, SSLConnection):
    """A connection by TLS."""


class Layer(RedisPubSubChannelLayer):
    """The channel layer, over connections that know their end.

    Args:
        url: as of :func:`options`.
    """

    def __init__(self, url: str, **further: Any) -> None:
        super().__init__(hosts=[{**options(url), "max_connections": MAX_CONNECTIONS}], **further)


def options(url: str) -> dict[str, Any]:
    """What a pool of connections to a Redis is told, so that no call waits for long and no read spins.

    Args:
        url: ``redis://``, ``rediss://`` or ``unix://``. A socket of this machine cannot be cut, and is not watched.
    """
    alive = {"TCP_KEEPIDLE": 2, "TCP_KEEPINTVL": 1, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": DEAD_AFTER_MS}
    # Read here: a pool that is made from an address chooses the class of its connections itself.
    target = dict(parse_url(url))
    kind = target.get("connection_class")
    limits = {
        "socket_timeout": ANSWER_TIMEOUT_S,
        "health_check_interval": HEALTH_CHECK_INTERVAL_S,
        "retry": Retry(ConstantBackoff(RETRY_PAUSE_S), RETRIES),
    }
    if kind is UnixDomainSocketConnection:
        return target | limits
    return (
        target
        | limits
        | {
            "connection_class": SecureLink if kind is SSLConnection else Link,
            "socket_connect_timeout": ANSWER_TIMEOUT_S,
            "socket_keepalive": True,
            # Not every system has all of them.
            "socket_keepalive_options": {
                getattr(socket, name): value for name, value in alive.items() if hasattr(socket, name)
            },
        }
    )
