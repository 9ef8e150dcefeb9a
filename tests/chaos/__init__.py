"""Chaos tests: leagues are played while the site's processes are killed, stopped and delayed (docs/chaos.md)."""
