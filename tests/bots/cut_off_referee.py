"""Our referee on a machine whose packets to some ports are lost: those in the file that CUT_OFF names, one a line.

The file may change at any time. Everything else reaches whom it is for, as with a broken link to one room.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from pathlib import Path
from typing import Any

from league_sdk.judging.__main__ import main


def cut_off(ports: Path) -> None:
    """Let no connection to one of these ports be made or refused from now on."""
    connect = asyncio.SelectorEventLoop.sock_connect

    def is_cut_off(port: int) -> bool:
        return str(port) in ports.read_text().split()

    async def connect_if_not_cut_off(loop: Any, opened: socket.socket, address: Any) -> None:
        if is_cut_off(address[1]):
            await asyncio.Event().wait()
        await connect(loop, opened, address)

    asyncio.SelectorEventLoop.sock_connect = connect_if_not_cut_off  # type: ignore[method-assign]


if __name__ == "__main__":
    cut_off(Path(os.environ["CUT_OFF"]))
    sys.exit(main())
