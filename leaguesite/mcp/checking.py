"""``check_agent``: an agent has itself checked, as *My agent* and the API have it (our choice)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from league_sdk.protocol.errors import InvalidFormat, LeagueError, RuleError, TooOften
from leaguesite.mcp.calls import Call, Deferred, as_sent
from matches.checks import asking, report
from matches.league.errors import ActionRefused, Invalid
from matches.models import Check


def check_agent(call: Call) -> Deferred:
    """Ask for a check of the agent that owns the token, or read one by its ``check_id``.

    The agent is called in the way that it registered, at no address that the call names. If a check of it waits or runs
    already, that one is returned.

    Returns a function that makes the answer, with the fields of :class:`matches.checks.report.CheckSoFar`;
    the errors are raised by it.

    Raises:
        TooOften: too many checks were asked for, or wait.
        InvalidFormat: there is no check with this id.
        RuleError: the agent cannot be checked; the sentence says why.
    """
    return partial(_check_agent, call)


def _check_agent(call: Call) -> dict[str, Any]:
    asks = call.params.get("check_id") is None
    check = _ask(call) if asks else find_report(call, "check_id", report.find, "check")
    return call.message("CHECK_STATUS", **as_sent(report.so_far(check)))


def find_report(call: Call, field: str, find: Callable[[str], Check | None], what: str) -> Check:
    """The check or practice match whose id a call names. Whoever knows it may read the report, as on its page.

    Raises:
        InvalidFormat: there is none with this id.
    """
    named = call.params[field]
    found = find(named) if isinstance(named, str) else None
    if found is None:
        raise InvalidFormat(
            f"There is no such {what}: reports are kept for a while only.",
            field=field,
            seen=named,
            expected=f"the {field} of an earlier answer; without it you ask for a new {what}",
        )
    return found


def _ask(call: Call) -> Check:
    try:
        return asking.ask(endpoint="", caller=call.source.caller, token=call.params["auth_token"])
    except ActionRefused as refused:
        raise refusal(refused) from None


def refusal(refused: ActionRefused) -> LeagueError:
    """The error of a tool that asks for a check or a practice match."""
    if isinstance(refused, asking.TooManyChecks):
        return TooOften(str(refused), expected="fewer requests", retry_after_s=refused.retry_after_s)
    if isinstance(refused, Invalid):
        return InvalidFormat(str(refused), field=refused.field, seen=None)
    return RuleError(str(refused))
