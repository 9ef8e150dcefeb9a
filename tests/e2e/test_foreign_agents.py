"""Agents in dialects that no document describes are played without a fault and without being configured.

They play twice: once the site calls them, and once it cannot and one bridge relays for all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.bots.foreign_agents.processes import ABSENT
from tests.e2e import bridges
from tests.e2e.site import UNHURRIED, Instructor, Site, bots

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(300)]
# These agents take long, because they do one thing at a time, so they have a league of their own.
SLOW = ["SlowJoin", "SingleThread", "OneAtATime"]
QUICK = [
    *("Http10", "ConnectionClose", "RudeClose", "Chunked", "Gzipped", "ByteOrderMark", "SaysHtml", "Created", "Latin1"),
    *("Ipv6", "Capitals", "AnyAddress", "NoScheme", "AtTheRoot", "Slashed", "McpStateless", "McpForbidsExtra"),
    *("MethodsAsEvents", "NestedResponse", "ResultInResult", "TypeAndPayload", "ResultIsText", "BareWords"),
    *("SuccessMessage", "MoveData", "JoinStatus", "Camel", "CallsBackByName", "CallsBackOtherNames", "CallsBackFlat"),
    *("CallsBackInTool", "StrictEnvelope", "NotMyself", "RegistersTwice", "OwnToken", "HostAndPort", "PortAlone"),
    *("JoinLeague", "RequestArgument", "PlayerArgument", "TrailingSlash", "McpRegistration", "ByTypeAnywhere"),
    *("ParamsMessage", "IdsAsText", "Node", "Java"),
    *("McpServer", "McpMessageArgument", "McpPlainWord", "McpTextArgument", "ForbidsExtra", "ForbidsExtraBriefly"),
    *("StringIds", "CamelMethods", "Batched", "Talker", "NoContentType", "RestRegistration", "RestApiRegistration"),
    *("AtTheBase", "TokenInHeader", "McpCamelArguments", "McpNewEra"),
]
SIZE = 4
GROUPS = {f"foreign{at // SIZE}": QUICK[at : at + SIZE] for at in range(0, len(QUICK), SIZE)} | {"slow": SLOW}


@pytest.fixture(scope="module", params=["called", "bridged"])
def leagues(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, list[dict[str, Any]]]]:
    """The matches of each league with all their details and the names of their players."""
    folder = tmp_path_factory.mktemp("foreign_agents")
    site = Site(folder / "data", "--no-demo")
    try:
        # Otherwise the default league would take the agents that name no league.
        site.post("/leagues/league_2025_even_odd/stop")
        with ExitStack() as stack:
            manager: Instructor = site
            if request.param == "bridged":
                manager, log = stack.enter_context(bridges.bridged_manager(site, folder))
            for league_id, names in GROUPS.items():
                site.create(league_id, **UNHURRIED)
                installed = ",".join(name for name in names if name not in ABSENT)
                (folder / league_id).mkdir()
                options = ("--bots", installed, "--log-folder", str(folder / league_id))
                lines = stack.enter_context(bots(manager, "foreign_agents", *options))
                assert [line for line in lines if not line.startswith("READY ")] == []
                site.post(f"/leagues/{league_id}/start", {"auto_advance": True})
            if request.param == "bridged":
                assert bridges.count_relayed(folder) == sum(len(names) for names in GROUPS.values()) - len(ABSENT)
            for league_id in GROUPS:
                site.wait_until(league_id, "COMPLETED", 120)
            if request.param == "bridged":
                assert re.findall(r"tok_[0-9a-f]+|my-own-secret-token", log.read_text()) == []
            yield {league_id: played(site, league_id) for league_id in GROUPS}
        assert site.stop() == 0
    finally:
        site.close()


def played(site: Site, league_id: str) -> list[dict[str, Any]]:
    """A league's matches with all their details; each with ``names``, the display names by player id."""
    agents = site.get(f"/leagues/{league_id}/agents")
    names = {agent["agent_id"]: agent["display_name"] for agent in agents if agent["kind"] == "player"}
    matches = [
        site.get(f"/leagues/{league_id}/matches/{one['match_id']}") for one in site.get(f"/leagues/{league_id}/matches")
    ]
    return [
        match | {"names": {who: names[who] for who in (match["player_A_id"], match["player_B_id"])}}
        for match in matches
    ]


@pytest.mark.parametrize("name", [name for names in GROUPS.values() for name in names])
def test_a_foreign_agent_is_played_without_a_fault(leagues: dict[str, list[dict[str, Any]]], name: str) -> None:
    if name in ABSENT:
        pytest.skip(f"the interpreter of {name} is not installed here")
    league_id, group = next((league_id, names) for league_id, names in GROUPS.items() if name in names)
    matches = [match for match in leagues[league_id] if name in match["names"].values()]
    rivals = [one for one in group if one != name and one not in ABSENT]
    assert sorted(set().union(*(match["names"].values() for match in matches)) - {name}) == sorted(rivals)
    faults = [
        fault for match in matches for fault in match["result"]["faults"] if match["names"][fault["player_id"]] == name
    ]
    assert faults == [], json.dumps(matches[0]["transcript"])[:4000]
    assert {match["status"] for match in matches} <= {"WIN", "DRAW"}
