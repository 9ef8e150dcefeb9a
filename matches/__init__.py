"""Leagues, rounds, matches, results, and what the audience sees of them."""
