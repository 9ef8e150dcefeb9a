"""The site's referees must register again; one of a version that does not seal its verdicts is refused then."""

from django.db import migrations


def void_tokens(apps, schema_editor):
    """Delete the tokens of the site's referees.

    With its old token, a referee that runs on through the upgrade would be given seeds and judge without seals.
    """
    tokens = apps.get_model("agents_registry", "AgentToken").objects.using(schema_editor.connection.alias)
    tokens.filter(agent__kind="referee", agent__site_key=True).delete()


class Migration(migrations.Migration):
    dependencies = [("agents_registry", "0005_looks")]

    operations = [migrations.RunPython(void_tokens, migrations.RunPython.noop, elidable=True)]
