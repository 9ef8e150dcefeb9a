"""A student's referee with the instructor's permission judges a league: beside the site's referee, or alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.site import Bot, Player, Site, site_with_players

pytestmark = pytest.mark.e2e
LEAGUE = "league_2025_even_odd"
ONE_SITE_REFEREE = ("--no-demo", "--referees", "1")


class StudentReferee(Bot):
    """The student's referee, as a process.

    Args:
        program: which one of :mod:`tests.bots`.
    """

    def __init__(self, site: Site, folder: Path, *options: str, program: str = "student_referee") -> None:
        super().__init__(program, site, folder / "referee.jsonl", *options)

    def methods(self) -> list[str]:
        """The methods that it was called with, in order."""
        return [line["method"] for line in self.lines() if "method" in line]

    def reports(self) -> list[tuple[str, str]]:
        """The match of each of its reports, and the status that was answered."""
        return sorted((line["reported"], line["answer"]["status"]) for line in self.lines() if "reported" in line)


@contextmanager
def judging(
    folder: Path,
    *options: str,
    alone: bool,
    players: int = 4,
    program: str = "student_referee",
    **site_options: Any,
) -> Iterator[tuple[Site, list[Player], StudentReferee]]:
    """A site with one referee of its own, players, and a student's referee that may judge; ``alone``: only it may."""
    site_options.setdefault("player_options", ("--choice", "alternate"))
    with site_with_players(folder, players, options=ONE_SITE_REFEREE, **site_options) as (site, cast):
        referee = StudentReferee(site, folder, *options, program=program)
        try:
            assert referee.agent_id == "REF02"
            answer = site.post(f"/referees/{referee.agent_id}/trust")
            assert answer == {"referee_id": "REF02", "league_id": None, "trusted": True}
            if alone:
                site.post("/referees/REF01/trust", {"trusted": False})
            yield site, cast, referee
        finally:
            referee.close()


def play(site: Site, players: list[Player]) -> list[dict[str, Any]]:
    """Play the league to its end; returns its matches."""
    site.play_to_the_end(LEAGUE)
    for player in players:
        player.wait_for_last_message()
    matches: list[dict[str, Any]] = site.get(f"/leagues/{LEAGUE}/matches")
    assert [(match["state"], match["attempt"]) for match in matches] == [("FINISHED", 1)] * 6
    assert {match["status"] for match in matches} <= {"WIN", "DRAW"}
    standings = site.get(f"/leagues/{LEAGUE}/standings")
    assert sum(row["played"] for row in standings) == 12
    return matches


@pytest.mark.long
def test_a_students_referee_judges_beside_the_sites_referee(tmp_path: Path) -> None:
    with judging(tmp_path, "--start", "run_match", "--room", "32", alone=False) as (site, players, referee):
        matches = play(site, players)
        judges = Counter(match["referee_id"] for match in matches)
        assert judges == {"REF01": 3, "REF02": 3}
        theirs = sorted(match["match_id"] for match in matches if match["referee_id"] == "REF02")
        assert referee.reports() == [(match_id, "ACCEPTED") for match_id in theirs]
        calls = Counter(referee.methods())
        # The site tries the other method names once; from then on it knows the one that this referee expects.
        assert calls == {
            "notify_round": 3,
            "start_match": 1,
            "assign_match": 1,
            "START_MATCH": 1,
            "run_match": 3,
            "notify_league_completed": 1,
        }


@pytest.mark.long
def test_a_students_referee_that_starts_by_the_announcement_judges_alone(tmp_path: Path) -> None:
    with judging(tmp_path, "--start", "announcement", alone=True) as (site, players, referee):
        matches = play(site, players)
        assert {match["referee_id"] for match in matches} == {"REF02"}
        assert referee.reports() == [(match["match_id"], "ACCEPTED") for match in matches]
        # It has judged every match, so it knows every player's record and sends what 004 chapter 8 demands.
        assert [player.deviations() for player in players] == [[], [], [], []]
        assert Counter(referee.methods())["notify_round"] == 3


@pytest.mark.long
def test_the_site_waits_for_a_referee_that_answers_only_after_its_match(tmp_path: Path) -> None:
    slow = {"league": "slow", "settings": {"generic_timeout_s": 0.3}}
    choosing = ("--league-id", "slow", "--delay-choice", "1")
    options = ("--start", "start_match", "--answer-late")
    with judging(tmp_path, *options, alone=True, players=2, player_options=choosing, **slow) as (site, _, referee):
        site.play_to_the_end("slow")
        (match,) = site.get("/leagues/slow/matches")
        assert (match["referee_id"], match["attempt"]) == ("REF02", 1)
        assert referee.reports() == [("R1M1", "ACCEPTED")]
        assert referee.methods()[:2] == ["notify_round", "start_match"]


def test_a_referee_that_is_a_client_of_mcp_and_has_no_port_judges_alone(tmp_path: Path) -> None:
    with judging(tmp_path, program="mcp_referee", alone=True) as (site, players, referee):
        matches = play(site, players)
        assert {match["referee_id"] for match in matches} == {"REF02"}
        assert referee.reports() == [(match["match_id"], "ACCEPTED") for match in matches]
        assert Counter(referee.methods())["start_match"] == 6
        assert [player.deviations() for player in players] == [[], [], [], []]
