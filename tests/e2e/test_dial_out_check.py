"""An agent that dials out is checked over its own line, with the report that every agent gets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from league_sdk.conformance.clauses.player import PLAYER
from tests.e2e.scaled import scaled_site
from tests.e2e.site import Instructor, Player, Site, league_with_players, wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.long]
LEAGUE = "league_2025_even_odd"
HTTP_CLAUSES = {"robust.slow_body", "http.content_type", "robust.broken_json", "robust.batch", "robust.notification"}


@contextmanager
def site_that_checks(folder: Path) -> Iterator[Site]:
    """A site that checks every agent that registers."""
    site = Site(folder / "data", "--no-demo", environment={"LEAGUE_CHECK_ON_REGISTRATION": "1"})
    try:
        yield site
    finally:
        site.close()


def readiness(site: Instructor) -> dict[str, str]:
    """The readiness of each player, by id, as the API words it."""
    return {one["agent_id"]: one["ready"] for one in site.get(f"/leagues/{LEAGUE}/agents") if one["kind"] == "player"}


def finished_check(site: Instructor, check_id: str) -> dict[str, Any]:
    """Wait until a check is over; returns the check as the API shows it."""

    def over() -> dict[str, Any] | None:
        check: dict[str, Any] = site.get(f"/checks/{check_id}")
        return check if check["state"] in ("DONE", "FAILED") else None

    return wait_for("the check is over", over)


def clauses_with(check: dict[str, Any], verdict: str) -> set[str]:
    """The ids of the clauses of a check that have this verdict."""
    return {clause["id"] for clause in check["report"]["clauses"] if clause["verdict"] == verdict}


def test_agents_that_dial_out_are_checked_over_their_lines(tmp_path: Path) -> None:
    with site_that_checks(tmp_path) as site:
        players = {way: Player(site, way, tmp_path, "--dial", way) for way in ("poll", "websocket")}
        try:
            # Each registration has started a check by itself.
            wait_for("both players have passed", lambda: sorted(readiness(site).values()) == ["ready"] * 2)
            check_ids = {
                way: site.post("/checks", {"auth_token": player.auth_token()}, status=201)["check_id"]
                for way, player in players.items()
            }
            for way, check_id in check_ids.items():
                check = finished_check(site, check_id)
                assert (check["state"], check["passed"], check["way"]) == ("DONE", True, way), check
                assert {clause["id"] for clause in check["report"]["clauses"]} == {
                    name for name, rule in PLAYER.rules.items() if not rule.for_some
                }
                assert clauses_with(check, "fails") == set()
                assert clauses_with(check, "skipped") >= HTTP_CLAUSES
                page = site.http.get(check["url"]).text
                assert "inbox://" not in page
                assert "Its own line" in page
        finally:
            for player in players.values():
                player.close()
        assert site.stop() == 0


class Student:
    """A browser on the page "My agent"."""

    def __init__(self, http: httpx.Client, league: str, player: Player) -> None:
        self.http, self.page, self.player = http, f"/leagues/{league}/mine/", player
        self.html = self.http.get(self.page).text
        self.send("", secret=player.auth_token())

    def send(self, path: str, **fields: str) -> None:
        """Send a form of the page."""
        matched = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', self.html)
        assert matched, self.html
        form = fields | {"csrfmiddlewaretoken": matched[1], "agent": self.player.player_id}
        answer = self.http.post(self.page + path, data=form)
        assert answer.status_code == 200, answer.text
        self.html = answer.text

    def load(self, **query: str) -> str:
        """Load the page again, with a query such as the match to show; its HTML."""
        self.html = self.http.get(self.page, params=query).text
        return self.html


def test_my_agent_says_why_a_player_that_dials_out_lost_and_sends_it_a_request_again(
    site: Site, tmp_path: Path
) -> None:
    quick = {"join_timeout_s": 2, "move_timeout_s": 1, "max_retries": 1, "retry_base_s": 0, "announce_wait_s": 0.2}
    with ExitStack() as at_the_end:
        cast = league_with_players(site, "sides", 2, tmp_path, "--dial", "poll", **quick)
        players = at_the_end.enter_context(cast)
        options = ("--dial", "websocket", "--delay-choice", "9", "--league-id", "sides")
        players.append(Player(site, "Slow", tmp_path, *options))
        good, absent, slow = players
        absent.close()
        site.post("/leagues/sides/start", {"auto_advance": True})

        def faults_of_both() -> dict[str, dict[str, Any]]:
            matches = site.get("/leagues/sides/matches")
            own = [one for one in matches if "P01" in (one["player_A_id"], one["player_B_id"])]
            faults_by_player = {}
            for one in own:
                result = site.get(f"/leagues/sides/matches/{one['match_id']}")["result"]
                for fault in result["faults"] if result else []:
                    faults_by_player[fault["player_id"]] = fault | {"match_id": one["match_id"]}
            return faults_by_player if len(faults_by_player) == 2 else {}

        faults = wait_for("both have lost to P01", faults_of_both)
        assert {name: (one["error_code"], one["cause"], one["detail"]) for name, one in faults.items()} == {
            "P02": ("E009", "CONNECT", "was not connected: it had no poll and no socket open in time"),
            "P03": ("E001", "DEADLINE", "took the message and did not answer in time"),
        }
        browser = httpx.Client(base_url=site.url, follow_redirects=True, timeout=20, trust_env=False)
        at_the_end.enter_context(browser)
        for player, sentence in ((absent, "was not connected: it had no poll"), (slow, "took the message and did not")):
            page = Student(browser, "sides", player).load(match=faults[player.player_id]["match_id"])
            assert sentence in page
            assert "Over its own line." in page
            assert "inbox://" not in page
            assert "HTTP 200" not in page
            browser.cookies.clear()
        student = Student(browser, "sides", good)
        assert "dials out (long poll)" in student.html
        entry = re.search(r'name="entry" value="([\d.]+)"[^>]*>\s*Send it again now<span[^>]*> CHOOSE', student.html)
        assert entry, student.html
        match_id = re.search(r'name="match" value="(\w+)"', student.html)
        assert match_id, student.html
        before = len(good.messages())
        student.send("again", entry=entry[1], match=match_id[1])
        wait_for("the answer is there", lambda: "A legal move: the referee would take it." in student.load())
        sent_again = [one for one in good.messages()[before:] if one["conversation_id"].startswith("trial-")]
        assert [one["message_type"] for one in sent_again] == ["CHOOSE_PARITY_CALL"]


@pytest.mark.parametrize("way", ["poll", "websocket"])
def test_no_player_loses_a_point_when_its_match_starts_during_its_check(tmp_path: Path, way: str) -> None:
    """Each choice takes three seconds, so the league starts while the players' first checks still run."""
    options = ("--dial", way, "--choice", "alternate", "--delay-choice", "3")
    with site_that_checks(tmp_path) as site, ExitStack() as at_the_end:
        players = [Player(site, f"Agent{number}", tmp_path, *options) for number in range(1, 5)]
        for player in players:
            at_the_end.callback(player.close)
        wait_for("checks are running", lambda: "checking" in readiness(site).values())
        wait_for("a choice is asked for", lambda: any(one for player in players for one in player.messages()))
        site.play_to_the_end(LEAGUE)
        matches = site.get(f"/leagues/{LEAGUE}/matches")
        assert {match["attempt"] for match in matches} == {1}
        assert {match["status"] for match in matches} <= {"WIN", "DRAW"}
        assert site.stop() == 0


@pytest.mark.parametrize("way", ["poll", "websocket"])
def test_a_check_asked_for_at_one_web_process_reaches_a_line_at_another(tmp_path: Path, way: str) -> None:
    with ExitStack() as stack:
        site, _ = stack.enter_context(scaled_site(tmp_path, LEAGUE_CHECK_ON_REGISTRATION="1"))
        site.start_conductor()
        one, other = site.start_web(2)
        player = Player(other, "Far", tmp_path, "--dial", way)
        stack.callback(player.close)
        row = one.post("/checks", {"auth_token": player.auth_token()}, status=201)
        check = finished_check(one, row["check_id"])
        assert (check["state"], check["passed"], check["way"]) == ("DONE", True, way), check
        wait_for("both web processes show the result", lambda: readiness(one) == readiness(other) == {"P01": "ready"})
