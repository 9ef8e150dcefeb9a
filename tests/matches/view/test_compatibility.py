"""Which agent understood which message in which dialect."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from agents_registry.models import Agent
from league_sdk.dialects import shapes
from matches.models import Broadcast, Delivery, DeliveryState
from matches.view import compatibility
from matches.view.compatibility import KEPT_S, MESSAGES, Cell, How, Most, Share, most
from matches.view.kept import Kept
from tests import factories as make

INVITED, CHOOSE, OVER, ROUND = "GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_OVER", "ROUND_ANNOUNCEMENT"


def cells(league_id: str = "fall") -> dict[str, dict[str, Cell]]:
    """The cells of each player by message, without those of messages that it was never sent."""
    return {
        row.agent.code: {
            str(kind): cell for kind, cell in zip(MESSAGES, row.cells, strict=True) if cell.how != How.NEVER
        }
        for row in compatibility.ways(list(compatibility.players([league_id])))
    }


def speaks(who: make.RegisteredAgent, **spoken: str) -> None:
    Agent.objects.filter(pk=who.agent.pk).update(spoken=spoken)


def deliver(who: make.RegisteredAgent, state: str, kind: str = ROUND) -> None:
    agent = who.fresh()
    broadcast = Broadcast.objects.filter(league_id=agent.league_id, message_type=kind).first()
    assert broadcast is not None
    Delivery.objects.filter(broadcast=broadcast, agent=agent).update(state=state, settled_at=timezone.now())


@pytest.mark.django_db
def test_before_any_message_all_cells_are_empty() -> None:
    make.league()
    assert cells() == {code: {} for code in ("P01", "P02", "P03", "P04")}


@pytest.mark.django_db
def test_each_cell_says_whether_and_how_a_message_was_understood() -> None:
    made = make.running_league()
    one, two, three, four = made.players
    speaks(one, GAME_INVITATION="canonical", CHOOSE_PARITY_CALL="canonical")
    speaks(two, GAME_INVITATION="tools_list", GAME_OVER="flat")
    tool = {"own": {"GAME_INVITATION": {"name": "joinGame", "arguments": []}}}
    Agent.objects.filter(pk=two.agent.pk).update(learned=tool)
    match = next(
        made.match(m) for m in made.states() if three.agent.pk in (made.match(m).player_a_id, made.match(m).player_b_id)
    )
    make.report(match, None, **make.no_answer_from(match, "P03"))
    Delivery.objects.update(state=DeliveryState.PENDING)
    deliver(one, DeliveryState.SETTLED)
    deliver(four, DeliveryState.FAILED)
    assert cells() == {
        "P01": {
            ROUND: Cell(How.SENT),
            INVITED: Cell(How.FIRST, "canonical"),
            CHOOSE: Cell(How.FIRST, "canonical"),
        },
        "P02": {INVITED: Cell(How.OTHER, "tools_list", "joinGame"), OVER: Cell(How.OTHER, "flat")},
        "P03": {INVITED: Cell(How.SILENT)},
        "P04": {ROUND: Cell(How.SILENT), INVITED: Cell(How.SENT)},
    }


@pytest.mark.django_db
def test_a_message_with_an_invalid_answer_counts_as_not_understood() -> None:
    made = make.running_league()
    match = made.match("R1M1")
    code = match.player_a.code
    fields = make.no_answer_from(match, code)
    fields["faults"][0] |= {"error_code": "E002", "message_type": CHOOSE}
    make.report(match, None, **fields)
    assert cells()[code][CHOOSE] == Cell(How.NOT)


@pytest.mark.django_db
def test_the_ways_of_300_players_take_as_many_queries_as_those_of_3() -> None:
    make.open_league("three")
    make.open_league("many")
    make.insert_players("three", 3)
    make.insert_players("many", 300)
    query_counts: list[int] = []
    for league_id, count in (("three", 3), ("many", 300)):
        with make.counting_queries(query_counts):
            assert len(cells(league_id)) == count
    assert query_counts == [5, 5]


# Shares of dialects ------------------------------------------------------------------------------------


def dialects_of_people(*shapes_of: str, kind: str = INVITED) -> list[tuple[dict[str, str], object]]:
    return [({kind: shape}, number) for number, shape in enumerate(shapes_of)]


def test_common_dialects_are_shown_with_rounded_shares() -> None:
    rows = most(dialects_of_people(*["canonical"] * 17, *["tools_call"] * 3))
    assert rows == [
        Most(INVITED, (Share("canonical", "handle_game_invitation", 80), Share("tools_call", "tools/call", 20)))
    ]


@pytest.mark.parametrize(
    "spoken",
    [
        [],
        dialects_of_people("canonical", "canonical", "canonical", "canonical"),
        dialects_of_people("canonical", "canonical", "flat", "flat", "legacy", "legacy"),
        dialects_of_people(*["no such shape"] * 9),
        dialects_of_people(*["canonical"] * 9, kind="NO_SUCH_MESSAGE"),
        # One person with many agents.
        [({INVITED: "legacy"}, "one")] * 50,
        # Three people, each with two agents of different shapes.
        dialects_of_people("canonical", "canonical", "canonical") + dialects_of_people("flat", "flat", "flat"),
    ],
)
def test_no_share_is_shown_that_could_identify_a_person(spoken: list[Any]) -> None:
    assert most(spoken) == []


def test_a_dialect_of_one_or_two_people_is_not_shown() -> None:
    rows = most(dialects_of_people(*["canonical"] * 20, "legacy", "flat", "flat"))
    assert [share.shape for row in rows for share in row.shares] == ["canonical"]


def test_one_more_agent_changes_no_share_that_is_far_from_the_next_ten_per_cent() -> None:
    """Then a comparison of the page before and after a registration does not show that agent's dialect."""
    before = dialects_of_people(*["canonical"] * 14, *["tools_call"] * 6)
    assert {str(most([*before, ({INVITED: shape}, "new")])) for shape in shapes.SHAPES} == {str(most(before))}


@pytest.mark.django_db
def test_the_shares_are_computed_at_most_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(compatibility, "kept_most", Kept(1, lambda: now[0], min_s=KEPT_S))
    make.open_league()
    make.insert_players("fall", 6)
    query_counts: list[int] = []
    for seconds, expected in ((0, 0), (1, 0), (61, 1)):
        now[0] = float(seconds)
        with make.counting_queries(query_counts):
            assert len(compatibility.site_most()) == expected
        Agent.objects.update(spoken={INVITED: "canonical"})
    assert [count for count in query_counts if count] == [query_counts[0], query_counts[2]]
