"""The log of a real league: every line is a record, a conversation is found on all sides, and no secret is in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.e2e.site import API_KEY, PASSWORD, Site, site_with_players, wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.long]

LEAGUE = "league_2025_even_odd"
REQUIRED_FIELDS = ("timestamp", "level", "component", "agent_id", "event_type", "message")
PLANTED_TOKEN = "tok_" + "5" * 32
EMAIL = "ada@school.example"
FORGED_NAME = "Ada\n2026-01-01 00:00:00,000 ERROR web leaguesite: all is lost \u202e"


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Play a short league; returns log records, their text, metrics, and the secrets that must not be in them."""
    folder = tmp_path_factory.mktemp("logs")
    with site_with_players(folder, 2, player_options=("--choice", "alternate")) as (site, players):
        send_secrets(site)
        site.play_to_the_end(LEAGUE)
        for player in players:
            player.wait_for_last_message()
        wait_for("SHARED has the match", (site.data / "SHARED" / "data" / "matches" / LEAGUE / "R1M1.json").exists)
        referee_ports = [int(port) for port in json.loads((site.data / "ports.json").read_text()).values()]
        key = (site.data / "keys" / "referee_key").read_text()
        traces = {
            "web": read_metrics(f"{site.url}/metrics", API_KEY),
            "referees": [read_metrics(f"http://127.0.0.1:{port}/metrics", key) for port in referee_ports[:2]],
            "health": [
                httpx.get(f"http://127.0.0.1:{port}/health", trust_env=False).json() for port in referee_ports[:2]
            ],
            "tokens": sorted(set().union(*(player.secrets() for player in players))),
            "keys": [(site.data / "keys" / name).read_text() for name in ("referee_key", "secret_key", "demo_key")],
        }
    files = sorted((site.data / "logs").rglob("*.log.jsonl"))
    traces["files"] = [str(path.relative_to(site.data / "logs")) for path in files]
    traces["text"] = "".join(path.read_text(encoding="utf-8") for path in files)
    # splitlines() also divides at U+2028 and the like, so no record may contain one.
    traces["records"] = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    traces["terminal"] = site.log()
    shared = sorted((site.data / "SHARED" / "logs" / "agents").glob("REF*"))
    traces["shared"] = [json.loads(line) for path in shared for line in path.read_text().splitlines()]
    yield traces


def send_secrets(site: Site) -> None:
    """Send secrets in fields where none belong, and a name that tries to forge a log line."""
    registration = {
        "message_type": "LEAGUE_REGISTER_REQUEST",
        "conversation_id": f"conv-{PLANTED_TOKEN}",
        "player_meta": {"display_name": FORGED_NAME, "contact_endpoint": f"ftp://127.0.0.1/{EMAIL}"},
    }
    query = {
        "protocol": "league.v2",
        "message_type": "LEAGUE_QUERY",
        "sender": f"player:{FORGED_NAME}",
        "timestamp": "2026-01-01T00:00:00Z",
        "conversation_id": FORGED_NAME,
        "auth_token": PLANTED_TOKEN,
        "league_id": f"{FORGED_NAME} {PLANTED_TOKEN} {EMAIL}",
    }
    unknown = {"conversation_id": "conv-unknown", "note": PLANTED_TOKEN}
    for method, params in (
        ("register_player", registration),
        ("league_query", query),
        (f"no_{PLANTED_TOKEN}", unknown),
    ):
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        assert site.http.post("/mcp?code=code-of-the-class", json=body).status_code == 200


def read_metrics(url: str, key: str) -> str:
    """The metrics at a URL, which are refused without the key."""
    assert httpx.get(url, trust_env=False).status_code == 401
    assert httpx.get(url, headers={"Authorization": "Bearer nobody"}, trust_env=False).status_code == 401
    answer = httpx.get(url, headers={"Authorization": f"Bearer {key}"}, trust_env=False)
    assert answer.status_code == 200, answer.text
    return answer.text


def test_every_log_line_is_a_record_with_its_fields(played: dict[str, Any]) -> None:
    assert played["files"] == ["agents/REF01.log.jsonl", "agents/REF02.log.jsonl", "system/host.log.jsonl"]
    assert len(played["records"]) > 30
    for record in played["records"]:
        assert list(record)[: len(REQUIRED_FIELDS)] == list(REQUIRED_FIELDS)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", record["timestamp"])
        is_message = record["component"].startswith("referee:") and record["event_type"].startswith("MESSAGE_")
        assert record["level"] in (("DEBUG",) if is_message else ("INFO", "WARNING", "ERROR"))
    writers = {(record["component"], record["agent_id"]) for record in played["records"]}
    site = {("web", "league_manager:LM01"), ("conductor", "league_manager:LM01")}
    assert writers == site | {(f"referee:{name}", f"referee:{name}") for name in ("REF01", "REF02")}


