"""Formats of a league: which games are played next, and who stands where. Pure."""
