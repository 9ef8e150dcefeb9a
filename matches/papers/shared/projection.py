"""Brings the folder SHARED up to date with the database.

A league whose row has not changed since the last pass costs nothing. Of the others only what the new events changed is
written. Up to which event the files are is stored last: a pass that was interrupted at any moment is made again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from django.conf import settings
from django.db.models import Q

from agents_registry.models import Agent, Kind
from league_sdk.ledger.kinds import EventKind
from league_sdk.protocol.envelope import stamp
from league_sdk.protocol.league_settings import LeagueSettings
from matches.models import Event, League, Match
from matches.papers import layout
from matches.papers.shared.leagues import Finished, LeagueFiles, known_upto
from matches.papers.shared.tree import Tree, is_name, line
from matches.view import queries
from storage import clock

MATCHES_PER_CHUNK = 50
"""Matches whose messages are in memory at the same time."""
MAX_KNOWN = 20
"""How many leagues' results stay in memory for the histories of players: a player of another league may have the same
id, and one file has the history of both."""


class Interrupted(Exception):
    """The process is about to end; the next pass begins where this one began."""


class Projection:
    """Writes SHARED.

    Args:
        tree: the folder.
        kept_for: how long a league stays in it after its end; None: as long as the site has it.
    """

    def __init__(self, tree: Tree, kept_for: timedelta | None = None) -> None:
        self._tree = tree
        self._kept_for = kept_for
        self._stopping = False
        self._restores = 0
        self._config: dict[str, Any] = {}
        self._known: dict[str, LeagueFiles] = {}

    def stop(self) -> None:
        """Interrupt a pass that is under way in another thread, and all later ones."""
        self._stopping = True

    def rebuild(self) -> None:
        """Write everything again.

        Raises:
            OSError: the folder cannot be written to.
        """
        with self._tree.writing():
            self._start_over()
            self._bring_up_to_date()

    def update(self) -> bool:
        """Write what has changed; returns whether anything had.

        Raises:
            OSError: the folder cannot be written to.
            Interrupted: by :meth:`stop`.
        """
        with self._tree.writing():
            if self._tree.restores != self._restores:
                # Another process has written since our last pass, or that pass failed: what it knew may be out of date.
                self._restores = self._tree.restores
                self._config, self._known = {}, {}
            return self._bring_up_to_date()

    def _written(self) -> dict[str, Any]:
        leagues: dict[str, Any] = self._tree.written.get("leagues", {})
        return leagues

    def _start_over(self) -> None:
        self._tree.clear()
        self._config, self._known = {}, {}

    def _bring_up_to_date(self) -> bool:
        wanted = League.objects.filter(demo=False).order_by("created_at", "pk")
        if self._kept_for is not None:
            # When a league drops out, the others are written again: the files of agents are of all leagues.
            wanted = wanted.exclude(completed_at__lt=clock.now() - self._kept_for)
        leagues = list(wanted)
        if not self._continues(leagues):
            self._start_over()
        written, rewritten = self._written(), not self._tree.written
        due = [league for league in leagues if not _is_up_to_date(league, written.get(league.pk))]
        files = {league.pk: LeagueFiles(league, written.get(league.pk, {}).get("upto", 0)) for league in due}
        if not files and self._tree.written.get("site") == site():
            return False
        self._write_matches(files)
        self._write_histories(files, leagues)
        for one in files.values():
            self._raise_if_stopping()
            one.put(self._tree)
        self._write_config(leagues)
        if rewritten:
            self._prune(leagues)
        states = {league_id: one.state() for league_id, one in files.items()}
        self._tree.save({"site": site(), "leagues": written | states})
        kept = [(league_id, one) for league_id, one in (self._known | files).items() if not one.is_huge]
        self._known = dict(kept[-MAX_KNOWN:])
        return True

    def _raise_if_stopping(self) -> None:
        if self._stopping:
            raise Interrupted

    def _continues(self, leagues: Sequence[League]) -> bool:
        """Whether the leagues of the last pass are all here, each with the history that it had then.

        They are not after a league was deleted, or after a backup of the database was restored.
        """
        by_id = {league.pk: league for league in leagues}
        for league_id, state in self._written().items():
            league = by_id.get(league_id)
            if league is None or stamp(league.created_at) != state["created_at"] or state["upto"] > known_upto(league):
                return False
            if not _is_up_to_date(league, state) and state["upto"]:
                last = league.events.filter(seq=state["upto"]).values_list("digest", flat=True)
                if list(last) != [state["head"]]:
                    return False
        return True

    # Matches and what agents log of them -----------------------------------------------------

    def _write_matches(self, files: Mapping[str, LeagueFiles]) -> None:
        """Write the files of matches with a new result, and append to the logs of leagues and agents."""
        finished: list[Finished] = []
        for league_id, one in files.items():
            self._tree.append(f"logs/league/{league_id}/league.log.jsonl", one.log)
            finished += () if one.is_huge else one.finished
        # An agent's id may occur in several leagues, which have one log then.
        finished.sort()
        corrected = [
            Finished("", league_id, 0, match_id, 0, 1)
            for league_id, one in files.items()
            if not one.is_huge
            for match_id in one.changed()
            if match_id not in {done.match_id for done in one.finished}
        ]
        referees = set(Agent.objects.filter(kind=Kind.REFEREE).values_list("code", flat=True)) if finished else set()
        for chunk in _chunks([*finished, *corrected]):
            self._raise_if_stopping()
            logs: dict[str, list[str]] = defaultdict(list)
            matches = {
                (league_id, match.match_id): (match, messages)
                for league_id, one in files.items()
                for match, messages in one.matches([done.match_id for done in chunk if done.league_id == league_id])
            }
            for done in chunk:
                match, messages = matches[done.league_id, done.match_id]
                files[done.league_id].put_match(self._tree, match, messages)
                for kind, code, text in _lines(done, match, messages):
                    # A student's referee may name anybody in a transcript.
                    if code in (match.player_ids if kind == Kind.PLAYER else referees) and is_name(code):
                        logs[code].append(text)
            for code, lines in logs.items():
                self._tree.append(f"logs/agents/{code}.log.jsonl", lines)

    # Players ---------------------------------------------------------------------------------

    def _write_histories(self, files: Mapping[str, LeagueFiles], leagues: Sequence[League]) -> None:
        """Write the histories of players with a new result; those of one id in several leagues stand in one file."""
        affected = {player_id for one in files.values() if not one.is_huge for player_id in one.affected()}
        ids = Agent.objects.filter(kind=Kind.PLAYER, league__demo=False, code__in=affected)
        in_leagues: dict[str, set[str]] = defaultdict(set)
        for league_id, code in ids.values_list("league_id", "code"):
            in_leagues[code].add(league_id)
        for player_id in sorted(filter(is_name, affected)):
            self._raise_if_stopping()
            all_files = [self._files_of(one, files) for one in leagues if one.pk in in_leagues[player_id]]
            theirs = [one for one in all_files if not one.is_huge and player_id in one.by_player]
            if theirs:
                content = layout.history(player_id, [one.played_by(player_id) for one in theirs])
                updated = stamp(max(one.last_played(player_id) for one in theirs))
                self._tree.put(f"data/players/{player_id}/history.json", layout.whole(content, updated))

    def _files_of(self, league: League, files: Mapping[str, LeagueFiles]) -> LeagueFiles:
        if league.pk in files:
            return files[league.pk]
        if league.pk not in self._known:
            self._known[league.pk] = LeagueFiles(league, known_upto(league))
        return self._known[league.pk]

    # The configuration -----------------------------------------------------------------------

    def _write_config(self, leagues: Sequence[League]) -> None:
        """Write what the configuration is now, where it differs from what was written last."""
        by_id = {league.pk: league for league in leagues}
        listed = Q(league__in=list(by_id)) | Q(league__isnull=True, kind=Kind.REFEREE)
        rows = Agent.objects.filter(listed).only(*_AGENT_COLUMNS)
        agents = list(rows.order_by("kind", "league__created_at", "league", "pk"))
        names = {agent.pk: _name(agent, by_id) for agent in agents}
        theirs = {agent.pk: [agent.league_id] if agent.league_id else [] for agent in agents}
        rules = LeagueSettings.model_validate(settings.LEAGUE_NEW_LEAGUES)
        games = queries.game_registry()
        config = {
            **layout.site_config(rules, default_league_id=settings.LEAGUE_DEFAULT_ID, games=games),
            layout.AGENTS: layout.agents_config(agents, names, theirs, addresses=False),
        }
        times = [*(league.created_at for league in leagues), *(agent.registered_at for agent in agents)]
        updated = stamp(max(times, default=datetime.fromtimestamp(0, UTC)))
        for path, content in config.items():
            if self._config.get(path) != content:
                self._tree.put(path, layout.whole(content, updated if path == layout.AGENTS else stamp(_SAMPLES_DATE)))
                self._config[path] = content

    def _prune(self, leagues: Sequence[League]) -> None:
        """Delete what is left of leagues and players that are not here any more."""
        ids = [league.pk for league in leagues]
        for folder in ("data/leagues", "data/matches"):
            self._tree.keep_only(folder, ids)
        self._tree.keep_only("config/leagues", [f"{league_id}.json" for league_id in ids])
        players = Agent.objects.filter(kind=Kind.PLAYER, league__in=ids).values_list("code", flat=True)
        self._tree.keep_only("data/players", players)


def site() -> dict[str, Any]:
    """What the files say of the site itself: values from its configuration, which are not in the database."""
    return {
        "public_url": settings.LEAGUE_PUBLIC_URL,
        "default_league_id": settings.LEAGUE_DEFAULT_ID,
        "new_leagues": settings.LEAGUE_NEW_LEAGUES,
        "games": None if settings.LEAGUE_GAMES is None else list(settings.LEAGUE_GAMES),
    }


_AGENT_COLUMNS = (
    "kind",
    "code",
    "league_id",
    "display_name",
    "version",
    "game_types",
    "max_concurrent",
    "registered_at",
)
_SAMPLES_DATE = datetime(2025, 1, 15, 10, tzinfo=UTC)
"""``last_updated`` of files that only another configuration of the site changes: the date of the course's samples."""


