"""``practice_match``: an agent plays a house agent, as on *My agent* and by the API (our choice)."""

from __future__ import annotations

from functools import partial
from typing import Any

from league_sdk.protocol.errors import InvalidFormat
from leaguesite.mcp.calls import Call, Deferred, as_sent
from leaguesite.mcp.checking import refusal
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
    practice_id = call.params.get("practice_id")
    practice = _ask(call) if practice_id is None else _find(practice_id)
    return call.message("PRACTICE_STATUS", **as_sent(practices.api_row(practice)))


def _find(practice_id: Any) -> Check:
    # Everybody who knows the id may read the report, as on its page.
    practice = practices.find(practice_id) if isinstance(practice_id, str) else None
    if practice is None:
        raise InvalidFormat(
            "There is no such practice match: reports are kept for a while only.",
            field="practice_id",
            seen=practice_id,
            expected="the practice_id of an earlier answer; without it you ask for a new practice match",
        )
    return practice


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
