"""What is asked of a league manager."""

from __future__ import annotations

from league_sdk.conformance.clauses.rules import (
    PING,
    REACHED,
    RULING,
    TOLERATED,
    Role,
    Rule,
    as_shown,
    no_json,
    no_such_method,
    notification,
    refuses,
    table,
)  # fmt: skip
from league_sdk.conformance.judgements import error_code, refusal, too_large
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.sentences import _

QUERIES = ("standings", "schedule", "next_match", "player_stats")


def _query(name: str, title: str, expected: str, source: str) -> Rule:
    no, shows = f"GET_{name.upper()}: {{said}}.", MessageType.LEAGUE_QUERY_RESPONSE
    return Rule(f"query.{name}", title, expected, source, no=no, shows=shows)


# fmt: off
_MANAGER = table(
    REACHED,
    PING,
    Rule(
        "referee.accepted", _("It registers a referee"),
        _("REFEREE_REGISTER_RESPONSE with status ACCEPTED, referee_id and auth_token."), "004 4.1.2, 8.3.2",
        _("Accepted as {id}."), _("It was not accepted: {reason}.")),
    as_shown(
        "referee.response", _("Its answer to a referee is as shown"), _("Every field of 8.3.2."), "004 4.1.2, 8.3.2",
        MessageType.REFEREE_REGISTER_RESPONSE),
    Rule(
        "player.accepted", _("It registers a player"),
        _("LEAGUE_REGISTER_RESPONSE with status ACCEPTED, player_id and auth_token."), "004 4.2.2, 8.4.2",
        _("Accepted as {id}."), _("It was not accepted: {reason}.")),
    as_shown(
        "player.response", _("Its answer to a player is as shown"), _("Every field of 8.4.2."), "004 4.2.2, 8.4.2",
        MessageType.LEAGUE_REGISTER_RESPONSE),
    Rule(
        "player.distinct", _("Two players are two"), _("Another player_id and another auth_token."), "004 2.4.5, 8.4.2",
        _("{first} and {second}."), _("A second player got no id and token of its own.")),
    Rule(
        "player.again", _("A player that registers again is the same"),
        _("ACCEPTED with the same player_id, for the same name, address and token."), f"{RULING} 8", _("{id} again."),
        _("Registering again gave {again} instead of {id}: agents that restart come back so."), TOLERATED),
    refuses("register.no_address", _("It refuses a player without address"), "004 4.2.1, 2.9.3 table 6", "E003"),
    Rule(
        "register.old_version", _("It refuses an old protocol_version"), _("E018 for 1.0.0."), "004 2.10.2",
        by=error_code("E018")),
    Rule(
        "rpc.reply", _("It replies in JSON-RPC 2.0"),
        _("HTTP 200 and an object with jsonrpc, id, and either result or error."), "000 section 8; 003 2.2",
        _("All {answers} were."), _("One was not: {said}."), TOLERATED),
    Rule(
        "rpc.id", _("It repeats the request's id"), _("id in the reply is the id of the request."), "003 2.2",
        _("In all {answers} replies."), _("Not in this one."), TOLERATED),
    _query("standings", _("It answers GET_STANDINGS"), _("LEAGUE_QUERY_RESPONSE with the table."), "004 4.9, 8.11.1"),
    _query("schedule", _("It answers GET_SCHEDULE"), _("LEAGUE_QUERY_RESPONSE with the schedule."), "004 4.9.1"),
    _query("next_match", _("It answers GET_NEXT_MATCH"), _("LEAGUE_QUERY_RESPONSE with next_match."), "004 4.9.2"),
    _query("player_stats", _("It answers GET_PLAYER_STATS"), _("LEAGUE_QUERY_RESPONSE."), "004 4.9.1"),
    Rule(
        "tool.get_standings", _("It has get_standings"),
        _("The table, asked for by its own method."), "004 5.5.1, 8.11.2",
        _("It answered."), _("{said}. LEAGUE_QUERY does the same."), TOLERATED),
    Rule(
        "query.unknown", _("It refuses an unknown query"), _("An error, or success: false."), "004 4.9.2",
        _("Refused."), _("GET_NOTHING was answered: {said}."), TOLERATED),
    Rule(
        "query.conversation", _("It keeps the conversation_id"),
        _("The one of the request."), "004 4.9.2, 2.4.1 table 2",
        _("In all answers."), _("It was {conversation} here."), TOLERATED),
    refuses("auth.missing", _("It refuses a query without token"), "004 2.4.5, 2.9.3 table 6", "E011"),
    refuses("auth.wrong", _("It refuses a wrong token"), "004 2.4.5, 8.10.1", "E012"),
    refuses(
        "auth.player_report", _("It takes results from referees only"), f"004 4.6.2; {RULING} 5", "E012", "E013",
        expected=_("E012 or E013.")),
    Rule(
        "auth.no_echo", _("It does not repeat tokens"), _("No token in an error."), f"003 section 6; {RULING} 5",
        _("It does not."), _("The wrong token stands in the error; it may be a right one with a slip."), TOLERATED),
    refuses("message.timestamp", _("It refuses a local timestamp"), "004 2.4.2 table 3", "E021"),
    refuses("message.missing_field", _("It refuses a query without query_type"), "004 4.9.1, 2.9.3 table 6", "E003"),
    refuses("message.league", _("It refuses an unknown league"), f"000 section 4; {RULING} 5", "E014"),
    no_such_method("003 2.3", _("Say which methods there are.")),
    no_json("003 2.3", _("Its sender looks for the mistake elsewhere.")),
    Rule(
        "robust.batch", _("It refuses batches"), _("A JSON-RPC error (E002)."), "003 section 6, batching",
        by=refusal(_("003 does without batches."))),
    notification(),
    Rule(
        "robust.large", _("It refuses bodies over 64 KiB"),
        _("An error, and not the answer."), "003 section 7, security",
        by=too_large),
    Rule(
        "robust.afterwards", _("It goes on after all that"), _("A query is answered as before."), "004 6.3.3",
        _("It answered."), _("After all that: {said}.")),
    Rule(
        "round.announcement", _("Its ROUND_ANNOUNCEMENT is as shown"),
        _("If it starts a league by itself: every field of 8.6."), "004 4.3.1, 8.6",
        shows=MessageType.ROUND_ANNOUNCEMENT),
)
# fmt: on

MANAGER = Role(
    "manager",
    _MANAGER,
    essential=("referee.accepted", "player.accepted", "query.standings"),
    unusable=_("Agents cannot use this league manager as it is: {why}"),
    usable=_("Agents can register and ask here; {points}."),
    perfect=_("Agents can register and ask here, and all that was asked of it is as the documents have it."),
)
