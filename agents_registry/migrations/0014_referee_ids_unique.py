"""No two referees get the same id from now on (PostgreSQL makes no index after the updates of the same transaction)."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("agents_registry", "0013_referee_ids")]

    operations = [
        migrations.AddConstraint(
            model_name="agent",
            constraint=models.UniqueConstraint(
                condition=Q(("kind", "referee"), ("registrations__gt", 0)), fields=("code",), name="referee_code"
            ),
        ),
    ]
