"""One request to a referee's door: who sends it, what of it is answered here and what is passed on to judging."""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import web

from league_sdk.dialects.inbound import Inbound
from league_sdk.judging.door.answering import Judging, answer_here
from league_sdk.judging.door.budgets import Budgets
from league_sdk.judging.door.connections import Connection, address_of
from league_sdk.judging.door.tools import FOR_JUDGING, NOTIFICATIONS, STARTS
from league_sdk.protocol.errors import TokenInvalid

READ_TURNS = 3
"""Turns that the event loop needs, after a pause of the process, to read a request and the end of its connection."""


class Call:
    """A request, whichever protocol it speaks.

    Args:
        request: the HTTP request.
        judging: answers what is passed on.
        budgets: they know who is calling.

    Attributes:
        caller: a seat's secret, or a name of :mod:`league_sdk.judging.door.budgets`.
        address: where it comes from.
        authorization: the header of this name; empty without one.
        passed_on: whether judging was asked, which counts and logs what it is asked.
    """

    def __init__(self, request: web.BaseRequest, judging: Judging, budgets: Budgets) -> None:
        self._request = request
        self._judging = judging
        self._budgets = budgets
        self.authorization = request.headers.get("Authorization", "")
        self.caller = budgets.caller(request.path, self.authorization)
        self.address = address_of(request.transport)
        self.passed_on = False
        if isinstance(request.protocol, Connection):
            request.protocol.set_caller(self.caller)

    @property
    def referee_id(self) -> str:
        """The id of the referee; empty before it has registered."""
        return self._judging.referee_id

    async def answer(self, request: Inbound) -> dict[str, Any]:
        """Answer a message of this request; returns the fields of the answer.

        Raises:
            LeagueError: it is refused.
        """
        if not self._is_for_judging(request):
            return answer_here(request.name)
        self.passed_on = True
        return await self._judging.perform(request.name, request.message, self._sender_waits)

    def _is_for_judging(self, request: Inbound) -> bool:
        if request.name in STARTS and not self._budgets.is_league(request.message.get("auth_token")):
            raise TokenInvalid(
                "Matches are started for the league manager only.",
                field="auth_token",
                expected="the league_token of this referee",
            )
        if request.name in NOTIFICATIONS:
            return self._budgets.is_league(request.message.get("auth_token"))
        return request.name in FOR_JUDGING

    async def _sender_waits(self) -> bool:
        """Whether the sender has kept its connection open."""
        for _ in range(READ_TURNS):
            await asyncio.sleep(0)
            if self._request.transport is None or self._request.transport.is_closing():
                return False
        return True
