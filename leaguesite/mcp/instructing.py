"""The instructor's tools: rows of the table of actions, for callers with the API key (our choice; ruling, section 3).

Each does what its button and its endpoint do, with the same refusals and the same entry in the log of who did what.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from pydantic import BaseModel, ValidationError

from agents_registry.isolating import plain
from league_sdk.mcp.declaring import DeclaredTool
from league_sdk.protocol.errors import InvalidFormat, LeagueError, MissingField, RuleError, UnknownLeague
from leaguesite.mcp.calls import Call, Deferred, as_sent, find_league
from matches.desk import acting
from matches.desk.acting import DeskAction, Tool
from matches.desk.actions import ROWS
from matches.desk.shown import options_of, split
from matches.league import entry
from matches.league.corrections.queries import correction_row
from matches.league.errors import ActionRefused, Invalid
from matches.league.leagues import get_league
from matches.models import League
from matches.view import queries, sight, summaries

CREATE_SCHEDULE = "create_schedule"
_BESIDE = frozenset({"protocol", "message_type", "sender", "timestamp", "conversation_id", "auth_token", "_meta"})
"""What may stand beside the arguments of a tool; anything else that is not asked for may be a misspelt argument."""
_KEY = {"auth_token": {"type": "string", "description": "the instructor's API key; or Authorization: Bearer"}}
_LEAGUE = {
    "league_id": {
        "type": "string",
        "description": "the league's id, as list_leagues shows it; not needed at the league's own address",
    }
}


class _None(BaseModel):
    """No arguments."""


def _options(tool: Tool, row: DeskAction) -> type[BaseModel]:
    body = tool.options or (row.api.options if row.api is not None else None)
    return options_of(row.shown, body, "_Known") or _None


def _declared(tool: Tool, row: DeskAction) -> DeclaredTool:
    schema = _options(tool, row).model_json_schema()
    properties = {
        name: {word: value for word, value in field.items() if word != "title"}
        for name, field in schema.get("properties", {}).items()
    }
    text = tool.text or (row.api.text if row.api is not None else "")
    return DeclaredTool(
        tool.name,
        tool.title,
        f"{text} For the instructor, with the API key.",
        ({} if row.subject == acting.SITE else _LEAGUE) | properties | _KEY,
        tuple(schema.get("required", ())),
        writes=True,
        repeatable=tool.repeatable,
        destroys=tool.destroys,
    )


_ROWS = {row.tool.name: (row.tool, row) for row in ROWS if row.tool is not None}
TOOLS = tuple(_declared(tool, row) for tool, row in _ROWS.values())
"""The tools that need the API key."""


def act(call: Call, *, name: str) -> Deferred:
    """Carry out one of :data:`TOOLS`; that the caller has the key was checked before.

    The league is the one of the address or of ``league_id``; ``create_schedule`` without either closes the registration
    of the league that a registration without a league would go to, and makes its schedule.

    Returns what makes the answer: the sentence that confirms it, and the league as it stands now.

    Raises:
        UnknownLeague, MissingField, InvalidFormat: an argument is missing or cannot be used.
        RuleError: the league refuses it; the sentence says what to do.
    """
    return partial(_act, call, *_ROWS[name])


def _act(call: Call, tool: Tool, row: DeskAction) -> dict[str, Any]:
    # As in every other tool, a wrong league is refused before the other arguments are looked at.
    about = {} if row.subject == acting.SITE else {"league_id": _league(call, tool.name).pk}
    given, shown = split(row.shown, _arguments(call, _options(tool, row), {*about}))
    arguments = tool.given(given)
    try:
        done = acting.carry_out(row, by=None, shown=shown, **arguments, **about)
    except Invalid as error:
        raise InvalidFormat(str(error), field=error.field, seen=_seen(call, error.field)) from None
    except ActionRefused as error:
        raise RuleError(str(error)) from None
    league = get_league(str(about.get("league_id") or arguments["league_id"]))
    if tool.name == CREATE_SCHEDULE:
        return _schedule(call, league)
    more: dict[str, Any] = {}
    if row.subject == acting.FREEZE:
        more = {"freeze": summaries.freeze_row(league)}
    elif row.subject == acting.CORRECTION:
        more = {"correction": as_sent(correction_row(done))}
    line = as_sent(summaries.league_row(sight.everything(league)))
    return call.message("ACTION_DONE", action=row.code, done=plain(row.sentence(done, {})), league=line, **more)


def _schedule(call: Call, league: League) -> dict[str, Any]:
    """SCHEDULE_CREATED: the rounds, as GET_SCHEDULE shows them."""
    rounds = queries.schedule(sight.public(league), for_messages=True)
    return call.message(
        "SCHEDULE_CREATED",
        league_id=league.pk,
        status=str(league.state),
        total_rounds=len(rounds),
        total_matches=sum(len(row["matches"]) for row in rounds),
        rounds=rounds,
    )


def _arguments(call: Call, options: type[BaseModel], known: set[str]) -> BaseModel:
    """The arguments of a tool that are its own, checked by the model of its endpoint's body."""
    # An argument in another case, such as matchId, is in params in snake case, too: the latter is read.
    sent = {name: value for name, value in call.params.items() if name.islower() and name not in _BESIDE | known}
    unknown = sorted(sent.keys() - options.model_fields.keys())
    if unknown:
        expected = ", ".join([*known, *options.model_fields]) or "no arguments"
        raise InvalidFormat("There is no such argument.", field=unknown[0], seen="a value", expected=expected)
    try:
        return options.model_validate(sent)
    except ValidationError as error:
        raise _refused(error) from None


def _refused(error: ValidationError) -> LeagueError:
    first = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in first["loc"])
    if first["type"] == "missing":
        return MissingField(f"{field} is missing.", field=field, expected="a value")
    return InvalidFormat(f"{field} cannot be used.", field=field, seen=first["input"], expected=first["msg"])


def _seen(call: Call, field: str) -> Any:
    """The value of a field that was refused: an argument, or one of the settings."""
    settings = call.params.get("settings")
    inner = settings.get(field) if isinstance(settings, dict) else None
    return call.params.get(field, inner)


def _league(call: Call, name: str) -> League:
    """The league that is meant.

    Raises:
        InvalidFormat: the address is that of another one.
        MissingField, UnknownLeague.
    """
    named, own = call.params.get("league_id"), call.source.league_id
    if named not in (None, "", own) and own is not None:
        raise InvalidFormat("This is the address of another league.", field="league_id", seen=named, expected=own)
    if call.league_id in (None, ""):
        league = entry.choose_league(None) if name == CREATE_SCHEDULE else None
        expected = "the league to be scheduled" if name == CREATE_SCHEDULE else "the league that is meant"
        if league is None:
            raise MissingField("league_id is missing.", field="league_id", expected=expected)
        return league
    league = find_league(call.league_id)
    if league is None:
        raise UnknownLeague("There is no such league.", field="league_id", seen=call.league_id, expected="a league id")
    return league
