"""The sender of a request; ``leaguesite.serving.callers`` determines it once per request."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request.

    Attributes:
        ip: the address of the caller; empty if a trusted proxy did not say it.
        direct: whether that is the caller's own machine; false behind an unknown proxy, where all callers look alike.
        past_proxy: the connection comes from this machine, which has trusted proxies, without a proxy's header.
        proxied: a trusted proxy passed the request on.
        instructor: whether the caller has the instructor's key or permission.
    """

    ip: str
    direct: bool = True
    past_proxy: bool = False
    proxied: bool = False
    instructor: bool = False

    @property
    def machine_ip(self) -> str:
        """The address if it shows which machine the caller is on, else empty."""
        return self.ip if self.direct else ""


def note_sender(request: HttpRequest, caller: Caller) -> None:
    """Note on a request who sends it; templates read it as ``request.caller``."""
    vars(request)["caller"] = caller


def sender_of(request: HttpRequest) -> Caller:
    """The sender of a request, as :func:`note_sender` stored it.

    Raises:
        KeyError: nobody noted it, because the request did not pass the site's middleware.
    """
    caller: Caller = vars(request)["caller"]
    return caller
