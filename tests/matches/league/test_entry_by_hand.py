"""Players that the instructor adds by hand, as they never register by themselves."""

from __future__ import annotations

import pytest
from django.test import Client

from agents_registry.models import Agent
from matches.league import entry, lifecycle, opening
from matches.league.errors import ActionRefused, Invalid, NotFound
from tests import factories as make

pytestmark = pytest.mark.django_db
ADD = "/admin/matches/league/add-player/"


@pytest.fixture(autouse=True)
def fall() -> None:
    make.open_league("fall")


def test_an_agent_is_added_by_hand_in_the_admin(desk: Client) -> None:
    assert desk.get("/admin/agents_registry/agent/add/")["Location"] == ADD
    assert desk.get(f"{ADD}?league=fall").context["form"]["league"].value() == "fall"
    form = {"league": "fall", "name": "Quiet", "endpoint": "http://localhost:8109", "wanted_id": "P07"}
    assert desk.post(ADD, form)["Location"] == "/admin/matches/league/fall/change/"
    agent = Agent.objects.get()
    assert (agent.code, agent.endpoint, agent.by_hand, agent.league_id) == (
        "P07",
        "http://localhost:8109/mcp",
        True,
        "fall",
    )
    make.player("Loud", "fall", port=8110)
    opening.close_registration(league_id="fall")
    assert list(lifecycle.get_league("fall").matches.values_list("player_a__code", "player_b__code")) == [
        ("P01", "P07")
    ]


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"name": "\u200f"}, "name", "The name is missing. Expected: a name to show"),
        (
            {"endpoint": "there"},
            "endpoint",
            "endpoint is not an address that can be called. Expected: a URL such as http://192.168.1.20:8101/mcp",
        ),
        ({"wanted_id": "p7"}, "wanted_id", "This id is taken. Expected: a free id, or nothing"),
        (
            {"wanted_id": "draw"},
            "wanted_id",
            "This cannot be an id. Expected: at most 32 letters, digits, - and _, such as P07; or nothing",
        ),
        ({"endpoint": "http://10.0.0.1:1/mcp/"}, "__all__", "P07 has this name and this address already."),
    ],
)
def test_a_player_that_cannot_be_added_has_an_error_at_its_field(
    desk: Client, changes: dict[str, str], field: str, message: str
) -> None:
    entry.add_by_hand(league_id="fall", name="Quiet", endpoint="http://10.0.0.1:1/mcp", wanted_id="P07")
    form = {"league": "fall", "name": "Quiet", "endpoint": "http://10.0.0.2:1/mcp", "wanted_id": ""}
    page = desk.post(ADD, form | changes)
    assert page.context["form"].errors == {field: [message]}
    assert Agent.objects.count() == 1


def test_an_id_that_is_taken_at_the_same_moment_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    make.player("Alpha", "fall")
    monkeypatch.setattr("agents_registry.registering.ids.choose", lambda *_: "P01")
    with pytest.raises(Invalid, match="was taken a moment ago"):
        entry.add_by_hand(league_id="fall", name="Beta", endpoint="http://10.1.2.3:8101/mcp")
    assert [agent.name for agent in Agent.objects.all()] == ["Alpha"]


def test_a_player_is_added_by_hand_only_to_an_open_league() -> None:
    opening.edit_league(league_id="fall", display_name="Fall", settings={"max_players": 2})
    for number in (1, 2):
        entry.add_by_hand(league_id="fall", name=f"Quiet {number}", endpoint=f"http://10.0.0.{number}:1/mcp")
    refused = {}
    for league_id, why in (("fall", ActionRefused), ("nowhere", NotFound)):
        with pytest.raises(why) as caught:
            entry.add_by_hand(league_id=league_id, name="Late", endpoint="http://10.0.0.3:1/mcp")
        refused[league_id] = str(caught.value)
    opening.close_registration(league_id="fall")
    with pytest.raises(ActionRefused) as caught:
        entry.add_by_hand(league_id="fall", name="Late", endpoint="http://10.0.0.3:1/mcp")
    assert [*refused.values(), str(caught.value)] == [
        "Fall is full.",
        "There is no league nowhere.",
        "The schedule of Fall is made: it takes no further players.",
    ]
    make.open_league("winter")
    with pytest.raises(Invalid) as wrong:
        entry.add_by_hand(league_id="winter", name="Late", endpoint="")
    assert wrong.value.field == "endpoint"
