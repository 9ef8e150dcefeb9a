"""The site's own processes on this machine, where a trusted proxy on it hides who calls.

Such a proxy makes loopback say nothing of a caller: it is empty then, and "localhost" nobody's. Our own referees and
sample players go past the proxy and look the same. They are told by their key, and by it alone: a connection of this
machine without it is anybody's behind a proxy that does not tell.
"""

from __future__ import annotations

from django.conf import settings

from league_sdk.protocol import tokens
from leaguesite.mcp.calls import Call
from leaguesite.serving.callers import THIS_MACHINE


def home(call: Call) -> str:
    """Where a caller that nothing else is known of is at home (our choice; ruling, section 9).

    Args:
        call: a registration.

    Returns:
        This machine's address for a connection of this machine, without a proxy's headers, that brings the referees'
        key in ``referee_meta`` or the demo's in ``player_meta``; empty for anybody else.
    """
    if not call.came.caller.past_proxy:
        return ""
    keys = {"referee_meta": settings.LEAGUE_REFEREE_KEY, "player_meta": settings.LEAGUE_DEMO_KEY}
    for name, key in keys.items():
        meta = call.params.get(name)
        code = meta.get("registration_code") if isinstance(meta, dict) else None
        if isinstance(code, str) and key and tokens.same(code, key):
            return THIS_MACHINE
    return ""
