"""Finished practice matches and their reports, for tests of what the site shows of them."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from agents_registry.models import Agent
from league_sdk.asking.fault import Fault
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.sentences import say
from league_sdk.rules.registry import get_game
from league_sdk.simulated_league import Identity, SimulatedLeague, result_of
from matches.checks import practising, runs, taking
from matches.models import Check

WON, DRAWN = (0, 3, 1, 4, 2), (0, 1, 2, 4, 3, 5, 7, 6, 8)
"""Moves of a game of tic-tac-toe that PLAYER_A wins, and of one that nobody wins."""


def step(message: dict[str, Any], reply: Any, **more: Any) -> dict[str, Any]:
    """A message with its answer."""
    kind = message["message_type"]
    usual = {"elapsed_ms": 12, "http_status": 200, "problem": "", "problem_words": None, "move": None}
    return {"message_type": kind, "sent": message, "came": {"jsonrpc": "2.0", "id": 1, "result": reply}} | usual | more


def played(moves: tuple[int, ...] = WON, *, me: str = "P01") -> dict[str, Any]:
    """The report of tic-tac-toe with these moves; the agent begins."""
    league = SimulatedLeague(Identity(me), get_game("tic_tac_toe"), first_round=7)
    match = league.match("PLAYER_A")
    game, players = league.game, league.players(match)
    state, steps = game.new_state(players), [step(league.invitation(match), {"accept": True})]
    for turn, move in enumerate(moves):
        mover = players[turn % 2]
        if mover == me:
            steps.append(step(league.move_call(match, state), {"move_data": {"choice": move}}))
        state = game.apply(state, mover, move)
        if mover != me:
            steps.append(step({"message_type": ""}, None) | {"sent": None, "came": None, "move": move})
    outcome = game.outcome(state)
    assert outcome is not None
    steps.append(step(league.result(match, result_of(outcome)), {"status": "received"}))
    status = "DRAW" if outcome.winner is None else "WIN" if outcome.winner == me else "LOSS"
    return {
        "schema": 1,
        "players": list(players),
        "player_id": me,
        "status": status,
        "reason": outcome.reason,
        "reason_words": None,
        "result": result_of(outcome),
        "faults": [],
        "view": game.view(state, None),
        "took_s": 1.25,
        "steps": steps,
    }


def failed(text: str = "") -> dict[str, Any]:
    """The report of a match in which the agent was silent, or answered with an error that says why."""
    report = played()
    cause = Cause.WRONG_MESSAGE if text else Cause.DEADLINE
    fault = Fault("P01", "E001", "GAME_MOVE_CALL", 4, cause, 30, said=text)
    result = {"status": "TECHNICAL_LOSS", "winner_player_id": "P02", "reason": f"{fault.sentence}. Technical loss"}
    words = say("no answer within {limit} s", limit="30")
    if text:
        words = say("error {code}: {message}", code=-32000, message=text)
    wrong = {"problem": str(words), "problem_words": words.to_json(), "came": None}
    steps = [report["steps"][0], report["steps"][1] | wrong]
    more = {"status": "TECHNICAL_LOSS", "result": result, "reason": result["reason"], "faults": [fault.to_report()]}
    game = get_game("tic_tac_toe")
    return report | more | {"steps": steps, "view": game.view(game.new_state(("P01", "P02")), None)}


def unreached() -> dict[str, Any]:
    """The report of a match with an agent that was not there."""
    words = say("the address cannot be reached")
    more = {"status": "NOT_PLAYED", "reason": f"{words}.", "reason_words": words.to_json(), "result": {}, "steps": []}
    return played() | more | {"view": {}}


REPORTS = {
    "won": played,
    "lost": lambda: played((3, 0, 4, 1, 8, 2)),
    "drawn": lambda: played(DRAWN),
    "silent": failed,
    "answered_with_an_error": lambda: failed("KeyError: 'x'"),
    "unreached": unreached,
}
"""A report of each kind."""


def practised(agent: Agent, report: dict[str, Any] | None = None, *, opponent: str = "medium") -> Check:
    """A practice match of tic-tac-toe that has ended with this report."""
    Agent.objects.filter(pk=agent.pk).update(game_types=["even_odd", "tic_tac_toe"])
    agent.refresh_from_db()
    practice = practising.ask(
        agent=agent, proven=True, asked_by="127.0.0.1", opponent=opponent, game_type="tic_tac_toe"
    )
    [job] = [one for one in taking.take(now=timezone.now()) if one.check_id == practice.pk]
    assert runs.finish_practice(check_id=practice.pk, run=job.run, report=report or played())
    return Check.practices.select_related("agent__league").get(pk=practice.pk)
