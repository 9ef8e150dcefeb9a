#!/usr/bin/env python
"""Django's command line; ``host`` is the command that runs the whole site."""

import os
import sys

from leaguesite.environment import Unusable, export_data_folder


def main() -> None:
    export_data_folder(sys.argv)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "leaguesite.settings")
    # Settings read the environment when Django is imported, so the folder comes first.
    from django.conf import settings
    from django.core.management import execute_from_command_line

    try:
        _ = settings.INSTALLED_APPS
    except (Unusable, ValueError) as error:
        # Of the environment or the data folder: a sentence for whoever starts the site.
        sys.exit(f"{error}")
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
