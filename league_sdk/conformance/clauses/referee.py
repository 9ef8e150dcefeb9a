"""What is asked of a referee."""

from __future__ import annotations

from league_sdk.conformance.clauses.mcp import FIRST, RESULTS
from league_sdk.conformance.clauses.rules import (
    PING,
    REACHED,
    RULING,
    SKIPPED,
    TOLERATED,
    Role,
    Rule,
    as_shown,
    no_json,
    no_such_method,
    table,
)  # fmt: skip
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.sentences import _

DID = _("It did.")

# fmt: off
_REFEREE = table(
    REACHED,
    PING,
    Rule(
        "register.sent", _("It registers at the league manager"), "REFEREE_REGISTER_REQUEST.", "004 5.4.1, 8.3.1", DID,
        _("It did not within {limit} s. Start it with {where} as its league manager."), SKIPPED),
    as_shown(
        "register.request", _("Its registration is as shown"), _("Every field of 8.3.1."),
        "004 4.1.1, 8.3.1", MessageType.REFEREE_REGISTER_REQUEST),
    Rule(
        "start.taken", _("It takes a match"),
        _("start_match is taken; the league also tries assign_match, START_MATCH, run_match and ROUND_ANNOUNCEMENT."),
        f"004 5.4.1; {RULING} 10", _("It took start_match."), _("In no spelling. To the last it said: {last}.")),
    Rule(
        "start.repeated", _("It plays a match once, though it is started twice"), _("One invitation to each player."),
        f"{RULING} 10", _("One invitation to each."),
        _("{a} and {b} invitations: a result counts once all the same."), TOLERATED),
    Rule(
        "invite.both", _("It invites both players"), _("One GAME_INVITATION to each, with their roles."), "004 8.7.1",
        _("Both, with their roles."), _("Invited: {names}.")),
    as_shown(
        "invite.message", _("Its GAME_INVITATION is as shown"), _("Every field of 8.7.1."),
        "004 4.4.1, 8.7.1", MessageType.GAME_INVITATION),
    Rule(
        "choose.both", _("It asks both for their choice"), _("After both have joined."), "004 3.2.3, 8.7.3",
        _("Both, after both were invited."), _("Asked: {names}.")),
    as_shown(
        "choose.message", _("Its CHOOSE_PARITY_CALL is as shown"), _("Every field of 4.5.1."),
        "004 4.5.1, 8.7.3", MessageType.CHOOSE_PARITY_CALL),
    Rule(
        "choose.parallel", _("It asks both at the same time"), _("Neither waits for the other."), f"{RULING} 7", DID,
        _("PLAYER_B was asked only when PLAYER_A had answered: rounds take twice as long."), TOLERATED),
    Rule(
        "choose.hidden", _("It gives no choice away"), _("Nobody hears a choice before GAME_OVER."), f"{RULING} 7",
        _("It did not."), _("A choice stood in a message before GAME_OVER.")),
    Rule(
        "over.both", _("It tells both the result"),
        _("GAME_OVER to each."), "004 4.6.1, 8.7.5", _("Both."), _("Told: {names}.")),
    as_shown(
        "over.message", _("Its GAME_OVER is as shown"), _("Every field of 8.7.5."),
        "004 4.6.1, 8.7.5", MessageType.GAME_OVER),
    Rule(
        "over.right", _("The result is right"), _("Who guessed the parity of the number has won."), "004 3.2.5, 5.4.3",
        _("{winner} won."), "{wrong}"),
    Rule(
        "report.sent", _("It reports the result"),
        _("MATCH_RESULT_REPORT to the league manager."), "004 4.6.2, 8.7.6", DID,
        _("No MATCH_RESULT_REPORT within {limit} s. Is our address its league manager's?")),
    as_shown(
        "report.message", _("Its report is as shown"), _("Every field of 8.7.6."),
        "004 4.6.2, 8.7.6", MessageType.MATCH_RESULT_REPORT),
    Rule(
        "report.right", _("The report says what GAME_OVER said"),
        _("The same winner; 3 points and 0."), "004 3.4.1, 4.6.2",
        _("{winner}, 3 to 0."), _("It said winner {seen}, score {score}; GAME_OVER had {right}.")),
    Rule(
        "report.token", _("Its report carries its auth_token"), _("The one from its registration."), "004 2.4.5",
        _("It does."), _("It was missing or another's: the league takes no result without it.")),
    Rule(
        "illegal.error", _("It says that a choice was illegal"),
        _("GAME_ERROR with E004 to the player that made the illegal choice."),
        "004 2.9.3 table 6, 4.10.2", DID, _("PLAYER_A was not told why its choice did not count."), TOLERATED),
    Rule(
        "illegal.again", _("It asks again after an illegal choice"),
        _("Another CHOOSE_PARITY_CALL."), f"{RULING} 7", DID,
        _("It did not: one slip, and the match is lost."), TOLERATED),
    Rule(
        "illegal.result", _("That match is decided by the second choice"), _("WIN, as drawn."), f"{RULING} 7",
        _("{winner} won."), "{wrong}"),
    Rule(
        "silent.error", _("It tells a silent player so"), _("GAME_ERROR with E001."), "004 2.11.3, 8.10.2", DID,
        _("PLAYER_B was not told that it was too late."), TOLERATED),
    Rule(
        "silent.loss", _("Silence loses"), _("TECHNICAL_LOSS; the other one wins."), "004 2.9.4, 2.11.3", _("It does."),
        _("status was {status}, winner {seen}; expected TECHNICAL_LOSS and {winner}.")),
    # What MCP wants of one that is a server of it.
    *FIRST,
    Rule(
        "mcp.tools", _("It lists the tools of a referee"),
        _("tools/list names start_match, collect_choices, draw_number, finalize_match and get_match_state."),
        "004 5.4.1; MCP, tools", "{there}",
        _("Its list has no {wanted}. The league starts matches in league.v2 all the same."), TOLERATED, for_some=True),
    RESULTS,
    no_such_method("003 2.3", _("The league goes on to the next spelling of a start after it.")),
    no_json("003 2.3", _("Its sender looks for the mistake elsewhere.")),
)
# fmt: on

REFEREE = Role(
    "referee",
    _REFEREE,
    essential=("start.taken", "invite.both", "choose.both", "over.right", "report.sent", "report.right"),
    unusable=_("A league cannot have this referee judge as it is: {title}: {why}"),
    usable=_("A league can have this referee judge; {points}."),
    perfect=_("A league can have this referee judge, and all that was asked of it is as the documents have it."),
)
