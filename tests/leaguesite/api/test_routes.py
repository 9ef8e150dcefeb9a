"""The HTTP API: what an instructor's script does, what the public reads, and the document of both."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from league_sdk.protocol import SDK_VERSION
from league_sdk.rules.registry import describe
from leaguesite.observing import health
from matches.league import lifecycle, losses
from matches.models import League, Match
from tests import factories as make
from tests.leaguesite.script import ACTIONS, READS, Script

pytestmark = pytest.mark.django_db
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)")


def league_row(**changes: Any) -> dict[str, Any]:
    """A league of four players in registration, as the API shows it; with changes."""
    return {
        "league_id": "fall",
        "display_name": "Fall",
        "game_type": "even_odd",
        "demo": False,
        "status": "REGISTRATION",
        "paused": False,
        "auto_advance": False,
        "players": 4,
        "round": None,
        "rounds": 0,
        "matches": 0,
        "matches_done": 0,
        "champion": None,
        "champions": [],
        "created_at": "<time>",
        "started_at": None,
        "completed_at": None,
    } | changes


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_times(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(without_times(item) for item in value)
    return TIME.sub("<time>", value) if isinstance(value, str) else value


SCHEDULED = {"status": "SCHEDULED", "rounds": 3, "matches": 6}
RUNNING = SCHEDULED | {"status": "RUNNING", "round": 1, "started_at": "<time>"}


def test_a_script_opens_closes_starts_pauses_resumes_and_stops_a_league(script: Script) -> None:
    body = {"league_id": "fall", "display_name": "Fall", "settings": {"move_timeout_s": 3}}
    assert without_times(script.post("/leagues", body)) == (201, league_row(players=0))
    assert League.objects.get().settings == {"move_timeout_s": 3}
    make.referee()
    for number in range(1, 5):
        make.player(f"Player {number}", "fall", port=8100 + number)
    assert without_times(script.post("/leagues/fall/close")) == (200, league_row(**SCHEDULED))
    assert without_times(script.post("/leagues/fall/rounds/start")) == (200, league_row(**RUNNING))
    assert without_times(script.post("/leagues/fall/pause")) == (200, league_row(**RUNNING, paused=True))
    assert without_times(script.post("/leagues/fall/resume")) == (200, league_row(**RUNNING))
    stopped = league_row(**(RUNNING | {"status": "STOPPED", "round": None, "completed_at": "<time>"}))
    assert without_times(script.post("/leagues/fall/stop")) == (200, stopped)


@pytest.mark.parametrize(("body", "advance"), [(None, False), ({}, False), ({"auto_advance": True}, True)])
def test_starting_a_league_with_and_without_auto_advance(script: Script, body: Any, advance: bool) -> None:
    make.league()
    assert without_times(script.post("/leagues/fall/start", body)) == (200, league_row(**RUNNING, auto_advance=advance))


def test_a_league_that_is_over_has_a_champion(script: Script) -> None:
    made = make.running_league(players=2)
    make.report(made.match("R1M1"), "P02")
    champion = {"player_id": "P02", "display_name": "Player 2", "points": 3}
    numbers = {"players": 2, "rounds": 1, "round": 1, "matches": 1, "matches_done": 1}
    over = league_row(**numbers, status="COMPLETED", champion=champion, started_at="<time>", completed_at="<time>")
    over["champions"] = [champion]
    assert without_times(script.get("/leagues/fall")) == (200, over)
    assert without_times(script.get("/leagues")) == (200, [over])


def match_row(match_id: str, a: str, b: str, **changes: Any) -> dict[str, Any]:
    return {
        "match_id": match_id,
        "round_id": int(match_id[1]),
        "player_A_id": a,
        "player_B_id": b,
        "referee_id": "REF01",
        "state": "ASSIGNED",
        "attempt": 1,
        "status": None,
        "winner": None,
    } | changes


def test_a_held_match_is_released_and_cancelled(script: Script) -> None:
    made = make.running_league(players=2)
    Match.objects.update(lost_attempts=2)
    losses.lose_attempt(matches=Match.objects.all(), why="test")
    assert made.match("R1M1").state == "HELD"
    released = match_row("R1M1", "P01", "P02", state="READY")
    assert script.post("/leagues/fall/matches/R1M1/release") == (200, released)
    cancelled = released | {"state": "FINISHED", "status": "CANCELLED"}
    assert script.post("/leagues/fall/matches/R1M1/cancel") == (200, cancelled)
    assert made.match("R1M1").reason == "cancelled by the instructor"


# Reading ------------------------------------------------------------------------------------------


def test_the_public_reads_standings_matches_and_rounds(public: Script) -> None:
    made = make.running_league(players=2)
    make.report(made.match("R1M1"), "P01", transcript=[make.entry(0)], reason="because")
    status, rows = public.get("/leagues/fall/standings")
    assert (status, [(row["rank"], row["player_id"], row["points"]) for row in rows]) == (
        200,
        [(1, "P01", 3), (2, "P02", 0)],
    )
    played = match_row("R1M1", "P01", "P02", state="FINISHED", status="WIN", winner="P01")
    assert public.get("/leagues/fall/matches") == (200, [played])
    status, rounds = public.get("/leagues/fall/rounds")
    assert (status, without_times(rounds)) == (
        200,
        [
            {
                "round_id": 1,
                "state": "COMPLETED",
                "bye": None,
                "started_at": "<time>",
                "completed_at": "<time>",
                "matches": [played],
            }
        ],
    )
    status, detail = public.get("/leagues/fall/matches/R1M1")
    lifecycle_ = [{"state": state, "at": "<time>"} for state in ("ASSIGNED", "FINISHED")]
    assert (status, without_times(detail)) == (
        200,
        played
        | {
            "league_id": "fall",
            "game_type": "even_odd",
            "joined": [],
            "locked_in": [],
            "view": {},
            "lifecycle": lifecycle_,
            "transcript": [without_times(make.entry(0)) | {"attempt": 1}],
            "result": {
                "status": "WIN",
                "winner_player_id": "P01",
                "reason": "because",
                "faults": [],
                "sealed": False,
                "draw_seed": None,
                "play": 1,
                "drawn_number": 8,
                "choices": {"P01": "even", "P02": "odd"},
            },
        },
    )


def test_the_public_reads_the_agents(public: Script) -> None:
    make.league(players=1)
    head = {"version": "1.0.0", "game_types": ["even_odd"], "state": "REGISTERED", "ready": "not_checked"}
    head |= {"reached_by": "address"}
    times = {"registered_at": "<time>", "last_heard": "<time>"}
    player = {"agent_id": "P01", "kind": "player", "display_name": "Player 1", "may_judge": None}
    referee = {"agent_id": "REF01", "kind": "referee", "display_name": "Referee 1", "may_judge": True}
    assert without_times(public.get("/leagues/fall/agents")) == (200, [player | head | times, referee | head | times])


def test_the_public_reads_the_games(public: Script) -> None:
    assert public.get("/games") == (200, {"game_registry": describe()})


@pytest.mark.parametrize("path", [*READS, "/leagues/fall/matches/R1M1", "/games"])
def test_no_token_and_no_address_is_public(public: Script, path: str) -> None:
    make.running_league()
    status, answer = public.get(path)
    assert status == 200
    assert re.findall(r"tok_|https?:|localhost|810\d|sha256", str(answer)) == []


# The document, its page, health, who may judge ------------------------------------------------------


def test_the_document_lists_every_operation(client: Client) -> None:
    document = client.get("/api/openapi.json").json()
    documented = sorted(f"{verb} {path}" for path, verbs in document["paths"].items() for verb in verbs)
    actions = [path.replace("fall", "{league_id}").replace("R1M1", "{match_id}") for path in ACTIONS]
    reads = [path.replace("fall", "{league_id}") for path in READS]
    expected = [f"post /api{path}" for path in actions] + [f"get /api{path}" for path in reads]
    expected += ["get /api/games", "get /api/leagues/{league_id}/matches/{match_id}", "get /health"]
    expected += ["get /metrics", "get /api/audit", "get /api/compatibility", "get /api/leagues/{league_id}/ledger"]
    expected += ["get /api/protocol/", "get /api/protocol/{message_type}"]
    expected += ["post /api/referees/{referee_id}/trust", "get /api/gateways", "post /api/gateways"]
    expected += ["get /api/checks/{check_id}", "post /api/checks"]
    expected += ["get /api/practice/{practice_id}", "post /api/practice"]
    corrections = "/api/leagues/{league_id}/corrections"
    expected += [f"get {corrections}", f"post {corrections}", f"post {corrections}/{{number}}/undo"]
    expected += [f"{verb} /api/leagues/{{league_id}}/notices" for verb in ("get", "post")]
    league = "/api/leagues/{league_id}"
    read = ("settings", "plan", "freeze", "roles", "roster", "roster.csv", "names", "evidence", "export/{name}")
    expected += [f"get {league}/{one}" for one in read]
    steered = ("settings", "plan", "freeze", "roles", "roster", "players", "rounds/run_all", "rounds/one_by_one")
    expected += [f"post {league}/{one}" for one in (*steered, "agents/check", "agents/ask")]
    to_one = ("check", "ask", "readmit", "revoke_tokens", "bring_back", "edit")
    expected += [f"post {league}/agents/{{agent_id}}/{one}" for one in to_one]
    rest = (
        "plan/call_off",
        "plan/forget",
        "freeze/call_off",
        "freeze/unveil",
        "freeze/lift",
        "roster/remove",
        "crowd/let_in",
    )
    numbered = ("names/{number}/let_in", "names/{number}/put_aside", "notices/{number}/withdraw", "roles/{number}/take")
    expected += [f"post {league}/{one}" for one in (*rest, *numbered)]
    expected += [f"post {league}/screen/{one}" for one in ("next", "previous", "hold", "release", "automatic")]
    seasons = ("archive", "archive/take_back", "clone", "delete", "series", "series/leave")
    expected += [f"post {league}/{one}" for one in seasons] + ["get /api/series", "get /api/series/{series_id}"]
    expected += ["post /api/import", f"post {league}/matches/{{match_id}}/feature"]
    assert documented == sorted(expected)


def test_the_docs_page_loads_nothing_from_other_hosts(client: Client) -> None:
    page = client.get("/api/docs").content.decode()
    assert re.findall(r"(?:src|href)=\"((?:https?:)?//[^\"]*)", page) == []
    for address in re.findall(r"(?:src|href)=\"(/static/[^\"]+)", page):
        answer = client.get(address)
        answer.close()
        assert answer.status_code == 200


@pytest.mark.usefixtures("no_health_checks")
def test_health_is_503_with_the_reason_while_a_check_fails(client: Client) -> None:
    answer = client.get("/health")
    assert (answer.status_code, answer.json() | {"uptime": 0}) == (
        200,
        {"status": "ok", "agent_id": "LM01", "version": SDK_VERSION, "uptime": 0},
    )
    health.add_check("referees", lambda: "1 of 2 referees have not registered")
    health.add_check("conductor", lambda: "")
    answer = client.get("/health")
    reason = "1 of 2 referees have not registered"
    expected = {"status": "starting", "agent_id": "LM01", "version": SDK_VERSION, "uptime": 0, "reason": reason}
    assert (answer.status_code, answer.json() | {"uptime": 0}) == (503, expected)


def test_the_rounds_and_matches_of_12_players_take_at_most_14_queries(
    public: Script, django_assert_max_num_queries: Any
) -> None:
    make.running_league(players=12, referees=1)
    with django_assert_max_num_queries(14):
        for path in ("/leagues/fall/rounds", "/leagues/fall/matches"):
            assert public.get(path)[0] == 200


def test_stopping_needs_no_body(script: Script) -> None:
    make.league()
    lifecycle.pause(league_id="fall")
    assert script.post("/leagues/fall/stop")[0] == 200


def test_a_referee_is_allowed_to_judge_and_then_no_longer(script: Script) -> None:
    student = make.referee("Student", port=9001, trusted=False, progress=False)
    theirs = make.referee("Theirs", port=9002, trusted=False, own_league=make.open_league("fall").pk)
    assert script.post("/referees/REF01/trust") == (200, {"referee_id": "REF01", "league_id": None, "trusted": True})
    assert (student.fresh().trusted, theirs.fresh().trusted) == (True, False)
    own = {"referee_id": theirs.agent.code, "league_id": "fall", "trusted": True}
    assert script.post(f"/referees/{theirs.agent.code}/trust", {"league_id": "fall"}) == (200, own)
    assert script.post("/referees/REF01/trust", {"trusted": False})[1]["trusted"] is False
    assert (student.fresh().trusted, theirs.fresh().trusted) == (False, True)


@pytest.mark.parametrize("referee_id", ["REF09", "P01", "REF%00"])
def test_allowing_an_unknown_referee_to_judge_is_404(script: Script, referee_id: str) -> None:
    make.league(players=1)
    shown = referee_id.replace("%00", "\x00")
    answer = script.post(f"/referees/{referee_id}/trust")
    assert answer == (404, {"error": f"There is no referee {shown}.", "field": None})
