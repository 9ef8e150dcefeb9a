"""Which of several conductors has the lead."""

from __future__ import annotations

from django.db import models


class Lead(models.Model):
    """The lead, in the only row of this table: the conductor that has it, and until when unless it is renewed.

    ``until`` is a time of the database's clock: the clocks of conductors on several machines need not agree.
    """

    name = models.CharField(max_length=16, primary_key=True)
    holder = models.CharField(max_length=64)
    until = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.holder} until {self.until}"
