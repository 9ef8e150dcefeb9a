"""One league of the starter kits in all languages, each called or dialling out."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from tests.e2e import kits
from tests.e2e.site import Site

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(600)]
LEAGUE = "kits_together"
CALLED, DIALS_OUT, UNCALLABLE = ("--port", "0"), ("--dial-out",), kits.UNREACHABLE
WAYS = {
    "python": UNCALLABLE,
    "javascript": CALLED,
    "typescript": DIALS_OUT,
    "java": CALLED,
    "go": DIALS_OUT,
    "rust": UNCALLABLE,
}


@pytest.mark.parametrize("game_type", ["even_odd", "connect_four"])
def test_the_kits_of_all_languages_play_a_league_with_each_other(site: Site, game_type: str) -> None:
    assert WAYS.keys() == kits.LANGUAGES.keys()
    for language in WAYS:
        kits.built(language)
    league = f"{LEAGUE}_{game_type}"
    site.create(league, game_type)
    with ExitStack() as stack:
        players = {}
        for language, way in WAYS.items():
            # The games stand in league.json, as in the kit that the join page gives.
            league_file = kits.write_league_json(language, f"{site.url}/leagues/{league}/mcp", game_type)
            stack.callback(league_file.unlink)
            players[language] = kits.start(language, "--name", f"Kit in {language}", *way)
            stack.callback(players[language].close)
        for language, way in WAYS.items():
            if way == UNCALLABLE:
                players[language].wait_for_line("its messages are fetched as well")
            if way == CALLED:
                players[language].wait_for_line("The league calls http://localhost:")
        site.play_to_the_end(league)
        matches = [
            site.get(f"/leagues/{league}/matches/{match['match_id']}")
            for match in site.get(f"/leagues/{league}/matches")
        ]
        seen = [(match["status"] in ("WIN", "DRAW"), match["result"]["faults"]) for match in matches]
        assert seen == [(True, [])] * 15
        assert sum(row["technical_losses"] for row in site.get(f"/leagues/{league}/standings")) == 0
        agents = {one["display_name"]: one for one in site.get(f"/leagues/{league}/agents") if one["kind"] == "player"}
        for language, way in WAYS.items():
            reached = agents[f"Kit in {language}"]["reached_by"]
            assert (language, reached) == (language, "address" if way == CALLED else "poll")
            player = players[language]
            assert (language, player.printed().count("winner:")) == (language, 5)
            assert "trying again" not in player.printed()
