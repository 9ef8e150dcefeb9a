"""WRITES: answers of players under check that came to the league manager, on their way to the check that runs.

Some agents post their answers to an address that they know by heart: the league manager's, or the first referee's,
which passes on what it does not know. A match gets them through the outbox, and a check through rows of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from agents_registry.models import Agent
from agents_registry.registering import seats
from league_sdk.protocol.errors import MissingField, RuleError
from matches.checks import ways
from matches.league import outbox
from matches.models import Check, CheckAnswer, CheckRole, CheckState
from matches.push.nudge import nudge
from storage import clock


def relay_answer(*, player: Agent, message_type: str, match_id: str | None, message: Mapping[str, Any]) -> bool:
    """Keep an answer for the checks of this player, and of the address that it is registered at, which run now.

    Changes: a row for each such check. The check itself says whether the answer is for its match.

    Args:
        player: the sender, proven by its auth_token.
        match_id: the match that the answer names. One that names none counts as in a match, but only from a player that
            speaks for its address (:func:`may_name_no_match`): a caller that registers another's address gets a token
            as well, and only the program that is called there was told of the match.
        message: the answer as it was sent.

    Returns whether one of these checks runs.

    Raises:
        MissingField: E003, it names no match.
        RuleError: E002, too many answers of this player are on their way already.
        InvalidFormat: E002, it is too long to be passed on.
    """
    running = Check.checks_and_practices.filter(state=CheckState.RUNNING, role=CheckRole.PLAYER)
    checks = list(running.filter(Q(agent=player) | Q(endpoint_key=player.endpoint_key)))
    if not checks:
        return False
    if match_id is None:
        checks = [check for check in checks if player.pk in may_name_no_match(check)]
    if not checks:
        raise MissingField("match_id is missing.", field="match_id", expected="the match that this answers")
    payload = outbox.relayed(message, message_type=message_type)
    with transaction.atomic():
        if CheckAnswer.objects.filter(agent=player).count() >= outbox.MAX_RELAYED_ANSWERS:
            raise RuleError("Answers of yours are on their way to your check already; the first valid one stands.")
        CheckAnswer.objects.bulk_create(
            CheckAnswer(of=check, agent=player, message_type=message_type, payload=payload, created_at=clock.now())
            for check in checks
        )
        transaction.on_commit(nudge)
    return True


def may_name_no_match(check: Check) -> set[int]:
    """READ: the agents, by primary key, whose answers to a check count without naming its match, as in a match.

    What comes over a line is the verdict of that agent alone; that of an address holds for all that name it.
    """
    if ways.is_line(check.way):
        return set() if check.agent_id is None else {check.agent_id}
    return seats.speak_for(check.endpoint_key)


def take(running: Collection[UUID]) -> list[tuple[UUID, str, dict[str, Any]]]:
    """Take the answers for these checks: check, message type and message of each, in their order.

    Changes: their rows are deleted, and those for checks that do not run any more; none if ``running`` is empty.
    """
    if not running:
        return []
    rows = list(CheckAnswer.objects.order_by("pk").select_related("of"))
    taken_or_late = [row.pk for row in rows if row.of_id in running or row.of.state != CheckState.RUNNING]
    if taken_or_late:
        CheckAnswer.objects.filter(pk__in=taken_or_late).delete()
    return [(row.of_id, row.message_type, row.payload) for row in rows if row.of_id in running]
