"""A referee calls two web processes in turn, on PostgreSQL: a verdict sealed at one counts at the other."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from league_sdk.cli.app import main
from league_sdk.rules.draws import CommittedDraw
from tests.bots.scripted import Result, listening
from tests.e2e.scaled import ENVIRONMENT, WebProcess, scaled_site
from tests.e2e.site import Player, wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(300)]
LEAGUE = "apart"


@contextmanager
def accepting_matches() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """An agent that accepts every ``start_match``; yields its address and the list of their parameters."""
    starts: list[dict[str, Any]] = []

    def answer(body: Any) -> Result:
        if body["method"] == "start_match":
            starts.append(body["params"])
        return {"accepted": True}

    with listening(answer) as server:
        yield server.endpoint, starts


class Judge:
    """A referee with the site's key, whose calls the test makes at the web process of its choice."""

    def __init__(self, web: WebProcess, name: str, endpoint: str) -> None:
        meta = {"display_name": name, "version": "1.0.0", "game_types": ["even_odd"], "contact_endpoint": endpoint}
        meta |= {"max_concurrent_matches": 5, "registration_code": ENVIRONMENT["LEAGUE_REFEREE_KEY"]}
        meta |= {"seals": True, "sends_progress": True}
        self.token, self.code = "", "new"
        done = self.call(web, "register_referee", "REFEREE_REGISTER_REQUEST", referee_meta=meta)
        self.token, self.code = done["auth_token"], done["referee_id"]

    def call(self, web: WebProcess, method: str, kind: str, **fields: Any) -> dict[str, Any]:
        signed = {"auth_token": self.token} if self.token else {}
        envelope = {"protocol": "league.v2", "message_type": kind, "sender": f"referee:{self.code}"}
        envelope |= {"timestamp": "2026-01-01T00:00:00Z", "conversation_id": "conv-of-the-test"}
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": envelope | signed | fields}
        answer = web.http.post("/mcp", json=body).json()
        outcome: dict[str, Any] = answer.get("result") or answer["error"]
        return outcome

    def send_heartbeat(self, web: WebProcess, start: dict[str, Any], **changes: Any) -> str:
        """Send a heartbeat for one match; returns the status in the answer for the match."""
        item = {name: start[name] for name in ("league_id", "match_id", "attempt")} | {"state": "DRAWING_NUMBER"}
        answer = self.call(web, "report_progress", "REPORT_PROGRESS", matches=[item | changes])
        return str(answer["matches"][0]["status"])

    def report(self, web: WebProcess, start: dict[str, Any], winner: str | None) -> dict[str, Any]:
        fields = {name: start[name] for name in ("league_id", "match_id", "attempt", "round_id", "game_type")}
        result = {"winner": winner, "score": {}, "details": {}}
        return self.call(web, "report_match_result", "MATCH_RESULT_REPORT", **fields, result=result)


def verdict(start: dict[str, Any]) -> dict[str, Any]:
    """The verdict that follows from the seed if the first player chooses even and the second odd."""
    seed, parts = bytes.fromhex(start["draw_seed"]), (start[name] for name in ("league_id", "match_id", "play"))
    number = CommittedDraw(seed, *parts, choices=("even", "odd")).randint(1, 10)
    first, second = start["player_A"]["id"], start["player_B"]["id"]
    parity = "odd" if number % 2 else "even"
    return {
        "status": "WIN",
        "winner_player_id": second if number % 2 else first,
        "reason": "drawn",
        "details": {"drawn_number": number, "number_parity": parity, "choices": {first: "even", second: "odd"}},
        "faults": [],
        "draw": number,
        "conversation_id": start["conversation_id"],
    }


def test_a_verdict_sealed_at_one_web_process_counts_at_the_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ExitStack() as stack:
        site, _redis = stack.enter_context(scaled_site(tmp_path))
        site.start_conductor()
        one, other = site.start_web(2)
        address, starts = stack.enter_context(accepting_matches())
        address_2, starts_2 = stack.enter_context(accepting_matches())
        judge = Judge(one, "First", address)
        one.create(LEAGUE, referee_lease_s=5)
        for number, web in enumerate((one, other), 1):
            player = Player(web, f"Agent{number}", tmp_path, "--league-id", LEAGUE)
            stack.callback(player.close)
        one.post(f"/leagues/{LEAGUE}/start")
        wait_for("the match is given out", lambda: starts)
        start = starts[0]
        sealed = verdict(start)
        loser = next(one for one in ("P01", "P02") if one != sealed["winner_player_id"])

        assert judge.send_heartbeat(other, start) == "ok"
        assert judge.send_heartbeat(one, start, seal=sealed) == "sealed"
        assert judge.send_heartbeat(other, start, seal=sealed | {"winner_player_id": loser}) == "sealed"
        for web in (one, other):
            match = web.get(f"/leagues/{LEAGUE}/matches")[0]
            assert (match["state"], match["status"]) == ("DRAWING_NUMBER", None)
            assert start["draw_seed"] not in web.http.get(f"/leagues/{LEAGUE}/matches/R1M1/").text

        # Its lease runs out, and a second referee gets the sealed verdict. Both report at once, at different processes.
        second_judge = Judge(other, "Second", address_2)
        wait_for("the second referee is given the match", lambda: starts_2)
        second_start = starts_2[0]
        assert (second_start["attempt"], second_start["sealed"]["winner_player_id"]) == (2, sealed["winner_player_id"])
        with ThreadPoolExecutor() as both:
            late = both.submit(judge.report, one, start, loser)
            second = both.submit(second_judge.report, other, second_start, sealed["winner_player_id"])
            assert [late.result()["status"], second.result()["status"]] == ["ACCEPTED"] * 2
        for web in (one, other):
            match = web.get(f"/leagues/{LEAGUE}/matches")[0]
            assert (match["state"], match["winner"]) == ("FINISHED", sealed["winner_player_id"])
        events = one.get(f"/leagues/{LEAGUE}/ledger")["events"]
        assert [event["public"]["kind"] for event in events].count("match_finished") == 1
        capsys.readouterr()
        assert main(["verify", f"{other.url}/leagues/{LEAGUE}/"]) == 0
        output = capsys.readouterr().out
        assert "1 drawn numbers follow" in output and "1 results are the verdicts that were sealed" in output
