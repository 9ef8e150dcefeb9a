"""Hostile agents: each listens on a port, writes its own HTTP, and does harm in one way only."""
