"""A drawn result stands, although players that have seen it try to have it drawn again (ruling, section 12).

The tests look at the players' own records. Most leagues here have two players with a trick and two without. In
Even/Odd, those with a trick draw against each other, which is a match that they have not won: so a trick at GAME_OVER
is done at least once.
"""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.bots.hostile.losers import TRICKS
from tests.e2e.losers import Losers, counted_outcomes, losers
from tests.e2e.site import Site, wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
SETTINGS: dict[str, Any] = {
    "auto_advance": True,
    "announce_wait_s": 0.5,
    "join_timeout_s": 3,
    "move_timeout_s": 4,
    "game_over_timeout_s": 5,
    "generic_timeout_s": 4,
    "retry_base_s": 0.2,
    "max_retries": 1,
    "referee_lease_s": 4,
}
SEPARATELY_TESTED = (
    "hold_until_told",
    "hold_and_query",
    "flood_the_referee",
    "flood_instead_of_moving",
    "nul_to_game_error",
)
ANSWERS = [name for name in TRICKS if name not in SEPARATELY_TESTED]
"""The tricks that consist of a bad answer: to GAME_OVER, or to every request but the invitation."""
LARGE = 100
"""Number of players of the league whose schedule the players ask for."""


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site with one referee, so that a trick that disturbs the referee disturbs every match."""
    site = Site(tmp_path_factory.mktemp("arena") / "data", "--no-demo", "--referees", "1")
    try:
        yield site
        assert site.stop() == 0
    finally:
        site.close()


def open_league(site: Site, league_id: str, game_type: str = "even_odd", **settings: Any) -> None:
    site.create(league_id, game_type, **(SETTINGS | settings))


def start(site: Site, league_id: str) -> None:
    site.post(f"/leagues/{league_id}/start", {"auto_advance": True})


def check_results_stand(site: Site, league_id: str, cast: Losers) -> None:
    """Check that the league ends, and that all GAME_OVER messages of a match name the one outcome that counts."""
    league = site.wait_until(league_id, "COMPLETED", 45)
    assert league["matches_done"] == league["matches"]
    assert cast.told_outcomes() == {match: [outcome] for match, outcome in counted_outcomes(site, league_id).items()}


def attempts(site: Site, league_id: str) -> list[int]:
    """The number of the attempt that counts, for each match of a league."""
    return [match["attempt"] for match in site.get(f"/leagues/{league_id}/matches")]


def cast_of(trick: str) -> tuple[str, ...]:
    return (f"Mallory:{trick}", f"Trudy:{trick}", "Alice:", "Bob:")


@pytest.mark.long
@pytest.mark.parametrize("trick", ANSWERS)
def test_no_bad_answer_makes_the_site_play_a_match_again(arena: Site, tmp_path: Path, trick: str) -> None:
    league_id = f"answers-{trick}"[:32]
    # A player that answers everything with an HTML page loses technically; of that, too, GAME_OVER names one outcome.
    open_league(arena, league_id)
    with losers(arena, league_id, tmp_path, *cast_of(trick)) as cast:
        start(arena, league_id)
        check_results_stand(arena, league_id, cast)
        assert cast.lines("trick") != []
        assert attempts(arena, league_id) == [1] * 6


@pytest.mark.long
def test_a_players_answer_to_an_error_costs_no_other_match_its_referee(arena: Site, tmp_path: Path) -> None:
    """Alice and Bob think for longer than a referee may go without an accepted heartbeat."""
    open_league(arena, "answers-to-errors", referee_lease_s=2)
    cast_names = ("Mallory:nul_to_game_error", "Trudy:nul_to_game_error", "Alice:", "Bob:")
    with losers(arena, "answers-to-errors", tmp_path, *cast_names, options=("--think", "2.5")) as cast:
        start(arena, "answers-to-errors")
        check_results_stand(arena, "answers-to-errors", cast)
        assert cast.lines("trick") != []
        assert attempts(arena, "answers-to-errors") == [1] * 6


@pytest.mark.long
def test_a_players_expensive_queries_change_no_result(arena: Site, tmp_path: Path) -> None:
    arena.create("large", max_players=LARGE)
    dummies = [f"Dummy{number}:" for number in range(LARGE)]
    with losers(arena, "large", tmp_path, *dummies):
        arena.post("/leagues/large/close")
    open_league(arena, "queries")
    with losers(arena, "queries", tmp_path, *cast_of("hold_and_query"), options=("--large", "large")) as cast:
        start(arena, "queries")
        check_results_stand(arena, "queries", cast)
        assert cast.lines("trick") != []
        assert attempts(arena, "queries") == [1] * 6


@pytest.mark.long
@pytest.mark.parametrize(
    ("trick", "game_type"),
    [
        ("flood_the_referee", "even_odd"),
        ("flood_instead_of_moving", "tic_tac_toe"),
    ],
)
def test_flooding_the_referee_changes_no_result(arena: Site, tmp_path: Path, trick: str, game_type: str) -> None:
    league_id = f"flood-{game_type}"
    open_league(arena, league_id, game_type)
    with losers(arena, league_id, tmp_path, *cast_of(trick)) as cast:
        start(arena, league_id)
        check_results_stand(arena, league_id, cast)
        assert attempts(arena, league_id) == [1] * 6
        if game_type == "tic_tac_toe":
            # A player that floods instead of moving loses its match technically.
            flooder_by_match = {line["match_id"]: line["player"] for line in cast.lines("trick")}
            matches = {match["match_id"]: match for match in arena.get(f"/leagues/{league_id}/matches")}
            assert {matches[one]["status"] for one in flooder_by_match} <= {"TECHNICAL_LOSS"}
            assert [one for one, who in flooder_by_match.items() if matches[one]["winner"] == who] == []
        assert cast.lines("trick") != []


def kill_referees(site: Site) -> None:
    """Kill every referee (SIGKILL); the site starts them again."""
    for pid in site.referees():
        os.kill(pid, signal.SIGKILL)


def restart(site: Site) -> None:
    """Stop the site (SIGTERM), and start it again on the same data."""
    site.stop()
    site.start()


def kill_all(site: Site) -> None:
    """Kill the site (SIGKILL), with which its referees end, and start it again."""
    site.kill()
    site.start()


def freeze_referees(site: Site) -> None:
    """Stop every referee (SIGSTOP) until an attempt is lost with its lease, then let it go on (SIGCONT)."""
    pids = site.referees()
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        running = [one["league_id"] for one in site.get("/leagues") if one["status"] == "RUNNING"]

        def attempt_was_lost() -> bool:
            return any(
                event["kind"] == "attempt_lost"
                for league in running
                for event in site.get(f"/leagues/{league}/events")["events"]
            )

        wait_for("an attempt is lost with its lease", attempt_was_lost, 30)
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


FAILURES: dict[str, Callable[[Site], None]] = {
    "killed": kill_referees,
    "restarted": restart,
    "all-killed": kill_all,
    "frozen": freeze_referees,
}


@pytest.mark.long
@pytest.mark.parametrize("game_type", ["even_odd", "tic_tac_toe"])
@pytest.mark.parametrize("failure", FAILURES)
def test_a_failure_between_game_over_and_report_changes_no_result(tmp_path: Path, failure: str, game_type: str) -> None:
    """The players answer the first GAME_OVER only after the failure."""
    site = Site(tmp_path / "data", "--no-demo", "--referees", "1")
    try:
        open_league(site, "failure", game_type)
        with losers(site, "failure", tmp_path, *cast_of("hold_until_told")) as cast:
            start(site, "failure")
            cast.wait_for_trick()
            FAILURES[failure](site)
            cast.release_answers()
            check_results_stand(site, "failure", cast)
        assert site.stop() == 0
    finally:
        site.close()


@contextmanager
def full_disk(site: Site) -> Iterator[None]:
    """Within the block the site can write only the first 4 KiB of a file (RLIMIT_FSIZE), nearly as on a full disk."""
    _, hard = resource.prlimit(site.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(site.process.pid, resource.RLIMIT_FSIZE, (4096, hard))
    try:
        yield
    finally:
        resource.prlimit(site.process.pid, resource.RLIMIT_FSIZE, (hard, hard))


@pytest.mark.long
def test_a_full_disk_at_the_report_changes_no_result(tmp_path: Path) -> None:
    """For a few seconds after the first GAME_OVER the site cannot write to its database."""
    site = Site(tmp_path / "data", "--no-demo", "--referees", "1")
    try:
        open_league(site, "disk")
        with losers(site, "disk", tmp_path, *cast_of("hold_until_told")) as cast:
            start(site, "disk")
            cast.wait_for_trick()
            with full_disk(site):
                cast.release_answers()
                wait_for("the site is no longer healthy", lambda: site.http.get("/health").status_code != 200, 30)
            check_results_stand(site, "disk", cast)
        assert site.stop() == 0
    finally:
        site.close()


NOWHERE = ("127.255.255.255", "[fc00::1]", "nobody.invalid")
"""Hosts that no call reaches: a broadcast address (which the site may refuse), an unused network, an unknown name."""


def register_nowhere(site: Site, league_id: str, name: str, port: int) -> str:
    """Register a player at the first host of ``NOWHERE`` that the site accepts; returns the player's id."""
    answers = []
    for host in NOWHERE:
        meta = {"display_name": name, "game_types": ["even_odd"], "contact_endpoint": f"http://{host}:{port}/mcp"}
        fields = {"message_type": "LEAGUE_REGISTER_REQUEST", "league_id": league_id, "player_meta": meta}
        body = {"jsonrpc": "2.0", "method": "register_player", "params": fields, "id": 1}
        answers.append(site.http.post("/mcp", json=body).json())
        if "result" in answers[-1] and answers[-1]["result"]["status"] == "ACCEPTED":
            return str(answers[-1]["result"]["player_id"])
    raise AssertionError(answers)


@pytest.mark.long
def test_players_that_no_call_reaches_do_not_stop_a_league(arena: Site, tmp_path: Path) -> None:
    """The two also meet each other. A missing route counts as the site's own fault at first, but not for ever."""
    short = {"join_timeout_s": 1, "generic_timeout_s": 1, "game_over_timeout_s": 1}
    open_league(arena, "nowhere", suspend_after=5, **short)
    nowhere = {register_nowhere(arena, "nowhere", f"Ghost{number}", 18000 + number) for number in (1, 2)}
    with losers(arena, "nowhere", tmp_path, "Alice:", "Bob:") as cast:
        start(arena, "nowhere")
        arena.wait_until("nowhere", "COMPLETED", 40)
        counted = counted_outcomes(arena, "nowhere")
        assert {match: outcome for match, [outcome] in cast.told_outcomes().items()}.items() <= counted.items()
        meeting = [
            match
            for match in arena.get("/leagues/nowhere/matches")
            if {match["player_A_id"], match["player_B_id"]} == nowhere
        ]
        assert [(match["status"], match["winner"]) for match in meeting] == [("TECHNICAL_LOSS", None)]
