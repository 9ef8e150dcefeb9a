"""Rounds with more matches than a look reads at first, and what must stay cheap however many matches there are."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from itertools import islice
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agents_registry.models import Agent
from agents_registry.registering import registration
from matches.conducting import choosing, due, outgoing
from matches.league import lifecycle, making, outbox
from matches.models import Delivery, Match
from matches.view import queries, sight, summaries
from tests import factories as make

pytestmark = pytest.mark.django_db
PLAYERS = 2 * (choosing.MAX_MATCHES_READ + 3)


def open_first_round(*rooms: int) -> make.MadeLeague:
    """A league with more matches in a round than a look reads at first, and referees with room for so many matches."""
    judges = [make.referee(f"Referee {number}", port=8000 + number, room=room) for number, room in enumerate(rooms, 1)]
    make.open_league("fall")
    make.insert_players("fall", PLAYERS)
    lifecycle.start_league(league_id="fall")
    make.open_round("fall")
    return make.MadeLeague("fall", [], judges)


def matches_by_referee() -> Counter[str]:
    return Counter(Match.objects.filter(round__number=1, state="ASSIGNED").values_list("referee__code", flat=True))


def test_a_look_reads_more_matches_while_referees_have_room() -> None:
    open_first_round(64, 64)
    plan = make.look()
    assert len(plan.starts) == PLAYERS // 2
    assert sum(matches_by_referee().values()) == PLAYERS // 2


def test_no_transaction_gives_out_more_matches_than_a_look_reads_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever writes to a player or a match of a round of thousands must not wait for all of them."""
    open_first_round(64, 64)
    monkeypatch.setattr(choosing, "islice", lambda waiting, _: islice(waiting, 2))
    with CaptureQueriesContext(connection) as queries:
        assert len(make.look().starts) == PLAYERS // 2
    # In a test each transaction is a savepoint.
    blocks = "".join(
        "|" if sql.startswith("SAVEPOINT") else "x" for query in queries if _gives_out_or_begins(sql := query["sql"])
    ).split("|")
    assert sorted(filter(None, blocks)) == ["x", "xx", "x" * 64]


def _gives_out_or_begins(sql: str) -> bool:
    return sql.startswith("SAVEPOINT") or (sql.startswith('UPDATE "matches_match"') and "ASSIGNED" in sql)


def test_matches_wait_in_their_order_while_no_referee_has_room() -> None:
    open_first_round(3)
    assert len(make.look().starts) == 3
    assert make.look().starts == []
    assert matches_by_referee() == {"REF01": 3}
    first = Match.objects.filter(round__number=1).order_by("pk")[:3]
    assert {match.state for match in first} == {"ASSIGNED"}


def test_referees_do_not_count_as_silent_because_writing_the_schedule_took_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """While the schedule is written SQLite stores no heartbeat."""
    make.league(players=4, referees=2)
    passed, now, write_round = 0.0, timezone.now, making.write_round

    def slow_write_round(*of: Any) -> int:
        nonlocal passed
        passed = 60.0
        return write_round(*of)

    monkeypatch.setattr(timezone, "now", lambda: now() + timedelta(seconds=passed))
    monkeypatch.setattr(making, "write_round", slow_write_round)
    assert lifecycle.start_league(league_id="fall").state == "RUNNING"
    assert Delivery.objects.filter(agent__kind="referee").count() == 2
    assert set(Match.objects.filter(round__number=1).values_list("state", flat=True)) == {"READY"}
    # They get no match before their next heartbeat.
    make.open_round("fall")
    assert make.look().starts == []
    Agent.objects.filter(kind="referee").update(heard_at=timezone.now())
    assert len(make.look().starts) == 2


@pytest.mark.skipif(connection.vendor != "sqlite", reason="another database is used: no SQLite")
def test_no_statement_scans_all_matches_to_find_a_few() -> None:
    made = make.league(players=4, referees=1)
    with CaptureQueriesContext(connection) as queries:
        lifecycle.start_league(league_id="fall")
        # One match is decided because its player is shut down, the other is played.
        Agent.objects.filter(code="P04").update(state="SHUTDOWN")
        make.open_round("fall")
        due.look(busy_agents=[], draining=False)
        (match,) = Match.objects.filter(state="ASSIGNED")
        assert make.progress(match) == "ok"
        make.report(match, match.player_a.code)
        due.look(busy_agents=[], draining=False)
        summaries.tally(made.league)
        summaries.tally()
    read = [query["sql"] for query in queries if query["sql"].startswith(("SELECT", "UPDATE"))]
    assert len(read) > 60
    assert Match.objects.filter(reason="P04 shut down after too many silences: not called").count() == 1
    assert {sql: bad for sql in read if (bad := scans_of(sql))} == {}
    # The check itself finds such statements.
    assert scans_of("SELECT * FROM matches_match WHERE attempt = 1") == ["SCAN matches_match"]
    assert scans_of("SELECT * FROM matches_match WHERE state = 'FINISHED'")


LARGE = ("matches_match", "matches_delivery", "matches_message", "matches_event")


def scans_of(sql: str) -> list[str]:
    """The steps in which SQLite would scan a large table, or all PENDING or FINISHED matches, for a statement."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
        steps = [row[3] for row in cursor.fetchall()]
    nearly_all = "'PENDING'" in sql or "'FINISHED'" in sql
    return [
        step
        for step in steps
        if (step.startswith("SCAN") and step.split()[1] in LARGE and "INDEX" not in step)
        or (nearly_all and "INDEX match_open" in step)
    ]


def test_the_standings_that_a_player_is_told_of_itself_are_its_line_of_the_table() -> None:
    made = make.running_league(players=4)
    make.look()
    first = made.match("R1M1")
    make.report(first, first.player_a.code)
    make.report(made.match("R1M2"), None)
    seen = sight.public(made.league)
    lines = {row.player_id: (row.wins, row.losses, row.draws) for row in seen.standings}
    own = queries.own_standings(seen, ["P01", "P03"])
    assert {player: tuple(line[name] for name in ("wins", "losses", "draws")) for player, line in own.items()} == {
        player: lines[player] for player in ("P01", "P03")
    }


@pytest.mark.parametrize(("site_key", "sends_progress", "calls"), [(True, True, 1), (True, False, 3), (False, True, 3)])
def test_only_a_referee_of_the_site_that_sends_progress_takes_several_starts_in_one_call(
    site_key: bool, sends_progress: bool, calls: int
) -> None:
    judge = make.referee("Judge", port=8001, room=4, trusted=site_key, progress=sends_progress).fresh()
    registration.trust(agent_ids=[judge.pk], trusted=True)
    assert (judge.site_key, judge.sends_progress) == (site_key, sends_progress)
    make.open_league("fall")
    make.insert_players("fall", 6)
    lifecycle.start_league(league_id="fall")
    outbox.settle([(pk, "") for pk in Delivery.objects.values_list("pk", flat=True)])
    make.open_round("fall")
    starts = make.look().starts
    assert (len(starts), len(outgoing.in_calls(starts))) == (3, calls)
