"""Agents practise while a league is played: one that is called and one that dials out; the league is not disturbed."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.site import Player, Site, league_with_players, wait_for

pytestmark = pytest.mark.e2e
PLAYED, NEXT = "played", "next"


def ended(site: Site, practice_id: str) -> dict[str, Any]:
    """Wait until a practice match is over; returns it as the API shows it."""

    def over() -> dict[str, Any] | None:
        practice: dict[str, Any] = site.get(f"/practice/{practice_id}")
        return practice if practice["state"] in ("DONE", "FAILED") else None

    return wait_for("the practice match is over", over)


def practise(site: Site, player: Player, **how: Any) -> str:
    """Ask for a practice match; returns its id."""
    return str(site.post("/practice", {"auth_token": player.auth_token(), **how}, status=201)["practice_id"])


def agents_and_table(site: Site, league: str) -> Any:
    """What the API says of a league's table and players, without the times at which these were last heard from."""
    agents = site.get(f"/leagues/{league}/agents")
    fields = ("agent_id", "state", "ready", "problem", "spoken")
    table = site.get(f"/leagues/{league}/standings")
    return [{name: one.get(name) for name in fields} for one in agents if one["kind"] == "player"], table


def test_agents_practise_while_a_league_is_played_and_nothing_of_it_counts(site: Site, tmp_path: Path) -> None:
    with ExitStack() as at_the_end:
        playing = at_the_end.enter_context(league_with_players(site, PLAYED, 6, tmp_path, announce_wait_s=0.2))
        waiting = at_the_end.enter_context(league_with_players(site, NEXT, 1, tmp_path))
        waiting.append(Player(site, "Dialling", tmp_path / NEXT, "--league-id", NEXT, "--dial", "poll"))
        before = agents_and_table(site, NEXT)
        site.post(f"/leagues/{PLAYED}/start", {"auto_advance": True})
        practices_of_waiting = [practise(site, player, opponent="hard", second=True) for player in waiting]
        practices_of_playing = [practise(site, player, opponent="easy") for player in playing[:2]]
        site.wait_until(PLAYED, "COMPLETED")
        matches = site.get(f"/leagues/{PLAYED}/matches")
        assert [one for one in matches if one["status"] not in ("WIN", "DRAW") or one["attempt"] != 1] == []
        assert len(matches) == 15
        practices = [ended(site, one) for one in (*practices_of_waiting, *practices_of_playing)]
        for practice, player in zip(practices[:2], waiting, strict=True):
            report = practice["report"]
            assert (practice["state"], practice["player_id"]) == ("DONE", player.player_id)
            assert report["status"] in ("WIN", "LOSS", "DRAW"), report
            kinds = [step["message_type"] for step in report["steps"]]
            assert kinds == ["ROUND_ANNOUNCEMENT", "GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_OVER"]
            page = site.http.get(practice["url"]).text
            assert "the house&#x27;s hard agent" in page
            assert player.auth_token() not in page
        assert [practice["way"] for practice in practices[:2]] == ["", "poll"]
        # The players of the running league practised before, between or after their matches.
        assert {practice["state"] for practice in practices[2:]} == {"DONE"}
        assert agents_and_table(site, NEXT) == before
        assert [one for player in waiting for one in player.deviations()] == []
