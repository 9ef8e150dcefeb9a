"""The folder SHARED of a real site: its files appear, survive a kill, hide what is frozen, and can be rewritten."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from league_sdk.config_loader import ConfigLoader
from league_sdk.repositories import (
    MatchRepository,
    PlayerHistoryRepository,
    RoundsRepository,
    StandingsRepository,
)
from tests.e2e.ports import free_port
from tests.e2e.site import UNHURRIED, Player, Site, site_with_players, wait_for
from tests.paths import ROOT

pytestmark = [pytest.mark.e2e, pytest.mark.long]
LEAGUE = "on_disk"


def files(shared: Path) -> dict[str, bytes]:
    """The content of every file by its path, without the files of the site itself, whose names begin with a dot."""
    found = [path for path in shared.rglob("*") if path.is_file() and not path.name.startswith(".")]
    return {str(path.relative_to(shared)): path.read_bytes() for path in sorted(found)}


def entries(shared: Path, path: str) -> list[dict[str, Any]]:
    """The entries of a log; none if the log does not exist yet."""
    log = shared / "logs" / path
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []


def up_to_date(site: Site, shared: Path) -> dict[str, Any]:
    """Wait until the table in the folder has every public event; returns the table."""
    upto = site.get(f"/leagues/{LEAGUE}/ledger?limit=1")["last_seq"]

    def written() -> dict[str, Any] | None:
        table = StandingsRepository(LEAGUE, shared / "data").load()
        return table if table["version"] >= upto else None

    table = wait_for("SHARED is up to date", written)
    wait_for("the pass is over", lambda: f'"upto": {table["version"]}' in (shared / ".written.json").read_text())
    return table


def check_against_the_api(site: Site, shared: Path, players: list[Player]) -> None:
    """Check that the files of the league, its matches, players and settings say the same as the public API."""
    data = shared / "data"
    table = up_to_date(site, shared)
    assert table["standings"] == site.get(f"/leagues/{LEAGUE}/standings")
    done = [match for match in site.get(f"/leagues/{LEAGUE}/matches") if match["status"]]
    matches = MatchRepository(LEAGUE, data)
    assert matches.list_matches() == sorted(match["match_id"] for match in done)
    for match in done:
        in_file, in_api = matches.load(match["match_id"]), site.get(f"/leagues/{LEAGUE}/matches/{match['match_id']}")
        assert [line["n"] for line in in_file["transcript"]] == [line["n"] for line in in_api["transcript"]]
        assert in_file["result"]["choices"] == in_api["result"]["choices"]
    rounds = RoundsRepository(LEAGUE, data).load()["rounds"]
    assert [len(one["matches"]) for one in rounds] == [2, 2, 2]
    for player in players:
        history = PlayerHistoryRepository(player.player_id, data).load()
        mine = [match for match in done if player.player_id in (match["player_A_id"], match["player_B_id"])]
        assert sorted(row["match_id"] for row in history["matches"]) == sorted(match["match_id"] for match in mine)
        log = entries(shared, f"agents/{player.player_id}.log.jsonl")
        assert {line["details"]["match_id"] for line in log} == {match["match_id"] for match in mine}
        assert {line["event_type"] for line in log} == {"MESSAGE_SENT", "MESSAGE_RECEIVED"}
    loader = ConfigLoader(shared / "config")
    assert loader.load_league(LEAGUE).status == site.get(f"/leagues/{LEAGUE}")["status"]
    assert loader.load_system().network.default_league_manager_port == site.port
    assert loader.get_player_by_id("P01").default_endpoint == ""
    assert {one.referee_id for one in loader.load_agents().referees} >= {"REF01", "REF02"}
    seqs = [line["details"]["seq"] for line in entries(shared, f"league/{LEAGUE}/league.log.jsonl")]
    assert seqs == sorted(set(seqs))


def rebuild(site: Site) -> str:
    """Run ``manage.py shared``; returns what it prints."""
    command = [sys.executable, "manage.py", "shared", "--data", str(site.data)]
    environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    return done.stdout


def test_the_files_of_chapter_9_follow_a_league(tmp_path: Path) -> None:
    settings = UNHURRIED | {"auto_advance": False, "referee_lease_s": 2}
    with site_with_players(tmp_path, 4, league=LEAGUE, settings=settings, player_options=("--league-id", LEAGUE)) as (
        site,
        players,
    ):
        shared = site.data / "SHARED"
        site.post(f"/leagues/{LEAGUE}/freeze", {"from_round": 3})
        site.post(f"/leagues/{LEAGUE}/start")
        site.wait_for_round(LEAGUE, 1)
        check_against_the_api(site, shared, players)

        # The site is killed in the middle of round 2; a half-written line is added.
        site.post(f"/leagues/{LEAGUE}/start")
        site.kill()
        with (shared / "logs" / "league" / LEAGUE / "league.log.jsonl").open("a") as log:
            log.write('{"half a li')
        site.start()
        site.wait_for_round(LEAGUE, 2)
        check_against_the_api(site, shared, players)

        site.post(f"/leagues/{LEAGUE}/start")
        up_to_date(site, shared)
        frozen = files(shared)
        wait_for("the hidden round is over", lambda: all(len(game_overs(player)) == 3 for player in players))
        assert files(shared) == frozen
        assert not any("R3M" in path for path in frozen)
        # The referees' own logs have round 3, but are not in SHARED.
        assert not any(b"R3M" in content for path, content in frozen.items() if path.startswith("logs/agents"))
        wait_for(
            "the referees have logged it", lambda: any(b"R3M" in log for log in files(site.data / "logs").values())
        )

        secrets = set().union(*(player.secrets() for player in players))
        everything = b"\n".join(files(shared).values()).decode()
        assert [one for one in secrets if one in everything] == []
        assert [player.endpoint for player in players if player.endpoint in everything] == []

        site.post(f"/leagues/{LEAGUE}/freeze/lift")
        site.wait_until(LEAGUE, "COMPLETED")
        check_against_the_api(site, shared, players)
        before = files(shared)
        assert "is written" in rebuild(site)
        assert files(shared) == before


def game_overs(player: Player) -> list[dict[str, Any]]:
    """The GAME_OVERs that a player was sent."""
    return [message for message in player.messages() if message.get("message_type") == "GAME_OVER"]


def test_a_site_with_no_shared_writes_no_such_folder(tmp_path: Path) -> None:
    site = Site(tmp_path / "data", "--no-demo", "--no-shared", "--referees", "0")
    try:
        site.create(LEAGUE)
    finally:
        site.close()
    assert not (site.data / "SHARED").exists()


def test_a_configuration_is_read_at_the_start_and_its_values_appear_in_shared(tmp_path: Path) -> None:
    config = Path(shutil.copytree(ROOT / "examples" / "config", tmp_path / "config"))
    system = config / "system.json"
    configuration = json.loads(system.read_text())
    configuration["timeouts"]["move_timeout_sec"] = 12
    system.write_text(json.dumps(configuration))
    site = Site(tmp_path / "data", "--no-demo", "--referees", "0", "--config", str(config))
    try:
        assert [league["league_id"] for league in site.get("/leagues")] == ["league_2025_even_odd"]
        site.create(LEAGUE)
        shared = site.data / "SHARED" / "config"
        wait_for("the league has its file", (shared / "leagues" / f"{LEAGUE}.json").exists)
        wait_for("the site has its file, which is written later", (shared / "system.json").exists)
        assert ConfigLoader(shared).load_system().timeouts.move_timeout_sec == 12
        assert json.loads(system.read_text()) == configuration
    finally:
        site.close()


def test_a_mistake_in_a_configuration_ends_the_start_and_changes_nothing(tmp_path: Path) -> None:
    config = Path(shutil.copytree(ROOT / "examples" / "config", tmp_path / "config"))
    (config / "system.json").write_text("{}")
    data = tmp_path / "data"
    command = [sys.executable, "manage.py", "host", "--port", str(free_port()), "--data", str(data), "--config", config]
    environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    ended = subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True)
    sentence = f"{config / 'system.json'}: field schema_version is missing."
    assert (ended.returncode, ended.stderr.splitlines()[-1]) == (1, f"UnusableConfig: {sentence}")
    assert not (data / "league.sqlite3").exists()
