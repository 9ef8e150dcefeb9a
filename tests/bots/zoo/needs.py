"""Requirements of bots for messages: each returns what is wrong with a message, or None."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Any

from tests.bots.words import CHOOSE, ERROR, INVITE, OVER
from tests.bots.zoo.speech import BROADCASTS, Incoming

Need = Callable[[Incoming], str | None]
GAME = frozenset({INVITE, CHOOSE, OVER, ERROR})
EVERYTHING = GAME | BROADCASTS


def is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_object(value: Any) -> bool:
    return isinstance(value, Mapping) and len(value) > 0


def is_whole_second(value: Any) -> bool:
    """``YYYY-MM-DDTHH:MM:SSZ`` and nothing else."""
    try:
        datetime.strptime(value, "%Y-%m-%dT%H:%M:%SZ")
    except (TypeError, ValueError):
        return False
    return True


def has(name: str, kinds: Collection[str], test: Callable[[Any], bool] = is_text, what: str = "") -> Need:
    """Requires a field that passes a test, in messages of these kinds; dots in its name go into objects."""

    def need(incoming: Incoming) -> str | None:
        if incoming.kind not in kinds:
            return None
        value: Any = incoming.fields
        for part in name.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        return None if test(value) else f"{incoming.kind}: {name} is {value!r:.60}{what and ', wanted ' + what}"

    return need


player_id_in_questions = has("player_id", {INVITE, CHOOSE})
league_id_everywhere = has("league_id", EVERYTHING)
# LEAGUE_COMPLETED has no round_id.
round_id_everywhere = has("round_id", EVERYTHING - {"LEAGUE_COMPLETED"}, is_whole, "an integer")
token_everywhere = has("auth_token", EVERYTHING)
nested_invitation = has("game_invitation", {INVITE}, is_object)
nested_parity_context = has("parity_context", {CHOOSE}, is_object)
nested_retry_info = has("retry_info.retry_count", {ERROR}, is_whole)
whole_second_stamp = has("timestamp", EVERYTHING, is_whole_second, "whole seconds and a Z")
whole_second_deadline = has("deadline", {CHOOSE}, is_whole_second, "whole seconds and a Z")
manager_id_in_capitals = has(
    "sender",
    BROADCASTS,
    lambda value: isinstance(value, str) and re.fullmatch(r"league_manager:[A-Z0-9]+", value) is not None,
    "league_manager:<CAPITALS OR DIGITS>",
)
referee_01_or_02 = has("sender", GAME, lambda value: value in ("referee:REF01", "referee:REF02"), "REF01 or REF02")
protocol_v2 = has("protocol", EVERYTHING, lambda value: value == "league.v2", "league.v2")


def game_id(incoming: Incoming) -> str | None:
    """Requires a game_id equal to the match_id in messages about a match."""
    if incoming.kind not in GAME:
        return None
    game, match = incoming.fields.get("game_id"), incoming.fields.get("match_id")
    return None if is_text(game) and game == match else f"game_id is {game!r:.40}, match_id {match!r:.40}"


def integer_id(incoming: Incoming) -> str | None:
    """Requires an integer as the JSON-RPC id."""
    return None if is_whole(incoming.body.get("id")) else f"id is {incoming.body.get('id')!r:.40}, wanted an integer"


def any_id(incoming: Incoming) -> str | None:
    """Requires a JSON-RPC id."""
    return None if incoming.body.get("id") is not None else "the body has no id"
