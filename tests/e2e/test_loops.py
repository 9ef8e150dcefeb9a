"""The loops that the join page shows for dialling out: with one of them a strict player plays a whole league."""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from matches.audience import loops
from tests.e2e.site import Player, Site, league_with_players

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(120)]
LOOPS = {
    "Python": ([sys.executable], "loop.py"),
    "JavaScript": (["node"], "loop.mjs"),
    "curl": (["sh"], "loop.sh"),
}
NEEDED = {"JavaScript": ["node"], "curl": ["curl", "jq"]}


def loops_on_join_page(site: Site, league: str) -> dict[str, str]:
    """The loops on the join page by language, as a student copies them."""
    page = site.http.get(f"/leagues/{league}/join/").text
    texts = re.findall(r'aria-label="(\w+)" data-copy-text>(.*?)</pre>', page, re.DOTALL)
    return {name: html.unescape(text) for name, text in texts if "/inbox" in text}


@contextmanager
def running_loop(language: str, text: str, player: Player, folder: Path) -> Iterator[Path]:
    """Run a loop for a player; yields the file of its output. At the end another program polls, and the loop stops."""
    [registered] = [line["reply"]["result"] for line in player.lines() if line.get("registered")]
    values = {
        "YOUR-TOKEN": registered["auth_token"],
        "http://localhost:8101/mcp": player.endpoint.replace("192.0.2.1", "127.0.0.1"),
    }
    for printed, value in values.items():
        assert text.count(printed) == 1
        text = text.replace(printed, value)
    assert text.count(registered["inbox"]["poll_url"]) == 1
    program, name = LOOPS[language]
    folder.mkdir()
    (folder / name).write_text(text)
    with (folder / "printed").open("w") as out:
        # In a session of its own, so that the programs that a shell has started are killed with it.
        process = subprocess.Popen([*program, name], cwd=folder, stdout=out, stderr=out, start_new_session=True)
        try:
            yield folder / "printed"
            assert process.poll() is None, (folder / "printed").read_text()
            head = {"Authorization": f"Bearer {registered['auth_token']}"}
            # A loop that is between two polls takes the inbox over again, so this polls until the loop has ended.
            while process.poll() is None:
                assert httpx.get(registered["inbox"]["poll_url"], params={"wait": "1"}, headers=head).status_code in (
                    200,
                    409,
                )
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
            process.wait()


@pytest.mark.parametrize("language", LOOPS)
def test_a_strict_player_plays_a_league_with_the_loop_of_the_join_page(
    site: Site, tmp_path: Path, language: str
) -> None:
    absent = [program for program in NEEDED.get(language, ()) if shutil.which(program) is None]
    if absent:
        pytest.skip(f"{' and '.join(absent)} is not installed on this machine")
    league = f"loops_{language.lower()}"
    # The players register an address that the site cannot call.
    options = ("--register-host", "192.0.2.1")
    with league_with_players(site, league, 3, tmp_path, *options) as players, ExitStack() as stack:
        [text] = [text for name, text in loops_on_join_page(site, league).items() if name == language]
        printed = [stack.enter_context(running_loop(language, text, one, tmp_path / one.player_id)) for one in players]
        site.play_to_the_end(league)
        for player in players:
            player.wait_for_last_message()
        assert [player.deviations() for player in players] == [[], [], []]
        matches = [
            site.get(f"/leagues/{league}/matches/{one['match_id']}") for one in site.get(f"/leagues/{league}/matches")
        ]
        assert [(match["status"] in ("WIN", "DRAW"), match["result"]["faults"]) for match in matches] == [
            (True, [])
        ] * 3
    assert [one.read_text() for one in printed] == ["", "", ""]


@pytest.mark.parametrize("language", LOOPS)
def test_a_loop_has_at_most_ten_lines(language: str) -> None:
    [text] = [one.text for one in loops.of("http://league") if one.name == language]
    lines = text.splitlines()
    assert len(lines) <= 10
    assert max(map(len, lines)) <= 115
