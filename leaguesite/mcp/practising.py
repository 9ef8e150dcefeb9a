"""``practice_match``: an agent plays a house agent, as on *My agent* and by the API (our choice)."""

from __future__ import annotations

from functools import partial
from typing import Any

from league_sdk.protocol.errors import InvalidFormat
from leaguesite.mcp.calls import Call, Deferred, as_sent
from leaguesite.mcp.checking import find_report, refusal
from matches.checks import practices, practising
from matches.league.errors import ActionRefused
from matches.models import Check, Opponent


def practice_match(call: Call) -> Deferred:
    """Ask for a practice match of the agent that owns the token, or read one by its ``practice_id``.

    Returns a function that makes the answer, with the fields of :class:`matches.checks.practices.PracticeRow`;
    the errors are raised by it.

    Raises:
        TooOften: too many were asked for, or wait, or one is being played.
        InvalidFormat: there is no practice match with this id, or no such strength or game.
        RuleError: the agent cannot practise; the sentence says why.
    """
    return partial(_practice_match, call)


def _practice_match(call: Call) -> dict[str, Any]:
    asks = call.params.get("practice_id") is None
    practice = _ask(call) if asks else find_report(call, "practice_id", practices.find, "practice match")
    return call.message("PRACTICE_STATUS", **as_sent(practices.api_row(practice)))


def _ask(call: Call) -> Check:
    wish = {name: call.params.get(name) for name in ("opponent", "game_type")}
    for name, value in wish.items():
        if not isinstance(value, str | None):
            raise InvalidFormat(f"{name} is not a text.", field=name, seen=value, expected="a text")
    try:
        return practising.ask_with_token(
            token=call.params["auth_token"],
            caller=call.source.caller,
            opponent=wish["opponent"] or Opponent.MEDIUM.value,
            game_type=wish["game_type"] or "",
            second=call.params.get("second") is True,
        )
    except ActionRefused as refused:
        raise refusal(refused) from None
