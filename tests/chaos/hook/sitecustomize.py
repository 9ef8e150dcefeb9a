"""Python imports this module at its start if the folder is on its path; so processes under test get their faults."""

import os

if "CHAOS_FOLDER" in os.environ:
    from tests.chaos import inside

    inside.install()
