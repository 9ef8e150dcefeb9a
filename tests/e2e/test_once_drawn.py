"""A result, once drawn, stands: players that have seen the draw try to have it drawn again (ruling, section 12).

Judged from the players' own records. Each league has two players with a trick and two without: those with a trick
draw against each other, which is a match that they have not won, so every trick is done at least once.
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
from tests.e2e.losers import Losers, as_counted, losers
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
SHORT = ("nul_as_text", "nul_in_keys_and_values", "gzip_bomb")
"""Of the answers that are none, those that are tried each time; the others are all of one kind."""
HELD = ("hold_until_told", "hold_and_query", "flood_the_referee", "flood_instead_of_moving", "nul_to_game_error")
ANSWERS = [
    pytest.param(name, id=name, marks=[] if name in SHORT else [pytest.mark.long])
    for name in TRICKS
    if name not in HELD
]
LARGE = 100
"""Players of the league whose schedule is asked for."""


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site with one referee: whoever makes it stumble makes it stumble in every match."""
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


def stands(site: Site, league_id: str, cast: Losers) -> None:
    """The league comes to its end, and every match was told in one way, which is the one that counts."""
    league = site.wait_until(league_id, "COMPLETED", 45)
    assert league["matches_done"] == league["matches"]
    assert cast.ends() == {match: [told] for match, told in as_counted(site, league_id).items()}


def cast_of(does: str) -> tuple[str, ...]:
    return (f"Mallory:{does}", f"Trudy:{does}", "Alice:", "Bob:")


@pytest.mark.parametrize("does", ANSWERS)
def test_no_answer_to_game_over_has_a_match_played_again(arena: Site, tmp_path: Path, does: str) -> None:
    league_id = f"answers-{does}"[:32]
    # Who answers everything with a page loses technically: that, too, is told once.
    open_league(arena, league_id)
    with losers(arena, league_id, tmp_path, *cast_of(does)) as cast:
        start(arena, league_id)
        stands(arena, league_id, cast)
        assert cast.lines("trick") != []
        attempts = [match["attempt"] for match in arena.get(f"/leagues/{league_id}/matches")]
    assert attempts == [1] * 6


def test_what_a_player_says_to_an_error_costs_no_other_match_its_referee(arena: Site, tmp_path: Path) -> None:
    """Alice and Bob think for longer than a referee may go without an accepted heartbeat."""
    open_league(arena, "strangers", referee_lease_s=2)
    cast_names = ("Mallory:nul_to_game_error", "Trudy:nul_to_game_error", "Alice:", "Bob:")
    with losers(arena, "strangers", tmp_path, *cast_names, options=("--think", "2.5")) as cast:
        start(arena, "strangers")
        stands(arena, "strangers", cast)
        assert cast.lines("trick") != []
        attempts = [match["attempt"] for match in arena.get("/leagues/strangers/matches")]
    assert attempts == [1] * 6


@pytest.mark.long
def test_dear_queries_take_no_referee_its_lease(arena: Site, tmp_path: Path) -> None:
    arena.create("large", max_players=LARGE)
    dummies = [f"Dummy{number}:" for number in range(LARGE)]
    with losers(arena, "large", tmp_path, *dummies):
        arena.post("/leagues/large/close")
    open_league(arena, "queries")
    with losers(arena, "queries", tmp_path, *cast_of("hold_and_query"), options=("--large", "large")) as cast:
        start(arena, "queries")
        stands(arena, "queries", cast)
        assert cast.lines("trick") != []


@pytest.mark.parametrize(
    ("does", "game_type"),
    [
        ("flood_the_referee", "even_odd"),
        pytest.param("flood_instead_of_moving", "tic_tac_toe", marks=pytest.mark.long),
    ],
)
def test_a_flooded_referee_keeps_its_matches(arena: Site, tmp_path: Path, does: str, game_type: str) -> None:
    league_id = f"flood-{game_type}"
    open_league(arena, league_id, game_type)
    with losers(arena, league_id, tmp_path, *cast_of(does)) as cast:
        start(arena, league_id)
        stands(arena, league_id, cast)
        if game_type == "tic_tac_toe":
            # Who floods in place of a move has lost by that, and was not excused.
            hopeless = {line["match_id"]: line["player"] for line in cast.lines("trick")}
            matches = {match["match_id"]: match for match in arena.get(f"/leagues/{league_id}/matches")}
            assert {matches[one]["status"] for one in hopeless} <= {"TECHNICAL_LOSS"}
            assert [one for one, who in hopeless.items() if matches[one]["winner"] == who] == []
        assert cast.lines("trick") != []


def kill_referees(site: Site) -> None:
    """SIGKILL to every referee; the site starts them again."""
    for pid in site.referees():
        os.kill(pid, signal.SIGKILL)


def restart(site: Site) -> None:
    """SIGTERM to the site, and the same data again."""
    site.stop()
    site.start()


