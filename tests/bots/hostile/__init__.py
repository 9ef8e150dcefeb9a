"""Agents that answer to do harm: each has a port, writes its own bytes, and is called hostile for one thing only."""
