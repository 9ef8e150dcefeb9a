"""Mixed bots: traits put together at random, to test the league with combinations that nobody has seen yet."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from tests.bots.words import CHAPTER_8, CHOOSE, INVITE, OVER, REQUIRED_TOOLS, stamp
from tests.bots.zoo import entries, needs, parsers, speech
from tests.bots.zoo.base import Bot, Callback

SEED = 20261122

ENTRIES: dict[str, tuple[entries.Entry, str]] = {  # with the name of the field that has the bot's URL
    "register_player": (entries.register_player, "contact_endpoint"),
    "LEAGUE_REGISTER_REQUEST": (entries.league_register_request, "endpoint"),
    "league_register": (entries.league_register, "endpoint_url"),
    "mcp_message": (entries.mcp_message, "callback_url"),
    "handle_message": (entries.handle_message, "contact_endpoint"),
    "league.handle": (entries.league_handle, "endpoint"),
    "tools/call": (entries.tools_call, "callback_url"),
    "handshake": (entries.handshake_in_order, "endpoint_url"),
    "flat": (entries.flat_on_mcp, "contact_endpoint"),
    "small body": (entries.small_body, "callback_url"),
    "player_meta as body": (entries.small_body_with_games, "contact_endpoint"),
    "envelope of its own": (entries.envelope_of_its_own, "endpoint"),
}
DESCRIBED = {
    "join_match": "Accept or decline an invitation to a game.",
    "make_choice": "Pick the parity, even or odd, for this match.",
    "match_finished": "Told when a game is over and how it ended.",
}
PARSERS: dict[str, parsers.Parser] = {
    "chapter 8": parsers.ByMethod(CHAPTER_8),
    "three tools": parsers.ByMethod(REQUIRED_TOOLS),
    "parity_choose": parsers.ByMethod(parsers.PARITY_CHOOSE),
    "type as method": parsers.ByMethod(parsers.TYPES),
    "002's words as method": parsers.ByMethod(parsers.TYPES_002),
    "by type": parsers.ByType(parsers.TYPES),
    "mcp_message": parsers.ByType(parsers.TYPES, methods=frozenset({"mcp_message"})),
    "handle_message": parsers.handle_message(),
    "protocol/message": parsers.handle_message(parsers.TYPES | parsers.TYPES_002, ("protocol/message",)),
    "league.handle": parsers.EnvelopeAndPayload(),
    "flat": parsers.Flat(parsers.TYPES),
    "tools of its own": parsers.Tools(dict(zip(DESCRIBED, (INVITE, CHOOSE, OVER), strict=True)), DESCRIBED),
    "tools of chapter 8": parsers.Tools(REQUIRED_TOOLS, {}),
}
REFUSALS: dict[str, speech.Refusal] = {
    "-32601": speech.rpc_error(-32601),
    "-32601 under 400": speech.rpc_error(-32601, 400),
    "-32601 under 404": speech.rpc_error(-32601, 404),
    "-32602": speech.rpc_error(-32602),
    "500": speech.server_error,
    "422": speech.unprocessable,
    "status ok": speech.success(status="ok"),
    "error in result": speech.success(error="Unknown method"),
    "error in a bare body": speech.bare(error="Unknown method"),
    "unknown_message_type": speech.success(status="unknown_message_type"),
    "success false": speech.success(success=False),
}
SHAPES: dict[str, speech.Shape] = {
    "result": speech.in_result,
    "error null": speech.null_error,
    "bare": speech.bare_body,
    "text": speech.in_text,
    "envelope and payload": speech.in_envelope_and_payload,
    "data": speech.in_data,
    "bare data": speech.bare_data,
    "request": speech.as_request,
}
STAMPS = {
    "Z": stamp,
    "fractions": speech.zulu_fractions,
    "+00:00": speech.offset,
    "none": speech.no_stamp,
    "compact": speech.compact,
    "naive": speech.naive_local,
}
ODD_STAMPS = frozenset({"compact", "naive"})
NEEDS: dict[str, tuple[needs.Need, ...]] = {
    "nothing": (),
    "player_id": (needs.player_id_in_questions,),
    "league_id and round_id": (needs.league_id_everywhere, needs.round_id_everywhere),
    "game_id": (needs.game_id,),
    "nested objects": (needs.nested_invitation, needs.nested_parity_context),
    "auth_token": (needs.token_everywhere,),
    "whole seconds": (needs.whole_second_stamp, needs.whole_second_deadline),
}
CALLBACKS: dict[str, Callback | None] = {
    "reply": None,
    "callbacks": Callback(),
    "choice by callback": Callback(kinds=frozenset({CHOOSE})),
    "callbacks to the manager": Callback(to="manager"),
    "callbacks before the reply": Callback(first=True),
}
ADDRESSES = {"/mcp": "/mcp", "": "/mcp", "/mcp/": "/mcp/", "/agents/player": "/agents/player"}
"""For each path in a URL that a bot may register with, the path at which it then listens."""


def _deal(rng: random.Random, options: Sequence[str], count: int) -> list[str]:
    """``count`` options in random order; each comes once before any comes again."""
    dealt: list[str] = []
    while len(dealt) < count:
        dealt += rng.sample(options, len(options))
    return dealt[:count]


def mixtures(seed: int = SEED, count: int = 12) -> dict[str, type[Bot]]:
    """Mixed bots by name; the docstring of each lists its traits.

    Args:
        seed: the same seed gives the same bots.
        count: how many bots; each option of a trait is used once before any is used again.
    """
    rng = random.Random(seed)
    axes: dict[str, dict[str, Any]] = {
        "enters": ENTRIES, "parser": PARSERS, "refuses": REFUSALS, "shape": SHAPES, "stamp": STAMPS, "needs": NEEDS,
        "path": ADDRESSES,
        "join": dict.fromkeys(("accept", "accepted", "ACCEPTED", "RECEIVED", "ACK")),
        "choice": dict.fromkeys(("parity_choice", "choice")),
        "reply_id": dict.fromkeys(("right", "one", "counter")),
        "says_id": dict.fromkeys(("given", "own", "message", "none")),
        "says_token": dict.fromkeys(("given", "caller", "placeholder", "none")),
        "says": dict.fromkeys(("everything", "little")),
    }  # fmt: skip
    chosen = {axis: _deal(rng, list(options), count) for axis, options in axes.items()}
    # Six of ten mixed bots answer in the reply, as most agents do.
    chosen["callback"] = _deal(rng, [*CALLBACKS, *["reply"] * len(CALLBACKS)], count)
    made = {}
    for number in range(count):
        name = f"Mixed{number + 1:02d}"
        options = {axis: dealt[number] for axis, dealt in chosen.items()}
        made[name] = _make(name, options)
    return made


def _make(name: str, options: dict[str, str]) -> type[Bot]:
    """A bot with the chosen option of each trait."""
    if CALLBACKS[options["callback"]] is not None:
        # A callback needs the right token, and the league manager checks sender and timestamp of those it passes on.
        options |= {"says_token": "given", "says_id": "given", "says": "everything"}
        options |= {"stamp": "Z"} if options["stamp"] in ODD_STAMPS else {}
    enters, address_key = ENTRIES[options["enters"]]
    traits = {
        **{axis: options[axis] for axis in ("path", "join", "choice", "reply_id", "says_id", "says_token")},
        "__doc__": f"Mixed: {options}",
        "enters": enters,
        "address_key": address_key,
        "listens_at": ADDRESSES[options["path"]],
        "parser": PARSERS[options["parser"]],
        "refuses": REFUSALS[options["refuses"]],
        "shape": SHAPES[options["shape"]],
        "stamp": STAMPS[options["stamp"]],
        "needs": NEEDS[options["needs"]],
        "callback": CALLBACKS[options["callback"]],
        "minimal": options["says"] == "little",
        "own_id": f"{name.lower()}-own",
    }
    return type(name, (Bot,), traits)
