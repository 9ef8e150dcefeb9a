"""A freeze is planned, begins, and is unveiled from the last place up; agents' messages show what the public sees."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from agents_registry.models import Agent
from league_sdk.protocol.messages import MessageType
from matches.league import freeze, lifecycle
from matches.league.errors import ActionRefused
from matches.models import Broadcast, League
from matches.view import queries, sight
from tests import factories as make
from tests import wire

pytestmark = pytest.mark.django_db

TABLES = ("GET_STANDINGS", "GET_SCHEDULE", "GET_PLAYER_STATS")


class _GiveUp(Exception):
    """Raised to roll a transaction back."""


@pytest.fixture
def made() -> make.MadeLeague:
    """Four players; round 1 is played, the board is frozen, and round 2 is announced."""
    made = make.league_before_freeze()
    lifecycle.start_league(league_id="fall")
    return made


def play_round(made: make.MadeLeague, winner: int | None) -> None:
    """Play the announced round, or the next one, to its end."""
    announced = made.league.rounds.filter(state="ANNOUNCING").exists()
    if not announced:
        lifecycle.start_league(league_id="fall")
    make.open_round("fall")
    make.finish_round(made, winner)


def broadcasts_after(after: int) -> list[dict[str, Any]]:
    """The payloads of the broadcasts after a certain one, without their times."""
    rows = Broadcast.objects.filter(pk__gt=after, league_id="fall").order_by("pk")
    return [wire.plain(row.payload) for row in rows]


def test_agents_get_the_frozen_table_whatever_the_hidden_results_are(made: make.MadeLeague) -> None:
    last = Broadcast.objects.order_by("-pk").values_list("pk", flat=True)[0]
    sent = []
    for winner in (0, 1, None):
        try:
            with transaction.atomic():
                play_round(made, winner)
                play_round(made, winner)
                sent.append(broadcasts_after(last))
                raise _GiveUp
        except _GiveUp:
            continue
    assert sent[0] == sent[1] == sent[2]
    marked = {message["message_type"]: message.get("frozen_after_round") for message in sent[0]}
    assert marked[MessageType.LEAGUE_STANDINGS_UPDATE] == 1
    assert "summary" not in next(one for one in sent[0] if one["message_type"] == MessageType.ROUND_COMPLETED)
    assert MessageType.LEAGUE_COMPLETED not in marked


def test_answers_to_agents_say_that_the_table_is_frozen(client: Client, made: make.MadeLeague) -> None:
    play_round(made, 0)
    for query in TABLES:
        params = make.message_from(made.players[0], "LEAGUE_QUERY", league_id="fall", query_type=query)
        assert wire.ask(client, "league_query", params)["data"]["frozen_after_round"] == 1


def test_the_staff_sees_all_when_it_asks_for_it(client: Client, admin_client: Client, made: make.MadeLeague) -> None:
    play_round(made, 1)
    address = "/leagues/fall/"
    # Without asking they see what the room sees, and a link to the desk.
    own = re.sub(r'<a class="bar-desk".*?</a>', "", admin_client.get(address).content.decode())
    assert own.split() == client.get(address).content.decode().split()
    assert admin_client.get(f"{address}?as=staff").context["league"].frozen_after is None
    assert admin_client.get(f"{address}?as=staff").context["league"].summary.round_number == 2
    assert client.get(f"{address}?as=staff").status_code == 403
    assert client.get(f"/api{address}standings?as=staff").status_code == 401


def play_to_end(made: make.MadeLeague) -> list[str]:
    """Play to the end; returns the ids in the order of the final table."""
    play_round(made, 0)
    play_round(made, 1)
    return [row.player_id for row in sight.everything(made.league).standings]


def shown(made: make.MadeLeague) -> list[tuple[int, str, int]]:
    return [(row.rank, row.player_id, row.played) for row in sight.public(made.league).standings]


def test_the_table_is_unveiled_from_the_last_place_up(made: make.MadeLeague) -> None:
    final = play_to_end(made)
    frozen = [code for _, code, _ in shown(made)]
    for place_shown in (4, 3, 2):
        assert freeze.unveil(league_id="fall") == place_shown
        table = shown(made)
        assert [code for _, code, _ in table[place_shown - 1 :]] == final[place_shown - 1 :]
        assert [played for _, _, played in table[place_shown - 1 :]] == [3] * (5 - place_shown)
        above = [code for code in frozen if code not in final[place_shown - 1 :]]
        assert [code for _, code, _ in table[: place_shown - 1]] == above
        assert [played for _, _, played in table[: place_shown - 1]] == [1] * (place_shown - 1)
        assert [rank for rank, _, _ in table] == [1, 2, 3, 4]
    assert not Broadcast.objects.filter(message_type=MessageType.LEAGUE_COMPLETED).exists()
    assert freeze.unveil(league_id="fall") == 1
    assert [code for _, code, _ in shown(made)] == final
    ended = Broadcast.objects.get(message_type=MessageType.LEAGUE_COMPLETED)
    assert [row["player_id"] for row in ended.payload["final_standings"]] == final
    assert sight.public(made.league).is_present
    assert set(Agent.objects.filter(kind="player").values_list("state", flat=True)) == {"SHUTDOWN"}


def test_lifting_the_freeze_in_a_running_league_shows_the_whole_table(made: make.MadeLeague) -> None:
    play_round(made, 0)
    freeze.lift(league_id="fall")
    assert sight.public(made.league).standings == sight.everything(made.league).standings
    play_round(made, 0)
    assert made.events().count("frozen") == 1
    assert League.objects.get(pk="fall").state == "COMPLETED"


REFUSED = {
    "there is no freeze to lift": lambda: freeze.lift(league_id="fall"),
    "there is no freeze to unveil": lambda: freeze.unveil(league_id="fall"),
    "round 1 has begun": lambda: freeze.plan(league_id="fall", from_round=1),
    "there is no round 4": lambda: freeze.plan(league_id="fall", from_round=4),
    "there is no league nowhere": lambda: freeze.plan(league_id="nowhere", from_round=2),
}


@pytest.mark.parametrize("action", REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_done_is_refused_and_changes_nothing(action: Callable[[], object]) -> None:
    make.running_league(players=4)
    before = League.objects.filter(pk="fall").values().get()
    with pytest.raises(ActionRefused):
        action()
    assert League.objects.filter(pk="fall").values().get() == before


def test_a_frozen_board_is_not_frozen_again_and_not_unveiled_before_the_end(made: make.MadeLeague) -> None:
    play_round(made, 0)
    for action in (lambda: freeze.plan(league_id="fall", from_round=3), lambda: freeze.unveil(league_id="fall")):
        with pytest.raises(ActionRefused):
            action()


def test_a_planned_freeze_can_be_cancelled() -> None:
    made = make.league_before_freeze()
    freeze.plan(league_id="fall", from_round=None)
    lifecycle.start_league(league_id="fall")
    assert sight.public(made.league).is_present


def test_the_snapshot_of_a_freeze_is_json(made: make.MadeLeague) -> None:
    play_round(made, 0)
    assert json.loads(json.dumps(made.league.frozen)) == made.league.frozen


def test_a_board_that_an_earlier_version_froze_still_lists_its_agents(made: make.MadeLeague) -> None:
    play_round(made, 0)
    league = made.league
    for line in league.frozen["agents"]:
        del line["reached_by"]
    rows = queries.agents_of(sight.public(league))
    assert rows
    assert {row["reached_by"] for row in rows} == {"address"}
