"""After an upgrade from a version without seals, the site's referees must register again, and nobody else."""

from __future__ import annotations

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from agents_registry.registering import credentials
from tests import factories as make

pytestmark = pytest.mark.django_db(transaction=True)


def test_only_the_tokens_of_the_site_s_referees_are_void(migrations_restored: None) -> None:
    ours = make.referee("Ours")
    foreign = make.referee("Foreign", trusted=False)
    make.open_league("fall")
    player = make.player("Alpha", "fall")
    MigrationExecutor(connection).migrate([("agents_registry", "0005_looks")])
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())
    assert credentials.find_agent(ours.token) is None
    assert credentials.find_agent(foreign.token) == foreign.agent
    assert credentials.find_agent(player.token) == player.agent
