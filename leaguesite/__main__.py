"""The command line of the site: ``leaguesite`` where it is installed, ``manage.py`` in a checkout."""

import os
import sys

from leaguesite.environment import UnusableData, export_data_folder


def main() -> None:
    """Carry out one command, such as ``host``, which runs the whole site."""
    export_data_folder(sys.argv)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "leaguesite.settings")
    # The settings read the environment at their first use, so the data folder and the settings' name are set first.
    from django.conf import settings  # noqa: PLC0415
    from django.core.management import execute_from_command_line  # noqa: PLC0415

    try:
        _ = settings.INSTALLED_APPS
    except (UnusableData, ValueError) as error:
        # The environment or the data folder is wrong: a sentence for the operator, no traceback.
        sys.exit(f"{error}")
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
