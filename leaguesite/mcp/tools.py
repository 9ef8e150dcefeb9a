"""The league manager's tools by name (ruling, section 3), and the one that only the instructor may call."""

from __future__ import annotations

from typing import Any

from league_sdk.protocol.errors import MissingField, RuleError, TokenInvalid, TokenMissing, UnknownLeague
from league_sdk.protocol.limits import MAX_ID_CHARS
from league_sdk.rules.registry import games
from leaguesite.login.accounts import is_api_key
from leaguesite.mcp.admission import admit_key, key_was_wrong
from leaguesite.mcp.calls import Call, Later
from matches.league import entry, opening
from matches.league.errors import ActionRefused
from matches.models import League
from matches.view import queries, sight


def create_schedule(call: Call) -> Later:
    """Close registration and make the schedule (ruling, section 3), for who holds the instructor's API key.

    The key is the request's ``Authorization: Bearer``, or its ``auth_token``. The league is the one of the address
    or of ``league_id``, else the one that a registration would go to.

    Returns the league's id, its state and the rounds, as GET_SCHEDULE shows them.

    Raises:
        TokenMissing, TokenInvalid: no key, or another.
        UnknownLeague, MissingField: no such league, or none that is meant.
        RuleError: the league is not open, or has too few players.
    """
    _check_key(call)
    return Later(lambda: _create_schedule(call))


def _create_schedule(call: Call) -> dict[str, Any]:
    league = _meant(call)
    try:
        league = opening.close_registration(league_id=league.pk)
    except ActionRefused as refused:
        raise RuleError(str(refused), field="league_id", seen=league.pk, expected="a league to be closed") from None
    rounds = queries.schedule(sight.public(league), wire=True)
    return call.message(
        "SCHEDULE_CREATED",
        league_id=league.pk,
        status=str(league.state),
        total_rounds=len(rounds),
        total_matches=sum(len(one["matches"]) for one in rounds),
        rounds=rounds,
    )


def _check_key(call: Call) -> None:
    key = call.came.bearer or call.params.get("auth_token")
    expected = "the instructor's API key"
    if key in (None, ""):
        raise TokenMissing("create_schedule is for the instructor.", field="auth_token", expected=expected)
    if isinstance(key, str):
        admit_key(call, key)
    if not isinstance(key, str) or not is_api_key(key):
        key_was_wrong(call, str(key))
        raise TokenInvalid("This is not the instructor's API key.", field="auth_token", expected=expected)


def _meant(call: Call) -> League:
    named = call.address_league or call.params.get("league_id")
    if named in (None, ""):
        league = entry.choose_league(None)
        if league is None:
            raise MissingField("league_id is missing.", field="league_id", expected="the league to be scheduled")
        return league
    # No id holds a NUL, and PostgreSQL would not even look for one.
    usable = isinstance(named, str) and len(named) <= MAX_ID_CHARS and "\x00" not in named
    league = League.objects.filter(pk=named).first() if usable else None
    if league is None:
        raise UnknownLeague("There is no such league.", field="league_id", seen=named, expected="a league id")
    return league


# The list of tools ----------------------------------------------------------------------------

_TEXT = {"type": "string"}
_ENVELOPE = {
    "protocol": {"type": "string", "const": "league.v2"},
    "sender": {"type": "string", "description": "type:id, such as player:P01"},
    "timestamp": {"type": "string", "description": "YYYY-MM-DDTHH:MM:SSZ, in UTC"},
    "conversation_id": _TEXT,
}
_TOKEN = {"auth_token": {"type": "string", "description": "from your registration"}}
_LEAGUE = {"league_id": {"type": "string", "description": "when you mean another than your own"}}
_PLAYER = {"player_id": {"type": "string", "description": "when you mean another than yourself"}}


def _schema(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    # Unknown fields are always taken: agents send more than is asked for.
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": True}


def _meta() -> dict[str, Any]:
    return _schema(
        {
            "display_name": {"type": "string", "description": "the name on the table"},
            "contact_endpoint": {"type": "string", "description": "where you listen, http://…/mcp"},
            "version": _TEXT,
            "game_types": {"type": "array", "items": {"enum": sorted(games())}},
            "registration_code": _TEXT,
        },
        "display_name",
        "contact_endpoint",
    )


def _signed(optional: dict[str, Any], **properties: Any) -> dict[str, Any]:
    signed = ("sender", "timestamp", "conversation_id", "auth_token")
    return _schema(_ENVELOPE | _TOKEN | optional | properties, *signed, *properties)


def tool_list() -> list[dict[str, Any]]:
    """Every tool with name, description and inputSchema, as ``list_tools`` and MCP's ``tools/list`` show it."""
    tools: dict[str, tuple[str, dict[str, Any]]] = {
        "register_player": (
            "Register a player (LEAGUE_REGISTER_REQUEST): gives a player_id and an auth_token.",
            _schema(_ENVELOPE | _LEAGUE | {"player_meta": _meta()}, "player_meta"),
        ),
        "register_referee": (
            "Register a referee (REFEREE_REGISTER_REQUEST). It judges once the instructor lets it.",
            _schema(_ENVELOPE | {"referee_meta": _meta()}, "referee_meta"),
        ),
        "report_match_result": (
            "Report a match that you judged (MATCH_RESULT_REPORT). A match counts once.",
            _signed(_LEAGUE, match_id=_TEXT, result={"type": "object"}),
        ),
        "report_progress": (
            "Report the progress of the matches that you judge, at least every two seconds.",
            _signed({}, matches={"type": "array", "items": {"type": "object"}}),
        ),
        "league_query": (
            "Ask the league (LEAGUE_QUERY): standings, schedule, next match, statistics, games.",
            _signed(_LEAGUE | {"query_params": {"type": "object"}}, query_type=_TEXT),
        ),
        "get_standings": ("The table as it is now.", _schema(_TOKEN | _LEAGUE)),
        "get_schedule": ("Every round with its matches.", _schema(_TOKEN | _LEAGUE)),
        "get_next_match": ("A player's next match.", _schema(_TOKEN | _LEAGUE | _PLAYER)),
        "get_player_stats": ("A player's results so far.", _schema(_TOKEN | _LEAGUE | _PLAYER)),
        "get_games": ("The games that can be played here, with their rules modules.", _schema({})),
        "create_schedule": (
            "Close registration and make the schedule; for the instructor, with the API key.",
            _schema(_LEAGUE | {"auth_token": {"type": "string", "description": "the API key"}}),
        ),
        "ping": ("Whether the league manager answers.", _schema({})),
        "list_tools": ("This list.", _schema({})),
    }
    return [
        {"name": name, "description": description, "inputSchema": schema}
        for name, (description, schema) in tools.items()
    ]
