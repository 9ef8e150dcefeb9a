"""The site's settings, in a folder of their own, with cheap passwords."""

import os
import tempfile

# Kept in a name: the folder goes away with the process.
_folder = tempfile.TemporaryDirectory(prefix="league-tests-", ignore_cleanup_errors=True)
os.environ["LEAGUE_DATA"] = _folder.name

from leaguesite.settings import *  # noqa: E402, F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
ALLOWED_HOSTS = ["testserver", "127.0.0.1", "localhost"]
WHITENOISE_USE_FINDERS = True
# Counts are this process's own in tests: other workers have theirs, and the clock is a test's.
LEAGUE_LIMITS_REDIS_URL = None
