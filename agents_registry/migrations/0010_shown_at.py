"""When a player last showed that it is at its address: it keeps its seat from others that name the address."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("agents_registry", "0009_call_found")]

    operations = [
        migrations.AddField(
            "agent",
            "shown_at",
            models.DateTimeField(
                editable=False,
                help_text="When it last registered from the machine of its address, or was let in by the instructor.",
                null=True,
            ),
        ),
    ]
