"""The help text of ``program`` says what it holds; nothing in the database changes."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("agents_registry", "0010_shown_at")]

    operations = [
        migrations.AlterField(
            "agent",
            "program",
            models.TextField(
                blank=True,
                default="",
                editable=False,
                help_text=(
                    "Keys of its program, each of which may be in one match at a time, found when a match was last "
                    "assigned."
                ),
            ),
        ),
    ]
