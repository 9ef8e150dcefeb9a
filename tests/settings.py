"""The site's settings, in a folder of their own, with cheap passwords."""

import os
import tempfile

# Kept in a name: the folder goes away with the process.
_folder = tempfile.TemporaryDirectory(prefix="league-tests-", ignore_cleanup_errors=True)
os.environ["LEAGUE_DATA"] = _folder.name

# Workers of one run share a Redis. Each has a database of its own there, from the last one on, and channels of its own,
# which the databases do not keep apart.
_worker = os.environ.get("PYTEST_XDIST_WORKER", "")
_shares_redis = bool(_worker and os.environ.get("REDIS_URL"))
if _shares_redis:
    _server = os.environ["REDIS_URL"].rpartition("/")[0]
    os.environ["REDIS_URL"] = f"{_server}/{15 - int(_worker.removeprefix('gw'))}"

from leaguesite.settings import *  # noqa: E402, F403
from leaguesite.settings import CHANNEL_LAYERS  # noqa: E402

if _shares_redis:
    CHANNEL_LAYERS["default"]["CONFIG"]["prefix"] = f"tests-{_worker}"

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
ALLOWED_HOSTS = ["testserver", "127.0.0.1", "localhost"]
WHITENOISE_USE_FINDERS = True
# Counts are this process's own in tests: other workers have theirs, and the clock is a test's.
LEAGUE_LIMITS_REDIS_URL = None
