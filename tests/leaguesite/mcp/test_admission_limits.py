"""Rate limits: a caller in a loop is answered 429, and two hundred students behind the same address never are."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from agents_registry.models import Agent
from agents_registry.rate_limits.attempts import GUESSES_FROM_ADDRESS, LOGINS, SAME_SECRET, attempts
from league_sdk.protocol import tokens
from tests import factories as make
from tests import wire
from tests.agents_registry.rate_limits.test_attempts import ELSEWHERE, SCHOOL, Clock

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]
WRONG = "tok_" + "0" * 32


def send(client: Client, method: str, params: dict[str, Any], address: str = SCHOOL, **more: Any) -> Any:
    return wire.post(client, wire.request(method, params), caller=address, **more)


def standings(client: Client, token: str, address: str = SCHOOL) -> Any:
    return send(client, "get_standings", {"auth_token": token, "league_id": "fall"}, address)


@pytest.mark.timeout(400)
@pytest.mark.parametrize("students", [50, pytest.param(200, marks=pytest.mark.long)])
def test_a_class_behind_one_address_sees_no_429_while_somebody_there_loops(
    client: Client, clock: Clock, students: int
) -> None:
    """Registering, mistyping a code now and then, asking every second: and an attacker among them."""
    make.open_league("fall", registration_code="cs101")
    seen: Counter[int] = Counter()
    attacker: Counter[int] = Counter()
    tokens_of_class = []
    for number in range(students):
        params = wire.player_request(f"Agent {number}", endpoint=f"http://192.0.2.1:{9000 + number}/mcp", code="cs101")
        if number % 4 == 0:
            mistyped = wire.player_request(f"Agent {number}", port=9000 + number, code=f"cs1{number}")
            seen[send(client, "register_player", mistyped).status_code] += 1
        answer = send(client, "register_player", params)
        seen[answer.status_code] += 1
        tokens_of_class.append(answer.json()["result"]["auth_token"])
        attacker[standings(client, WRONG).status_code] += 1
        clock.now += 0.05
    for _ in range(2):
        for token in tokens_of_class:
            seen[send(client, "get_games", {"auth_token": token}).status_code] += 1
        attacker[standings(client, WRONG).status_code] += 1
        clock.now += 1
    assert seen == {200: students + (students + 3) // 4 + 2 * students}
    assert attacker == {200: SAME_SECRET.amount, 429: students + 2 - SAME_SECRET.amount}


def test_a_429_says_how_long_to_wait(client: Client, clock: Clock) -> None:
    make.open_league("fall")
    for _ in range(SAME_SECRET.amount):
        assert standings(client, WRONG).json()["error"]["data"]["error_code"] == "E012"
    clock.now += 10
    answer = standings(client, WRONG)
    error = answer.json()["error"]
    assert (answer.status_code, answer["Retry-After"], error["code"], error["message"]) == (
        429,
        "50",
        -32000,
        "Too many: wait 50 s.",
    )
    data = error["data"]
    assert (data["message_type"], data["error_code"], data["retryable"]) == ("LEAGUE_ERROR", "E009", True)
    assert wire.context_of(data) == {
        "field": "auth_token",
        "expected": "at most 20 tries of one wrong value in 60 s",
        "retry_after_s": 50,
    }
    # The same value from elsewhere is checked, and so is any other value from the school.
    assert standings(client, WRONG, ELSEWHERE).status_code == 200
    assert standings(client, WRONG[:-1] + "1").status_code == 200


def test_a_notification_that_comes_too_often_is_429_without_a_body(client: Client) -> None:
    make.open_league("fall")
    body = {"jsonrpc": "2.0", "method": "get_standings", "params": {"auth_token": WRONG, "league_id": "fall"}}
    answers = [wire.post(client, body, caller=SCHOOL) for _ in range(SAME_SECRET.amount + 1)]
    assert [answer.status_code for answer in answers] == [204] * SAME_SECRET.amount + [429]
    assert (answers[-1].content, answers[-1]["Retry-After"]) == (b"", "60")


def test_an_agent_in_an_endless_loop_is_429_and_others_are_not(client: Client, clock: Clock, settings: Any) -> None:
    settings.LEAGUE_CALLS_PER_TOKEN = "5 per 5 second"
    make.open_league("fall")
    first, second = make.player("Ada", "fall"), make.player("Blaise", "fall")
    assert [standings(client, first.token).status_code for _ in range(7)] == [200] * 5 + [429] * 2
    assert standings(client, second.token).status_code == 200
    # Calls that are refused before their token is checked count as well.
    lost = {"auth_token": second.token, "league_id": "nowhere"}
    assert [send(client, "get_standings", lost).status_code for _ in range(5)] == [200] * 4 + [429]
    clock.now += 5
    assert standings(client, first.token).status_code == 200


def test_the_limit_per_token_does_not_apply_to_the_sites_own_referee(client: Client, settings: Any) -> None:
    settings.LEAGUE_CALLS_PER_TOKEN = "2 per 5 second"
    made = make.running_league()
    Agent.objects.filter(pk=made.referees[0].agent.pk).update(site_key=True)
    assert [standings(client, made.referees[0].token).status_code for _ in range(5)] == [200] * 5


def test_the_limit_on_calls_without_a_token_does_not_apply_to_calls_with_one(client: Client, settings: Any) -> None:
    settings.LEAGUE_CALLS_PER_ADDRESS = "3 per 10 second"
    make.open_league("fall")
    member = make.player("Ada", "fall")
    assert [send(client, "ping", {}).status_code for _ in range(5)] == [200] * 3 + [429] * 2
    assert standings(client, member.token).status_code == 200
    assert send(client, "ping", {}, ELSEWHERE).status_code == 200


def test_made_up_tokens_are_not_stored_once_strangers_of_an_address_call_too_often(
    client: Client, settings: Any
) -> None:
    settings.LEAGUE_CALLS_PER_ADDRESS, settings.LEAGUE_CALLS_PER_TOKEN = "3 per 10 second", "5 per 5 second"
    make.open_league("fall")
    member = make.player("Ada", "fall")
    made_up = [f"tok_{number:032}" for number in range(6)]
    assert [standings(client, token).status_code for token in made_up] == [200] * 3 + [429] * 3
    stored_counts = [
        (attempts._in_process["calls"].storage.get(key), attempts._in_process["same"].storage.get(same))
        for token in made_up
        for key, same in [counted(token)]
    ]
    assert stored_counts == [(1, 1)] * 3 + [(0, 0)] * 3
    # A known agent at that address is answered all the same, and has its own limit.
    assert [standings(client, member.token).status_code for _ in range(7)] == [200] * 5 + [429] * 2


def test_no_other_call_uses_up_the_registrations_of_the_class_behind_an_address(client: Client, settings: Any) -> None:
    settings.LEAGUE_CALLS_PER_ADDRESS, settings.LEAGUE_REGISTRATIONS_PER_ADDRESS = "3 per 10 second", "4 per 10 second"
    make.open_league("fall")
    assert [send(client, "ping", {}).status_code for _ in range(5)] == [200] * 3 + [429] * 2
    answer = {"auth_token": WRONG, "message_type": "GAME_JOIN_ACK", "match_id": "R1M1"}
    assert send(client, "GAME_JOIN_ACK", answer).status_code == 429
    requests = [wire.player_request(f"Agent {n}", endpoint=f"http://192.0.2.1:{9000 + n}/mcp") for n in range(6)]
    assert [send(client, "register_player", one).status_code for one in requests] == [200] * 4 + [429] * 2
    assert Agent.objects.count() == 4


@pytest.mark.parametrize("wrong", [{"league_id": "nowhere"}, {"protocol": "league.v9"}, {"timestamp": "noon"}])
def test_a_made_up_token_counts_as_none_also_in_a_call_that_fails_before_the_check(
    client: Client, settings: Any, wrong: dict[str, str]
) -> None:
    settings.LEAGUE_CALLS_PER_ADDRESS = "3 per 10 second"
    make.open_league("fall")
    member = make.player("Ada", "fall")
    made_up = [{"auth_token": f"tok_{number:032}"} | wrong for number in range(5)]
    assert [send(client, "get_standings", one).status_code for one in made_up] == [200] * 3 + [429] * 2
    # A member's broken calls count against the member's own limit.
    mine = {"auth_token": member.token} | wrong
    assert [send(client, "get_standings", mine).status_code for _ in range(5)] == [200] * 5


def counted(token: str) -> tuple[str, str]:
    """The key under which the calls with a token are counted, and that for wrong tokens."""
    digest = tokens.digest(token)
    return f"LIMITER/calls/{digest}/5/5/second", f"same/token/{SCHOOL}/{digest}/20/60/second"


def test_codes_are_not_found_by_trying(client: Client) -> None:
    """Not by registering under any name, not by the code in the address, not on the page of one's own agent."""
    make.open_league("fall", registration_code="4711")
    max_guesses = GUESSES_FROM_ADDRESS.amount
    for number in range(max_guesses - 2):
        attempts.secret_was_wrong("code", SCHOOL, f"x{number}")
    guess = wire.player_request("Mallory", port=6666, code="4710")
    assert send(client, "register_player", guess).json()["result"]["status"] == "REJECTED"
    assert client.post("/leagues/fall/mine/", {"secret": "4709"}, REMOTE_ADDR=SCHOOL).status_code == 403
    right = wire.player_request("Mallory", port=6667, code="4711")
    assert send(client, "register_player", right).status_code == 429
    in_address = wire.post(
        client,
        wire.request("register_player", wire.player_request("Eve", port=6668)),
        "/leagues/fall/mcp?code=4711",
        SCHOOL,
    )
    assert in_address.status_code == 429
    page = client.post("/leagues/fall/mine/", {"secret": "4711"}, REMOTE_ADDR=SCHOOL)
    assert (page.status_code, int(page["Retry-After"]) > 0) == (429, True)
    assert Agent.objects.count() == 0
    # Callers at another address are not affected.
    assert send(client, "register_player", right, ELSEWHERE).json()["result"]["status"] == "ACCEPTED"


