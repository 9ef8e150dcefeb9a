"""Every league is a chain: the events that are there are given salts and digests, in order (ruling, section 12)."""

from __future__ import annotations

import os
from typing import Any

from django.db import migrations, models

from league_sdk.ledger import chain

AT_ONCE = 1000
"""Events that are in memory at the same time."""


def chain_leagues(apps: Any, schema_editor: Any) -> None:
    league_model, event_model = apps.get_model("matches", "League"), apps.get_model("matches", "Event")
    using = schema_editor.connection.alias
    for league_id in league_model.objects.using(using).order_by("pk").values_list("pk", flat=True):
        events = event_model.objects.using(using).filter(league_id=league_id).order_by("seq")
        head, after = "", 0
        while piece := list(events.filter(seq__gt=after).values_list("pk", "seq", "kind", "at", "data")[:AT_ONCE]):
            rows = []
            for pk, seq, kind, at, data in piece:
                salt = os.urandom(chain.SALT_BYTES).hex()
                head = chain.link(head, salt, league_id=league_id, seq=seq, kind=kind, at=at, data=data).digest
                rows.append((head, salt, pk))
            _write(schema_editor.connection, event_model, rows)
            after = piece[-1][1]
        league_model.objects.using(using).filter(pk=league_id).update(ledger_head=head)


def unchain_leagues(apps: Any, schema_editor: Any) -> None:
    event_model = apps.get_model("matches", "Event")
    event_model.objects.using(schema_editor.connection.alias).update(digest="", salt="")


def _write(connection: Any, model: Any, rows: list[tuple[str, str, int]]) -> None:
    quote = connection.ops.quote_name
    table, digest, salt, pk = (quote(name) for name in (model._meta.db_table, "digest", "salt", "id"))
    with connection.cursor() as cursor:
        # Far quicker than the ORM's own ways for hundreds of thousands of rows.
        cursor.executemany(f"UPDATE {table} SET {digest} = %s, {salt} = %s WHERE {pk} = %s", rows)  # noqa: S608


class Migration(migrations.Migration):
    dependencies = [
        ("matches", "0005_seals"),
    ]

    operations = [
        migrations.AddField(
            model_name="league",
            name="ledger_head",
            field=models.CharField(
                blank=True, default="", editable=False, help_text="The digest of the last event.", max_length=64
            ),
        ),
        migrations.RunPython(chain_leagues, unchain_leagues),
    ]
