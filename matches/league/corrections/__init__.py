"""Corrections: a plan is worked out from what the instructor asks for and how things stand, and applied or undone."""
