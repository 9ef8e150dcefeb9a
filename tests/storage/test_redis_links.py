"""Connections to Redis whose link is cut: packets are lost, and nothing is closed."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.utils.module_loading import import_string
from redis.asyncio import ConnectionPool, UnixDomainSocketConnection
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import ConnectionError as RedisConnectionError

from leaguesite.environment import channel_layer
from storage import redis_links
from tests.e2e.servers import Redis


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[Redis]:
    server = Redis(tmp_path)
    try:
        yield server
    finally:
        server.kill()


def _cut(connection: Any) -> None:
    """What the kernel does when what was sent was not acknowledged for long: every read fails, for ever."""
    connection._reader.set_exception(TimeoutError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT)))


async def test_a_cut_connection_ends_in_place_of_saying_that_nothing_came(redis: Redis) -> None:
    pool: Any = ConnectionPool(**redis_links.options(redis.url))
    connection = await pool.get_connection()
    assert await connection.read_response(timeout=0.001) is None
    _cut(connection)
    with pytest.raises(RedisConnectionError, match="cut"):
        await connection.read_response(timeout=0.001)
    assert not connection.is_connected
    await pool.aclose()


async def test_a_layer_hears_again_after_its_link_was_cut(redis: Redis) -> None:
    config = channel_layer(redis.url)
    layer = import_string(config["BACKEND"])(**config["CONFIG"])
    channel = await layer.new_channel()
    await layer.group_add("inbox", channel)
    [shard] = layer._get_layer()._shards
    _cut(shard._pubsub.connection)

    async def say() -> None:
        while True:
            await layer.group_send("inbox", {"type": "a.message"})
            await asyncio.sleep(0.05)

    saying = asyncio.create_task(say())
    assert await asyncio.wait_for(layer.receive(channel), 10) == {"type": "a.message"}
    saying.cancel()
    await asyncio.wait({saying})
    await layer.flush()


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("redis://host:6379/0", redis_links.Link),
        ("rediss://host/0", redis_links.SecureLink),
        ("unix:///run/redis.sock?db=1", UnixDomainSocketConnection),
    ],
)
def test_a_connection_can_be_made_to_every_kind_of_address(url: str, kind: type[AbstractConnection]) -> None:
    pool: Any = ConnectionPool(**redis_links.options(url))
    connection = pool.make_connection()
    assert type(connection) is kind
    assert connection.socket_timeout == redis_links.ANSWER_TIMEOUT_S
