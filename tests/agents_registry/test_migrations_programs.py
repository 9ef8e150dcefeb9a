"""After an upgrade from a version without stored programs, matches in play keep theirs from others."""

from __future__ import annotations

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from agents_registry.addresses import programs
from agents_registry.models import Agent
from matches.conducting import due
from matches.league import results
from matches.models import Match
from tests import factories as make
from tests.league_sdk.transport.test_names import Zones

BEFORE = [("agents_registry", "0003_registered_from")]
ENDPOINTS = {
    "P01": "http://192.0.2.7:8101/mcp",
    "P02": "https://Agents.Example/b",
    "P03": "http://[::1]:8103/mcp",
    "P04": "http://alias.example:8101/x",
}


def upgrade() -> None:
    """Migrate back to the version without stored programs, and forward again."""
    MigrationExecutor(connection).migrate(BEFORE)
    executor = MigrationExecutor(connection)
    with connection.cursor() as cursor:
        columns = {one.name for one in connection.introspection.get_table_description(cursor, "agents_registry_agent")}
    assert columns.isdisjoint({"program", "addresses"})
    executor.migrate(executor.loader.graph.leaf_nodes())


def stored_programs() -> dict[str, tuple[str, str]]:
    rows = Agent.objects.filter(kind="player").order_by("code")
    return {agent.code: (agent.program, agent.addresses) for agent in rows}


def first_look() -> set[str]:
    """The matches that the conductor of a site that was just started gives to referees first."""
    plan = due.look(busy_agents=(), draining=False, again=True)
    return set(Match.objects.filter(pk__in=[one.match_pk for one in plan.starts]).values_list("match_id", flat=True))


@pytest.mark.django_db(transaction=True)
def test_a_match_that_is_in_play_during_the_upgrade_keeps_its_programs_from_others(
    zones: Zones, migrations_restored: None
) -> None:
    make.referee(room=10)
    # On a busy machine the migrations take longer than a normal lease.
    make.open_league("fall", referee_lease_s=600)
    for code, endpoint in ENDPOINTS.items():
        make.player(code, "fall", endpoint=endpoint)
    zones.leads_to["alias.example"] = "192.0.2.7"
    make.lifecycle.start_league(league_id="fall")
    make.open_round("fall")
    # The name server shows that P01 and P04 are one program.
    named = Match.objects.get(player_b__code="P04", round__number=1)
    other = Match.objects.get(player_a__code="P01", round__number=1)
    assert named.pk != other.pk
    Match.objects.filter(pk=other.pk).update(state="PENDING")
    due.look(busy_agents=(), draining=False)
    zones.settle()
    assert {one.match_pk for one in make.look().starts} == {named.pk}
    Match.objects.filter(pk=other.pk).update(state="READY")
    upgrade()
    # Until the name is looked up again, its program may be that of any other match.
    programs.NAMES._names.clear()
    assert other.match_id not in first_look()
    assert [host for host, _ in zones.lookups] == ["alias.example"]
    zones.settle()
    assert make.look().starts == []
    assert stored_programs()["P04"] == ("192.0.2.7|8101", "192.0.2.7")
    results.cancel(league_id="fall", match_id=named.match_id, why="over")
    assert {one.match_pk for one in make.look().starts} == {other.pk}