def test_a_code_that_no_league_asks_for_does_not_count_as_a_guess(client: Client) -> None:
    make.open_league("fall")
    for number in range(SAME_SECRET.amount + 1):
        params = wire.player_request(f"Agent {number}", port=9000 + number, code="leftover")
        assert send(client, "register_player", params).json()["result"]["status"] == "ACCEPTED"


def test_the_referee_key_is_not_found_by_trying(client: Client, settings: Any) -> None:
    settings.LEAGUE_REFEREE_KEY = "4711"
    for number in range(GUESSES_FROM_ADDRESS.amount - 1):
        attempts.secret_was_wrong("referee key", SCHOOL, f"x{number}")
    guess = wire.referee_request("Mallory", port=8201, code="4710")
    assert send(client, "register_referee", guess).json()["result"]["status"] == "ACCEPTED"
    right = wire.referee_request("Mallory", port=8202, code="4711")
    assert send(client, "register_referee", right).status_code == 429
    assert list(Agent.objects.values_list("trusted")) == [(False,)]
    # A registration without a code is still accepted there, and so is one with the league's code.
    bare = wire.referee_request("Referee", port=8203)
    assert send(client, "register_referee", bare).json()["result"]["status"] == "ACCEPTED"
    make.open_league("fall", registration_code="cs101")
    player = wire.player_request("Ada", port=8101, code="cs101")
    assert send(client, "register_player", player).json()["result"]["status"] == "ACCEPTED"


