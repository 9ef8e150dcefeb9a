"""Reads the document of a league from an untrusted file: bounded, every field validated, every error with its place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import IO, Any

from django.utils.translation import gettext as _
from pydantic import BaseModel, ValidationError

from agents_registry.isolating import isolated
from agents_registry.words import in_other_words
from league_sdk.ledger.documents import LEAGUE_FORMAT
from league_sdk.ledger.kinds import EventKind
from league_sdk.protocol.states import LeagueState, MatchState, RoundState
from matches.league.reports import is_moment, read_entries
from matches.papers import files
from matches.papers.files import NotALeague, format_place, shorten
from matches.papers.sections import SECTIONS, Document
from matches.papers.shape import LeaguePart, Object, OutcomePart

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)


class LeagueDocument(dict[str, list[Any]]):
    """The lists of a document by name; each item is an instance of its shape.

    Attributes:
        league: the league itself.
        raw: the document as it was decoded.
    """

    def __init__(self, league: LeaguePart, raw: Object, lists: Mapping[str, list[Any]]) -> None:
        super().__init__(lists)
        self.league = league
        self.raw = raw


def read(file: IO[bytes]) -> LeagueDocument:
    """Read a document from a file: JSON, or a ZIP file with ``league.json`` in it.

    Args:
        file: must be seekable.

    Raises:
        NotALeague: the file is too large or unreadable, or the document is not valid.
    """
    data = files.decode(files.read_document(file))
    if not isinstance(data, dict) or data.get("format") != LEAGUE_FORMAT:
        seen = data.get("format") if isinstance(data, dict) else type(data).__name__
        raise NotALeague(
            "format",
            _("expected %(format)s, seen: %(seen)s")
            % {"format": isolated(LEAGUE_FORMAT), "seen": isolated(shorten(seen))},
        )
    problem = files.find_unstorable(data, files.MAX_DEPTH)
    if problem is not None:
        raise NotALeague(format_place(problem[0]), problem[1])
    _validated(Document, data, ())
    league = _validated(LeaguePart, data["league"], ("league",))
    lists = {
        name: [_validated(section.shape, item, (name, number)) for number, item in enumerate(data[name])]
        for name, section in SECTIONS.items()
    }
    document = LeagueDocument(league, data, lists)
    _check_keys(document)
    _check_links(document)
    _check_matches(document)
    _check_events(document)
    return document


def _validated(shape: type[BaseModel], item: Any, place: tuple[Any, ...]) -> Any:
    try:
        return shape.model_validate(item)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = format_place([*place, *first["loc"]])
        raise NotALeague(
            where, f"{in_other_words(first['msg'])} ({_('seen')}: {isolated(shorten(first['input']))})"
        ) from None


def _check_keys(document: LeagueDocument) -> None:
    """Refuse two items of a list with the same key."""
    for name, section in SECTIONS.items():
        if section.key:
            _require_unique(name, [tuple(getattr(item, field) for field in section.key) for item in document[name]])
    _require_unique("roster", [(item.email.lower(),) for item in document["roster"]])
    _require_unique("roster", [(item.code.lower(),) for item in document["roster"]])
    for number, match in enumerate(document["matches"]):
        _require_unique(f"matches[{number}].messages", [(message.attempt, message.n) for message in match.messages])


def _require_unique(name: str, keys: Iterable[tuple[Any, ...]]) -> None:
    seen = set()
    for number, key in enumerate(keys):
        if key in seen:
            shown = shorten(key[0] if len(key) == 1 else key)
            raise NotALeague(f"{name}[{number}]", _("%(id)s stands there twice") % {"id": isolated(shown)})
        seen.add(key)


def _check_links(document: LeagueDocument) -> None:
    """Refuse a reference to an item that is not in the document."""
    names = {
        "person": {item.email for item in document["roster"]},
        "round": {item.number for item in document["rounds"]},
        **{kind: {item.code for item in document["agents"] if item.kind == kind} for kind in ("player", "referee")},
    }
    for list_name, section in SECTIONS.items():
        for number, item in enumerate(document[list_name]):
            for field, target, name in section.references(item):
                if name is not None and name not in names[target]:
                    place = f"{list_name}[{number}].{field}"
                    raise NotALeague(place, _("%(id)s is not in the document") % {"id": shorten(name)})


def _check_matches(document: LeagueDocument) -> None:
    """Refuse a match whose fields contradict each other or the state of the league."""
    stopped = document.league.state == LeagueState.STOPPED
    for number, match in enumerate(document["matches"]):
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
    active = [item.number for item in document["rounds"] if item.state in (RoundState.ANNOUNCING, RoundState.RUNNING)]
    if len(active) > bool(not stopped):
        raise NotALeague("rounds", _("only one round is on at a time, and none in a league that was stopped"))


def _check_events(document: LeagueDocument) -> None:
    """Refuse events out of order, an event after the league's last one, and results in events that are not valid."""
    last = 0
    league = document.league
    for number, event in enumerate(document["events"]):
        place = f"events[{number}]"
        if event.seq <= last or event.seq > league.event_seq:
            raise NotALeague(f"{place}.seq", _("it is out of order, or later than the last one (league.event_seq)"))
        last = event.seq
        match_id = event.data.get("match_id")
        if match_id and (not isinstance(match_id, str) or not _ID.fullmatch(match_id)):
            raise NotALeague(f"{place}.data.match_id", _("it is not the id of a match"))
        if event.kind == EventKind.MATCH_FINISHED:
            _check_outcome(event.data, (f"{place}.data",))
        results = event.data.get("results")
        if results is not None and not isinstance(results, dict):
            raise NotALeague(f"{place}.data.results", _("expected an object"))
        for name, outcome in (results or {}).items():
            if outcome is not None:
                _check_outcome(outcome, (f"{place}.data.results", name))
    if league.frozen_seq is not None and league.frozen_seq > league.event_seq:
        raise NotALeague("league.frozen_seq", _("it is later than the last event (league.event_seq)"))


def _check_outcome(data: Any, place: tuple[Any, ...]) -> None:
    outcome = _validated(OutcomePart, data, place)
    if outcome.winner_id not in (None, *outcome.players):
        raise NotALeague(format_place([*place, "winner_id"]), _("the winner did not play in it"))
