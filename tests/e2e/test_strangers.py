"""Agents that no document describes, none of them configured: they are played without a fault."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.bots.strangers.cast import STRANGERS
from tests.bots.strangers.elsewhere import ABSENT
from tests.e2e.site import Site, bots

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(300)]
SETTINGS = {"join_timeout_s": 5, "move_timeout_s": 5, "retry_base_s": 0.25, "auto_advance": True}
# One at a time takes its time: these play among themselves.
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
    *("StringIds", "CamelMethods", "Batched", "Talker", "SaysPlain", "RestRegistration", "RestApiRegistration"),
    *("AtTheBase", "TokenInHeader"),
]
SIZE = 4
GROUPS = {f"strangers{at // SIZE}": QUICK[at : at + SIZE] for at in range(0, len(QUICK), SIZE)} | {"slow": SLOW}


@pytest.fixture(scope="module")
def leagues(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, list[dict[str, Any]]]]:
    """The matches of each league, in full, with the names of those who played."""
    folder = tmp_path_factory.mktemp("strangers")
    site = Site(folder / "data", "--no-demo")
    try:
        # The one league that is open takes all who name none.
        site.post("/leagues/league_2025_even_odd/stop")
        with ExitStack() as stack:
            for league_id, names in GROUPS.items():
                site.create(league_id, **SETTINGS)
                here = ",".join(name for name in names if name not in ABSENT)
                (folder / league_id).mkdir()
                options = ("--bots", here, "--log-folder", str(folder / league_id))
                lines = stack.enter_context(bots(site, "strangers", *options))
                assert [line for line in lines if not line.startswith("READY ")] == []
                site.post(f"/leagues/{league_id}/start", {"auto_advance": True})
            for league_id in GROUPS:
                site.wait_until(league_id, "COMPLETED", 120)
            yield {league_id: played(site, league_id) for league_id in GROUPS}
        assert site.stop() == 0
    finally:
        site.close()


def played(site: Site, league_id: str) -> list[dict[str, Any]]:
    """A league's matches; each with ``names`` by player id."""
    agents = site.get(f"/leagues/{league_id}/agents")
    names = {agent["agent_id"]: agent["display_name"] for agent in agents if agent["kind"] == "player"}
    found = [
        site.get(f"/leagues/{league_id}/matches/{one['match_id']}") for one in site.get(f"/leagues/{league_id}/matches")
    ]
    return [
        match | {"names": {who: names[who] for who in (match["player_A_id"], match["player_B_id"])}} for match in found
    ]


@pytest.mark.parametrize("name", [name for names in GROUPS.values() for name in names])
def test_a_stranger_is_played_without_a_fault(leagues: dict[str, list[dict[str, Any]]], name: str) -> None:
    if name in ABSENT:
        pytest.skip(f"{STRANGERS[name].__doc__} is not installed here")
    league_id, group = next((league_id, names) for league_id, names in GROUPS.items() if name in names)
    matches = [match for match in leagues[league_id] if name in match["names"].values()]
    rivals = [one for one in group if one != name and one not in ABSENT]
    assert sorted(set().union(*(match["names"].values() for match in matches)) - {name}) == sorted(rivals)
    faults = [
        fault for match in matches for fault in match["result"]["faults"] if match["names"][fault["player_id"]] == name
    ]
    assert faults == [], json.dumps(matches[0]["transcript"])[:4000]
    assert {match["status"] for match in matches} <= {"WIN", "DRAW"}