def test_a_class_whose_referees_all_bring_the_leagues_code_is_let_in(client: Client) -> None:
    """The code is not the site's key, but no guess at it either: players with the same code are let in, too."""
    make.open_league("fall", registration_code="cs101")
    for number in range(SAME_SECRET.amount + 5):
        mine = wire.referee_request(f"Referee {number}", port=9000 + number, code="cs101")
        assert send(client, "register_referee", mine).json()["result"]["status"] == "ACCEPTED"
    player = wire.player_request("Ada", port=8101, code="cs101")
    assert send(client, "register_player", player).json()["result"]["status"] == "ACCEPTED"


def test_wrong_api_keys_at_the_api_and_at_create_schedule_are_counted_together(client: Client, api_key: str) -> None:
    make.open_league("fall")
    wrong = {"Authorization": "Bearer wrong-key"}
    status_codes = []
    for _ in range(SAME_SECRET.amount // 2):
        status_codes.append(client.post("/api/leagues/fall/pause", headers=wrong, REMOTE_ADDR=SCHOOL).status_code)
        status_codes.append(send(client, "create_schedule", {"auth_token": "wrong-key"}).status_code)
    assert status_codes == [401, 200] * (SAME_SECRET.amount // 2)
    for path in ("/api/leagues/fall/pause", "/api/leagues/fall?as=staff"):
        method = client.get if "staff" in path else client.post
        answer = method(path, headers=wrong, REMOTE_ADDR=SCHOOL)
        assert (answer.status_code, answer["Retry-After"]) == (429, "60")
        assert answer.json() == {"error": "Too many wrong attempts: wait 60 seconds.", "field": None}
    assert send(client, "create_schedule", {"auth_token": "wrong-key"}).status_code == 429
    right = {"Authorization": f"Bearer {api_key}"}
    assert client.get("/api/leagues/fall?as=staff", headers=right, REMOTE_ADDR=SCHOOL).status_code == 200


# Logging in -------------------------------------------------------------------------------------


def log_in(client: Client, password: str, address: str = SCHOOL, name: str = "instructor") -> Any:
    return client.post("/admin/login/", {"username": name, "password": password}, REMOTE_ADDR=address)


def test_guessing_the_password_costs_time_and_locks_nobody_else_out(clock: Clock) -> None:
    get_user_model().objects.create_superuser("instructor", password="a long password")
    guesser, instructor = Client(), Client()
    assert log_in(instructor, "a long password").status_code == 302
    del instructor.cookies["sessionid"]
    # An empty password in between counts as no guess.
    guesses = ["", *(f"guess {number}" for number in range(LOGINS[0].amount - 1)), "", "guess"]
    assert [log_in(guesser, guess).status_code for guess in guesses] == [200] * len(guesses)
    # Not even the right password is accepted from there...
    late = log_in(guesser, "a long password")
    assert (late.status_code, late["Retry-After"]) == (429, "60")
    assert "wait 60 seconds" in late.content.decode()
    # ...but it is from elsewhere, and in the instructor's own browser at the same address.
    assert log_in(Client(), "a long password", ELSEWHERE).status_code == 302
    assert log_in(instructor, "a long password").status_code == 302
    clock.now += 60
    assert log_in(guesser, "a long password").status_code == 302


def test_a_known_browser_is_known_for_its_own_name_only() -> None:
    users = get_user_model().objects
    users.create_superuser("instructor", password="a long password")
    users.create_user("assistant", password="a long password", is_staff=True)
    client = Client()
    assert log_in(client, "a long password", name="assistant").status_code == 302
    cookie = client.cookies["league_device"]
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "Lax", "/admin/login/")
    assert "assistant" not in cookie.value
    del client.cookies["sessionid"]
    for number in range(LOGINS[0].amount):
        log_in(Client(), f"guess {number}")
    assert log_in(client, "a long password").status_code == 429
    client.cookies["league_device"] = "forged:1:x"
    assert log_in(client, "a long password").status_code == 429
