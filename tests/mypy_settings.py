"""The settings that mypy's plugin for Django reads: those of the tests.

``tests/settings.py`` makes a temporary folder. It is removed here at once, because mypy ends without cleaning up.
"""

from tests import settings
from tests.settings import *  # noqa: F403 - the plugin reads them here

settings._folder.cleanup()
