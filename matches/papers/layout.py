"""Makes the content of each file of 004 chapter 9: ``config``, ``data``, ``logs``.

``export_zip`` writes them into the ZIP file of an export, as staff see the league; ``shared`` keeps them up to date in
a folder, as the public sees it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from agents_registry.models import Agent, Kind
from league_sdk.config_models import (
    AgentsConfig,
    LeagueConfig,
    LeagueManagerConfig,
    NetworkConfig,
    ParticipantsConfig,
    PlayerConfig,
    RefereeConfig,
    ScoringConfig,
    SecurityConfig,
    SystemConfig,
    TimeoutsConfig,
)
from league_sdk.ledger.kinds import EventKind
from league_sdk.logger import log_entry, message_facts
from league_sdk.protocol import notes
from league_sdk.protocol.envelope import stamp
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.protocol.states import RoundState
from league_sdk.repositories import SCHEMA_VERSION
from matches.events.history import Outcome
from matches.models import Match
from matches.papers import evidence
from matches.view import queries
from matches.view.sight import View
from matches.words.match import letter

VERSION = "1.0.0"
"""The version of the league manager, and of an agent that registered without one."""
SYSTEM, AGENTS = "config/system.json", "config/agents/agents_config.json"
RESULTS = {"W": "WIN", "D": "DRAW", "L": "LOSS", "T": "TECHNICAL_LOSS", "C": "CANCELLED"}
_WARNINGS = (EventKind.ATTEMPT_LOST, EventKind.MATCH_HELD, EventKind.START_FAILED)
"""Kinds of events whose line of the league's log is a warning."""


def whole(content: Mapping[str, Any], updated: str) -> dict[str, Any]:
    """The content of a file with the fields that 004 9.2.1 demands."""
    return {"schema_version": SCHEMA_VERSION, **content, "last_updated": updated}


# config/ (004 9.3) ------------------------------------------------------------------------------


def site_config(
    rules: LeagueSettings, *, default_league_id: str, games: Mapping[str, Any]
) -> dict[str, Mapping[str, Any]]:
    """The files of the configuration that are not about one league or one agent, by their paths.

    Args:
        rules: the timeouts and retries.
        games: the games registry.
    """
    system = SystemConfig(
        schema_version=SCHEMA_VERSION,
        system_id="league_system",
        protocol_version="league.v2",
        default_league_id=default_league_id,
        network=_network(),
        security=SecurityConfig(enable_auth_tokens=True, token_length=32, token_ttl_hours=0),
        timeouts=TimeoutsConfig(
            register_referee_timeout_sec=_seconds(rules.generic_timeout_s),
            register_player_timeout_sec=_seconds(rules.generic_timeout_s),
            game_join_ack_timeout_sec=_seconds(rules.join_timeout_s),
            move_timeout_sec=_seconds(rules.move_timeout_s),
            generic_response_timeout_sec=_seconds(rules.generic_timeout_s),
        ),
    )
    retries = {
        "max_retries": rules.max_retries,
        "backoff_strategy": "exponential" if rules.retry_factor > 1 else "fixed",
    }
    return {
        SYSTEM: asdict(system) | {"retry_policy": retries},
        "config/games/games_registry.json": games,
        "config/defaults/player.json": {"agent_type": "player"} | asdict(system)["timeouts"],
        "config/defaults/referee.json": {"agent_type": "referee"} | rules.for_referee(),
    }


def agents_config(
    agents: Iterable[Agent], names: Mapping[int, str], leagues: Mapping[int, list[str]], *, addresses: bool
) -> dict[str, Any]:
    """config/agents/agents_config.json.

    Args:
        names: the agents' display names by primary key.
        leagues: the leagues of each player, likewise.
        addresses: include the agents' addresses.
    """
    config = AgentsConfig(
        schema_version=SCHEMA_VERSION,
        league_manager=LeagueManagerConfig("League Manager", f"{settings.LEAGUE_PUBLIC_URL}/mcp", VERSION),
        referees=[],
        players=[],
    )
    for agent in agents:
        name, address = names[agent.pk], agent.endpoint if addresses else ""
        version, games = agent.version or VERSION, list(agent.game_types)
        if agent.kind == Kind.REFEREE:
            config.referees.append(RefereeConfig(agent.code, name, address, version, games, agent.max_concurrent))
        else:
            config.players.append(PlayerConfig(agent.code, name, version, leagues[agent.pk], games, address))
    return asdict(config)


def _seconds(value: float) -> int:
    """Seconds as a whole number of at least 1, as the files of chapter 9 have them."""
    return max(1, round(value))


def _network() -> NetworkConfig:
    """The address that agents call the site at, and the ports that agents have by default."""
    address = urlsplit(settings.LEAGUE_PUBLIC_URL)
    port = address.port or (443 if address.scheme == "https" else 80)
    return NetworkConfig(address.hostname or "127.0.0.1", port, [8001, 8010], [8101, 9100])


# One league: config/leagues/ and data/ (004 9.4) ------------------------------------------------


@dataclass(frozen=True)
class Played:
    """The matches of one player in one league that have a result: rows of ``history.json``."""

    league_id: str
    display_name: str
    rows: Sequence[Mapping[str, Any]]

    @property
    def stats(self) -> dict[str, int]:
        """The totals; a cancelled match counts nowhere."""
        return _stats(self.rows)


