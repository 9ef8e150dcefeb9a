"""A league of any size written straight into a database, for what no site has to make for the measuring."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import psycopg

from league_sdk.formats.round_robin import planned_round, rounds_of
from league_sdk.ledger import chain

MESSAGES = 8
"""Messages in the transcript of each match that was played."""
_NEW_MATCH = {
    "state": "'PENDING'",
    **dict.fromkeys(("attempt", "lost_attempts"), "0"),
    **dict.fromkeys(("conversation_id", "status", "reason", "draw_seed"), "''"),
    **dict.fromkeys(("joined", "locked_in", "lifecycle", "faults", "moves", "excused"), "'[]'"),
    **dict.fromkeys(("view", "details", "said"), "'{}'"),
    "play": "1",
}
"""What stands in the columns of a match that waits for its round."""


class Database(Protocol):
    """What the functions below need of a connection; the marks in a statement are question marks."""

    def execute(self, sql: str, values: Sequence[Any] = ..., /) -> Any:
        """Run a statement."""

    def executemany(self, sql: str, values: Sequence[Any], /) -> Any:
        """Run a statement for each of some rows of values."""


class Postgres:
    """A connection to PostgreSQL, outside of transactions, that takes question marks for values."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.connection = connection

    def execute(self, sql: str, values: Sequence[Any] = ()) -> Any:
        """Run a statement."""
        return self.connection.execute(sql.replace("?", "%s").encode(), values)

    def executemany(self, sql: str, values: Sequence[Any]) -> Any:
        """Run a statement for each of some rows of values."""
        with self.connection.cursor() as cursor:
            cursor.executemany(sql.replace("?", "%s").encode(), values)


def fill(database: Postgres, league: str, players: int) -> None:
    """Write the second to last player of a league, each as its first one but for name and address."""
    sql = "SELECT column_name FROM information_schema.columns WHERE table_name = 'agents_registry_agent'"
    columns = [name for (name,) in database.execute(sql)]
    columns.remove("id")
    own = {
        **dict.fromkeys(("name", "display_name"), "'Player ' || n"),
        "code": "'P' || to_char(n, 'FM9900')",
        "endpoint": "'http://localhost:' || 20000 + n || '/mcp'",
        "endpoint_key": "'127.0.0.1|' || n || '/mcp'",
    }
    values = ", ".join(own.get(name, name) for name in columns)
    database.execute(
        f"INSERT INTO agents_registry_agent ({', '.join(columns)}) SELECT {values} "  # noqa: S608 - names are ours
        "FROM agents_registry_agent, generate_series(2, ?) AS n WHERE league_id = ? AND code = 'P01'",
        [players, league],
    )


def schedule(database: Postgres, league: str) -> None:
    """Write the whole schedule of a league in one or two minutes, two million matches among 2,000 players."""
    sql = "SELECT id FROM agents_registry_agent WHERE league_id = ? AND kind = 'player' ORDER BY id"
    seats = [pk for (pk,) in database.execute(sql, [league])]
    names, values = ", ".join(_NEW_MATCH), ", ".join(_NEW_MATCH.values())
    with database.connection.transaction():
        # No look at another table for each row: every row refers to what is there.
        database.execute("SET LOCAL session_replication_role = replica")
        database.execute("CREATE TEMP TABLE pairs (number int, match_id text, a int, b int) ON COMMIT DROP")
        with database.connection.cursor().copy("COPY pairs FROM STDIN") as copy:
            for number in range(1, rounds_of(len(seats)) + 1):
                pairs = planned_round(len(seats), number).pairings
                copy.write("".join(f"{number}\t{p.match_id}\t{seats[p.a]}\t{seats[p.b]}\n" for p in pairs))
        database.execute(
            "INSERT INTO matches_round (league_id, number, state) SELECT DISTINCT ?, number, 'PENDING' FROM pairs",
            [league],
        )
        database.execute(
            f"INSERT INTO matches_match (league_id, round_id, match_id, player_a_id, player_b_id, {names}) "  # noqa: S608 - names are ours
            f"SELECT r.league_id, r.id, p.match_id, p.a, p.b, {values} FROM pairs p "
            "JOIN matches_round r ON r.number = p.number AND r.league_id = ?",
            [league],
        )
        database.execute("UPDATE matches_league SET state = 'SCHEDULED' WHERE league_id = ?", [league])
    database.execute("ANALYZE")


def play(database: Database, league: str, rounds: int) -> None:
    """Write results, transcripts and events of the first rounds; the league is paused. Call in a transaction."""
    now = datetime.now(UTC)
    seq, head = database.execute(
        "SELECT event_seq, ledger_head FROM matches_league WHERE league_id = ?", [league]
    ).fetchone()
    codes = dict(
        database.execute("SELECT id, code FROM agents_registry_agent WHERE league_id = ?", [league]).fetchall()
    )
    events: list[tuple[Any, ...]] = []

    def record(kind: str, data: Mapping[str, Any]) -> None:
        nonlocal seq, head
        seq, at, salt = seq + 1, now + timedelta(milliseconds=seq), secrets.token_hex(chain.SALT_BYTES)
        head = chain.link(head, salt, league_id=league, seq=seq, kind=kind, at=at, data=data).digest
        events.append((league, seq, kind, json.dumps(data), at.strftime("%Y-%m-%d %H:%M:%S.%f"), head, salt))

    for number in range(1, rounds + 1):
        matches = database.execute(
            "SELECT m.id, m.match_id, m.player_a_id, m.player_b_id FROM matches_match m JOIN matches_round r "
            "ON r.id = m.round_id WHERE r.league_id = ? AND r.number = ?",
            [league, number],
        ).fetchall()
        record("round_started", {"round_id": number})
        record("round_opened", {"round_id": number})
        ends, entries = [], []
        for pk, match_id, first, second in matches:
            winner = first if pk % 3 else second
            players = [codes[first], codes[second]]
            details = {"drawn_number": pk % 10 + 1, "choices": dict.fromkeys(players, "even")}
            result = {"status": "WIN", "winner_id": codes[winner], "reason": "The number decided."}
            result |= {"details": details, "faults": [], "attempt": 1, "referee_id": None}
            record("match_finished", {"match_id": match_id, "round_id": number, "players": players, **result})
            ends.append((winner, result["reason"], json.dumps(details), now.strftime("%Y-%m-%d %H:%M:%S"), pk))
            entry = {"sender": "REF01", "recipient": players[0], "message_type": "GAME_INVITATION"}
            entry |= {"at": now.isoformat(), "problem": None, "body": {"match_id": match_id, "filler": "x" * 400}}
            entries += [(pk, n, json.dumps(entry | {"n": n})) for n in range(MESSAGES)]
        database.executemany(
            "UPDATE matches_match SET state = 'FINISHED', status = 'WIN', winner_id = ?, reason = ?, "
            "details = ?, attempt = 1, finished_at = ? WHERE id = ?",
            ends,
        )
        database.executemany("INSERT INTO matches_message (match_id, attempt, n, entry) VALUES (?, 1, ?, ?)", entries)
        record("round_completed", {"round_id": number})
        database.execute(
            "UPDATE matches_round SET state = 'COMPLETED' WHERE league_id = ? AND number = ?", [league, number]
        )
    database.executemany(
        "INSERT INTO matches_event (league_id, seq, kind, data, at, digest, salt) VALUES (?, ?, ?, ?, ?, ?, ?)",
        events,
    )
    database.execute(
        "UPDATE matches_league SET state = 'RUNNING', paused = ?, event_seq = ?, ledger_head = ? WHERE league_id = ?",
        [True, seq, head, league],
    )
