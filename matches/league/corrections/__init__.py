"""Corrections: a plan is computed from what the instructor asks for and how things stand, and applied or undone."""
