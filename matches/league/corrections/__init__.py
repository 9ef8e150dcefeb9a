"""Corrections: what is wished and how things stand give a plan; a plan is carried out, and can be undone."""
