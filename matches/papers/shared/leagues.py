"""The files of one league under SHARED, and which of them an event changes.

Only a match with a result that the public may see has a file, so no file contains anything that is still hidden.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple

from league_sdk.ledger.kinds import CORRECTIONS, EventKind
from league_sdk.protocol.envelope import stamp
from league_sdk.protocol.masking import without_addresses
from matches.events import registry
from matches.events.history import Outcome
from matches.models import League, Match
from matches.papers import bundle, layout
from matches.papers.layout import Layout, Played
from matches.papers.shared.tree import Tree, is_name, line
from matches.view import queries, sight
from matches.view.sight import View

MAX_MATCHES = 20_000
"""A league with more matches (more than 200 players) has only its table, its log and its configuration here."""
MAX_READS = 10
"""How often a league is read again at most, because an event was committed between two reads."""
_NOTICES = (EventKind.NOTICE, EventKind.NOTICE_WITHDRAWN)


class Finished(NamedTuple):
    """The end of a match, after which its messages go into the logs of its agents."""

    at: str
    league_id: str
    seq: int
    match_id: str
    attempt: int
    play: int


class LeagueFiles:
    """The files of one league that a pass writes.

    Args:
        league: the row of the league.
        since: the last event that the files know; 0 to write all of them.

    Attributes:
        finished: the new events that ended a match.
        log: the new lines of the league's log: the events of the public feed.
    """

    def __init__(self, league: League, since: int) -> None:
        self.since = since
        self.view = _settled(league)
        self.league = self.view.league
        self._layout = Layout(self.view)
        self._updated = stamp(self.view.moment.at or league.created_at)
        self._kinds: set[str] = set()
        self._played: dict[str, Played] = {}
        self.log: list[str] = []
        self.finished = self._read_new_events()

    @cached_property
    def is_huge(self) -> bool:
        """Whether there are too many matches for a file each."""
        return self.league.matches.count() > MAX_MATCHES

    @property
    def upto(self) -> int:
        """The last event that the files know after this pass."""
        return self.view.moment.seq

    def state(self) -> dict[str, Any]:
        """What is stored of the league after this pass; nothing that the public does not see."""
        return {
            "created_at": stamp(self.league.created_at),
            "upto": self.upto,
            "head": self.view.moment.head,
            "unveiled": self.league.unveiled,
            "display_name": self.league.display_name,
        }

    def _read_new_events(self) -> list[Finished]:
        """Read the new events once: of what kinds they are, which ended a match, and their lines of the log."""
        rows = self.league.events.filter(seq__gt=self.since, seq__lte=self.upto).order_by("seq")
        finished = []
        for seq, at, kind, data in rows.values_list("seq", "at", "kind", "data").iterator():
            self._kinds.add(kind)
            if kind in registry.PUBLIC:
                # A withdrawn notice is logged like any other.
                logged = EventKind.NOTICE if kind in _NOTICES else kind
                self.log.append(line(layout.league_entry(logged, at, _public(kind, data) | {"seq": seq})))
            if kind == EventKind.MATCH_FINISHED:
                play = int(data.get("play") or 1)
                match_id, attempt = str(data["match_id"]), int(data["attempt"])
                finished.append(Finished(stamp(at), self.league.pk, seq, match_id, attempt, play))
        return finished

    # Files -----------------------------------------------------------------------------------

    def changed(self) -> list[str]:
        """Matches whose result is new, in the order of the results."""
        return [one.match_id for one in self.view.moment.outcomes.values() if one.seq > self.since]

    def matches(self, match_ids: Collection[str]) -> list[tuple[Match, list[dict[str, Any]]]]:
        """Some matches with those of their messages that the public may see."""
        if not match_ids:
            return []
        rows = list(queries.for_rows(queries.matches_of(self.league).filter(match_id__in=match_ids)))
        transcripts = bundle.transcripts(rows, people=False) if rows else {}
        return [(match, transcripts[match.pk]) for match in rows]

    def put_match(self, tree: Tree, match: Match, messages: Iterable[dict[str, Any]]) -> None:
        """Write the file of a match, if it has a result that the public may see."""
        outcome = self.view.outcome(match.match_id)
        if outcome is None or not is_name(match.match_id):
            return
        if not self.view.is_present:
            # Behind a freeze a later attempt may be running, whose messages are hidden.
            messages = [one for one in messages if one["attempt"] <= outcome.attempt]
        content = self._layout.match(match, messages)
        tree.put(f"data/matches/{self.league.pk}/{match.match_id}.json", layout.whole(content, stamp(outcome.at)))

    def put(self, tree: Tree) -> None:
        """Write table, rounds and configuration, and delete the files of matches without a result."""
        league_id = self.league.pk
        files = {
            f"config/leagues/{league_id}.json": self._layout.league_config(),
            f"data/leagues/{league_id}/standings.json": self._layout.standings(),
        }
        if not self.is_huge:
            # The state at the last event: the progress of a match in play changes without an event.
            at_last_event = Layout(replace(self.view, is_present=False))
            files[f"data/leagues/{league_id}/rounds.json"] = at_last_event.rounds()
        for path, content in files.items():
            tree.put(path, layout.whole(content, self._updated))
        if self.since == 0 or not self._kinds.isdisjoint(CORRECTIONS):
            match_ids = () if self.is_huge else self.view.moment.outcomes
            tree.keep_only(f"data/matches/{league_id}", [f"{match_id}.json" for match_id in match_ids])

    # Players ---------------------------------------------------------------------------------

    @cached_property
    def by_player(self) -> dict[str, list[Outcome]]:
        """The results of each player's matches, in the order in which they began to count."""
        found: dict[str, list[Outcome]] = {player_id: [] for player_id in self.view.names}
        for outcome in self.view.moment.outcomes.values():
            for player_id in outcome.players:
                found.setdefault(player_id, []).append(outcome)
        return found

    def affected(self) -> set[str]:
        """Players whose history is new: all of them after a correction, which may have taken a result away."""
        of_all = {*CORRECTIONS, EventKind.PLAYER_REGISTERED, EventKind.PLAYER_RENAMED}
        if self.since == 0 or not self._kinds.isdisjoint(of_all):
            return set(self.by_player)
        outcomes = (self.view.moment.outcomes[match_id] for match_id in self.changed())
        return {player_id for outcome in outcomes for player_id in outcome.players}

    def played_by(self, player_id: str) -> Played:
        """The matches of one player."""
        if player_id not in self._played:
            self._played[player_id] = self._layout.played_by(player_id, self.by_player[player_id])
        return self._played[player_id]

    def last_played(self, player_id: str) -> datetime:
        """The time of the last result of a player that counts."""
        outcomes = self.by_player[player_id]
        return outcomes[-1].at if outcomes else self.league.created_at


def known_upto(league: League) -> int:
    """The number of the last event that the public may know."""
    return league.event_seq if league.frozen_seq is None else league.frozen_seq


def _settled(league: League) -> View:
    """The public's view and the league's row as of the same event, although they are read one after the other."""
    view = sight.public(league)
    for _ in range(MAX_READS):
        if view.moment.seq <= known_upto(league):
            return view
        # Its next event was committed in between; it may be one that the public must not see.
        league = League.objects.get(pk=league.pk)
        view = sight.public(league)
    return View(league, sight.moment(league, known_upto(league)), is_present=False)


def _public(kind: str, data: dict[str, Any]) -> dict[str, Any]:
    """The public part of an event, without anything that may be hidden later: a line of a log cannot be changed.

    The texts of notices are left out, as notices can be withdrawn.
    """
    if kind in _NOTICES:
        return {}
    fields: dict[str, Any] = without_addresses(registry.feed_data(EventKind(kind), data))
    return fields
