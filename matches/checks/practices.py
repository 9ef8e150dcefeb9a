"""READS: a practice match for the API. Anybody who knows its id may read it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, NotRequired, cast
from uuid import UUID

from django.urls import reverse
from typing_extensions import TypedDict

from league_sdk.protocol.messages import ROLES
from league_sdk.protocol.schemas.parts import one_of, says
from matches.checks import report
from matches.checks.report import ASK_AGAIN_S
from matches.models import Check, CheckState, CheckWay, Opponent
from matches.view.rows import time_in
from matches.words.notes import sentence_of

STATUSES = ("WIN", "DRAW", "LOSS", "TECHNICAL_LOSS", "NOT_PLAYED")
"""How a practice match can end for the agent."""


class StepRow(TypedDict):
    """One message to the agent, or a move of the house agent."""

    message_type: Annotated[str, says("What was sent; empty for a move of the house agent.")]
    sent: Annotated[Any, says("The message, cut at 4 KiB; any JSON, null for a move of the house agent.")]
    came: Annotated[Any, says("The body that came back, cut likewise; null when none came.")]
    elapsed_ms: Annotated[int | None, says("Milliseconds until the answer or giving up.")]
    http_status: Annotated[int | None, says("The HTTP status of the answer; null when there was none.")]
    problem: Annotated[str, says("Why there was no answer, or what was wrong with it; empty if nothing was.")]
    problem_words: Annotated[
        dict[str, Any] | str | None, says("The same as a text with places and the facts in them, or null.")
    ]
    move: Annotated[Any, says("The move of the house agent; null for a message.")]
    left_out: NotRequired[Annotated[bool, says("The bodies are left out, as the report was too long.")]]


class PracticeReport(TypedDict):
    """What was played."""

    schema: NotRequired[Annotated[int, says("The version of this form.")]]
    endpoint: NotRequired[Annotated[str, says("The address that was called.")]]
    game_type: NotRequired[Annotated[str, says("What was played.")]]
    opponent: NotRequired[Annotated[str, says("How strong the house agent was.")]]
    role: NotRequired[Annotated[str, one_of(ROLES), says("PLAYER_A, who begins in games with turns, or PLAYER_B.")]]
    players: NotRequired[Annotated[list[str], says("The ids of PLAYER_A and PLAYER_B.")]]
    player_id: NotRequired[Annotated[str, says("The id of the agent that practises.")]]
    status: NotRequired[Annotated[str, one_of(STATUSES), says("How it ended for the agent.")]]
    reason: NotRequired[Annotated[str, says("Why, in a sentence.")]]
    reason_words: NotRequired[
        Annotated[dict[str, Any] | None, says("The same as a text with facts, if it was not played; or null.")]
    ]
    result: NotRequired[Annotated[dict[str, Any], says("game_result as the agent was told it.")]]
    faults: NotRequired[Annotated[list[dict[str, Any]], says("Why the agent did not play, as a referee reports it.")]]
    started_at: NotRequired[Annotated[str, time_in("When it began, in UTC.")]]
    took_s: NotRequired[Annotated[float, says("How long it took, in seconds.")]]
    view: Annotated[dict[str, Any], says("What everybody may see of the game, such as the board.")]
    steps: Annotated[list[StepRow], says("Everything in order.")]


class PracticeRow(TypedDict):
    """A practice match of an agent with a house agent: it counts nowhere."""

    practice_id: Annotated[str, says("Its id; who knows it may read the report.")]
    url: Annotated[str, says("The path of its page on this site.")]
    state: Annotated[str, one_of(CheckState.values), says("How far it is; FAILED: it could not be carried out.")]
    player_id: Annotated[str, says("The agent; empty if it is no longer registered.")]
    game_type: Annotated[str, says("What is played.")]
    opponent: Annotated[str, one_of(Opponent.values), says("How strong the house agent is.")]
    second: Annotated[bool, says("Whether the house agent is PLAYER_A.")]
    way: Annotated[
        str, one_of(("", *CheckWay.values)), says("How the agent is reached; empty: at its address, or not decided.")
    ]
    problem: Annotated[str, says("Why it could not be carried out; empty if it could.")]
    created_at: Annotated[datetime, says("When it was asked for, in UTC.")]
    started_at: Annotated[datetime | None, says("When it began, in UTC; null before.")]
    finished_at: Annotated[datetime | None, says("When it ended, in UTC; null before.")]
    report: Annotated[PracticeReport | None, says("What was played so far; null before its first message.")]
    ask_again_after_s: Annotated[float | None, says("In how many seconds to ask again; null: it has ended.")]


def find(practice_id: str | UUID) -> Check | None:
    """The practice match of this id, with its agent; None when there is none."""
    return report.find_among(Check.practices.all(), practice_id)


def api_row(practice: Check) -> PracticeRow:
    """A practice match as JSON, with what was played so far."""
    return {
        "practice_id": str(practice.pk),
        "url": reverse("practice_report", args=[practice.pk]),
        "state": practice.state,
        "player_id": practice.agent.code if practice.agent is not None else "",
        "game_type": practice.game_types[0],
        "opponent": practice.opponent,
        "second": practice.second,
        "way": practice.way,
        "problem": sentence_of(practice.problem),
        "created_at": practice.created_at,
        "started_at": practice.started_at,
        "finished_at": practice.finished_at,
        "report": cast(PracticeReport, practice.report) if practice.report.get("steps") else None,
        "ask_again_after_s": ASK_AGAIN_S if practice.finished_at is None else None,
    }
