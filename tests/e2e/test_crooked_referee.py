"""A student's referee with the instructor's permission cheats: nothing follows from it but results of its own matches.

Ruling, section 9.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.site import Bot, Player, Site, site_with_players

pytestmark = [pytest.mark.e2e, pytest.mark.long]
LEAGUE = "league_2025_even_odd"


@contextmanager
def a_crooked_referee(folder: Path, *options: str) -> Iterator[tuple[Site, list[Player], Bot]]:
    """A site with one referee of its own, four players, and a crooked referee that may judge."""
    with site_with_players(folder, 4, options=("--no-demo", "--referees", "1")) as (site, players):
        referee = Bot("crooked_referee", site, folder / "referee.jsonl", "--room", "100000", *options)
        try:
            site.post(f"/referees/{referee.agent_id}/trust")
            yield site, players, referee
        finally:
            referee.close()


def play_rounds(site: Site, count: int) -> list[dict[str, Any]]:
    """Play some of the three rounds; returns their matches."""
    site.post(f"/leagues/{LEAGUE}/start")
    for number in range(1, count + 1):
        if number > 1:
            site.post(f"/leagues/{LEAGUE}/rounds/start")
        site.wait_for_round(LEAGUE, number)
    matches: list[dict[str, Any]] = site.get(f"/leagues/{LEAGUE}/matches")
    return [match for match in matches if match["round_id"] <= count]


def test_a_crooked_referee_decides_no_more_than_its_own_matches(tmp_path: Path) -> None:
    with a_crooked_referee(tmp_path) as (site, players, referee):
        matches = play_rounds(site, 2)
        # Its room counts for no more than that of the site's referee.
        judges = sorted(match["referee_id"] for match in matches)
        assert judges == ["REF01", "REF01", referee.agent_id, referee.agent_id]
        states = {agent["agent_id"]: agent["state"] for agent in site.get(f"/leagues/{LEAGUE}/agents")}
        assert [states[player.player_id] for player in players] == ["ACTIVE"] * 4
        for match in matches:
            own = match["referee_id"] == referee.agent_id
            whole = site.get(f"/leagues/{LEAGUE}/matches/{match['match_id']}")
            called = [one for one in players for message in one.messages() if is_called(message, match["match_id"])]
            assert (len(called), match["attempt"], match["status"] == "TECHNICAL_LOSS") == (0 if own else 2, 1, False)
            # What it says of the loser stays a part of its own result; of the winner nothing does.
            assert match["winner"] not in {fault["player_id"] for fault in whole["result"]["faults"]}


def is_called(message: dict[str, Any], match_id: str) -> bool:
    return message["message_type"] == "CHOOSE_PARITY_CALL" and message["match_id"] == match_id


def test_every_match_that_a_referee_hands_back_is_played_by_another_at_once(tmp_path: Path) -> None:
    with a_crooked_referee(tmp_path, "--hand-back") as (site, _, referee):
        matches = play_rounds(site, 3)
        assert {match["referee_id"] for match in matches} == {"REF01"}
        assert sorted(match["attempt"] for match in matches) == [1, 1, 1, 2, 2, 2]
        assert len([line for line in referee.lines() if "handed_back" in line]) == 3
