"""Python imports this at its start if this folder is on its path: so the processes under test get their faults."""

import os

if "CHAOS_FOLDER" in os.environ:
    from tests.chaos import inside

    inside.install()
