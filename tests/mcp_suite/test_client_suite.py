"""The official suite against our client, which calls players: it passes every check but those of OAuth and those that
are excused with a reason."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mcp_suite.tools import modules, node
from tests.paths import ROOT

pytestmark = [pytest.mark.long, pytest.mark.e2e]

EXCUSED = Path(__file__).with_name("not_for_our_client.txt")
"""The checks that our client need not pass: version, scenario, check, and after ``#`` why. The test also
fails for a line whose check passes."""
GOOD = {"SUCCESS", "INFO", "SKIPPED"}
AT_ONCE = 3
REQUIRED = {
    *("initialize", "tools_call", "request-metadata", "sep-2322-client-request-state", "http-standard-headers"),
    *("http-custom-headers", "http-invalid-tool-headers", "json-schema-ref-no-deref"),
    "json-schema-2020-12-preservation",
}
EXTENSION = "extension"
"""What the suite lists in place of a version, for scenarios of extensions of MCP."""


@pytest.fixture(scope="module")
def suite() -> list[str]:
    """The command of the suite."""
    tools = modules("conformance")
    return [node(tools), str(tools / "@modelcontextprotocol/conformance/dist/index.js")]


async def output_of(command: list[str]) -> str:
    """What a command prints."""
    process = await asyncio.create_subprocess_exec(
        *command, cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    printed, _ = await process.communicate()
    return printed.decode()


async def scenarios(suite: list[str]) -> list[tuple[str, str]]:
    """The client scenarios without OAuth: version and name, once for each version; by the suite's own list."""
    listed = (await output_of([*suite, "list"])).partition("Client scenarios")[2].partition("Authorization server")[0]
    return [
        (version, name)
        for name, versions in re.findall(r"^  - (\S+) \[(\S+)\]$", listed, re.MULTILINE)
        if not name.startswith("auth/")
        for version in versions.split(",")
    ]


def checks_of(out: Path, name: str, printed: str) -> list[dict[str, str]]:
    """The checks of one scenario, from the file that the suite wrote."""
    found = list(out.glob(f"{name}-2*/checks.json"))
    assert len(found) == 1, (name, printed[-2000:])
    checks: list[dict[str, str]] = json.loads(found[0].read_text("utf-8"))
    return checks


async def failed_checks(suite: list[str], version: str, name: str, out: Path) -> tuple[list[str], int]:
    """Run a scenario; returns the checks that our client fails, and how many it passes."""
    client = f"{sys.executable} -m tests.mcp_suite.calling"
    of_version = [] if version == EXTENSION else ["--spec-version", version]
    arguments = ["client", "--command", client, "--scenario", name, *of_version, "-o", str(out / version)]
    printed = await output_of([*suite, *arguments])
    checks = checks_of(out / version, name, printed)
    failed = sorted({f"{version} {name} {check['id']}" for check in checks if check["status"] not in GOOD})
    passed = sum(check["status"] == "SUCCESS" for check in checks)
    return failed if failed or passed else [f"{version} {name} nothing-was-checked"], passed


def excused() -> Iterator[str]:
    """The checks that may fail; each line has its reason."""
    for line in EXCUSED.read_text("utf-8").splitlines():
        check, _, reason = line.partition(" # ")
        assert reason.strip(), line
        yield check.strip()


async def test_our_client_passes_every_check_that_concerns_it(suite: list[str], tmp_path: Path) -> None:
    limit = asyncio.Semaphore(AT_ONCE)

    async def one(version: str, name: str) -> tuple[list[str], int]:
        async with limit:
            return await failed_checks(suite, version, name, tmp_path)

    expected = await scenarios(suite)
    results = await asyncio.gather(*(one(version, name) for version, name in expected))
    assert sorted(check for failed, _passed in results for check in failed) == sorted(excused())
    # In each scenario of REQUIRED our client passes at least one check, so that not the whole scenario is excused.
    passed = {name for (_version, name), (_failed, count) in zip(expected, results, strict=True) if count}
    assert passed >= REQUIRED
