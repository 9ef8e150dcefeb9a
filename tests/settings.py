"""The site's settings for tests: an empty data folder of their own, and passwords that are hashed fast."""

import os
import tempfile

# Kept in a variable: the folder is deleted when the object is, at the end of the process.
_folder = tempfile.TemporaryDirectory(prefix="league-tests-", ignore_cleanup_errors=True)
os.environ["LEAGUE_DATA"] = _folder.name

# pytest-xdist's workers share one Redis. Each has a database of its own there, counted down from number 15, and a
# prefix of its own for its channels, which all databases of a Redis share.
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
# Else every client that a test makes would read the names of all static files, which takes longer than its requests.
WHITENOISE_AUTOREFRESH = True
# Rate limits count in this process's memory: other workers must not add to the counts, and tests set the clock.
LEAGUE_LIMITS_REDIS_URL = None
