"""``check_agent``: an agent has itself checked, as *My agent* and the API have it (our choice)."""

from __future__ import annotations

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
    check_id = call.params.get("check_id")
    check = _ask(call) if check_id is None else _find(check_id)
    return call.message("CHECK_STATUS", **as_sent(report.so_far(check)))


def _find(check_id: Any) -> Check:
    # Everybody who knows the id may read the report, as on its page.
    check = report.find(check_id) if isinstance(check_id, str) else None
    if check is None:
        raise InvalidFormat(
            "There is no such check: reports are kept for a while only.",
            field="check_id",
            seen=check_id,
            expected="the check_id of an earlier answer; without it you ask for a new check",
        )
    return check


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
