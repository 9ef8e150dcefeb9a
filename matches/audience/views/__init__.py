"""Thin: a request in, a page out. What a page shows is in ``matches.audience.pages``."""
