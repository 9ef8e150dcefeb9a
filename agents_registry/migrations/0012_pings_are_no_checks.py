"""A ping is wanted and an agent is pinged; a check is something else, outside any league."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("agents_registry", "0011_plain_help_texts")]

    operations = [
        migrations.RenameField("agent", "check_wanted", "ping_wanted"),
        migrations.RenameField("agent", "checked_at", "pinged_at"),
        # Only its label on pages changes.
        migrations.AlterField("agent", "pinged_at", models.DateTimeField("last asked", editable=False, null=True)),
    ]
