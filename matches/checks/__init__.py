"""Checks of agents: asking for one, carrying it out, its report."""
