"""Leagues from before the ledger are chained when the site is upgraded, and the way back works."""

from __future__ import annotations

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.test import Client

from league_sdk.ledger.verify import verify
from matches.models import Event, League
from tests import factories as make

BEFORE = [("matches", "0005_seals")]


def migrate(target: list[tuple[str, str]] | None = None) -> None:
    """Migrate to these migrations, or to the newest; going back also undoes migrations of other apps that depend on an
    undone one."""
    executor = MigrationExecutor(connection)
    executor.migrate(target or executor.loader.graph.leaf_nodes())


@pytest.mark.django_db(transaction=True)
def test_events_lose_their_chain_when_migrated_back_and_get_it_again(client: Client, migrations_restored: None) -> None:
    made = make.running_league()
    make.finish_round(made)
    make.open_league("spring")
    events = list(Event.objects.order_by("pk").values_list("seq", "kind", "data", "at"))

    migrate(BEFORE)
    with connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT digest, salt FROM matches_event")
        assert cursor.fetchall() == [("", "")]
    migrate()

    assert list(Event.objects.order_by("pk").values_list("seq", "kind", "data", "at")) == events
    for league in League.objects.all():
        verified = verify(client.get(f"/api/leagues/{league.pk}/ledger").json())
        assert (verified.events, verified.head) == (league.events.count(), league.ledger_head)
    make.next_round(made)
    make.finish_round(made)
    verify(client.get("/api/leagues/fall/ledger").json())
