from django.apps import AppConfig
from django.core.checks import Tags, register

from leaguesite.hosting.deploy_checks import guessable_keys


class LeaguesiteConfig(AppConfig):
    name = "leaguesite"

    def ready(self) -> None:
        """Have Django's own check of a deployment ask ours, too."""
        register(guessable_keys, Tags.security, deploy=True)
