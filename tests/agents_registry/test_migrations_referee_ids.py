"""An upgrade from a version in which referees of different leagues could have the same id."""

from __future__ import annotations

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from agents_registry.models import Agent
from agents_registry.registering import registration
from matches.view import referees
from tests import factories as make

pytestmark = pytest.mark.django_db(transaction=True)


def test_doubles_get_the_next_free_id_and_the_sites_referee_keeps_its_own(migrations_restored: None) -> None:
    for league in ("fall", "spring", "old"):
        make.open_league(league)
    before = [("agents_registry", "0012_pings_are_no_checks")]
    earlier = MigrationExecutor(connection).migrate(before).apps.get_model("agents_registry", "Agent")
    rows = [
        ("fall", "Fall's", "REF01", False, "localhost|8050/mcp?", 1),
        ("spring", "Spring's", "ref1", False, "localhost|8051/mcp?", 0),
        (None, "Ours", "REF01", True, "localhost|8001/mcp?", 3),
        (None, "Another", "REF02", False, "localhost|8052/mcp?", 1),
        ("old", "Imported", "REF01", False, "old#5", 0),
    ]
    earlier.objects.bulk_create(
        earlier(
            kind="referee",
            league_id=league,
            name=name,
            display_name=name,
            code=code,
            site_key=key,
            endpoint_key=at,
            registrations=count,
            registered_at=timezone.now(),
        )
        for league, name, code, key, at, count in rows
    )
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())
    after = Agent.objects.order_by("pk").values_list("name", "code", "wanted_id")
    assert list(after) == [
        ("Fall's", "REF03", "REF01"),
        ("Spring's", "REF04", "ref1"),
        ("Ours", "REF01", ""),
        ("Another", "REF02", ""),
        ("Imported", "REF01", ""),
    ]
    found = referees.find_referee("REF01", None)
    assert found is not None
    assert found.name == "Ours"


def test_a_referee_of_a_league_gets_an_id_that_no_other_one_has() -> None:
    make.open_league("fall")
    ours = make.referee()
    theirs = make.referee("Theirs", port=8050, trusted=False, own_league="fall")
    assert (ours.agent.code, theirs.agent.code) == ("REF01", "REF02")
    assert referees.find_referee("REF02", None) == theirs.agent
    assert referees.find_referee("REF01", "fall") is None
    registration.trust(agent_ids=[theirs.agent.pk])
    assert ours.fresh().trusted
