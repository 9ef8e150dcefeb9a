"""Reading the document of a league from a stranger's file: bounded, every field checked, every mistake named."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

from django.utils.translation import gettext as _
from pydantic import BaseModel, ValidationError

from league_sdk.ledger.kinds import EventKind
from league_sdk.protocol.states import LeagueState, MatchState, RoundState
from matches.league.reports import is_moment, read_entries
from matches.papers import files
from matches.papers.files import NotALeague, cut, place_in
from matches.papers.shape import FORMAT, PARTS, Document, LeaguePart, OutcomePart

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)


class Read(dict[str, list[Any]]):
    """The lists of a document by name, each item as the model of its shape.

    Attributes:
        league: the league itself.
        people: whether what is for the instructor alone is in it.
    """

    def __init__(self, league: LeaguePart, people: bool, lists: Mapping[str, list[Any]]) -> None:
        super().__init__(lists)
        self.league = league
        self.people = people


def read(file: BinaryIO) -> Read:
    """The document in a file: JSON, or an archive with ``league.json`` in it.

    Args:
        file: can be read again from its beginning.

    Raises:
        NotALeague: it is too large, cannot be read, or says something that no league of ours says.
    """
    data = files.decoded(files.document(file))
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        seen = data.get("format") if isinstance(data, dict) else type(data).__name__
        raise NotALeague("format", _("expected %(format)s, seen: %(seen)s") % {"format": FORMAT, "seen": cut(seen)})
    wrong = files.unstorable(data, files.MAX_DEPTH)
    if wrong is not None:
        raise NotALeague(place_in(wrong[0]), wrong[1])
    _checked(Document, data, ())
    league = _checked(LeaguePart, data["league"], ("league",))
    lists = {
        name: [_checked(shape, item, (name, number)) for number, item in enumerate(data[name])]
        for name, shape in PARTS.items()
    }
    found = Read(league, data["people"], lists)
    _check_once(found)
    _check_names(found)
    _check_matches(found)
    _check_events(found)
    return found


# The fields -------------------------------------------------------------------------------------


def _checked(shape: type[BaseModel], item: Any, place: tuple[Any, ...]) -> Any:
    try:
        return shape.model_validate(item)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = place_in([*place, *first["loc"]])
        raise NotALeague(where, f"{first['msg']} ({_('seen')}: {cut(first['input'])})") from None


# What must fit together -------------------------------------------------------------------------


def _check_once(found: Read) -> None:
    """Everything that has a name has one of its own."""
    keys = {
        "agents": lambda one: (one.kind, one.code),
        "rounds": lambda one: one.number,
        "events": lambda one: one.seq,
        "corrections": lambda one: one.number,
        "checks": lambda one: one.check_id,
        "matches": lambda one: one.match_id,
    }
    for name, key in keys.items():
        _once(name, [key(one) for one in found[name]])
    _once("roster", [one.email.lower() for one in found["roster"]])
    _once("roster", [one.code.lower() for one in found["roster"]])
    for number, match in enumerate(found["matches"]):
        _once(f"matches[{number}].messages", [(one.attempt, one.n) for one in match.messages])


def _once(name: str, keys: Sequence[Any]) -> None:
    seen = set()
    for number, key in enumerate(keys):
        if key in seen:
            raise NotALeague(f"{name}[{number}]", _("%(id)s stands there twice") % {"id": cut(key)})
        seen.add(key)


def _check_names(found: Read) -> None:
    """Who and what is named is there."""
    players = {one.code for one in found["agents"] if one.kind == "player"}
    referees = {one.code for one in found["agents"] if one.kind == "referee"}
    rounds = {one.number for one in found["rounds"]}
    people = {one.email for one in found["roster"]}
    for name, number, field, known in (
        *(("agents", n, "owner", people) for n in range(len(found["agents"]))),
        *(("rounds", n, "bye", players) for n in range(len(found["rounds"]))),
        *(("corrections", n, "player", players) for n in range(len(found["corrections"]))),
        *(("notices", n, "player", players) for n in range(len(found["notices"]))),
        *(
            ("matches", n, field, known)
            for n in range(len(found["matches"]))
            for field, known in (
                ("round", rounds),
                ("player_a", players),
                ("player_b", players),
                ("referee", referees),
                ("winner", players),
            )
        ),
    ):
        value = getattr(found[name][number], field)
        if value is not None and value not in known:
            raise NotALeague(f"{name}[{number}].{field}", _("%(id)s is not in the document") % {"id": cut(value)})
    for number, check in enumerate(found["checks"]):
        if check.agent not in (players if check.kind == "player" else referees):
            raise NotALeague(f"checks[{number}].agent", _("%(id)s is not in the document") % {"id": check.agent})


def _check_matches(found: Read) -> None:
    """What a match says of itself is possible."""
    stopped = found.league.state == LeagueState.STOPPED
    for number, match in enumerate(found["matches"]):
        place = f"matches[{number}]"
        over = match.state == MatchState.FINISHED
        if over != bool(match.status) or over != (match.finished_at is not None):
            raise NotALeague(f"{place}.state", _("a match is finished if, and only if, it has a status and a time"))
        if match.player_a == match.player_b:
            raise NotALeague(f"{place}.player_b", _("nobody plays against himself"))
        if match.winner not in (None, match.player_a, match.player_b):
            raise NotALeague(f"{place}.winner", _("the winner did not play in it"))
        if stopped and not over and match.state != MatchState.PENDING:
            raise NotALeague(f"{place}.state", _("no match is on in a league that was stopped"))
        for n, message in enumerate(match.messages):
            if read_entries([message.entry]) != [message.entry]:
                raise NotALeague(f"{place}.messages[{n}].entry", _("it is no entry of a transcript"))
        for n, step in enumerate(match.lifecycle):
            if step.get("state") not in list(MatchState) or not is_moment(step.get("at")):
                raise NotALeague(f"{place}.lifecycle[{n}]", _("it is no step of a match"))
    active = [one.number for one in found["rounds"] if one.state in (RoundState.ANNOUNCING, RoundState.RUNNING)]
    if len(active) > bool(not stopped):
        raise NotALeague("rounds", _("only one round is on at a time, and none in a league that was stopped"))


def _check_events(found: Read) -> None:
    """Events are in order, none is later than the league says, and results in them are results."""
    last = 0
    league = found.league
    for number, event in enumerate(found["events"]):
        place = f"events[{number}]"
        if event.seq <= last or event.seq > league.event_seq:
            raise NotALeague(f"{place}.seq", _("it is out of order, or later than the last one (league.event_seq)"))
        last = event.seq
        named = event.data.get("match_id")
        if named and (not isinstance(named, str) or not _ID.fullmatch(named)):
            raise NotALeague(f"{place}.data.match_id", _("it is not the id of a match"))
        if event.kind == EventKind.MATCH_FINISHED:
            _check_outcome(event.data, (f"{place}.data",))
        results = event.data.get("results")
        if results is not None and not isinstance(results, dict):
            raise NotALeague(f"{place}.data.results", _("expected an object"))
        for match_id, outcome in (results or {}).items():
            if outcome is not None:
                _check_outcome(outcome, (f"{place}.data.results", match_id))
    if league.frozen_seq is not None and league.frozen_seq > league.event_seq:
        raise NotALeague("league.frozen_seq", _("it is later than the last event (league.event_seq)"))


def _check_outcome(data: Any, place: tuple[Any, ...]) -> None:
    outcome = _checked(OutcomePart, data, place)
    if outcome.winner_id not in (None, *outcome.players):
        raise NotALeague(place_in([*place, "winner_id"]), _("the winner did not play in it"))
