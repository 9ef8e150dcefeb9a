"""What is asked of a player."""

from __future__ import annotations

from league_sdk.conformance.clauses.mcp import FIRST, RESULTS
from league_sdk.conformance.clauses.rules import (
    PING,
    REACHED,
    RULING,
    TOLERATED,
    Role,
    Rule,
    in_all,
    no_json,
    no_such_method,
    notification,
    table,
    takes,
)  # fmt: skip
from league_sdk.conformance.judgements import refusal
from league_sdk.protocol.sentences import _

NOT_HEARD = _("It answers by callback: that could not be heard here.")
_UNUSABLE = _("What is unusable has to be said, or the sender never learns of it.")

# fmt: off
_PLAYER = table(
    REACHED,
    Rule(
        "http.json", _("It answers POST with JSON"), _("A POST to the address itself is answered with a JSON body."),
        "004 1.3.1, 6.3.1",
        _("JSON came."), _("HTTP {status}, and no JSON. Does the agent take POST at this very path?")),
    # The match, in the order in which it is played.
    Rule(
        "join.in_time", _("It answers an invitation in time"), _("GAME_JOIN_ACK within 5 s."), "004 2.7 table 5",
        _("In {ms} ms."), _("It did not answer within {limit} s.")),
    Rule(
        "join.accepts", _("It accepts an invitation"),
        _("GAME_INVITATION is answered with GAME_JOIN_ACK and accept: true."),
        "004 4.4.2, 8.7.2", _("It accepted."),
        _("It refused: accept must be true for an invitation to a match of its own.")),
    in_all("join.field", _("It says accept"), _("The field accept, true or false."), "004 4.4.2, 4.12.2"),
    Rule(
        "join.repeated", _("It accepts a repeated invitation"),
        _("The same invitation again gets the same answer: a referee repeats it when an answer was lost."),
        f"004 2.9.4; {RULING} 8", _("It accepted again."),
        _("It accepted first, and then: {said}. The league lets the first answer stand."), TOLERATED),
    Rule(
        "choice.in_time", _("It makes its choice in time"), _("The answer within 30 s."), "004 2.7 table 5",
        _("In {ms} ms."), _("It did not answer within {limit} s.")),
    Rule(
        "choice.legal", _("Its choice is legal"),
        _('Exactly "even" or "odd", in small letters; in other games one of the valid options.'), "004 4.5.2, 4.12.2",
        _("It chose {move}."), "{illegal}"),
    in_all(
        "choice.field", _("It names the choice as the documents do"),
        _("parity_choice in CHOOSE_PARITY_RESPONSE, move_data.choice in GAME_MOVE_RESPONSE."), "004 4.5.2, 3.8.2"),
    Rule(
        "choice.repeated", _("It makes the same choice when asked again"),
        _("The same request again gets the same choice."),
        "004 2.9.4; 003 section 6, idempotency", _("It chose {move} both times."),
        _("First {move}, then {second}. The first valid one stands: keep it until GAME_OVER."), TOLERATED),
    Rule(
        "second.join", _("It joins a second match as PLAYER_B"),
        _("GAME_JOIN_ACK with accept: true."), "004 8.7.1, 8.7.2",
        _("It accepted."), _("It joined its first match, but not this one: {said}.")),
    Rule(
        "second.choice", _("It chooses in the second match"), _("A legal choice."), "004 8.7.3",
        _("It chose {move}."), _("No legal choice in this match: {illegal}")),
    # What stood in its answers.
    Rule(
        "method.names", _("It listens to the methods of chapter 8"),
        _("handle_game_invitation, choose_parity, notify_match_result and the others."), "004 5.3.1, 8.6 to 8.10",
        _("All it understood was in the words of chapter 8."),
        _("{kind} was understood as {method} ({shape}). The league finds that; chapter 8 calls it {canonical}."),
        TOLERATED),
    in_all(
        "rpc.reply", _("It replies in JSON-RPC 2.0"),
        _("The HTTP reply is an object with jsonrpc, id, and either result (the message) or error."),
        "000 section 8; 003 2.2"),
    in_all(
        "rpc.id", _("It repeats the request's id"),
        _("id in the reply is the id of the request."), "003 2.2; 000 section 8"),
    in_all("answer.message_type", _("It says its message_type"), _("The type of the answer."), "004 2.4.1 table 2"),
    in_all("answer.protocol", _("It says the protocol"), _('protocol: "league.v2".'), "004 2.4.1 table 2"),
    Rule("answer.sender", _("It says who it is"), _("sender: player:<its id>."), "004 2.4.4", _("player:{id}.")),
    in_all(
        "answer.timestamp", _("Its timestamps are in UTC"),
        _("YYYY-MM-DDTHH:MM:SSZ or +00:00 instead of Z, in timestamp and arrival_timestamp."),
        "004 2.4.2 table 3, 4.12.3"),
    in_all(
        "answer.conversation_id", _("It keeps the conversation_id"), _("The conversation_id of the request."),
        "004 2.4.1 table 2, 8.7.2"),
    in_all("answer.match_id", _("It names the match"), _("The match_id of the request."), "004 4.12.1"),
    Rule(
        "answer.player_id", _("It names itself"), _("player_id: its own id, the same in every answer."), "004 4.12.1",
        _("It called itself {id}.")),
    Rule(
        "answer.auth_token", _("It sends its auth_token"), _("The token from its registration."), "004 2.4.5",
        _("It sent one.")),
    in_all(
        "answer.other", _("The rest of its answers is as shown"),
        _("Every field as in the documents."), "004 4.4 to 4.6"),
    # What MCP wants of an agent that is called through its tools.
    *FIRST,
    Rule(
        "mcp.tools", _("It lists a tool for each message of a match"),
        _("tools/list names tools for the invitation, the choice and the result."), "004 5.4.1; MCP, tools",
        "{tools}.",
        _("Nothing in its list is for {kind}: name a tool {wanted}."), TOLERATED, for_some=True),
    Rule(
        "mcp.arguments", _("Its tools ask for what the messages have"),
        _("Every required argument of a tool is a field of the message."), f"{RULING} 8; MCP, tools",
        _("All of them are filled."),
        _("{tool} requires {argument}, which no field of {kind} is: it is sent empty. Name it as the message does, or "
          "do not require it."), TOLERATED, for_some=True),
    RESULTS,
    # What it is only told.
    takes("round_announcement", _("It takes ROUND_ANNOUNCEMENT"), "004 4.3.1"),
    takes("game_error", _("It takes GAME_ERROR"), "004 4.10.2, 8.10.2"),
    takes("game_over_win", _("It takes GAME_OVER: WIN"), "004 4.6.1, 5.3.1", _("An answer without error within 5 s.")),
    takes("game_over_draw", _("It takes GAME_OVER: DRAW"), "004 4.6.1", _("An answer without error within 5 s.")),
    takes(
        "game_over_technical_loss", _("It takes GAME_OVER: TECHNICAL_LOSS"), "004 4.6.1, 2.9.4",
        _("An answer without error, though it was never asked for a choice.")),
    takes(
        "game_over_cancelled", _("It takes GAME_OVER: CANCELLED"), f"000 3.3; {RULING} 8",
        _("An answer without error, though there is no result.")),
    takes("standings_update", _("It takes LEAGUE_STANDINGS_UPDATE"), "004 4.7.1"),
    takes("round_completed", _("It takes ROUND_COMPLETED"), "004 4.8.1"),
    # Other tools.
    PING,
    Rule(
        "tool.get_player_state", _("It has get_player_state"),
        _("Its games history, or a refusal for want of a token."),
        f"004 8.11.2; {RULING} 3", _("It answered."),
        _("{failure}. Answer what you do not know with an error."), TOLERATED),
    Rule(
        "tool.make_move", _("It plays GAME_MOVE_CALL"), _("GAME_MOVE_RESPONSE with one of the valid options."),
        f"004 3.8.2; {RULING} 3", _("It chose {move} in {game}."),
        _("It declares {game}, and made no legal move in it: {illegal}")),
    # How it takes what it does not expect.
    Rule(
        "robust.extra_fields", _("It takes fields it does not know"),
        _("An invitation with unknown fields is accepted like any other."), f"{RULING} 4", _("It accepted."),
        _("With unknown fields in the invitation: {said}. Read the fields you need and pass over the others.")),
    Rule(
        "robust.slow_body", _("It reads a slow request to its end"),
        _("A body that comes in pieces over half a second is answered like any other."), "004 6.3.3",
        _("It answered."), _("What came: {said}. Read Content-Length bytes before you answer.")),
    Rule(
        "http.content_type", _("It says that it answers JSON"), _("Content-Type: application/json."), "000 section 8",
        _("application/json."), _("Content-Type was {type}."), TOLERATED),
    Rule(
        "robust.missing_field", _("It answers a message without match_id with an error"),
        _("A JSON-RPC error, such as -32602 with E003."), "004 2.9.3 table 6, 6.3.3",
        by=refusal(_UNUSABLE)),
    Rule(
        "robust.wrong_type", _("It answers fields of wrong types with an error"),
        _("A JSON-RPC error, such as -32602 with E002."), f"004 6.3.3; {RULING} 5",
        by=refusal(_UNUSABLE)),
    no_such_method(
        "003 2.3",
        _("The league goes on to the next way of speaking after an error -32601; other answers cost it time.")),
    no_json("003 2.3; 004 6.3.3", _("The league never sends such; others may.")),
    Rule(
        "robust.batch", _("It refuses batches"), _("A JSON-RPC error, not an array of answers."),
        "003 section 6, batching", by=refusal(_("The league never sends batches."))),
    notification(_("The league sends none.")),
    Rule(
        "robust.afterwards", _("It plays on after all that"),
        _("A correct invitation and request for a choice are answered as before."), "004 6.3.3",
        _("It joined and chose {move}."), _("After the unusable requests it does not play on: {said}.")),
    takes("league_completed", _("It takes LEAGUE_COMPLETED"), "004 4.8.2, 8.9"),
)
# fmt: on

PLAYER = Role(
    "player",
    _PLAYER,
    essential=("join.in_time", "join.accepts", "choice.in_time", "choice.legal"),
    lasting=("second.join", "second.choice"),
    unusable=_("This agent cannot play here as it is: {why}"),
    usable=_("This agent can play here as it is; {points}."),
    perfect=_("This agent can play here, and all that was asked of it is as the documents have it."),
    unknown={
        NOT_HEARD: _("This agent answers by callback, which could not be heard here: whether it can play is not known.")
    },
)
