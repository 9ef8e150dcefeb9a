"""Python imports this at its start when this folder is on its path: the processes under test get their faults by it."""

import os

if "CHAOS_FOLDER" in os.environ:
    from tests.chaos import inside

    inside.install()
