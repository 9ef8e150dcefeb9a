"""Checks an agent of any role: the entry point for the command line and for a site."""

from __future__ import annotations

from league_sdk.conformance.manager import check_manager
from league_sdk.conformance.player import check_player
from league_sdk.conformance.referee import check_referee
from league_sdk.conformance.report import Report
from league_sdk.conformance.subject import Subject
from league_sdk.conformance.verdicts import OnClause
from league_sdk.transport.client import Caller

CHECKS = {"player": check_player, "referee": check_referee, "manager": check_manager}
"""How an agent is checked, by role."""


async def check(subject: Subject, client: Caller, on_clause: OnClause | None = None) -> Report:
    """Check an agent: a player, a referee or a league manager.

    Args:
        subject: the agent.
        client: the transport; its policy decides what may be called, or it calls one agent that dials out.
        on_clause: told of each clause as it is decided.

    Returns:
        The report; ``can_play`` says whether a league can use the agent.

    Raises:
        OSError: no port can be opened for the agent's own calls. Of a player only if the subject says where to listen:
            else the check goes on without receiving them.
    """
    return await CHECKS[subject.role](subject, client, on_clause)
