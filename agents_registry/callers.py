"""Who sends a request; the web server settles it once (``leaguesite.serving.callers``) and the request carries it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sends a request.

    Attributes:
        ip: the address it came from; empty where a trusted proxy tells nothing.
        direct: whether that is the caller's own machine; false behind an unknown proxy, where all look alike.
        past_proxy: the connection is of this machine itself, which has trusted proxies, and no proxy's header came.
        instructor: whether the instructor's key or permission was shown.
    """

    ip: str
    direct: bool = True
    past_proxy: bool = False
    instructor: bool = False

    @property
    def near(self) -> str:
        """The address where it shows which machine the caller is on, else nothing."""
        return self.ip if self.direct else ""
