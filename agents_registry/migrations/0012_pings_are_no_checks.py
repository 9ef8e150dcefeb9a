"""A ping is wanted and an agent is pinged; a check is something else, outside any league. The columns stay."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("agents_registry", "0011_plain_help_texts")]

    operations = [
        migrations.AlterField(
            "agent", "check_wanted", models.BooleanField(default=False, editable=False, db_column="check_wanted")
        ),
        migrations.RenameField("agent", "check_wanted", "ping_wanted"),
        migrations.AlterField(
            "agent",
            "checked_at",
            models.DateTimeField("last asked", editable=False, null=True, db_column="checked_at"),
        ),
        migrations.RenameField("agent", "checked_at", "pinged_at"),
    ]
