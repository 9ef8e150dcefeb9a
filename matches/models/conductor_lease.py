"""Which conductors are there."""

from __future__ import annotations

from django.db import models


class ConductorLease(models.Model):
    """One conductor, and until when it counts as there unless it renews that.

    ``until`` is a time of the database's clock: the clocks of conductors on several machines need not agree.
    """

    name = models.CharField(max_length=16, primary_key=True)
    holder = models.CharField(max_length=64)
    until = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.holder} until {self.until}"
