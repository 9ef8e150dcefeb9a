"""The players of the starter kits: called at their port, or fetching their messages when nobody can call them there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tests.e2e import kits
from tests.e2e.kits import KitPlayer
from tests.e2e.site import Site, wait_for

pytestmark = [
    pytest.mark.long,
    pytest.mark.e2e,
    pytest.mark.timeout(300),
    pytest.mark.parametrize("language", kits.LANGUAGES),
]

REACHED_BY = {"DialsOut": "poll", "Uncallable": "poll", "Called": "address"}
"""How the site reaches each player, by the player's name."""


def reached_by(site: Site, league: str) -> dict[str, str]:
    """How each player is reached, as the API says."""
    agents = site.get(f"/leagues/{league}/agents")
    return {one["display_name"]: one["reached_by"] for one in agents if one["kind"] == "player"}


def league_option(site: Site, league: str) -> tuple[str, str]:
    """The option that names a league, and its value."""
    return "--league", f"{site.url}/leagues/{league}/mcp"


@contextmanager
def kit_players(site: Site, league: str, language: str) -> Iterator[dict[str, KitPlayer]]:
    """Three players: one that opens no port, one that its league cannot call, and one that is called."""
    options = {"DialsOut": ("--dial-out",), "Uncallable": kits.UNREACHABLE, "Called": ("--port", "0")}
    with ExitStack() as stack:

        def start(name: str) -> KitPlayer:
            player = kits.start(language, *league_option(site, league), "--name", name, *options[name])
            stack.callback(player.close)
            return player

        players = {name: start(name) for name in options}
        # A second program with the stored token is the same player and takes over; the first one says so and ends.
        again, before = start("DialsOut"), players["DialsOut"]
        assert again.player_id == before.player_id
        assert "run only one" in before.wait_for_line("Another program")
        assert before.process.wait(timeout=20) == 1
        yield players | {"DialsOut": again}
        assert again.process.poll() is None


def test_the_kit_plays_whether_it_can_be_called_or_not(site: Site, language: str) -> None:
    kits.built(language)
    league = f"kits_{language}"
    site.create(league)
    with kit_players(site, league, language) as players:
        line = players["Uncallable"].wait_for_line("The league has not called")
        assert line.startswith("The league has not called http://192.0.2.1:8101/mcp for 0.1 s")
        players["Called"].wait_for_line("The league calls http://localhost:")
        wait_for("the site reaches each player as expected", lambda: reached_by(site, league) == REACHED_BY)
        site.play_to_the_end(league)
        matches = [
            site.get(f"/leagues/{league}/matches/{m['match_id']}") for m in site.get(f"/leagues/{league}/matches")
        ]
        assert [(match["status"] in ("WIN", "DRAW"), match["result"]["faults"]) for match in matches] == [
            (True, [])
        ] * 3
        for player in players.values():
            assert player.printed().count("winner:") == 2
        assert "not called" not in players["DialsOut"].printed() + players["Called"].printed()
        assert "trying again" not in "".join(player.printed() for player in players.values())


def test_the_kit_conforms_to_all_clauses_of_the_check_but_two(site: Site, language: str) -> None:
    """The whole check passes, as ``league check URL`` runs it: outside any league, so without the player's token."""
    kits.built(language)
    site.create(f"checked_{language}")
    player = kits.start(language, *league_option(site, f"checked_{language}"), "--name", "Checked", "--port", "0")
    try:
        clauses = kits.check(player.endpoint)["clauses"]
        others = [clause["id"] for clause in clauses if clause["verdict"] != "conforms"]
        # The kit sends a stranger no auth_token, and the tool is optional.
        assert others == ["answer.auth_token", "tool.get_player_state"]
        assert len(clauses) > 40
        # It believes no result that a stranger sends.
        assert "winner:" not in player.printed()
    finally:
        player.close()
