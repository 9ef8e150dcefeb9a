"""The ordinary referee, which also writes down how long its calls of the league manager take.

Takes the options of ``python -m league_sdk.judging``; the file named by BENCH_CALLS gets a line per call.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from league_sdk.judging import __main__ as worker
from league_sdk.judging.worker.league_link import LeagueLink
from league_sdk.transport.client import Reply
from league_sdk.transport.httpx_client import HttpxClient


class TimedClient(HttpxClient):
    """The client by which a referee calls the league manager; it also records how long each call took."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.calls: list[tuple[str, float, float]] = []

    async def post(self, url: str, message: Any, *, limit_s: float, headers: Any = None) -> Reply:
        begun = time.perf_counter()
        reply = await super().post(url, message, limit_s=limit_s, headers=headers)
        self.calls.append((message["method"], (time.perf_counter() - begun) * 1000, time.time()))
        return reply

    def write(self) -> None:
        """Write one line for each call."""
        lines = (json.dumps({"method": method, "ms": ms, "at": at}) + "\n" for method, ms, at in self.calls)
        Path(os.environ["BENCH_CALLS"]).write_text("".join(lines), encoding="utf-8")


class TimedLink(LeagueLink):
    """A referee's link to the league manager with that client; nothing else of it is changed."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._client = TimedClient(agent_type="referee")
        atexit.register(self._client.write)


if __name__ == "__main__":
    worker.LeagueLink = TimedLink  # type: ignore[misc]
    sys.exit(worker.main())
