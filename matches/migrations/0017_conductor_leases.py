from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("matches", "0016_hidden_leagues")]

    operations = [migrations.RenameModel("Lead", "ConductorLease")]
