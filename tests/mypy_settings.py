"""The settings that mypy's plugin for Django reads: those of the tests.

These make a temporary folder. It is removed at once, because mypy ends without cleaning up.
"""

from tests import settings
from tests.settings import *  # noqa: F403 - the plugin reads them here

settings._folder.cleanup()