def kill_all(site: Site) -> None:
    """SIGKILL to the site, which takes its referees with it."""
    site.kill()
    site.start()


def freeze_referees(site: Site) -> None:
    """SIGSTOP to every referee until its lease is over, then SIGCONT."""
    pids = site.referees()
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        going = [one["league_id"] for one in site.get("/leagues") if one["status"] == "RUNNING"]

        def lost() -> bool:
            return any(
                event["kind"] == "attempt_lost"
                for league in going
                for event in site.get(f"/leagues/{league}/events")["events"]
            )

        wait_for("a lost lease", lost, 30)
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


OFTEN = {("killed", "even_odd"), ("restarted", "tic_tac_toe")}
BLOWS: dict[str, Callable[[Site], None]] = {
    "killed": kill_referees,
    "restarted": restart,
    "all-killed": kill_all,
    "frozen": freeze_referees,
}


@pytest.mark.parametrize(
    ("blow", "game_type"),
    [
        pytest.param(blow, game, marks=[] if (blow, game) in OFTEN else [pytest.mark.long])
        for blow in BLOWS
        for game in ("even_odd", "tic_tac_toe")
    ],
)
def test_what_ends_between_telling_and_report_changes_no_result(tmp_path: Path, blow: str, game_type: str) -> None:
    """The first GAME_OVER is not answered until the blow has come."""
    site = Site(tmp_path / "data", "--no-demo", "--referees", "1")
    try:
        open_league(site, "blow", game_type)
        with losers(site, "blow", tmp_path, *cast_of("hold_until_told")) as cast:
            start(site, "blow")
            cast.wait_for_trick()
            BLOWS[blow](site)
            cast.go()
            stands(site, "blow", cast)
        assert site.stop() == 0
    finally:
        site.close()


@contextmanager
def no_room(site: Site) -> Iterator[None]:
    """No file that the site writes to may grow, as on a full disk (RLIMIT_FSIZE)."""
    _, hard = resource.prlimit(site.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(site.process.pid, resource.RLIMIT_FSIZE, (4096, hard))
    try:
        yield
    finally:
        resource.prlimit(site.process.pid, resource.RLIMIT_FSIZE, (hard, hard))


def test_a_full_disk_at_the_report_changes_no_result(tmp_path: Path) -> None:
    """From the first GAME_OVER on no process of the site can write to a file, for a few seconds."""
    site = Site(tmp_path / "data", "--no-demo", "--referees", "1")
    try:
        open_league(site, "disk")
        with losers(site, "disk", tmp_path, *cast_of("hold_until_told")) as cast:
            start(site, "disk")
            cast.wait_for_trick()
            with no_room(site):
                cast.go()
                wait_for("the site says so", lambda: site.http.get("/health").status_code != 200, 30)
            stands(site, "disk", cast)
        assert site.stop() == 0
    finally:
        site.close()


NOWHERE = ("127.255.255.255", "[fc00::1]", "nobody.invalid")
"""Hosts that no call gets to: a broadcast address, which may be refused at once, a network and a name that are none."""


def register_nowhere(site: Site, league_id: str, name: str, port: int) -> str:
    """Register a player at the first of those hosts that is let in; its id."""
    said = []
    for host in NOWHERE:
        meta = {"display_name": name, "game_types": ["even_odd"], "contact_endpoint": f"http://{host}:{port}/mcp"}
        fields = {"message_type": "LEAGUE_REGISTER_REQUEST", "league_id": league_id, "player_meta": meta}
        body = {"jsonrpc": "2.0", "method": "register_player", "params": fields, "id": 1}
        said.append(site.http.post("/mcp", json=body).json())
        if "result" in said[-1] and said[-1]["result"]["status"] == "ACCEPTED":
            return str(said[-1]["result"]["player_id"])
    raise AssertionError(said)


def test_players_that_nobody_can_reach_hold_no_league_up(arena: Site, tmp_path: Path) -> None:
    """Two of them meet. That there is no way to an address of theirs is not for ever our own fault."""
    short = {"join_timeout_s": 1, "generic_timeout_s": 1, "game_over_timeout_s": 1}
    open_league(arena, "nowhere", suspend_after=5, **short)
    nowhere = {register_nowhere(arena, "nowhere", f"Ghost{number}", 18000 + number) for number in (1, 2)}
    with losers(arena, "nowhere", tmp_path, "Alice:", "Bob:") as cast:
        start(arena, "nowhere")
        arena.wait_until("nowhere", "COMPLETED", 40)
        counted = as_counted(arena, "nowhere")
        assert {match: told for match, [told] in cast.ends().items()}.items() <= counted.items()
        meeting = [
            match
            for match in arena.get("/leagues/nowhere/matches")
            if {match["player_A_id"], match["player_B_id"]} == nowhere
        ]
        assert [(match["status"], match["winner"]) for match in meeting] == [("TECHNICAL_LOSS", None)]
