"""Actions of the desk by API: what they change, what they refuse, and what is on record of them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth import get_user_model
from django.utils import timezone

from agents_registry.models import Agent, AgentToken, RosterEntry
from matches.league import opening
from matches.models import AuditEntry, Check, League, Notice, Role
from tests import factories as make
from tests.leaguesite.script import Script

pytestmark = pytest.mark.django_db
BIG = 2**70


def on_record() -> list[str]:
    return list(AuditEntry.objects.order_by("id").values_list("action", flat=True))


def test_settings_are_replaced_and_the_name_stays_unless_it_is_given(script: Script) -> None:
    make.open_league("fall", move_timeout_s=3, win_points=5)
    name = League.objects.get().display_name
    status, shown = script.post("/leagues/fall/settings", {"settings": {"move_timeout_s": 4}})
    assert (status, shown["display_name"]) == (200, name)
    assert League.objects.get().settings == {"move_timeout_s": 4}
    assert script.post("/leagues/fall/settings", {"display_name": "Autumn"})[1]["settings"]["move_timeout_s"] == 4
    assert on_record() == ["league.edit", "league.edit"]
    assert AuditEntry.objects.order_by("id").last().changes == {"display_name": [name, "Autumn"]}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"settings": {"move_timeout_s": 0}}, "move_timeout_s"),
        ({"settings": {"unknown": 1}}, "unknown"),
        ({"display_name": ""}, "display_name"),
        ({"display_name": "x" * 1000}, "display_name"),
        ({"display_name": "nul\x00"}, "display_name"),
    ],
)
def test_settings_that_cannot_be_used_change_nothing(script: Script, body: Any, field: str) -> None:
    before = make.open_league("fall").display_name
    status, refused = script.post("/leagues/fall/settings", body)
    assert (status, refused["field"]) == (422, field)
    assert (League.objects.get().display_name, on_record()) == (before, [])


def test_a_start_is_planned_and_called_off(script: Script) -> None:
    make.open_league("fall")
    at = timezone.now().replace(microsecond=0) + timedelta(hours=2)
    status, shown = script.post("/leagues/fall/plan", {"when": at.isoformat(), "all_rounds": True})
    assert (status, shown["all_rounds"]) == (200, True)
    assert League.objects.get().starts_at == at
    assert script.post("/leagues/fall/plan/call_off") == (
        200,
        {"league_id": "fall", "when": None, "all_rounds": False},
    )
    assert script.post("/leagues/fall/plan/call_off")[0] == 409
    assert on_record() == ["plan.start", "plan.call-off"]


@pytest.mark.parametrize("when", ["2001-01-01T00:00:00Z", "9999-12-31T23:59:59-12:00", "2030-01-01T00:00:00", "soon"])
def test_a_time_at_which_no_league_can_start_is_refused(script: Script, when: str) -> None:
    make.open_league("fall")
    status, refused = script.post("/leagues/fall/plan", {"when": when})
    assert (status, refused["field"]) == (422, "when")


def test_a_board_is_frozen_and_unveiled(script: Script) -> None:
    made = make.league(players=2)
    frozen = {"league_id": "fall", "from_round": 1, "frozen_after_round": None, "places_unveiled": 0}
    assert script.post("/leagues/fall/freeze", {"from_round": 1}) == (200, frozen)
    assert script.post("/leagues/fall/freeze/call_off")[1]["from_round"] is None
    script.post("/leagues/fall/freeze", {"from_round": 1})
    make.next_round(made)
    assert script.get("/leagues/fall/freeze")[1]["frozen_after_round"] == 0
    assert script.post("/leagues/fall/freeze/unveil")[0] == 409
    make.report(made.match("R1M1"), "P01")
    assert script.post("/leagues/fall/freeze/unveil")[1]["places_unveiled"] == 1
    assert script.post("/leagues/fall/freeze/unveil")[1]["frozen_after_round"] is None
    assert script.post("/leagues/fall/freeze/lift")[0] == 409


def test_roles_are_given_and_taken(script: Script) -> None:
    make.open_league("fall")
    get_user_model().objects.create_user("ada", is_staff=True)
    answer = script.post("/leagues/fall/roles", {"username": "ada", "name": "assistant"})
    number = Role.objects.get().pk
    assert answer == (200, [{"number": number, "username": "ada", "name": "assistant"}])
    assert script.post("/leagues/fall/roles", {"username": "ada", "name": "king"})[1]["field"] == "name"
    assert script.post("/leagues/fall/roles", {"username": "bob", "name": "assistant"})[1]["field"] == "username"
    assert script.post(f"/leagues/fall/roles/{BIG}/take")[0] == 404
    assert script.post(f"/leagues/fall/roles/{number}/take") == (200, [])
    assert on_record() == ["role.give", "role.take"]


def test_a_roster_is_imported_and_people_are_removed(script: Script) -> None:
    make.open_league("fall")
    text = "name,email,code\nDana,dana@example.org,dana-code-1\nNoa,noa@example.org,"
    counts = {"added": 2, "updated": 0, "unchanged": 0}
    assert script.post("/leagues/fall/roster", {"text": text}) == (200, counts)
    status, refused = script.post("/leagues/fall/roster", {"text": "name,email\nDana,nowhere\nNoa,neither"})
    assert (status, refused["field"], refused["error"].count("\n")) == (422, "text", 1)
    number = RosterEntry.objects.get(name="Dana").pk
    assert script.post("/leagues/fall/roster/remove", {"people": [number, number + 1000]}) == (200, {"removed": 1})
    assert on_record() == ["roster.import", "roster.remove"]
    assert "dana-code-1" not in str(list(AuditEntry.objects.values()))


def test_the_demo_league_has_no_roster_and_no_roles(script: Script) -> None:
    opening.create_league(league_id=settings.LEAGUE_DEMO_ID, display_name="Demo", demo=True)
    path = f"/leagues/{settings.LEAGUE_DEMO_ID}"
    assert script.post(f"{path}/roster", {"text": "name,email\nDana,dana@example.org"})[0] == 409
    assert script.post(f"{path}/roles", {"username": "ada", "name": "assistant"})[0] == 409
    assert on_record() == []


def test_one_agent_is_checked_asked_readmitted_and_brought_back(script: Script) -> None:
    make.league(players=2)
    path = "/leagues/fall/agents/P01"
    status, check = script.post(f"{path}/check")
    assert (status, check["state"]) == (201, Check.objects.get().state)
    assert script.post(f"{path}/ask")[1]["agent_id"] == "P01"
    script.post(f"{path}/readmit")
    player = Agent.objects.get(code="P01")
    assert (player.ping_wanted, player.readmit) == (True, True)
    assert AgentToken.objects.filter(agent=player).exists()
    script.post(f"{path}/revoke_tokens")
    assert not AgentToken.objects.filter(agent=player).exists()
    Agent.objects.filter(pk=player.pk).update(state="SHUTDOWN")
    assert script.post(f"{path}/bring_back")[1]["state"] == "REGISTERED"
    assert script.post("/leagues/fall/agents/P99/ask")[0] == 404
    assert script.post("/leagues/fall/agents/P%00/ask")[0] == 404
    names = ("check", "ask", "let_register_again", "revoke_tokens", "bring_back")
    assert on_record() == [f"agent.{name}" for name in names]


def test_the_sites_own_referee_is_not_checked(script: Script) -> None:
    make.league(players=2)
    Agent.objects.filter(code="REF01").update(site_key=True)
    assert script.post("/leagues/fall/agents/REF01/check")[0] == 409
    assert on_record() == []


def test_an_agent_gets_a_name_and_an_owner(script: Script) -> None:
    make.league(players=2)
    person = RosterEntry.objects.create(league_id="fall", name="Dana", email="dana@example.org", code="dana-code-1")
    path = "/leagues/fall/agents/P01/edit"
    assert script.post(path, {"display_name": "New", "owner": person.pk})[1]["display_name"] == "New"
    player = Agent.objects.get(code="P01")
    assert (player.display_name, player.owner) == ("New", person)
    assert script.post(path, {"owner": person.pk + 1})[1]["field"] == "owner"
    assert script.post(path, {"display_name": ""})[1]["field"] == "display_name"
    assert script.post(path, {"display_name": "nul\x00"})[1]["field"] == "display_name"
    assert script.post("/leagues/fall/agents/REF01/edit", {"owner": person.pk})[1]["field"] == "owner"
    assert script.post(path, {"owner": 0})[0] == 200
    assert Agent.objects.get(code="P01").owner is None


def test_a_player_is_added_by_hand(script: Script) -> None:
    make.open_league("fall")
    status, added = script.post("/leagues/fall/players", {"name": "Hand", "endpoint": "http://192.0.2.9:8101/mcp"})
    assert (status, added["agent_id"], added["display_name"]) == (201, "P01", "Hand")
    assert script.post("/leagues/fall/players", {"name": "Hand", "endpoint": "nowhere"})[0] == 422


def test_a_notice_is_withdrawn_once_and_a_huge_number_is_404(script: Script) -> None:
    make.open_league("fall")
    number = script.post("/leagues/fall/notices", {"text": "Hello"})[1]["id"]
    assert script.post(f"/leagues/fall/notices/{number}/withdraw")[0] == 200
    assert Notice.objects.get().withdrawn_at is not None
    assert script.post(f"/leagues/fall/notices/{number}/withdraw")[0] == 409
    assert script.post(f"/leagues/fall/notices/{BIG}/withdraw")[0] == 404
    assert script.post(f"/leagues/fall/names/{BIG}/let_in")[0] == 404