class Layout:
    """The files of one league.

    Args:
        view: the league as the readers of the files may see it.
    """

    def __init__(self, view: View) -> None:
        self.view = view
        self._league = view.league

    def league_config(self) -> dict[str, Any]:
        """config/leagues/<league_id>.json."""
        league, rules = self._league, self.view.rules
        config = LeagueConfig(
            schema_version=SCHEMA_VERSION,
            league_id=league.pk,
            display_name=league.display_name,
            game_type=league.game_type,
            status=self.view.moment.state,
            scoring=ScoringConfig(rules.win_points, rules.draw_points, rules.loss_points, rules.technical_loss_points),
            participants=ParticipantsConfig(rules.min_players, rules.max_players),
        )
        return asdict(config)

    def standings(self) -> dict[str, Any]:
        """data/leagues/<league_id>/standings.json."""
        done = sum(one.state == RoundState.COMPLETED for one in self.view.moment.rounds.values())
        return {
            "league_id": self._league.pk,
            # During a freeze seq stands still, but each place that is unveiled changes the table.
            "version": self.view.moment.seq + len(self.view.unveiled),
            "rounds_completed": done,
            **queries.frozen_mark(self.view),
            "standings": queries.standings_rows(self.view),
        }

    def rounds(self) -> dict[str, Any]:
        """data/leagues/<league_id>/rounds.json."""
        return {"league_id": self._league.pk, "rounds": queries.schedule(self.view, for_messages=True)}

    def match(self, match: Match, messages: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """data/matches/<league_id>/<match_id>.json.

        Args:
            messages: those that the reader may see, as ``bundle.transcripts`` gives them.
        """
        outcome = self.view.outcome(match.match_id)
        line = queries.match_row(match, self.view)
        return line | {
            "league_id": match.league_id,
            "game_type": self._league.game_type,
            "lifecycle": {
                "state": line["state"],
                "steps": queries.lifecycle(match, self.view),
                "finished_at": outcome and stamp(outcome.at),
            },
            "transcript": [
                notes.entry_in_words(message["entry"]) | {"attempt": message["attempt"]} for message in messages
            ],
            "result": outcome and _game_result(outcome),
        }

    def played_by(self, player_id: str, outcomes: Iterable[Outcome] | None = None) -> Played:
        """What ``history.json`` has of one player of this league.

        Args:
            outcomes: those of the player's matches, if they are known; else all are looked through.
        """
        if outcomes is None:
            outcomes = (one for one in self.view.moment.outcomes.values() if player_id in one.players)
        name = self.view.names.get(player_id, player_id)
        return Played(self._league.pk, name, [_history_row(self._league.pk, one, player_id) for one in outcomes])


def history(player_id: str, leagues: Sequence[Played]) -> dict[str, Any]:
    """data/players/<player_id>/history.json.

    Args:
        leagues: what each league has of its player with this id; leagues may give the same id to different players.
    """
    rows = [row for one in leagues for row in one.rows]
    each = [{"league_id": one.league_id, "display_name": one.display_name, "stats": one.stats} for one in leagues]
    return {"player_id": player_id, "stats": _stats(rows), "leagues": each, "matches": rows}


def _stats(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    results = [row["result"] for row in rows]
    return {
        "total_matches": len(results) - results.count("CANCELLED"),
        "wins": results.count("WIN"),
        "losses": results.count("LOSS") + results.count("TECHNICAL_LOSS"),
        "draws": results.count("DRAW"),
    }


def _history_row(league_id: str, outcome: Outcome, player_id: str) -> dict[str, Any]:
    opponent = outcome.players[outcome.players[0] == player_id]
    return {
        "league_id": league_id,
        "round_id": outcome.round_number,
        "match_id": outcome.match_id,
        "opponent_id": opponent,
        "result": RESULTS[letter(outcome, player_id)],
        "my_choice": evidence.choice(outcome.details, player_id),
        "opponent_choice": evidence.choice(outcome.details, opponent),
    }


def _game_result(outcome: Outcome) -> dict[str, Any]:
    return {
        **outcome.details,
        "status": outcome.status,
        "winner_player_id": outcome.winner,
        "reason": outcome.reason,
        "faults": list(outcome.faults),
    }


# logs/ (004 9.5) --------------------------------------------------------------------------------


def league_entry(kind: str, at: datetime, details: Mapping[str, Any]) -> dict[str, Any]:
    """A line of logs/league/<league_id>/league.log.jsonl."""
    level = "WARNING" if kind in _WARNINGS else "INFO"
    return log_entry("league_manager", kind.upper(), {"details": details}, level=level, timestamp=stamp(at))


def agent_entries(match: Match, message: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The lines of logs/agents/<agent_id>.log.jsonl about a message, for its sender and its recipient.

    The body stands in the file of the match.

    Args:
        message: as the reader may see it, one of ``bundle.transcripts``.

    Returns pairs of an agent, such as ``player:P01``, and its line.
    """
    entry, players = message["entry"], match.player_ids
    sender, recipient = (_with_kind(str(entry.get(one, "")), players) for one in ("sender", "recipient"))
    facts = message_facts(
        entry,
        sender=sender,
        recipient=recipient,
        league_id=match.league_id,
        match_id=match.match_id,
        attempt=message["attempt"],
    )
    level = "WARNING" if facts["details"]["problem"] else "DEBUG"
    for agent, event_type in ((sender, "MESSAGE_SENT"), (recipient, "MESSAGE_RECEIVED")):
        yield agent, log_entry(agent, event_type, facts, level=level, timestamp=entry["at"])


def _with_kind(agent: str, players: Sequence[str]) -> str:
    """The name of an agent, such as ``player:P01``; in a transcript of our referees it is its id alone."""
    if ":" in agent:
        return agent
    return f"{Kind.PLAYER if agent in players else Kind.REFEREE}:{agent}"
