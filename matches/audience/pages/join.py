"""The way in: where an agent registers, with what, and what to do step by step."""

from __future__ import annotations

import ipaddress
import json
from typing import Any
from urllib.parse import urlsplit

from django.urls import reverse

from agents_registry import roster
from matches.audience import qr
from matches.audience.pages.keys import PageKey, socket_path
from matches.audience.pages.parts import league_of
from matches.league import making
from matches.models import League
from matches.view.sight import View

FRAGMENTS = ("join_state",)
AGENT_PORT = 8101
CODE = "YOUR-CODE"


def context(view: View, key: PageKey) -> dict[str, Any]:
    """What changes on the page: whether registration is open, and how many are in."""
    league = view.league
    return {
        "league": league_of(view),
        "state": state(league, len(view.names)),
        "code": code_wanted(league),
        "socket_path": socket_path(key),
    }


def state(league: League, players: int) -> dict[str, Any]:
    """``open``, ``full``, ``closed`` or ``demo``, and how many players there are."""
    most = league.rules.max_players
    word = "open"
    if league.demo:
        word = "demo"
    elif not making.is_open(league):
        word = "closed"
    elif players >= most:
        word = "full"
    shown = most if most < type(league.rules).model_fields["max_players"].default else None
    return {"word": word, "players": players, "most": shown, "left": max(0, most - players)}


def code_wanted(league: League) -> str:
    """``personal``, ``league`` or nothing; never the code itself."""
    if roster.exists(league.pk):
        return "personal"
    return "league" if league.rules.registration_code else ""


# Where the site is ----------------------------------------------------------------------------


def is_local(url: str) -> bool:
    """Whether an address means "this machine" to whoever reads it."""
    host = (urlsplit(url).hostname or "").lower()
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host in ("", "localhost") or host.endswith(".localhost")


def base_url(asked: str, public: str) -> str:
    """The site's address for another machine: the one that this browser came by, unless that means its own machine.

    Args:
        asked: scheme and host of the request.
        public: ``LEAGUE_PUBLIC_URL``, which is believed about the scheme of its own host (a proxy may speak https).
    """
    same = urlsplit(asked).netloc == urlsplit(public).netloc
    return public.rstrip("/") if same or (is_local(asked) and not is_local(public)) else asked


def way_in(league: League, base: str) -> dict[str, Any]:
    """Everything on the page that hangs on the site's address: links, requests to copy, the QR code.

    Args:
        base: scheme and host, from :func:`base_url`.
    """
    page = base + reverse("join", args=[league.pk])
    address = f"{base}/leagues/{league.pk}/mcp"
    code = CODE if code_wanted(league) else ""
    return {
        "address": address,
        "page": page,
        "qr": qr.svg(page, label=page),
        "local": is_local(base),
        "curl": _curl(address, league, code),
        "python": _python(address, league, code),
        "sdk": _sdk(address, code),
        "start": 'python3 player.py --name "My Agent"' + (f" --code {code}" if code else ""),
        "kit": reverse("join_kit", args=[league.pk]),
        "game_type": league.game_type,
    }


def _request(league: League, code: str) -> dict[str, Any]:
    meta: dict[str, Any] = {
        "display_name": "My Agent",
        "version": "1.0.0",
        "game_types": [league.game_type],
        "contact_endpoint": f"http://localhost:{AGENT_PORT}/mcp",
    }
    params = {
        "protocol": "league.v2",
        "message_type": "LEAGUE_REGISTER_REQUEST",
        "sender": "player:my-agent",
        "timestamp": "2025-01-15T10:00:00Z",
        "conversation_id": "conv-registration",
        "player_meta": meta | ({"registration_code": code} if code else {}),
    }
    return {"jsonrpc": "2.0", "method": "register_player", "params": params, "id": 1}


def _curl(address: str, league: League, code: str) -> str:
    body = json.dumps(_request(league, code), indent=2)
    return f"curl -sS -X POST {address} \\\n  -H 'Content-Type: application/json' \\\n  -d '{body}'"


def _python(address: str, league: League, code: str) -> str:
    return (
        "import json, urllib.request\n\n"
        f"body = {json.dumps(_request(league, code), indent=4)}\n"
        f'request = urllib.request.Request("{address}", json.dumps(body).encode(), '
        '{"Content-Type": "application/json"})\n'
        "print(json.load(urllib.request.urlopen(request)))\n"
    )


def _sdk(address: str, code: str) -> str:
    # In one word: a code may begin like an option.
    shown = f" --registration-code={code}" if code else ""
    return f'python -m league_sdk.player --league {address} --name "My Agent" --port {AGENT_PORT}{shown}'
