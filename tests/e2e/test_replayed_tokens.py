"""A player tries the texts that it was sent as credentials, unless they are very short or long: only its own token is
accepted."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests import wire
from tests.e2e.site import API_KEY, Player, Site, site_with_players

pytestmark = [pytest.mark.e2e, pytest.mark.long]
LEAGUE = "fall"
MATCH = "R1M1"


def strings(value: Any) -> Iterator[str]:
    """Every text in a message but the names of its fields, which are public."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def received(player: Player) -> set[str]:
    """The texts of 4 to 200 characters in what a player was sent, in answers and in calls."""
    return {text for line in player.lines() for text in strings(line) if 4 <= len(text) <= 200}


def call(http: httpx.Client, method: str, params: dict[str, Any], path: str = "/mcp", **request_options: Any) -> Any:
    answer = http.post(path, json=wire.request(method, params), **request_options)
    assert answer.status_code == 200, answer.text
    return answer.json()


def accepted_at(http: httpx.Client, text: str) -> list[str]:
    """The names of the calls, headers and forms that accept a text as a credential."""
    envelope = {"protocol": "league.v2", "timestamp": wire.STAMP, "conversation_id": "conv-replay", "league_id": LEAGUE}
    query = envelope | {"sender": "player:P01", "query_type": "GET_STANDINGS"}
    report = envelope | {"sender": "referee:REF01", "match_id": MATCH, "attempt": 1, "result": {"winner": "P01"}}
    bearer = {"Authorization": f"Bearer {text}"}
    printable = text.isascii() and text.isprintable()
    accepted = []
    for name, reply in (
        ("query", call(http, "league_query", query | {"auth_token": text})),
        ("report", call(http, "report_match_result", report | {"auth_token": text})),
        ("progress", call(http, "report_progress", report | {"auth_token": text, "matches": []})),
        ("relay", call(http, "GAME_JOIN_ACK", envelope | {"auth_token": text, "match_id": MATCH})),
        ("schedule", call(http, "create_schedule", {"auth_token": text, "league_id": LEAGUE})),
    ):
        if reply.get("error", {}).get("data", {}).get("error_code") not in ("E011", "E012"):
            accepted.append(name)
    if printable:
        reply = call(http, "league_query", query, headers=bearer)
        if "result" in reply:
            accepted.append("bearer")
        answers = {
            "API key": http.post(f"/api/leagues/{LEAGUE}/pause", headers=bearer),
            "staff's API": http.get(f"/api/leagues/{LEAGUE}?as=staff", headers=bearer),
            "metrics": http.get("/metrics", headers=bearer),
            "session": http.get(
                f"/leagues/{LEAGUE}/?as=staff", headers={"Cookie": f"sessionid={text.replace(';', '')}"}
            ),
        }
        accepted += [name for name, answer in answers.items() if answer.status_code not in (401, 403)]
    form = {"secret": text, "csrfmiddlewaretoken": http.cookies["csrftoken"]}
    if http.post(f"/leagues/{LEAGUE}/mine/", data=form).status_code != 403:
        accepted.append("my agent")
        http.post(f"/leagues/{LEAGUE}/mine/close", data=form)
    return accepted


def test_of_all_that_a_player_receives_only_its_own_token_is_accepted(tmp_path: Any) -> None:
    with site_with_players(tmp_path, 2, league=LEAGUE, player_options=("--league-id", LEAGUE)) as (site, players):
        site.play_to_the_end(LEAGUE)
        for player in players:
            player.wait_for_last_message()
        collector = players[0]
        [own] = [line["reply"]["result"]["auth_token"] for line in collector.lines() if "registered" in line]
        seen = received(collector)
        tokens = {text for text in seen if text.startswith("tok_")}
        # It was sent its own token and the league token, and never the other player's.
        assert own in tokens
        assert len(tokens) == 2
        assert not tokens & received(players[1])
        before = site.get(f"/leagues/{LEAGUE}/matches/{MATCH}")
        with httpx.Client(base_url=site.url, trust_env=False, timeout=20) as http:
            http.get(f"/leagues/{LEAGUE}/mine/")
            accepted = {text: uses for text in sorted(seen) if (uses := accepted_at(http, text))}
            check_as_keys(http, sorted(seen, key=len)[-8:])
        # Its own token lets it ask, is refused for a report because it is a player's (E013), and opens its own page.
        assert accepted == {own: ["query", "report", "relay", "bearer", "my agent"]}
        assert site.get(f"/leagues/{LEAGUE}/matches/{MATCH}") == before
        assert [secret for secret in (own, API_KEY) if secret in site.log()] == []
        assert trusted(site) == [("Referee 1", 1), ("Referee 2", 1)]


def check_as_keys(http: httpx.Client, texts: list[str]) -> None:
    """Use texts as the key of the site's referees and of the demo; check that they gain what any stranger gets."""
    for number, text in enumerate(texts):
        referee = wire.referee_request(f"Replay {number}", endpoint=f"http://127.0.0.1:{9100 + number}/mcp", code=text)
        assert call(http, "register_referee", referee)["result"]["status"] == "ACCEPTED"
        player = wire.player_request(f"Replay {number}", port=9200 + number, code=text, league_id="demo")
        assert call(http, "register_player", player).get("result", {}).get("status") != "ACCEPTED"


def trusted(site: Site) -> list[tuple[str, int]]:
    """The referees that may judge, from the site's database."""
    with sqlite3.connect(f"file:{site.data / 'league.sqlite3'}?mode=ro", uri=True) as database:
        sql = "select name, trusted from agents_registry_agent where kind = 'referee' and trusted order by name"
        return database.execute(sql).fetchall()
