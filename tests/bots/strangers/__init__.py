"""Agents that no document describes: what a student may well have written from the course's text, each on its own."""