def test_the_logs_show_a_conversation_from_the_conductor_to_the_result(played: dict[str, Any]) -> None:
    [start] = [
        record
        for record in played["records"]
        if record["event_type"] == "MESSAGE_SENT"
        and record["message_type"] == "start_match"
        and record["league_id"] == LEAGUE
    ]
    one = [record for record in played["records"] if record.get("conversation_id") == start["conversation_id"]]
    # The record of the round's end has the same conversation_id, and no match_id.
    assert {record.get("match_id", "R1M1") for record in one} == {"R1M1"}
    steps = [(record["component"].partition(":")[0], record["event_type"]) for record in one]
    assert {
        ("conductor", "MATCH_ASSIGNED"),
        ("conductor", "MESSAGE_SENT"),
        ("referee", "MATCH_STARTED"),
        ("referee", "PLAYER_ANSWERED"),
        ("referee", "MATCH_STATE"),
        ("referee", "MATCH_REPORTED"),
        ("web", "MATCH_FINISHED"),
    } <= set(steps)
    answers = [(record["message_type"], record["peer"]) for record in one if record["event_type"] == "PLAYER_ANSWERED"]
    kinds = ("GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_OVER")
    assert sorted(answers) == sorted((kind, peer) for kind in kinds for peer in ("player:P01", "player:P02"))
    reported = [record for record in played["records"] if record["event_type"] == "RESULT_REPORTED"]
    report_records = [record for record in played["records"] if record.get("message_type") == "MATCH_RESULT_REPORT"]
    ends = {(record["component"].partition(":")[0], record["conversation_id"]) for record in report_records}
    assert ends >= {(side, record["conversation_id"]) for record in reported for side in ("web", "referee")}


def test_a_referees_log_has_the_same_messages_as_its_log_in_shared(played: dict[str, Any]) -> None:
    own = [
        {name: value for name, value in record.items() if name not in ("timestamp", "conversation_id")}
        for record in played["records"]
        if record["component"].startswith("referee:")
        and record["event_type"] in ("MESSAGE_SENT", "MESSAGE_RECEIVED")
        and record["league_id"] == LEAGUE
    ]
    projected = [{name: value for name, value in record.items() if name != "timestamp"} for record in played["shared"]]
    assert own == projected
    assert len(own) >= 12


def test_no_secret_and_no_forged_line_is_in_the_logs(played: dict[str, Any]) -> None:
    for text in (played["text"], played["terminal"]):
        for secret in (
            PLANTED_TOKEN,
            EMAIL,
            "code-of-the-class",
            API_KEY,
            PASSWORD,
            *played["tokens"],
            *played["keys"],
        ):
            assert secret not in text
        assert "\u202e" not in text
        assert not any(line.startswith("2026-01-01") for line in text.splitlines())
    refused = [record for record in played["records"] if record["event_type"] == "CALL_REFUSED"]
    assert {(record["message_type"], record["error_code"]) for record in refused} >= {
        ("LEAGUE_QUERY", "E002"),
        ("no_tok_…", "E002"),
    }


def test_the_metrics_count_the_calls_and_matches_of_the_league(played: dict[str, Any]) -> None:
    web = played["web"]
    assert re.search(r'league_agent_calls_total\{message_type="MATCH_RESULT_REPORT",outcome="ok"\} [1-9]', web)
    assert re.search(r'league_deliveries_total\{message_type="ROUND_ANNOUNCEMENT",outcome="ok"\} [1-9]', web)
    assert re.search(r'league_leagues\{state="COMPLETED"\} 1', web)
    assert re.search(r'league_http_requests_total\{route="api:mcp_endpoint",status="200"\} [1-9]', web)
    assert "league_look_seconds_count" in web and "league_log_lines_lost 0.0" in web
    assert PLANTED_TOKEN not in web and "Ada" not in web
    judged = "\n".join(played["referees"])
    assert re.search(r'league_referee_calls_total\{message_type="GAME_INVITATION",outcome="ok"\} [1-9]', judged)
    assert re.search(r'league_referee_matches_total\{outcome="ok"\} [1-9]', judged)
    assert [sorted(health) for health in played["health"]] == [["agent_id", "status", "uptime", "version"]] * 2
