"""What a test of the official tools of MCP does where something is not installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mcp_suite import tools


def test_a_test_without_node_is_skipped_and_fails_in_ci(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("LEAGUE_CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="Node is not installed"):
        tools.node(tmp_path)
    monkeypatch.setenv("LEAGUE_CI", "1")
    with pytest.raises(pytest.fail.Exception, match="Node is not installed"):
        tools.node(tmp_path)
