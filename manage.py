#!/usr/bin/env python
"""The site's command line in a checkout; ``host`` is the command that runs the whole site."""

from leaguesite.__main__ import main

if __name__ == "__main__":
    main()
