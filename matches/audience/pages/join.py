"""The join page: where and how an agent registers, step by step."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from django.urls import reverse

from agents_registry.addresses.public import is_local
from agents_registry.models import Kind
from agents_registry.rate_limits.attempts import network_of
from agents_registry.rosters import roster
from agents_registry.words import Reach, reach_for_all
from matches.audience import kit, loops, qr
from matches.audience.pages.keys import PageKey, socket_path
from matches.audience.pages.parts import league_of
from matches.league import making
from matches.models import League
from matches.view.sight import View

FRAGMENTS = ("join_state",)
AGENT_PORT = 8101
CODE = "YOUR-CODE"
MAX_ARRIVED = 3
"""How many players from the visitor's machine are shown; behind a shared address they may be several people's."""


class Places(NamedTuple):
    """Whether registration is ``open``, ``full``, ``closed`` or ``demo``, and how many players are registered.

    ``max_players`` is the largest number of players; None if the instructor has not set one.
    """

    word: str
    players: int
    max_players: int | None


def context(view: View, key: PageKey) -> dict[str, Any]:
    """The part of the page that changes: whether registration is open, and the number of players."""
    return {
        "league": league_of(view),
        "state": _places(view.league, len(view.names)),
        "code": code_wanted(view.league),
        "socket_path": socket_path(key),
    }


class Arrived(NamedTuple):
    """One of the newest players from the visitor's machine or network, and how it is reached."""

    player_id: str
    display_name: str
    reach: Reach


def arrived(league: League, address: str) -> list[Arrived]:
    """The newest players that have registered from a caller's machine, newest first.

    Args:
        address: the caller's, from :attr:`agents_registry.addresses.callers.Caller.machine_ip`; may be empty.
    """
    # Behind a freeze no public page may change: even the fact that an agent was called shows that a match was played.
    if not address or league.frozen_seq is not None:
        return []
    players = league.agents.filter(kind=Kind.PLAYER, registered_from=network_of(address)).prefetch_related("tokens")
    arrivals = []
    for player in players.order_by("-registered_at", "-pk")[:MAX_ARRIVED]:
        proven = all(token.proven for token in player.tokens.all())
        arrivals.append(Arrived(player.code, player.display_name, reach_for_all(player, proven=proven)))
    return arrivals


def _places(league: League, players: int) -> Places:
    max_players = league.rules.max_players
    word = "open"
    if league.demo:
        word = "demo"
    elif not making.is_open(league):
        word = "closed"
    elif players >= max_players:
        word = "full"
    unlimited = type(league.rules).model_fields["max_players"].default
    return Places(word, players, max_players if max_players < unlimited else None)


def code_wanted(league: League) -> str:
    """The kind of code that registration needs: ``personal``, ``league`` or empty; never the code itself."""
    if roster.exists(league.pk):
        return "personal"
    return "league" if league.rules.registration_code else ""


# Where the site is ----------------------------------------------------------------------------


def way_in(league: League, base: str) -> dict[str, Any]:
    """Everything on the page that depends on the site's address: links, requests to copy, the QR code.

    Args:
        base: scheme and host, from :func:`agents_registry.addresses.public.site_address_for_page`.
    """
    page = base + reverse("join", args=[league.pk])
    address = f"{base}/leagues/{league.pk}/mcp"
    code = CODE if code_wanted(league) else ""
    return {
        "address": address,
        "qr": qr.code_of(page, label=page),
        "local": is_local(base),
        "curl": _curl(address, league, code),
        "python": _python(address, league, code),
        "sdk": _sdk(address, code),
        "bridge": _bridge(address, league, code),
        "loops": loops.of(base),
        "kits": [
            {"language": key, "name": language.name, "needs": language.needs, "start": _start(language.start, code)}
            for key, language in kit.LANGUAGES.items()
        ],
    }


def _request(league: League, code: str) -> dict[str, Any]:
    meta = {
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


def _bridge(address: str, league: League, code: str) -> str:
    options = f'--agent http://localhost:{AGENT_PORT}/mcp --name "My Agent" --game {league.game_type}'
    return f"python3 bridge.py --league {address} {options}" + (f" --code={code}" if code else "")


def _start(command: str, code: str) -> str:
    return f'{command} --name "My Agent"' + (f" --code {code}" if code else "")


def _sdk(address: str, code: str) -> str:
    # With "=", as a code may begin with a hyphen like an option.
    shown = f" --registration-code={code}" if code else ""
    return f'python -m league_sdk.player --league {address} --name "My Agent" --port {AGENT_PORT}{shown}'
