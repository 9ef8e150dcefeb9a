"""A client of MCP without a session (its stateless era) that calls the tools of a real site."""

from __future__ import annotations

from typing import Any

import httpx

from tests.e2e.site import PATIENCE_S
from tests.league_sdk.mcp.talking import BOTH, stateless


class Tools:
    """The tools of a site.

    Args:
        url: the URL of the site.
        token: sent as ``Authorization: Bearer``; empty: no such header is sent.
    """

    def __init__(self, url: str, token: str = "") -> None:
        head = {"Authorization": f"Bearer {token}"} if token else {}
        self._address = f"{url}/mcp"
        self._http = httpx.Client(headers=head | {"Accept": BOTH}, timeout=PATIENCE_S, trust_env=False)

    def post(self, name: str, arguments: dict[str, Any], timeout_s: float = PATIENCE_S) -> httpx.Response:
        """Call a tool, and hang up if there is no answer in time."""
        body, headers = stateless("tools/call", name=name, arguments=arguments)
        head = {header.replace("_", "-"): value for header, value in headers.items()}
        return self._http.post(self._address, json=body, headers=head, timeout=timeout_s)

    def close(self) -> None:
        """Close its connections."""
        self._http.close()

    def result(self, name: str, **arguments: Any) -> dict[str, Any]:
        """The result of a call, also of one that is refused."""
        answer = self.post(name, arguments)
        assert answer.status_code == 200, answer.text
        result: dict[str, Any] = answer.json()["result"]
        return result

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that succeeds; returns its answer."""
        result = self.result(name, **arguments)
        assert not result["isError"], result
        structured: dict[str, Any] = result["structuredContent"]
        return structured

    def refused(self, name: str, **arguments: Any) -> str:
        """The sentence with which a tool refuses."""
        result = self.result(name, **arguments)
        assert result["isError"], result
        return str(result["structuredContent"]["message"])