def _is_up_to_date(league: League, state: Mapping[str, Any] | None) -> bool:
    return state is not None and _facts(league) == {name: state.get(name) for name in _facts(league)}


def _facts(league: League) -> dict[str, Any]:
    """Facts of a league, of which one changes whenever the public sees something else of it than before."""
    return {
        "created_at": stamp(league.created_at),
        "upto": known_upto(league),
        "unveiled": league.unveiled,
        "display_name": league.display_name,
    }


def _name(agent: Agent, leagues: Mapping[str, League]) -> str:
    """An agent's name; on a frozen board the one that it had at the freeze."""
    league = leagues.get(agent.league_id or "")
    frozen = league.frozen.get("names", {}) if league is not None and agent.kind == Kind.PLAYER else {}
    return str(frozen.get(agent.code, agent.display_name))


def _lines(done: Finished, match: Match, messages: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """The lines of a match in the logs of its agents; of a match played again, only the attempts since its last result.

    Returns kind and id of the agent with each line.
    """
    if not done.seq:
        return
    before = 0
    if done.play > 1:
        earlier = Event.objects.filter(
            league=done.league_id, seq__lt=done.seq, kind=EventKind.MATCH_FINISHED, data__match_id=done.match_id
        )
        last = earlier.order_by("-seq").first()
        before = int(last.data["attempt"]) if last is not None else 0
    for message in messages:
        if before < message["attempt"] <= done.attempt:
            for agent, entry in layout.agent_entries(match, message):
                kind, _, code = agent.partition(":")
                yield kind, code, line(entry)


def _chunks(finished: Iterable[Finished]) -> Iterator[list[Finished]]:
    rest = iter(finished)
    while chunk := list(islice(rest, MATCHES_PER_CHUNK)):
        yield chunk
