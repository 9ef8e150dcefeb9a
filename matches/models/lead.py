"""Which of several conductors conducts."""

from __future__ import annotations

from django.db import models


class Lead(models.Model):
    """The one row of its kind: who conducts, and until when unless it says again that it does.

    ``until`` is the database's time: the clocks of conductors on several machines need not agree.
    """

    name = models.CharField(max_length=16, primary_key=True)
    holder = models.CharField(max_length=64)
    until = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.holder} until {self.until}"
