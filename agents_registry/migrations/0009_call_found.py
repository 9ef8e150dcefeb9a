"""What a call at an agent's address found is kept when the agent dials out."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("agents_registry", "0008_learned")]

    operations = [
        migrations.AddField(
            "agent",
            "call_found",
            models.CharField(
                blank=True,
                default="",
                editable=False,
                help_text="What the last call at its address found in place of an agent; empty for none, or if it answered.",
                max_length=200,
            ),
        ),
    ]
