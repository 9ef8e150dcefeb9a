"""What a correction computes before its transaction, and what happens if the league changes in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from matches.desk import acting
from matches.desk.actions import correcting
from matches.league import lifecycle
from matches.league.corrections import applying
from matches.league.corrections.applying import Ready
from matches.league.corrections.plans import Wish
from matches.league.errors import ActionRefused
from matches.models import Broadcast
from matches.view import sight
from tests import factories as make
from tests.matches.correcting import WHY, assert_results_agree, rows

pytestmark = pytest.mark.django_db

LOST = Wish("withdraw", WHY, player_id="P01", matches_become="lose")


def carry_out(league_id: str, wish: Wish = LOST) -> Any:
    return acting.carry_out(correcting(wish.kind), by=None, league_id=league_id, wish=wish)


def before_the_transaction(monkeypatch: pytest.MonkeyPatch, change: Callable[[int], None]) -> list[int]:
    """Have something change between a plan and its transaction; the list that comes back has a number for each plan."""
    plans: list[int] = []
    prepare = applying.ready_to_make

    def prepared(**given: Any) -> Ready:
        ready = prepare(**given)
        plans.append(len(plans) + 1)
        change(plans[-1])
        return ready

    monkeypatch.setattr(applying, "ready_to_make", prepared)
    return plans


def test_the_transaction_has_as_many_statements_in_a_large_league_and_computes_no_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    statements, tables, depth = [], [], len(connection.savepoint_ids)
    table = sight.table

    def noted(*args: Any, **named: Any) -> Any:
        tables.append(len(connection.savepoint_ids) > depth)
        return table(*args, **named)

    monkeypatch.setattr(sight, "table", noted)
    for players in (30, 120):
        league_id = f"of{players}"
        made = make.league(league_id, players=players)
        lifecycle.start_league(league_id=league_id)
        make.open_round(league_id)
        make.finish_round(made)
        tables.clear()
        with CaptureQueriesContext(connection) as seen:
            carry_out(league_id)
        statements.append(len(seen))
        assert tables == [False]
    assert statements[0] == statements[1]


def test_a_result_that_arrives_after_the_plan_is_in_the_correction(
    made: make.MadeLeague, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, other = sorted(
        (made.match(match_id) for match_id in made.states() if match_id.startswith("R2")),
        key=lambda match: "P01" not in (match.player_a.code, match.player_b.code),
    )

    def result(plan: int) -> None:
        if plan == 1:
            make.report(own, "P01")
        elif plan == 2:
            make.report(other, other.player_a.code)

    plans = before_the_transaction(monkeypatch, result)
    correction = carry_out(made.league_id)
    assert plans == [1, 2, 3]
    assert correction.before["matches"][own.match_id]["outcome"]["winner_id"] == "P01"
    told = Broadcast.objects.filter(message_type="LEAGUE_STANDINGS_UPDATE").latest("pk").payload
    assert [(row["player_id"], row["points"]) for row in told["standings"]] == [
        (row.player_id, row.points) for row in rows(made)
    ]
    assert told["ledger_head"] == sight.everything(made.league).moment.head
    assert made.match(other.match_id).winner == other.player_a
    assert_results_agree(made)


def test_a_league_that_never_stands_still_is_corrected_all_the_same(
    made: make.MadeLeague, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pause(plan: int) -> None:
        (lifecycle.pause if plan % 2 else lifecycle.resume)(league_id=made.league_id)

    plans = before_the_transaction(monkeypatch, pause)
    carry_out(made.league_id)
    assert plans == [1, 2, 3][: acting.MAX_PREPARED]
    assert rows(made)[0].player_id != "P01"
    assert made.events().count("corrected") == 1


def test_a_large_league_that_never_stands_still_is_not_held_until_all_is_computed(
    made: make.MadeLeague, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(applying, "MAX_MATCHES_UNPREPARED", 2)
    plans = before_the_transaction(
        monkeypatch, lambda plan: (lifecycle.pause if plan % 2 else lifecycle.resume)(league_id=made.league_id)
    )
    with pytest.raises(ActionRefused, match="Pause the league"):
        carry_out(made.league_id)
    assert plans == [1, 2, 3]
    assert not made.events().count("corrected")

    monkeypatch.undo()
    carry_out(made.league_id)
    assert made.events().count("corrected") == 1
