"""What is learned of how an agent speaks belongs to one registration."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("agents_registry", "0007_inboxes")]

    operations = [
        migrations.AddField(
            "agent",
            "learned",
            models.JSONField(
                default=dict,
                editable=False,
                help_text="What else was found out of how it speaks: its own names of tools, and if it wants a session.",
            ),
        ),
        migrations.AddField(
            "agent",
            "registrations",
            models.PositiveIntegerField(
                default=0, editable=False, help_text="How often it has registered; what was learned is of the last time."
            ),
        ),
    ]
