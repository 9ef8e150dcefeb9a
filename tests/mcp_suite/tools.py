"""Where the official tools of MCP for Node are: the conformance suite and the Inspector."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

FOLDER = "LEAGUE_TEST_MCP_TOOLS"
"""The variable that names the folder into which ``npm install`` put the tools, and a Node to run them on."""


def absent(what: str) -> NoReturn:
    """Skip a test whose tools are not installed; fail it in CI, where they have to be."""
    (pytest.fail if os.environ.get("LEAGUE_CI") else pytest.skip)(what)


def modules(tool: str) -> Path:
    """The folder ``node_modules`` with a tool, such as ``conformance``; a test without it is skipped."""
    found = Path(os.environ.get(FOLDER, "/nowhere")) / "node_modules"
    if not (found / "@modelcontextprotocol" / tool).is_dir():
        absent(f"the tool {tool} of MCP is not installed ({FOLDER} names its folder; see CONTRIBUTING.md)")
    return found


def node(modules: Path) -> str:
    """The Node that runs the tools: theirs, else that of the machine."""
    own = modules / ".bin" / "node"
    found = str(own) if own.exists() else shutil.which("node")
    return found or absent("Node is not installed")
