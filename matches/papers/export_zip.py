"""A league in the layout of 004 chapter 9 as a ZIP: ``SHARED/config``, ``SHARED/data``, ``SHARED/logs``.

The ZIP file also holds the whole league as one document (``league.json``), the tables for spreadsheets, and the page to
share (``evening.html``) once the league is over and nothing is hidden. The same league always gives the same bytes:
files have a fixed date, and ``last_updated`` is the time of the last event.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, islice
from typing import IO, Any

from django.conf import settings
from django.utils import translation

from agents_registry.models import Kind
from league_sdk.ledger.documents import LEAGUE_FILE
from league_sdk.protocol.envelope import stamp
from matches.audience.pages import story
from matches.models import League, Match
from matches.papers import bundle, layout, tables
from matches.papers.layout import Layout
from matches.view import queries, sight

SHARED = "SHARED"
STORY_FILE = "evening.html"
"""The page to share, once there is one."""
FILE_DATE = (1980, 1, 1, 0, 0, 0)


def write(league: League, out: IO[bytes], *, people: bool) -> None:
    """Write a league's export as a ZIP file.

    Args:
        league: the league.
        out: the file; it need not be seekable.
        people: include what only the instructor may see, as in ``bundle.write``, and the evidence table.
    """
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as zip_file:
        with _file(zip_file, LEAGUE_FILE) as file:
            bundle.write(league, file, people=people)
        for name in tables.TABLES:
            if people or name not in tables.PRIVATE_TABLES:
                with _file(zip_file, f"tables/{name}.csv") as file:
                    tables.write(name, league, file, people=people)
        _SharedFolder(league, zip_file, people).write()
        # In the site's language, so that every caller gets the same bytes.
        with translation.override(settings.LANGUAGE_CODE):
            page = story.file(sight.public(league))
        if page is not None:
            with _file(zip_file, STORY_FILE) as file:
                file.write(page.encode())


@contextmanager
def _file(zip_file: zipfile.ZipFile, name: str) -> Iterator[IO[bytes]]:
    """Open a file in the ZIP file for writing."""
    info = zipfile.ZipInfo(name, FILE_DATE)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    with zip_file.open(info, "w", force_zip64=True) as file:
        yield file


class _SharedFolder:
    """Writes ``SHARED``, the folders of 004 chapter 9, as staff see the league.

    Without ``people``, agents have no address, and events and transcripts are as the public sees them after a freeze.
    """

    def __init__(self, league: League, zip_file: zipfile.ZipFile, people: bool) -> None:
        self._league = league
        self._zip_file = zip_file
        self._people = people
        self._layout = Layout(sight.everything(league))
        self._updated = stamp(self._layout.view.moment.at or league.created_at)
        self._agents = bundle.agents(league)

    def write(self) -> None:
        """Write every file, in the order of the chapter."""
        league_id = self._league.pk
        for path, content in self._config().items():
            self._put(path, content)
        self._put(f"data/leagues/{league_id}/standings.json", self._layout.standings())
        rounds = {"league_id": league_id, "rounds": _Lazy(queries.schedule_by_round(self._layout.view))}
        self._put(f"data/leagues/{league_id}/rounds.json", rounds)
        self._matches()
        for agent in self._agents:
            if agent.kind == Kind.PLAYER:
                content = layout.history(agent.code, [self._layout.played_by(agent.code)])
                self._put(f"data/players/{agent.code}/history.json", content)
        events = bundle.events(self._league, people=self._people)
        entries = (layout.league_entry(event.kind, event.at, event.data | {"seq": event.seq}) for event in events)
        self._lines(f"logs/league/{league_id}/league.log.jsonl", entries)
        self._agent_logs()

    def _put(self, path: str, content: Mapping[str, Any]) -> None:
        """Write a JSON file with the fields that 004 9.2.1 demands."""
        with _file(self._zip_file, f"{SHARED}/{path}") as file:
            for part in _ENCODER.iterencode(layout.whole(content, self._updated)):
                file.write(part.encode())

    def _lines(self, path: str, entries: Iterator[dict[str, Any]]) -> None:
        with _file(self._zip_file, f"{SHARED}/{path}") as file:
            for entry in entries:
                file.write(_json(entry) + b"\n")

    def _config(self) -> dict[str, Mapping[str, Any]]:
        leagues = {agent.pk: [self._league.pk] for agent in self._agents}
        names = {agent.pk: agent.display_name for agent in self._agents}
        rules = self._league.rules
        return {
            **layout.site_config(rules, default_league_id=self._league.pk, games=queries.game_registry()),
            layout.AGENTS: layout.agents_config(self._agents, names, leagues, addresses=self._people),
            f"config/leagues/{self._league.pk}.json": self._layout.league_config(),
        }

    def _matches(self) -> None:
        for chunk in bundle.matches_in_chunks(self._league):
            transcripts = bundle.transcripts(chunk, people=self._people)
            # A match that has not begun has no file: a large league has millions of them, all in rounds.json.
            for match in filter(self._has_begun, chunk):
                content = self._layout.match(match, transcripts[match.pk])
                self._put(f"data/matches/{match.league_id}/{match.match_id}.json", content)

    def _has_begun(self, match: Match) -> bool:
        return match.attempt > 0 or self._layout.view.outcome(match.match_id) is not None

    def _agent_logs(self) -> None:
        used: set[str] = set()
        for agent in self._agents:
            # A referee and a player may have the same id.
            name = agent.code if agent.code not in used else f"{agent.kind}-{agent.code}"
            used.add(name)
            lines = self._lines_of(f"{agent.kind}:{agent.code}")
            self._lines(f"logs/agents/{name}.log.jsonl", lines)

    def _lines_of(self, agent: str) -> Iterator[dict[str, Any]]:
        for match, messages in bundle.messages_of(self._league, agent, people=self._people):
            for message in messages:
                entries = layout.agent_entries(match, message)
                yield from (entry for name, entry in entries if name == agent)


class _Lazy(list[Any]):
    """A JSON list whose items are made as they are written."""

    def __init__(self, items: Iterator[Any]) -> None:
        # As a first item is taken at once, an empty list is false, as JSON's encoder expects.
        super().__init__(islice(items, 1))
        self._items = items

    def __iter__(self) -> Iterator[Any]:
        return chain(super().__iter__(), self._items)


# Sorted: databases return the members of a JSON object in different orders.
_ENCODER = json.JSONEncoder(ensure_ascii=False, indent=2, sort_keys=True, default=stamp)


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=stamp).encode()
