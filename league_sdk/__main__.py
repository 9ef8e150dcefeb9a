"""``python -m league_sdk``."""

import sys

from league_sdk.cli import main

sys.exit(main())
