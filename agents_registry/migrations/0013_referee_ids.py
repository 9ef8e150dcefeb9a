"""Ids of referees are unique on the site: of those that have the same id all but one get the next free one."""

from itertools import count

from django.db import migrations
from django.db.models import F

from agents_registry.registering.ids import key


def rename_doubles(apps, schema_editor):
    """Give doubles other ids; one with the site's key keeps its id, and else the one of the site or the first.

    A renamed referee may go on calling itself by its earlier id (``wanted_id``) until it registers again. Referees of
    imported leagues have never registered here: results name them by their ids, which they keep.
    """
    agents = apps.get_model("agents_registry", "Agent").objects.using(schema_editor.connection.alias)
    # An earlier version did not count registrations. No other key than that of an imported agent has a "#".
    agents.filter(kind="referee", registrations=0).exclude(endpoint_key__contains="#").update(registrations=1)
    referees = agents.filter(kind="referee")
    used = {key(code) for code in referees.values_list("code", flat=True)}
    kept = set()
    order = ("-site_key", F("league").asc(nulls_first=True), "pk")
    for referee in referees.filter(registrations__gt=0).order_by(*order):
        if key(referee.code) in kept:
            new = next(code for number in count(1) if key(code := f"REF{number:02d}") not in used)
            used.add(key(new))
            agents.filter(pk=referee.pk).update(code=new, wanted_id=referee.code)
        kept.add(key(referee.code))


class Migration(migrations.Migration):
    dependencies = [("agents_registry", "0012_pings_are_no_checks")]

    operations = [migrations.RunPython(rename_doubles, migrations.RunPython.noop, elidable=True)]
