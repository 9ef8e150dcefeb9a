"""The site's settings, in a folder of their own, with cheap passwords."""

import os
import tempfile

os.environ["LEAGUE_DATA"] = os.environ.get("LEAGUE_TEST_DATA") or tempfile.mkdtemp(prefix="league-tests-")

from leaguesite.settings import *  # noqa: F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
ALLOWED_HOSTS = ["testserver", "127.0.0.1", "localhost"]
WHITENOISE_USE_FINDERS = True
