from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class AgentsRegistryConfig(AppConfig):
    name = "agents_registry"
    verbose_name = _("Agents")
