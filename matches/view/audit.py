"""READS: what the log of who did what holds about an action: what it is done to, what was asked for, what it changes.

Secrets stay out by construction: of the rows of leagues, agents and matches only the columns listed here are read, of
arguments only the texts listed here, and of a setting that is a code only that it changed. :func:`row_values` reads
every column: its caller names the secret ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from django.db.models import F, Model, Q

from agents_registry.isolating import isolated
from agents_registry.models import Agent, Gateway, Kind, RosterEntry
from league_sdk.protocol.transcript import storable
from matches.models import AuditEntry, Correction, League, Match, Notice, Role, Via

Values = dict[str, Any]
HIDDEN_SETTINGS = ("settings.registration_code",)
HIDDEN = "(hidden)"
MAX_ROWS = 100
"""Of an action on more rows than this only the first ones are recorded."""
MAX_VALUE_CHARS = 200

LEAGUE_FIELDS = (
    *("display_name", "state", "paused", "advances", "starts_at", "starts_all"),
    *("freeze_from", "frozen_seq", "unveiled", "left_out", "out", "archived_at", "series_id"),
)
# ``ping_wanted`` is logged as ``check_wanted``, its earlier name, under which the log has it already.
AGENT_FIELDS = ("state", "trusted", "readmit", "by_hand", "display_name", "check_wanted", "owner_id")
MATCH_FIELDS = ("state", "status", "winner__code", "attempt")
TEXTS = frozenset(
    (
        *("kind", "reason", "match_id", "player_id", "status", "winner", "matches_become", "name", "username", "host"),
        *("display_name", "game_type", "wanted_id", "series_id", "series_name"),
    )
)
"""Arguments whose texts are recorded; numbers, times and booleans are recorded under any name."""


def named(arguments: Mapping[str, Any]) -> Values:
    """The arguments of a verb by name, with the fields of those that are objects, such as what a correction asks for.

    When a correction is undone, only its number is given: its match is added.
    """
    flat: Values = {}
    for name, value in arguments.items():
        flat |= _fields_of(value) if is_dataclass(value) and not isinstance(value, type) else {name: value}
    if flat.get("number") is not None and "reason" in flat:
        made = Correction.objects.filter(league_id=storable(str(flat.get("league_id"))), number=flat["number"]).first()
        flat["match_id"] = made.match_id if made is not None else ""
    return flat


def _fields_of(value: Any) -> Values:
    return {field.name: getattr(value, field.name) for field in fields(value)}


def last_change(row: Model, name: str) -> AuditEntry | None:
    """The last entry of the log in which something of a row was changed.

    Args:
        row: a league, match or agent, or a row that is edited in the admin as it is, such as an account.
        name: a column, a setting of a league, or the name of an action.
    """
    keys = [name, f"{name}_id", f"settings.{name}"]
    about = {"league_id": getattr(row, "league_id", None) or ""}
    if isinstance(row, Agent | Match):
        keys = [f"{row.code if isinstance(row, Agent) else row.match_id} {key}" for key in keys]
    elif not isinstance(row, League):
        about |= {"target": str(row), "action": f"{row._meta.model_name}.change"}
    of_name = Q(changes__has_any_keys=keys) | Q(action=name)
    return AuditEntry.objects.filter(of_name, **about).order_by("-id").first()


def who(entry: AuditEntry | None) -> str:
    """Who wrote an entry, and when, for a sentence; a dash if there is none."""
    if entry is None:
        return "–"
    account = isolated(entry.account) if entry.account else Via.API.label
    return f"{account}, {isolated(f'{entry.at:%H:%M:%S} UTC')}"


def league_of(arguments: Mapping[str, Any], result: Any) -> str:
    """The id of the league that an action was done in, or that it made: an import names its league in the file."""
    league = getattr(result, "league", None)
    if league_id := arguments.get("league_id") or (league.pk if isinstance(league, League) else ""):
        return str(league_id)
    leagues = Agent.objects.filter(pk__in=agent_ids_of(arguments)).values_list("league_id", flat=True).distinct()
    return str(leagues[0] or "") if len(leagues) == 1 else ""


def target_of(arguments: Mapping[str, Any]) -> str:
    """What an action is done to besides its league, by the arguments of its verb."""
    if match_id := arguments.get("match_id"):
        return str(match_id)
    if ids := agent_ids_of(arguments):
        return ", ".join(Agent.objects.filter(pk__in=ids[:MAX_ROWS]).order_by("pk").values_list("code", flat=True))
    if hosts := arguments.get("hosts"):
        return ", ".join(map(str, hosts))
    if "role_id" in arguments:
        role = Role.objects.select_related("user").filter(pk=arguments["role_id"]).first()
        return role.user.get_username() if role is not None else ""
    return str(arguments["number"]) if "number" in arguments else ""


def asked_of(arguments: Mapping[str, Any]) -> Values:
    """What an action was asked to do, by the arguments of its verb."""
    return {name: value for name, value in _flat(arguments) if name not in ("league_id", "number", "agent_ids")}


def _flat(arguments: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    for name, value in arguments.items():
        if isinstance(value, Enum):
            yield name, str(value.value)
        elif isinstance(value, bool | int | float):
            yield name, value
        elif isinstance(value, datetime):
            yield name, value.isoformat()
        elif isinstance(value, str) and name in TEXTS and value:
            yield name, _cut(value)


def snapshot(arguments: Mapping[str, Any]) -> Values:
    """What an action is done to, as it stands, by the arguments of its verb: what differs afterwards was changed."""
    league_id = storable(str(arguments.get("league_id") or ""))
    values: Values = {}
    if league_id:
        values |= _league(league_id)
    if arguments.get("match_id"):
        matches = Match.objects.filter(league_id=league_id, match_id=storable(str(arguments["match_id"])))
        values |= _rows(matches, MATCH_FIELDS, "match_id")
    if ids := agent_ids_of(arguments):
        agents = Agent.objects.filter(pk__in=ids).annotate(check_wanted=F("ping_wanted"))
        values |= _rows(agents, AGENT_FIELDS, "code")
    if "hosts" in arguments:
        values["gateways"] = sorted(Gateway.objects.values_list("host", flat=True))
    return values


def _league(league_id: str) -> Values:
    # Before a league is opened, and after it is deleted, its values are the defaults.
    league = League.objects.filter(pk=league_id).first() or League(pk="")
    values = {name: getattr(league, name) for name in LEAGUE_FIELDS}
    for name, value in league.rules.model_dump().items():
        values[f"settings.{name}"] = value
    values["rounds"] = dict(league.rounds.order_by("number").exclude(state="PENDING").values_list("number", "state"))
    values["roles"] = dict(Role.objects.filter(league=league).values_list("user__username", "name"))
    values["people on the roster"] = RosterEntry.objects.filter(league=league).count()
    values["players"] = Agent.objects.filter(league=league, kind=Kind.PLAYER).count()
    values["notices"] = Notice.objects.filter(league=league, withdrawn_at__isnull=True).count()
    values["corrections"] = Correction.objects.filter(league=league, undone_at__isnull=True).count()
    return values


def _rows(rows: Any, columns: tuple[str, ...], key: str) -> Values:
    values: Values = {}
    for row in rows.order_by("pk").values(key, *columns)[:MAX_ROWS]:
        name = row.pop(key)
        values |= {f"{name} {column.removesuffix('__code')}": value for column, value in row.items()}
    return values


def changes(before: Mapping[str, Any], after: Mapping[str, Any], hidden: Iterable[str] = HIDDEN_SETTINGS) -> Values:
    """What differs, by name, as ``[before, after]``.

    Args:
        before, after: two snapshots.
        hidden: names of secrets, of which only the fact is given that they changed.
    """
    names = [*before, *(name for name in after if name not in before)]
    differing = [name for name in names if before.get(name) != after.get(name)]
    return {
        name: [HIDDEN if name in hidden else _shown(side.get(name)) for side in (before, after)]
        for name in differing[: 4 * MAX_ROWS]
    }


def row_values(row: Model) -> Values:
    """The columns of a row that is edited in the admin as it is, such as an account."""
    columns = {field.name: field.value_from_object(row) for field in row._meta.concrete_fields}
    related = {
        field.name: sorted(str(other) for other in getattr(row, field.name).all()) for field in row._meta.many_to_many
    }
    return {**columns, **related}


def _shown(value: Any) -> Any:
    if isinstance(value, bool | int | float) or value is None:
        return value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, dict):
        return _cut(", ".join(f"{key}: {one}" for key, one in value.items()))
    return _cut(", ".join(map(str, value)) if isinstance(value, list) else str(value))


def _cut(text: str) -> str:
    text = storable(text)
    return text if len(text) <= MAX_VALUE_CHARS else f"{text[: MAX_VALUE_CHARS - 1]}…"


def agent_ids_of(arguments: Mapping[str, Any]) -> list[int]:
    """The primary keys of the agents that an action is done to."""
    agent = arguments.get("agent")
    return [agent.pk] if isinstance(agent, Agent) else list(arguments.get("agent_ids", ()))
