"""A league in the layout of 004 chapter 9 as a ZIP: ``SHARED/config``, ``SHARED/data``, ``SHARED/logs``.

The archive also holds the whole league as one document (``league.json``) and the tables for spreadsheets. The same
league always gives the same bytes: files have a fixed date, and ``last_updated`` is the time of the last event.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import IO, Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db.models import Q

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
from league_sdk.ledger.documents import LEAGUE_FILE
from league_sdk.protocol import notes
from league_sdk.protocol.envelope import stamp
from league_sdk.protocol.states import RoundState
from league_sdk.repositories import SCHEMA_VERSION
from matches.events.history import Outcome
from matches.models import League, Match, Message
from matches.papers import bundle, evidence, tables
from matches.view import queries, sight
from matches.view.sight import View
from matches.words.match import letter

SHARED = "SHARED"
VERSION = "1.0.0"
RESULTS = {"W": "WIN", "D": "DRAW", "L": "LOSS", "T": "TECHNICAL_LOSS", "C": "CANCELLED"}
FILE_DATE = (1980, 1, 1, 0, 0, 0)


def write(league: League, out: IO[bytes], *, people: bool) -> None:
    """Write a league's archive.

    Args:
        league: its rows.
        out: the file; it need not be seekable.
        people: include what only the instructor may see, as in ``bundle.write``, and the evidence table.
    """
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        with _file(archive, LEAGUE_FILE) as file:
            bundle.write(league, file, people=people)
        for name in tables.TABLES:
            if people or name not in tables.PRIVATE_TABLES:
                with _file(archive, f"tables/{name}.csv") as file:
                    tables.write(name, league, file, people=people)
        _Layout(league, archive, people).write()


@contextmanager
def _file(archive: zipfile.ZipFile, name: str) -> Iterator[IO[bytes]]:
    """Open a file of the archive for writing."""
    info = zipfile.ZipInfo(name, FILE_DATE)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    with archive.open(info, "w", force_zip64=True) as file:
        yield file


class _Layout:
    """Writes the folders of 004 chapter 9."""

    def __init__(self, league: League, archive: zipfile.ZipFile, people: bool) -> None:
        self._league = league
        self._archive = archive
        self._people = people
        self._view: View = sight.everything(league)
        self._updated = stamp(self._view.moment.at or league.created_at)
        self._agents = bundle.agents(league)

    def write(self) -> None:
        """Write every file, in the order of the chapter."""
        self._config()
        self._put(f"data/leagues/{self._league.pk}/standings.json", self._standings())
        self._put(f"data/leagues/{self._league.pk}/rounds.json", self._rounds())
        self._matches()
        for agent in self._agents:
            if agent.kind == Kind.PLAYER:
                self._put(f"data/players/{agent.code}/history.json", self._history(agent.code))
        self._lines(f"logs/league/{self._league.pk}/league.log.jsonl", self._league_log())
        taken: set[str] = set()
        for agent in self._agents:
            # A referee and a player may have the same id.
            name = agent.code if agent.code not in taken else f"{agent.kind}-{agent.code}"
            taken.add(name)
            self._lines(f"logs/agents/{name}.log.jsonl", self._agent_log(agent))

    def _put(self, path: str, content: Mapping[str, Any]) -> None:
        """Write a JSON file with the fields that 004 9.2.1 demands."""
        whole = {"schema_version": SCHEMA_VERSION, **content, "last_updated": self._updated}
        with _file(self._archive, f"{SHARED}/{path}") as file:
            file.write(_json(whole, indent=2))

    def _lines(self, path: str, entries: Iterator[dict[str, Any]]) -> None:
        with _file(self._archive, f"{SHARED}/{path}") as file:
            for entry in entries:
                file.write(_json(entry) + b"\n")

    # config/ (004 9.3) ---------------------------------------------------------------------------

    def _config(self) -> None:
        league, rules = self._league, self._league.rules
        system = SystemConfig(
            schema_version=SCHEMA_VERSION,
            system_id="league_system",
            protocol_version="league.v2",
            default_league_id=league.pk,
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
        retries = {"max_retries": rules.max_retries, "backoff_strategy": "exponential"}
        self._put("config/system.json", asdict(system) | {"retry_policy": retries})
        self._put("config/agents/agents_config.json", asdict(self._agents_config()))
        self._put(f"config/leagues/{league.pk}.json", asdict(self._league_config()))
        self._put("config/games/games_registry.json", queries.game_registry())
        self._put("config/defaults/player.json", {"agent_type": "player"} | asdict(system)["timeouts"])
        self._put("config/defaults/referee.json", {"agent_type": "referee"} | rules.for_referee())

    def _agents_config(self) -> AgentsConfig:
        config = AgentsConfig(
            schema_version=SCHEMA_VERSION,
            league_manager=LeagueManagerConfig("League Manager", f"{settings.LEAGUE_PUBLIC_URL}/mcp", VERSION),
            referees=[],
            players=[],
        )
        for agent in self._agents:
            address = agent.endpoint if self._people else ""
            version, games = agent.version or VERSION, list(agent.game_types)
            if agent.kind == Kind.REFEREE:
                one = RefereeConfig(agent.code, agent.display_name, address, version, games, agent.max_concurrent)
                config.referees.append(one)
            else:
                mine = [self._league.pk]
                config.players.append(PlayerConfig(agent.code, agent.display_name, version, mine, games, address))
        return config

    def _league_config(self) -> LeagueConfig:
        league, rules = self._league, self._league.rules
        return LeagueConfig(
            schema_version=SCHEMA_VERSION,
            league_id=league.pk,
            display_name=league.display_name,
            game_type=league.game_type,
            status=league.state,
            scoring=ScoringConfig(rules.win_points, rules.draw_points, rules.loss_points, rules.technical_loss_points),
            participants=ParticipantsConfig(rules.min_players, rules.max_players),
        )

    # data/ (004 9.4) -----------------------------------------------------------------------------

    def _standings(self) -> dict[str, Any]:
        done = sum(one.state == RoundState.COMPLETED for one in self._view.moment.rounds.values())
        return {
            "league_id": self._league.pk,
            "version": self._view.moment.seq,
            "rounds_completed": done,
            "standings": queries.standings_rows(self._view),
        }

    def _rounds(self) -> dict[str, Any]:
        return {"league_id": self._league.pk, "rounds": queries.schedule(self._view)}

    def _matches(self) -> None:
        for chunk in bundle.in_chunks(queries.matches_of(self._league)):
            transcripts = bundle.transcripts(chunk, people=self._people)
            for match in chunk:
                messages = transcripts[match.pk]
                entries = [
                    notes.entry_in_words(message["entry"]) | {"attempt": message["attempt"]} for message in messages
                ]
                self._put(f"data/matches/{match.league_id}/{match.match_id}.json", self._match(match, entries))

    def _match(self, match: Match, entries: list[dict[str, Any]]) -> dict[str, Any]:
        outcome = self._view.outcome(match.match_id)
        line = queries.match_line(match, self._view)
        return line | {
            "league_id": match.league_id,
            "game_type": self._league.game_type,
            "lifecycle": {
                "state": line["state"],
                "steps": queries.lifecycle(match, self._view),
                "finished_at": outcome and stamp(outcome.at),
            },
            "transcript": entries,
            "result": outcome and _game_result(outcome),
        }

    def _history(self, player_id: str) -> dict[str, Any]:
        matches = []
        for outcome in self._view.moment.outcomes.values():
            if player_id not in outcome.players:
                continue
            opponent = outcome.players[outcome.players[0] == player_id]
            matches.append(
                {
                    "match_id": outcome.match_id,
                    "opponent_id": opponent,
                    "result": RESULTS[letter(outcome, player_id)],
                    "my_choice": evidence.choice(outcome.details, player_id),
                    "opponent_choice": evidence.choice(outcome.details, opponent),
                }
            )
        results = [match["result"] for match in matches]
        return {
            "player_id": player_id,
            "stats": {
                "total_matches": len(results) - results.count("CANCELLED"),
                "wins": results.count("WIN"),
                "losses": results.count("LOSS") + results.count("TECHNICAL_LOSS"),
                "draws": results.count("DRAW"),
            },
            "matches": matches,
        }

    # logs/ (004 9.5) -----------------------------------------------------------------------------

    def _league_log(self) -> Iterator[dict[str, Any]]:
        for event in bundle.events(self._league, people=self._people):
            yield {
                "timestamp": stamp(event.at),
                "level": "INFO",
                "component": "league_manager",
                "agent_id": "league_manager",
                "event_type": event.kind.upper(),
                "message": event.kind.upper(),
                "details": event.data | {"seq": event.seq},
            }

    def _agent_log(self, agent: Agent) -> Iterator[dict[str, Any]]:
        """The messages that an agent sent or received; their bodies are in the files of the matches."""
        name = f"{agent.kind}:{agent.code}"
        its = Q(match__player_a=agent) | Q(match__player_b=agent) if agent.kind == Kind.PLAYER else Q()
        rows = Message.objects.filter(its, match__league=self._league)
        if agent.kind == Kind.REFEREE:
            rows = rows.filter(Q(entry__sender=name) | Q(entry__recipient=name))
        ordered = rows.order_by("match_id", "attempt", "n")
        for match_id, attempt, entry in ordered.values_list("match__match_id", "attempt", "entry").iterator():
            sender, recipient = (str(entry.get(one, "")) for one in ("sender", "recipient"))
            if name not in (sender, recipient):
                continue
            message_type, problem = str(entry.get("message_type", "")), notes.in_words(entry.get("problem"))
            yield {
                "timestamp": entry["at"],
                "level": "WARNING" if problem else "DEBUG",
                "component": name,
                "agent_id": name,
                "event_type": "MESSAGE_SENT" if sender == name else "MESSAGE_RECEIVED",
                "message": message_type,
                "message_type": message_type,
                "sender": sender,
                "recipient": recipient,
                "details": {"match_id": match_id, "attempt": attempt, "n": entry["n"], "problem": problem},
            }


def _game_result(outcome: Outcome) -> dict[str, Any]:
    return {
        **outcome.details,
        "status": outcome.status,
        "winner_player_id": outcome.winner,
        "reason": outcome.reason,
        "faults": list(outcome.faults),
    }


def _seconds(value: float) -> int:
    """Seconds as a whole number of at least 1, as the files of chapter 9 have them."""
    return max(1, round(value))


def _json(value: Any, indent: int | None = None) -> bytes:
    # Sorted: databases return the members of a JSON object in different orders.
    return json.dumps(value, ensure_ascii=False, indent=indent, sort_keys=True, default=stamp).encode()


def _network() -> NetworkConfig:
    """The address that agents call the site at, and the ports that agents have by default."""
    address = urlsplit(settings.LEAGUE_PUBLIC_URL)
    port = address.port or (443 if address.scheme == "https" else 80)
    return NetworkConfig(address.hostname or "127.0.0.1", port, [8001, 8010], [8101, 9100])
