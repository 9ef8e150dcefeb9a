"""What is asked of an agent, as data: one rule a clause, in the order of the report."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """A question before it has an answer: the parts of a clause that are the same for every agent."""

    id: str
    title: str
    expected: str
    source: str


def _table(*rules: Rule) -> dict[str, Rule]:
    return {rule.id: rule for rule in rules}


_RULING = "league.v2 ruling, section"

PLAYER = _table(
    Rule("http.reached", "The address can be reached", "Something answers HTTP at the address.", "004 1.3.1, 5.12.2"),
    Rule(
        "http.json",
        "It answers POST with JSON",
        "A POST to the address itself is answered with a JSON body.",
        "004 1.3.1, 6.3.1",
    ),
    # The match, in the order in which it is played.
    Rule("join.in_time", "It answers an invitation in time", "GAME_JOIN_ACK within 5 s.", "004 2.7 table 5"),
    Rule(
        "join.accepts",
        "It accepts an invitation",
        "GAME_INVITATION is answered with GAME_JOIN_ACK and accept: true.",
        "004 4.4.2, 8.7.2",
    ),
    Rule("join.field", "It says accept", "The field accept, true or false.", "004 4.4.2, 4.12.2"),
    Rule(
        "join.repeated",
        "It accepts a repeated invitation",
        "The same invitation again gets the same answer: a referee repeats it when an answer was lost.",
        f"004 2.9.4; {_RULING} 8",
    ),
    Rule("choice.in_time", "It makes its choice in time", "The answer within 30 s.", "004 2.7 table 5"),
    Rule(
        "choice.legal",
        "Its choice is legal",
        'Exactly "even" or "odd", in small letters; in other games one of the valid options.',
        "004 4.5.2, 4.12.2",
    ),
    Rule(
        "choice.field",
        "It names the choice as the documents do",
        "parity_choice in CHOOSE_PARITY_RESPONSE, move_data.choice in GAME_MOVE_RESPONSE.",
        "004 4.5.2, 3.8.2",
    ),
    Rule(
        "choice.repeated",
        "It makes the same choice when asked again",
        "The same request again gets the same choice.",
        "004 2.9.4; 003 section 6, idempotency",
    ),
    Rule("second.join", "It joins a second match as PLAYER_B", "GAME_JOIN_ACK with accept: true.", "004 8.7.1, 8.7.2"),
    Rule("second.choice", "It chooses in the second match", "A legal choice.", "004 8.7.3"),
    # What stood in its answers.
    Rule(
        "method.names",
        "It listens to the methods of chapter 8",
        "handle_game_invitation, choose_parity, notify_match_result and the others.",
        "004 5.3.1, 8.6 to 8.10",
    ),
    Rule(
        "rpc.reply",
        "It replies in JSON-RPC 2.0",
        "The HTTP reply is an object with jsonrpc, id, and either result (the message) or error.",
        "000 section 8; 003 2.2",
    ),
    Rule(
        "rpc.id", "It repeats the request's id", "id in the reply is the id of the request.", "003 2.2; 000 section 8"
    ),
    Rule("answer.message_type", "It says its message_type", "The type of the answer.", "004 2.4.1 table 2"),
    Rule("answer.protocol", "It says the protocol", 'protocol: "league.v2".', "004 2.4.1 table 2"),
    Rule("answer.sender", "It says who it is", "sender: player:<its id>.", "004 2.4.4"),
    Rule(
        "answer.timestamp",
        "Its timestamps are in UTC",
        "YYYY-MM-DDTHH:MM:SSZ or +00:00 instead of Z, in timestamp and arrival_timestamp.",
        "004 2.4.2 table 3, 4.12.3",
    ),
    Rule(
        "answer.conversation_id",
        "It keeps the conversation_id",
        "The conversation_id of the request.",
        "004 2.4.1 table 2, 8.7.2",
    ),
    Rule("answer.match_id", "It names the match", "The match_id of the request.", "004 4.12.1"),
    Rule("answer.player_id", "It names itself", "player_id: its own id, the same in every answer.", "004 4.12.1"),
    Rule("answer.auth_token", "It sends its auth_token", "The token from its registration.", "004 2.4.5"),
    Rule("answer.other", "The rest of its answers is as shown", "Every field as in the documents.", "004 4.4 to 4.6"),
    # What it is only told.
    Rule("message.round_announcement", "It takes ROUND_ANNOUNCEMENT", "An answer without error.", "004 4.3.1"),
    Rule("message.game_error", "It takes GAME_ERROR", "An answer without error.", "004 4.10.2, 8.10.2"),
    Rule("message.game_over_win", "It takes GAME_OVER: WIN", "An answer without error within 5 s.", "004 4.6.1, 5.3.1"),
    Rule("message.game_over_draw", "It takes GAME_OVER: DRAW", "An answer without error within 5 s.", "004 4.6.1"),
    Rule(
        "message.game_over_technical_loss",
        "It takes GAME_OVER: TECHNICAL_LOSS",
        "An answer without error, though it was never asked for a choice.",
        "004 4.6.1, 2.9.4",
    ),
    Rule(
        "message.game_over_cancelled",
        "It takes GAME_OVER: CANCELLED",
        "An answer without error, though there is no result.",
        f"000 3.3; {_RULING} 8",
    ),
    Rule("message.standings_update", "It takes LEAGUE_STANDINGS_UPDATE", "An answer without error.", "004 4.7.1"),
    Rule("message.round_completed", "It takes ROUND_COMPLETED", "An answer without error.", "004 4.8.1"),
    # Other tools.
    Rule("tool.ping", "It answers ping", "Any HTTP answer to the method ping without params.", "004 5.12.2"),
    Rule(
        "tool.get_player_state",
        "It has get_player_state",
        "Its games history, or a refusal for want of a token.",
        f"004 8.11.2; {_RULING} 3",
    ),
    Rule(
        "tool.make_move",
        "It plays GAME_MOVE_CALL",
        "GAME_MOVE_RESPONSE with one of the valid options.",
        f"004 3.8.2; {_RULING} 3",
    ),
    # How it takes what it does not expect.
    Rule(
        "robust.extra_fields",
        "It takes fields it does not know",
        "An invitation with unknown fields is accepted like any other.",
        f"{_RULING} 4",
    ),
    Rule(
        "robust.slow_body",
        "It reads a slow request to its end",
        "A body that comes in pieces over half a second is answered like any other.",
        "004 6.3.3",
    ),
    Rule(
        "http.content_type",
        "It says that it answers JSON",
        "Content-Type: application/json.",
        "000 section 8",
    ),
    Rule(
        "robust.missing_field",
        "It answers a message without match_id with an error",
        "A JSON-RPC error, such as -32602 with E003.",
        "004 2.9.3 table 6, 6.3.3",
    ),
    Rule(
        "robust.wrong_type",
        "It answers fields of wrong types with an error",
        "A JSON-RPC error, such as -32602 with E002.",
        f"004 6.3.3; {_RULING} 5",
    ),
    Rule("robust.unknown_method", "It refuses unknown methods", "JSON-RPC error -32601.", "003 2.3"),
    Rule("robust.broken_json", "It refuses what is no JSON", "JSON-RPC error -32700.", "003 2.3; 004 6.3.3"),
    Rule("robust.batch", "It refuses batches", "A JSON-RPC error, not an array of answers.", "003 section 6, batching"),
    Rule("robust.notification", "It is silent to notifications", "An empty answer to a request without id.", "003 2.1"),
    Rule(
        "robust.afterwards",
        "It plays on after all that",
        "A correct invitation and request for a choice are answered as before.",
        "004 6.3.3",
    ),
    Rule("message.league_completed", "It takes LEAGUE_COMPLETED", "An answer without error.", "004 4.8.2, 8.9"),
)
"""What is asked of a player."""

MANAGER = _table(
    Rule("http.reached", "The address can be reached", "Something answers HTTP at the address.", "004 1.3.1, 5.12.2"),
    Rule("tool.ping", "It answers ping", "Any HTTP answer to the method ping without params.", "004 5.12.2"),
    Rule(
        "referee.accepted",
        "It registers a referee",
        "REFEREE_REGISTER_RESPONSE with status ACCEPTED, referee_id and auth_token.",
        "004 4.1.2, 8.3.2",
    ),
    Rule("referee.response", "Its answer to a referee is as shown", "Every field of 8.3.2.", "004 4.1.2, 8.3.2"),
    Rule(
        "player.accepted",
        "It registers a player",
        "LEAGUE_REGISTER_RESPONSE with status ACCEPTED, player_id and auth_token.",
        "004 4.2.2, 8.4.2",
    ),
    Rule("player.response", "Its answer to a player is as shown", "Every field of 8.4.2.", "004 4.2.2, 8.4.2"),
    Rule("player.distinct", "Two players are two", "Another player_id and another auth_token.", "004 2.4.5, 8.4.2"),
    Rule(
        "player.again",
        "A player that registers again is the same",
        "ACCEPTED with the same player_id, for the same name, address and token.",
        f"{_RULING} 8",
    ),
    Rule("register.no_address", "It refuses a player without address", "E003.", "004 4.2.1, 2.9.3 table 6"),
    Rule("register.old_version", "It refuses an old protocol_version", "E018 for 1.0.0.", "004 2.10.2"),
    Rule(
        "rpc.reply",
        "It replies in JSON-RPC 2.0",
        "HTTP 200 and an object with jsonrpc, id, and either result or error.",
        "000 section 8; 003 2.2",
    ),
    Rule("rpc.id", "It repeats the request's id", "id in the reply is the id of the request.", "003 2.2"),
    Rule("query.standings", "It answers GET_STANDINGS", "LEAGUE_QUERY_RESPONSE with the table.", "004 4.9, 8.11.1"),
    Rule("query.schedule", "It answers GET_SCHEDULE", "LEAGUE_QUERY_RESPONSE with the schedule.", "004 4.9.1"),
    Rule("query.next_match", "It answers GET_NEXT_MATCH", "LEAGUE_QUERY_RESPONSE with next_match.", "004 4.9.2"),
    Rule("query.player_stats", "It answers GET_PLAYER_STATS", "LEAGUE_QUERY_RESPONSE.", "004 4.9.1"),
    Rule("tool.get_standings", "It has get_standings", "The table, asked for by its own method.", "004 5.5.1, 8.11.2"),
    Rule("query.unknown", "It refuses an unknown query", "An error, or success: false.", "004 4.9.2"),
    Rule("query.conversation", "It keeps the conversation_id", "The one of the request.", "004 4.9.2, 2.4.1 table 2"),
    Rule("auth.missing", "It refuses a query without token", "E011.", "004 2.4.5, 2.9.3 table 6"),
    Rule("auth.wrong", "It refuses a wrong token", "E012.", "004 2.4.5, 8.10.1"),
    Rule("auth.player_report", "It takes results from referees only", "E012 or E013.", f"004 4.6.2; {_RULING} 5"),
    Rule("auth.no_echo", "It does not repeat tokens", "No token in an error.", f"003 section 6; {_RULING} 5"),
    Rule("message.timestamp", "It refuses a local timestamp", "E021.", "004 2.4.2 table 3"),
    Rule("message.missing_field", "It refuses a query without query_type", "E003.", "004 4.9.1, 2.9.3 table 6"),
    Rule("message.league", "It refuses an unknown league", "E014.", f"000 section 4; {_RULING} 5"),
    Rule("robust.unknown_method", "It refuses unknown methods", "JSON-RPC error -32601.", "003 2.3"),
    Rule("robust.broken_json", "It refuses what is no JSON", "JSON-RPC error -32700.", "003 2.3"),
    Rule("robust.batch", "It refuses batches", "A JSON-RPC error (E002).", "003 section 6, batching"),
    Rule("robust.notification", "It is silent to notifications", "An empty answer to a request without id.", "003 2.1"),
    Rule("robust.large", "It refuses bodies over 64 KiB", "An error, and not the answer.", "003 section 7, security"),
    Rule("robust.afterwards", "It goes on after all that", "A query is answered as before.", "004 6.3.3"),
    Rule(
        "round.announcement",
        "Its ROUND_ANNOUNCEMENT is as shown",
        "If it starts a league by itself: every field of 8.6.",
        "004 4.3.1, 8.6",
    ),
)
"""What is asked of a league manager."""

REFEREE = _table(
    Rule("http.reached", "The address can be reached", "Something answers HTTP at the address.", "004 1.3.1, 5.12.2"),
    Rule("tool.ping", "It answers ping", "Any HTTP answer to the method ping without params.", "004 5.12.2"),
    Rule("register.sent", "It registers at the league manager", "REFEREE_REGISTER_REQUEST.", "004 5.4.1, 8.3.1"),
    Rule("register.request", "Its registration is as shown", "Every field of 8.3.1.", "004 4.1.1, 8.3.1"),
    Rule(
        "start.taken",
        "It takes a match",
        "start_match is taken; the league also tries assign_match, START_MATCH, run_match and ROUND_ANNOUNCEMENT.",
        f"004 5.4.1; {_RULING} 10",
    ),
    Rule(
        "start.repeated",
        "It plays a match once, though it is started twice",
        "One invitation to each player.",
        f"{_RULING} 10",
    ),
    Rule("invite.both", "It invites both players", "One GAME_INVITATION to each, with their roles.", "004 8.7.1"),
    Rule("invite.message", "Its GAME_INVITATION is as shown", "Every field of 8.7.1.", "004 4.4.1, 8.7.1"),
    Rule("choose.both", "It asks both for their choice", "After both have joined.", "004 3.2.3, 8.7.3"),
    Rule("choose.message", "Its CHOOSE_PARITY_CALL is as shown", "Every field of 4.5.1.", "004 4.5.1, 8.7.3"),
    Rule("choose.parallel", "It asks both at the same time", "Neither waits for the other.", f"{_RULING} 7"),
    Rule("choose.hidden", "It gives no choice away", "Nobody hears a choice before GAME_OVER.", f"{_RULING} 7"),
    Rule("over.both", "It tells both the result", "GAME_OVER to each.", "004 4.6.1, 8.7.5"),
    Rule("over.message", "Its GAME_OVER is as shown", "Every field of 8.7.5.", "004 4.6.1, 8.7.5"),
    Rule("over.right", "The result is right", "Who guessed the parity of the number has won.", "004 3.2.5, 5.4.3"),
    Rule("report.sent", "It reports the result", "MATCH_RESULT_REPORT to the league manager.", "004 4.6.2, 8.7.6"),
    Rule("report.message", "Its report is as shown", "Every field of 8.7.6.", "004 4.6.2, 8.7.6"),
    Rule("report.right", "The report says what GAME_OVER said", "The same winner; 3 points and 0.", "004 3.4.1, 4.6.2"),
    Rule("report.token", "Its report carries its auth_token", "The one from its registration.", "004 2.4.5"),
    Rule(
        "illegal.error",
        "It says that a choice was illegal",
        "GAME_ERROR with E004 to the player that said EVEN.",
        "004 2.9.3 table 6, 4.10.2",
    ),
    Rule("illegal.again", "It asks again after an illegal choice", "Another CHOOSE_PARITY_CALL.", f"{_RULING} 7"),
    Rule("illegal.result", "That match is decided by the second choice", "WIN, as drawn.", f"{_RULING} 7"),
    Rule("silent.error", "It tells a silent player so", "GAME_ERROR with E001.", "004 2.11.3, 8.10.2"),
    Rule("silent.loss", "Silence loses", "TECHNICAL_LOSS; the other one wins.", "004 2.9.4, 2.11.3"),
    Rule("robust.unknown_method", "It refuses unknown methods", "JSON-RPC error -32601.", "003 2.3"),
    Rule("robust.broken_json", "It refuses what is no JSON", "JSON-RPC error -32700.", "003 2.3"),
)
"""What is asked of a referee."""
