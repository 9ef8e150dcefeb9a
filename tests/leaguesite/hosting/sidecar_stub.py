"""In place of the sidecar: answers, fails, hangs or ends, as the id of the league says."""

from __future__ import annotations

import os
import sys
import time
from multiprocessing.connection import Connection
from typing import Any

SLOW_TO_START = "slow-to-start"
"""The name of the log file of a process that does not become ready."""


def main() -> None:
    """Answer questions until the other end is closed."""
    connection: Connection[Any, Any] = Connection(int(sys.argv[1]))
    settings, log_name, keep_shared = connection.recv()
    if log_name == SLOW_TO_START:
        time.sleep(3600)
    connection.send("ready")
    while True:
        try:
            (_kind, league_id, _item, _staff), language, without = connection.recv()
        except EOFError:
            return
        if league_id == "end":
            return
        if league_id == "fail":
            connection.send((None, "Traceback: what went wrong"))
        elif league_id == "nowhere":
            connection.send((None, ""))
        elif league_id != "hang":
            header = f"{settings['LEAGUE_DEFAULT_ID']} {log_name} {language} {sorted(without)} {keep_shared}"
            connection.send(({"header": header, "pid": str(os.getpid())}, ""))


if __name__ == "__main__":
    main()
