"""``python -m tests.machines.slow_cable ONE OTHER MILLISECONDS``: passes frames on between two devices, later.

Both are made here, as taps, and are gone when this ends; ``ready`` is printed when they are there. For kernels without
netem.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import struct
import sys

_SET_NAME, _TAP, _NO_HEADER = 0x400454CA, 0x0002, 0x1000
MAX_FRAME_BYTES = 65536


def _tap(name: str) -> int:
    file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(file, _SET_NAME, struct.pack("16sH", name.encode(), _TAP | _NO_HEADER))
    return file


def _write(file: int, frame: bytes) -> None:
    try:
        os.write(file, frame)
    except OSError as error:
        # As a real cable may: whoever sent it sends it again.
        print(f"a frame of {len(frame)} bytes is lost: {error}", file=sys.stderr)


async def _pass_on(one: int, other: int, delay_s: float) -> None:
    loop = asyncio.get_running_loop()

    def take(source: int, sink: int) -> None:
        loop.call_later(delay_s, _write, sink, os.read(source, MAX_FRAME_BYTES))

    loop.add_reader(one, take, one, other)
    loop.add_reader(other, take, other, one)
    print("ready", flush=True)
    await loop.create_future()


if __name__ == "__main__":
    asyncio.run(_pass_on(_tap(sys.argv[1]), _tap(sys.argv[2]), int(sys.argv[3]) / 1000))
