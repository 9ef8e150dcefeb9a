"""The two exceptions that end an attempt at a match without a verdict."""

from __future__ import annotations


class MachineFailed(Exception):
    """The canary shows that this machine can call nobody, so another referee should play. The text is the evidence."""


class Fenced(Exception):
    """The match may be another referee's by now, so its players must not be called any more."""
