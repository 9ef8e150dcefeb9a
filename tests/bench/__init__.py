"""`make bench`: how fast the site is on this machine (docs/performance.md says how to read it)."""
