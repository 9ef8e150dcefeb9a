"""The official suite against our core: every scenario that a version requires passes, counted check by check."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from league_sdk.player import Player, PlayerServer
from tests.e2e.lone_referee import refereed
from tests.e2e.site import site_with_players
from tests.mcp_suite.serving import fixture_port, fixture_server
from tests.mcp_suite.tools import modules, node

pytestmark = [pytest.mark.long, pytest.mark.e2e]

MISSING = Path(__file__).with_name("missing_fixtures.txt")
"""The checks that fail at a server because it does not have the fixture that they call, or, at the referee, because it
has neither resources nor prompts: server or ``all``, version, scenario, check. The test also fails for a line whose
check passes."""
GOOD = {"SUCCESS", "INFO"}
SCORED_PENDING = {"http-header-validation", "http-custom-header-server-validation", "json-schema-2020-12"}
"""Scenarios that the suite does not require yet; this test does, if the suite ran them."""


@pytest.fixture(scope="module")
def tools() -> Path:
    """The folder ``node_modules`` with the suite."""
    return modules("conformance")


def required(tools: Path, version: str) -> set[str]:
    """The server scenarios that a version requires, by the suite's own list."""
    listed = (tools / "@modelcontextprotocol/conformance/requirements" / f"{version}.yaml").read_text("utf-8")
    block = listed.partition("\nserver:\n")[2].partition("\nclient:\n")[0]
    return set(re.findall(r"^  - (\S+)$", block, re.MULTILINE))


async def run(tools: Path, version: str, url: str, out: Path) -> dict[str, list[dict[str, str]]]:
    """Run the suite; returns by scenario its checks with their ids and statuses."""
    program = tools / "@modelcontextprotocol/conformance/dist/index.js"
    arguments = ["server", "--url", url, "--requirements", version, "-o", str(out)]
    command = [node(tools), str(program), *arguments]
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    printed, _ = await process.communicate()
    assert "=== SUMMARY ===" in printed.decode(), printed.decode()[-2000:]
    return checks_in(out)


def checks_in(out: Path) -> dict[str, list[dict[str, str]]]:
    """The checks of each scenario, from the files that the suite wrote."""
    checks: dict[str, list[dict[str, str]]] = {}
    for path in out.glob("server-*/checks.json"):
        scenario = re.sub(r"^server-|-\d{4}-\d\d-\d\dT[\d-]+Z$", "", path.parent.name)
        checks[scenario] = json.loads(path.read_text("utf-8"))
    return checks


@pytest.mark.parametrize(("version", "scenario_count"), [("2025-11-25", 30), ("2026-07-28", 37)])
async def test_our_core_passes_every_scenario_that_a_version_requires(
    tools: Path, version: str, scenario_count: int, tmp_path: Path
) -> None:
    server = fixture_server()
    port = fixture_port(server)
    try:
        url = f"http://127.0.0.1:{await port.open('127.0.0.1')}/mcp"
        checks = await run(tools, version, url, tmp_path)
    finally:
        server.close()
        await port.close()
    names = required(tools, version)
    assert len(names) == scenario_count
    names |= SCORED_PENDING & checks.keys()
    counts = {name: Counter(check["status"] for check in checks.get(name, [])) for name in sorted(names)}
    wrong = {name: dict(count) for name, count in counts.items() if not count["SUCCESS"] or set(count) - GOOD}
    assert wrong == {}


async def failed(tools: Path, version: str, url: str, out: Path) -> list[str]:
    """Run the suite against a server without fixtures; returns the checks that a version requires and that fail."""
    checks = await run(tools, version, url, out)
    wrong = {
        f"{version} {scenario} {check['id']}"
        for scenario in required(tools, version)
        for check in checks[scenario]
        if check["status"] not in GOOD | {"SKIPPED"}
    }
    return sorted(wrong)


def excused(server: str, version: str) -> list[str]:
    """The checks that may fail at a server, because it does not have the fixture that they call."""
    lines = (line.partition(" ") for line in MISSING.read_text("utf-8").splitlines())
    return sorted(check for name, _space, check in lines if name in ("all", server) and check.startswith(version))


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
async def test_the_league_manager_fails_only_checks_that_need_a_fixture(
    tools: Path, version: str, tmp_path: Path
) -> None:
    with site_with_players(tmp_path, 2) as (site, _players):
        wrong = await failed(tools, version, f"{site.url}/mcp", tmp_path / "out")
    assert wrong == excused("league_manager", version)


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
async def test_the_player_fails_only_checks_that_need_a_fixture(tools: Path, version: str, tmp_path: Path) -> None:
    server = PlayerServer({"/mcp": Player("Alpha")})
    try:
        url = f"http://127.0.0.1:{await server.start('127.0.0.1', 0)}/mcp"
        wrong = await failed(tools, version, url, tmp_path)
    finally:
        await server.stop()
    assert wrong == excused("player", version)


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
async def test_the_referee_fails_only_checks_that_need_a_fixture(tools: Path, version: str, tmp_path: Path) -> None:
    async with refereed(tmp_path / "referee.log") as referee:
        wrong = await failed(tools, version, referee.league.endpoint, tmp_path / "out")
    assert wrong == excused("referee", version)
