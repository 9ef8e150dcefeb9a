"""``check_agent``: an agent asks for a check of itself; nobody else can be named."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from agents_registry.addresses.callers import Caller
from agents_registry.models import AgentToken
from matches.checks import asking
from matches.models import Check, CheckState
from tests import factories as make
from tests.leaguesite.mcp.test_mounting import ask, call
from tests.leaguesite.mcp.test_mounting_hostile import HOSTILE
from tests.matches.checks.asks import fill

pytestmark = pytest.mark.django_db
CLAUSE = {
    "id": "join.accepts", "title": "Accepts", "expected": "GAME_JOIN_ACK", "source": "004 4.4.2", "verdict": "conforms",
    "why": "", "sent": {}, "came": {}, "elapsed_ms": 3, "http_status": 200,
}  # fmt: skip


def refusal(client: Client, token: str, **arguments: Any) -> dict[str, Any]:
    result = ask(client, "tools/call", token, name="check_agent", arguments=arguments)
    assert result["isError"], result
    content: dict[str, Any] = result["structuredContent"]
    return content


def test_an_agent_is_checked_at_its_own_address_whatever_the_call_names(client: Client) -> None:
    made = make.league(players=2)
    own, other = made.players[0].agent, made.players[1].agent
    named = {"endpoint": other.endpoint, "player_id": other.code, "agent_id": other.code, "role": "referee"}
    answer = call(client, "check_agent", made.players[0].token, **named)
    check = Check.objects.get()
    assert (check.agent, check.endpoint, check.role) == (own, own.endpoint, "player")
    assert (answer["check_id"], answer["state"], answer["report"]) == (str(check.pk), "WANTED", None)
    assert answer["ask_again_after_s"] > 0


def test_a_referee_is_checked_as_what_it_is(client: Client) -> None:
    made = make.league(players=2)
    assert call(client, "check_agent", made.referees[0].token)["role"] == "referee"


def test_asking_twice_starts_one_check(client: Client) -> None:
    token = make.league(players=2).players[0].token
    ids = {call(client, "check_agent", token)["check_id"] for _ in range(2)}
    assert ids == {str(Check.objects.get().pk)}


def test_a_running_check_tells_what_was_found_so_far_and_a_finished_one_its_report(client: Client) -> None:
    token = make.league(players=2).players[0].token
    check_id = call(client, "check_agent", token)["check_id"]
    Check.objects.update(state=CheckState.RUNNING, started_at=timezone.now(), report={"clauses": [CLAUSE]})
    running = call(client, "check_agent", token, check_id=check_id)
    assert (running["state"], running["verdict"], running["clauses"]) == ("RUNNING", None, 1)
    assert running["report"] == {"clauses": [CLAUSE]}
    assert running["ask_again_after_s"] == 2.0
    done = {"role": "player", "can_play": True, "summary": "All is well.", "next_step": "", "clauses": [CLAUSE]}
    Check.objects.update(state=CheckState.DONE, finished_at=timezone.now(), passed=True, report=done)
    ended = call(client, "check_agent", token, check_id=check_id)
    assert (ended["state"], ended["passed"], ended["report"], ended["ask_again_after_s"]) == ("DONE", True, done, None)
    assert call(client, "check_agent", token)["check_id"] != check_id


def test_a_check_that_is_planned_says_when_it_begins(client: Client) -> None:
    made = make.league(players=2)
    now = timezone.now()
    planned = Check(asked_by="registration", due_at=now + timedelta(seconds=90), created_at=now)
    check = asking.queue_agent(made.players[0].agent, planned)
    later = call(client, "check_agent", made.players[0].token, check_id=str(check.pk))["ask_again_after_s"]
    assert 60 < later <= 90


def test_answers_are_withheld_from_callers_that_have_not_proved_the_address(client: Client) -> None:
    token = make.league(players=2).players[0].token
    AgentToken.objects.update(proven=False)
    # Asked from elsewhere: a caller at the agent's own address is taken for its owner.
    check = asking.ask(endpoint="", caller=Caller("192.0.2.9"), token=token)
    done = {"role": "player", "can_play": False, "summary": "It said x.", "next_step": "x", "clauses": [CLAUSE]}
    Check.objects.update(state=CheckState.DONE, finished_at=timezone.now(), passed=False, report=done)
    answer = call(client, "check_agent", token, check_id=str(check.pk))
    assert answer["withheld"]
    assert "It said x." not in str(answer)


@pytest.mark.parametrize("token", ["", "tok_of_nobody"])
def test_no_check_is_made_without_a_valid_token(client: Client, token: str) -> None:
    make.league(players=2)
    assert refusal(client, token)["error_code"] in ("E011", "E012")
    assert not Check.objects.exists()


def test_an_agent_that_asks_too_often_has_to_wait(client: Client) -> None:
    player = make.league(players=2).players[0]
    fill(asking.MAX_CHECKS_PER_MINUTE, "192.0.2.7", agent=player.agent, now=timezone.now())
    data = refusal(client, player.token)
    assert (data["error_code"], data["context"]["retry_after_s"]) == ("E009", 60)
    assert Check.objects.count() == asking.MAX_CHECKS_PER_MINUTE


def test_an_invalid_check_id_is_refused(client: Client) -> None:
    token = make.league(players=2).players[0].token
    for named in [value for value in HOSTILE if value is not None]:
        assert refusal(client, token, check_id=named)["context"]["field"] == "check_id"
    assert not Check.objects.exists()
