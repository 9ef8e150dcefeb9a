"""Reads the database with its own client, so that the code under test has no part in the verdict."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import psycopg

_LEAGUES = "SELECT league_id, state FROM matches_league WHERE NOT demo"
_ROUNDS = "SELECT league_id, number, state FROM matches_round"
_MATCHES = """
    SELECT m.league_id, m.match_id, r.number, a.code, b.code, m.state, m.status, w.code, m.attempt, m.lost_attempts,
           m.conversation_id, m.details, m.faults, m.finished_at, m.seal
    FROM matches_match m
    JOIN matches_round r ON r.id = m.round_id
    JOIN agents_registry_agent a ON a.id = m.player_a_id
    JOIN agents_registry_agent b ON b.id = m.player_b_id
    LEFT JOIN agents_registry_agent w ON w.id = m.winner_id
    ORDER BY m.id
"""
_EVENTS = "SELECT league_id, seq, kind, data, at FROM matches_event ORDER BY league_id, seq"
_AGENTS = "SELECT id, kind, code, league_id, name, state, silences, problem FROM agents_registry_agent ORDER BY id"
_TOKENS = "SELECT agent_id, sha256 FROM agents_registry_agenttoken"
_WAITING = """
    SELECT b.league_id, count(*) FROM matches_delivery d JOIN matches_broadcast b ON b.id = d.broadcast_id
    WHERE d.state = 'PENDING' GROUP BY b.league_id
"""
_FAILED = """
    SELECT b.league_id, a.code, b.message_type, d.problem FROM matches_delivery d
    JOIN matches_broadcast b ON b.id = d.broadcast_id JOIN agents_registry_agent a ON a.id = d.agent_id
    WHERE d.state = 'FAILED' ORDER BY d.id
"""


@dataclass(frozen=True, slots=True)
class MatchRow:
    """One match with its result.

    Attributes:
        seal: the verdict as it was sealed, with the attempt and conversation of that time; None if nothing was sealed.
            ``untold`` is true if no referee could tell it to the players.
    """

    league_id: str
    match_id: str
    round_number: int
    player_a: str
    player_b: str
    state: str
    status: str
    winner: str | None
    attempt: int
    lost_attempts: int
    conversation_id: str
    details: dict[str, Any]
    faults: list[Any]
    finished_at: float | None
    seal: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent."""

    pk: int
    kind: str
    code: str
    league_id: str | None
    name: str
    state: str
    silences: int
    problem: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything in the database that is checked.

    Attributes:
        leagues: state by id.
        rounds: (league, number, state).
        events: (league, number, kind, data, at).
        tokens: (agent, SHA-256).
        waiting: how many deliveries are pending, by league.
        failed: the deliveries that failed: message type and problem, by league and agent's id.
    """

    leagues: dict[str, str]
    rounds: list[tuple[str, int, str]]
    matches: list[MatchRow]
    events: list[tuple[str, int, str, dict[str, Any], float]]
    agents: list[Agent]
    tokens: list[tuple[int, str]]
    waiting: dict[str, int]
    failed: dict[tuple[str, str], list[str]] = field(default_factory=dict)


class Database(Protocol):
    """A database to read from."""

    def read(self, sql: str) -> Sequence[Sequence[Any]]:
        """All rows of a query."""
        ...


class Sqlite:
    """Reads a SQLite file.

    Args:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, sql: str) -> Sequence[Sequence[Any]]:
        with contextlib.closing(sqlite3.connect(f"file:{self._path}?mode=ro", uri=True, timeout=10)) as connection:
            return connection.execute(sql).fetchall()


class Postgresql:
    """Reads a PostgreSQL database.

    Args:
        url: ``postgres://…``.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._where = f"host={parts.hostname} port={parts.port} user={parts.username} dbname={parts.path.lstrip('/')}"

    def read(self, sql: str) -> Sequence[Sequence[Any]]:
        with psycopg.connect(self._where, connect_timeout=5) as connection:
            return connection.execute(sql).fetchall()


def leagues_of(database: Database) -> dict[str, str]:
    """The state of every league but the demo."""
    return {str(league): str(state) for league, state in database.read(_LEAGUES)}


def matches_of(database: Database) -> list[MatchRow]:
    """Every match."""
    return [
        MatchRow(
            *row[:11],
            details=_value(row[11]),
            faults=_value(row[12]),
            finished_at=_moment(row[13]),
            seal=_value(row[14]),
        )
        for row in database.read(_MATCHES)
    ]


def snapshot_of(database: Database) -> Snapshot:
    """Read everything that is checked."""
    failed: dict[tuple[str, str], list[str]] = {}
    for league, code, message_type, problem in database.read(_FAILED):
        failed.setdefault((str(league), str(code)), []).append(f"{message_type}: {problem}")
    return Snapshot(
        leagues=leagues_of(database),
        rounds=[(str(league), int(number), str(state)) for league, number, state in database.read(_ROUNDS)],
        matches=matches_of(database),
        events=[
            (str(league), int(seq), str(kind), _value(data), _moment(at) or 0.0)
            for league, seq, kind, data, at in database.read(_EVENTS)
        ],
        agents=[Agent(*row) for row in database.read(_AGENTS)],
        tokens=[(int(agent), str(digest)) for agent, digest in database.read(_TOKENS)],
        waiting={str(league): int(count) for league, count in database.read(_WAITING)},
        failed=failed,
    )


def _value(raw: Any) -> Any:
    """A JSON value; SQLite has it as text."""
    return json.loads(raw) if isinstance(raw, str) else raw


def _moment(raw: Any) -> float | None:
    """A time in seconds since 1970; SQLite has it as text, in UTC without a zone."""
    if raw is None:
        return None
    if isinstance(raw, str):
        raw = datetime.fromisoformat(raw)
    return float((raw if raw.tzinfo else raw.replace(tzinfo=UTC)).timestamp())
