"""Formats of a schedule. Pure."""
