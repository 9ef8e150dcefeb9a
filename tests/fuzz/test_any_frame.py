"""Any frames on the sockets, many sockets at once: the server neither fails nor forgets the others."""

from __future__ import annotations

import asyncio
import gzip
import json
from typing import Any

import pytest
from channels.testing import WebsocketCommunicator
from hypothesis import given
from hypothesis import strategies as st

from leaguesite.asgi import application
from matches.hub import hub
from tests.fuzz.messages import ODD
from tests.fuzz.profile import long, many, seeded
from tests.fuzz.site import PATIENCE_S, Site, told
from tests.fuzz.world import World

QUICK, LONG = 40, 1_000
SHARDS = 2
PATHS = [
    *("/ws/leagues/", "/ws/leagues/winter/", "/ws/leagues/winter/matches/R1M1/", "/ws/leagues/winter/players/P01/"),
    *("/ws/leagues/fall/screen/", "/ws/leagues/fall/join/", "/ws/leagues/winter/charts/", "/ws/leagues/nowhere/"),
    *("/ws/leagues/winter/matches/R9M9/", "/ws/checks/00000000-0000-4000-8000-000000000000/"),
]
QUERIES = [
    "",
    "?packed=gzip",
    "?language=he",
    "?as=staff",
    "?packed=gzip&language=xx&as=",
    "?%ff=%00&language=\x00",
    "?" + "a=b&" * 300,
]
RESYNC = {"type": "resync"}


def frames() -> st.SearchStrategy[str | bytes]:
    """Acknowledgements, wishes for a snapshot, and everything that is neither."""
    odd = st.sampled_from(ODD)
    kind = st.sampled_from(["ack", "resync", "ACK", "frame", "snapshot", "heartbeat", "", None, 0, [], {}])
    near = st.builds(
        lambda word, seq, more: {"type": word, "seq": seq, **more}, kind, odd, st.sampled_from([{}, {"x": 1}])
    )
    text = (near | odd).map(json.dumps) | st.sampled_from(
        ['{"type":', "[" * 190, "9" * 200, "\x00", "ping", " " * 70_000]
    )
    return text | text | text | st.text(max_size=300) | st.binary(max_size=300)


Scene = tuple[list[tuple[str, str]], list[tuple[int, str | bytes]]]


def scenes() -> st.SearchStrategy[Scene]:
    """Sockets by their addresses, and what is said on which of them."""
    sockets = st.lists(st.tuples(st.sampled_from(PATHS), st.sampled_from(QUERIES)), min_size=1, max_size=4)
    return st.tuples(sockets, st.lists(st.tuples(st.integers(0, 3), frames()), min_size=1, max_size=12))


def read(message: dict[str, Any]) -> dict[str, Any]:
    """What the server sent, as a browser reads it."""
    assert message["type"] == "websocket.send"
    packed = message.get("bytes")
    found = json.loads(gzip.decompress(packed) if packed is not None else message["text"])
    assert found["type"] in ("snapshot", "frame", "heartbeat")
    assert isinstance(found["seq"], int)
    if found["type"] != "heartbeat":
        assert all(isinstance(html, str) for html in found["fragments"].values())
    return found


async def snapshot(socket: WebsocketCommunicator) -> dict[str, Any]:
    """Wait for a snapshot; what came before it is acknowledged."""
    while True:
        found = read(await socket.receive_output(timeout=PATIENCE_S))
        if found["type"] != "heartbeat":
            await socket.send_to(text_data=json.dumps({"type": "ack", "seq": found["seq"]}))
        if found["type"] == "snapshot":
            return found


async def play(scene: Scene) -> int:
    """Open the sockets, say everything, then see that each of them still answers; how many frames were sent."""
    addresses, said = scene
    calm = WebsocketCommunicator(application, "/ws/leagues/winter/", headers=[(b"origin", b"http://testserver")])
    assert (await calm.connect(timeout=PATIENCE_S))[0]
    await snapshot(calm)
    open_: list[WebsocketCommunicator] = []
    for path, query in addresses:
        socket = WebsocketCommunicator(application, path + query, headers=[(b"origin", b"http://testserver")])
        accepted, code = await socket.connect(timeout=PATIENCE_S)
        if not accepted:
            assert code == 4403
            continue
        first = await socket.receive_output(timeout=PATIENCE_S)
        if first["type"] == "websocket.close":
            assert first["code"] == 4404
            continue
        assert read(first)["type"] == "snapshot"
        open_.append(socket)
    for number, frame in said if open_ else ():
        socket = open_[number % len(open_)]
        kind = "text" if isinstance(frame, str) else "bytes"
        await socket.send_input({"type": "websocket.receive", kind: frame})
    for socket in [*open_, calm]:
        # As often as frames can be on their way.
        for _ in range(3):
            await socket.send_to(text_data=json.dumps({"type": "ack", "seq": 1}))
        await socket.send_to(text_data=json.dumps(RESYNC))
        assert (await snapshot(socket))["fragments"]
    for socket in [*open_, calm]:
        await socket.disconnect(timeout=PATIENCE_S)
    assert hub.sockets == 0
    return len(said)


async def finish() -> None:
    """Nothing of the hub is left on this loop."""
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def run(site: Site, count: int, shard: int = 0) -> int:
    sent = 0

    @many(count)
    @seeded
    @given(scene=scenes())
    def one(scene: Scene) -> None:
        nonlocal sent
        site.errors.seen.clear()
        with told(scene):
            sent += site.loop.run_until_complete(asyncio.wait_for(play(scene), 2 * PATIENCE_S))
            assert not site.errors.seen

    one.hypothesis.inner_test._hypothesis_internal_add_digest = f"frames-{shard}".encode()
    try:
        one()
    finally:
        site.loop.run_until_complete(finish())
    return sent


def test_any_frames(site: Site, world: World) -> None:
    assert run(site, QUICK) > QUICK


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("shard", range(1, SHARDS + 1))
def test_any_frames_at_length(site: Site, world: World, shard: int) -> None:
    print(f"{run(site, long(LONG // SHARDS), shard)} frames")
