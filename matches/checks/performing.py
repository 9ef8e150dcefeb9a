"""What a job does with its agent: the check of every message, or a practice match with a house agent."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any

from django.conf import settings

from league_sdk.conformance.checking import check as check_agent
from league_sdk.conformance.house import HouseApart
from league_sdk.conformance.listener import own_address
from league_sdk.conformance.practice import practise
from league_sdk.conformance.report import Clause, Report
from league_sdk.conformance.steps import Step
from league_sdk.conformance.subject import NOBODY, Identity, Subject
from league_sdk.protocol.messages import ROLES
from league_sdk.strategies.house import house_agent
from league_sdk.transport.client import Caller
from matches.checks.taking import Job

OnClause = Callable[[Clause], None]
OnReport = Callable[[dict[str, Any]], None]
"""Told of the report of a practice match as far as it is played."""
MAX_PRACTICE_S = 240.0
"""For a practice match: 21 moves of Connect Four at ten seconds each (our choice)."""
MAX_STEPS_CHARS = 200_000
"""The limit for the bodies of a practice match, as JSON; the bodies of further steps are left out."""


async def check(job: Job, client: Caller, on_clause: OnClause) -> Report:
    """Check an agent against every message."""
    return await check_agent(await _subject(job), client, on_clause)


async def play(job: Job, client: Caller, on_report: OnReport, *, max_chars: int = MAX_STEPS_CHARS) -> dict[str, Any]:
    """Play a practice match; its report, of which an agent decides the content but not the size.

    Args:
        job: the practice match.
        client: calls the agent.
        on_report: told of the report as far as the match is played.
        max_chars: the limit for all bodies, as JSON.
    """
    [game_type] = job.game_types
    house = HouseApart(job.opponent, house_agent(job.opponent, game_type))
    steps, chars_left = list[dict[str, Any]](), max_chars

    def on_step(step: Step, view: Mapping[str, Any]) -> None:
        nonlocal chars_left
        row = asdict(step)
        chars_left -= len(json.dumps([row["sent"], row["came"]], default=str))
        if chars_left < 0:
            row |= {"sent": None, "came": None, "left_out": True}
        steps.append(row)
        on_report({"steps": list(steps), "view": view})

    try:
        subject = replace(await _subject(job), overall_s=MAX_PRACTICE_S)
        role = ROLES[1] if job.second else ROLES[0]
        played = await practise(subject, client, house, game_type=game_type, role=role, on_step=on_step)
    finally:
        await house.aclose()
    return played.to_json() | {"steps": steps}


async def _subject(job: Job) -> Subject:
    identity = None
    if job.player_id:
        identity = Identity(job.player_id, job.league_id, job.league_token, known=True)
    return Subject(
        url=job.endpoint,
        role=job.role,
        game_types=job.game_types,
        identity=identity,
        dialect=job.dialect,
        dials_out=job.agent is not None,
        tokens=job.tokens,
        own_tokens=job.own_tokens,
        ready_in=job.ready_in,
        on_posts=job.on_posts,
        listen=await _listen(job),
        limits=job.rules,
        behind_gateway=job.behind_gateway,
        in_play=job.in_play,
        proving_digests=job.shown_by,
        is_overtaken=job.is_overtaken,
        # Some agents stop after LEAGUE_COMPLETED: one that is registered, and has yet to play, is not sent it.
        send_league_completed=identity is None,
        # Do not wait: nobody can start a referee with the address of a league manager that exists only during a check.
        register_wait_s=0,
    )


async def _listen(job: Job) -> str | None:
    """The address at which the agent's own calls are received; None for our address on the route to the agent."""
    if job.agent is None:
        return None
    # An agent on a line is not called at an address: it can call our address on the route to where it registered from,
    # or else the site's public URL.
    host = f"[{job.seen_from}]" if ":" in job.seen_from else job.seen_from
    try:
        return await own_address(f"http://{host}" if host else settings.LEAGUE_PUBLIC_URL)
    except OSError:
        return NOBODY
