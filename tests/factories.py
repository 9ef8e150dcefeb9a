"""Leagues, agents and reports for tests, made through the same verbs as real ones unless a docstring says otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import asdict, dataclass
from typing import Any

from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agents_registry.addresses.endpoints import read_endpoint
from agents_registry.models import Agent, AgentToken, Kind
from agents_registry.names import lookalikes
from agents_registry.requests.reading import read_request
from league_sdk.ledger.kinds import EventKind
from league_sdk.protocol import tokens
from league_sdk.protocol.transcript import REDACTED
from matches.conducting import due
from matches.league import freeze, lifecycle, making, opening, reporting
from matches.league import progress as heartbeat
from matches.league.effects import record
from matches.league.entry import register_player, register_referee
from matches.league.progress_reading import MatchProgress
from matches.models import League, Match, Round
from tests import wire


def message_from(who: RegisteredAgent, message_type: str, **fields: Any) -> dict[str, Any]:
    """A message of a registered agent, with its auth_token."""
    return {
        "protocol": "league.v2",
        "message_type": message_type,
        "sender": f"{who.agent.kind}:{who.agent.code}",
        "timestamp": wire.STAMP,
        "conversation_id": "conv-of-the-test",
        "auth_token": who.token,
    } | fields


@contextmanager
def counting_queries(counts: list[int]) -> Iterator[None]:
    """Append to ``counts`` the number of database queries that the block makes."""
    with CaptureQueriesContext(connection) as seen:
        yield
    counts.append(len(seen))


# Agents and leagues -----------------------------------------------------------------------------


@dataclass(frozen=True)
class RegisteredAgent:
    """An agent and the auth_token that it got when it registered."""

    agent: Agent
    token: str

    def fresh(self) -> Agent:
        """The row, read anew from the database."""
        return Agent.objects.get(pk=self.agent.pk)


def player(name: str, league_id: str | None = None, *, port: int = 8101, **changes: Any) -> RegisteredAgent:
    """Register a player."""
    params = wire.player_request(name, port=port, sender=f"player:{name}", **changes)
    read = read_request(params, kind=Kind.PLAYER, caller="127.0.0.1")
    done = register_player(request=read, named=league_id)
    assert done.agent is not None, done.reason
    return RegisteredAgent(done.agent, done.auth_token)


def referee(
    name: str = "Referee 1",
    *,
    port: int = 8001,
    trusted: bool = True,
    progress: bool = True,
    room: int = 10,
    own_league: str | None = None,
    endpoint: str | None = None,
) -> RegisteredAgent:
    """Register a referee.

    Args:
        trusted: whether it shows the site's key.
        progress: whether it says that it sends heartbeats.
        room: how many matches it judges at the same time.
        own_league: the league at whose own address it registers.
    """
    code = {"code": settings.LEAGUE_REFEREE_KEY} if trusted else {}
    where = {"endpoint": endpoint} if endpoint else {}
    params = wire.referee_request(name, port=port, progress=progress, room=room, **code, **where)
    read = read_request(params, kind=Kind.REFEREE, caller="127.0.0.1")
    done = register_referee(request=read, named=own_league, own_address=own_league is not None)
    assert done.agent is not None, done.reason
    return RegisteredAgent(done.agent, done.auth_token)


def open_league(league_id: str = "fall", **settings: Any) -> League:
    """A league that is open for registration, without agents."""
    return opening.create_league(league_id=league_id, display_name=league_id.title(), settings=settings)


def insert_players(league_id: str, count: int, *, letter: str = "P") -> list[Agent]:
    """Insert many players directly into the database, for tests that a cost does not grow with their number."""
    now = timezone.now()
    return Agent.objects.bulk_create(
        Agent(
            kind=Kind.PLAYER,
            league_id=league_id,
            code=f"{letter}{number:02d}",
            name=f"Player {letter}{number}",
            display_name=f"Player {number}",
            endpoint=f"http://localhost:{number}/mcp",
            endpoint_key=f"127.0.0.1|{number}/mcp",
            registered_at=now,
        )
        for number in range(1, count + 1)
    )


@dataclass(frozen=True)
class MadeLeague:
    """A league with its players and referees."""

    league_id: str
    players: list[RegisteredAgent]
    referees: list[RegisteredAgent]

    @property
    def league(self) -> League:
        """The row, read anew from the database."""
        return League.objects.get(pk=self.league_id)

    def match(self, match_id: str) -> Match:
        """A match as it is now."""
        return Match.objects.select_related("referee", "player_a", "player_b", "winner", "league").get(
            league_id=self.league_id, match_id=match_id
        )

    def states(self) -> dict[str, str]:
        """The state of every match."""
        return dict(Match.objects.filter(league_id=self.league_id).order_by("pk").values_list("match_id", "state"))

    def events(self) -> list[str]:
        """Kinds of all events, in order."""
        return list(self.league.events.order_by("seq").values_list("kind", flat=True))

    def referee_of(self, match_id: str) -> RegisteredAgent:
        """The referee that judges a match now."""
        judge = self.match(match_id).referee_id
        return next(one for one in self.referees if one.agent.pk == judge)


def league(league_id: str = "fall", *, players: int = 4, referees: int = 1, **settings: Any) -> MadeLeague:
    """A league in REGISTRATION with players P01, P02, … (see :func:`_register_alike`) and referees."""
    judges = [referee(f"Referee {number}", port=8000 + number) for number in range(1, referees + 1)]
    open_league(league_id, **settings)
    members = [player("Player 1", league_id, port=8101)] if players else []
    if members and members[0].agent.code == "P01" and not Agent.objects.filter(league=None, kind=Kind.PLAYER).exists():
        members += _register_alike(members[0].agent, range(2, players + 1))
    else:
        # The ids of players that were in the lobby are taken.
        members += [player(f"Player {number}", league_id, port=8100 + number) for number in range(2, players + 1)]
    return MadeLeague(league_id, members, judges)


def _register_alike(first: Agent, numbers: Sequence[int]) -> list[RegisteredAgent]:
    """Make the rows and events that registrations of further players like ``first`` make, in a tenth of the time.

    A test holds them against real registrations (tests/test_factories.py).
    """
    secrets = [tokens.new_token() for _ in numbers]
    agents = []
    for number in numbers:
        agent = copy(first)
        agent.pk, agent.code = None, f"P{number:02d}"
        agent.name = agent.display_name = agent.sender_name = f"Player {number}"
        agent.endpoint = f"http://localhost:{8100 + number}/mcp"
        agent.endpoint_key = read_endpoint(agent.endpoint, caller="127.0.0.1", field="endpoint").key
        agent.registered_at = agent.heard_at = timezone.now()
        agents.append(agent)
    Agent.objects.bulk_create(agents)
    lookalikes.remember(agents, new=True)
    AgentToken.objects.bulk_create(
        AgentToken(agent=agent, sha256=tokens.digest(secret), created_at=agent.registered_at, proven=True)
        for agent, secret in zip(agents, secrets, strict=True)
    )
    for agent in agents:
        record(agent.league_id, EventKind.PLAYER_REGISTERED, player_id=agent.code, name=agent.display_name)
    return [RegisteredAgent(agent, secret) for agent, secret in zip(agents, secrets, strict=True)]


def running_league(league_id: str = "fall", **how: Any) -> MadeLeague:
    """Like :func:`league`, with round 1 RUNNING and its matches assigned to their referees."""
    made = league(league_id, **how)
    next_round(made)
    return made


def next_round(made: MadeLeague) -> None:
    """Start a league's next round and hand its matches to their referees."""
    lifecycle.start_league(league_id=made.league_id)
    open_round(made.league_id)
    look()


def league_before_freeze() -> MadeLeague:
    """A league of four in which round 1 has been played, with the board frozen from round 2 on."""
    made = running_league(players=4)
    freeze.plan(league_id=made.league_id, from_round=2)
    finish_round(made)
    return made


def start_league(league_id: str) -> None:
    """Start a league, with the parts of a long schedule that a conductor would write."""
    lifecycle.start_league(league_id=league_id)
    if making.write_pieces():
        while making.write_pieces():
            continue
        lifecycle.start_league(league_id=league_id)


def open_round(league_id: str) -> None:
    """Open the current round, as when all its announcements have been delivered or have failed."""
    lifecycle.open_round(round_pk=Round.objects.get(league_id=league_id, state="ANNOUNCING").pk)


def look() -> due.Plan:
    """Have the conductor look once for what is due."""
    return due.look(busy_agents=(), draining=False)


# Play -------------------------------------------------------------------------------------------


def result_fields(match: Match, winner: str | None, **changes: Any) -> dict[str, Any]:
    """What a report of one match says: a win, or a draw when there is no winner."""
    a, b = match.player_a.code, match.player_b.code
    points = {a: 1, b: 1} if winner is None else {a: 3 * (a == winner), b: 3 * (b == winner)}
    choices = {a: "even", b: "odd" if winner else "even"}
    return {
        "league_id": match.league_id,
        "round_id": match.round.number,
        "match_id": match.match_id,
        "game_type": match.league.game_type,
        "attempt": match.attempt,
        "result": {"winner": winner, "score": points, "details": {"drawn_number": 8, "choices": choices}},
    } | changes


def no_answer_from(match: Match, *player_ids: str) -> dict[str, Any]:
    """The changes to a report that say that these players never answered."""
    others = [code for code in (match.player_a.code, match.player_b.code) if code not in player_ids]
    winner = others[0] if others else None
    return {
        "status": "TECHNICAL_LOSS",
        "result": {"winner": winner, "score": {}, "details": {}},
        "faults": [
            {"player_id": code, "error_code": "E001", "message_type": "GAME_INVITATION", "tries": 4, "sentence": "gone"}
            for code in player_ids
        ],
    }


def report(match: Match, winner: str | None, **changes: Any) -> dict[str, Any]:
    """Have the match's referee report the result; returns the fields of the answer."""
    fields = result_fields(match, winner, **changes)
    assert match.referee is not None
    return reporting.report(
        referee=match.referee,
        league_id=match.league_id,
        match_id=match.match_id,
        attempt=fields["attempt"],
        params=fields,
        transcript=fields.get("transcript", []),
    )


def finish_round(made: MadeLeague, winner: int | None = 0) -> None:
    """Assign the rest of the running round, and let PLAYER_A (0), PLAYER_B (1) or nobody (None) win every match."""
    look()
    for match_id, state in made.states().items():
        if state == "ASSIGNED":
            match = made.match(match_id)
            codes = (match.player_a.code, match.player_b.code)
            report(match, None if winner is None else codes[winner])


def set_completed(league_id: str) -> None:
    """Set a league to COMPLETED directly in the database, for tests that a cost does not grow with many results."""
    League.objects.filter(pk=league_id).update(state="COMPLETED", completed_at=timezone.now())
    record(league_id, EventKind.LEAGUE_COMPLETED, champion={}, champions=[])


def progress_of(match: Match, **changes: Any) -> MatchProgress:
    """What a heartbeat says of one match."""
    about = {"league_id": match.league_id, "match_id": match.match_id, "attempt": match.attempt}
    return MatchProgress(**about | {"state": "WAITING_FOR_PLAYERS"} | changes)


def progress_item(match: Match, **changes: Any) -> dict[str, Any]:
    """The same as a dictionary, as ``report_progress`` carries it."""
    return asdict(progress_of(match, **changes))


def progress(match: Match, **changes: Any) -> str:
    """Have the match's referee send a heartbeat for it; returns the answer's status, such as ``ok`` or ``lost``."""
    assert match.referee is not None
    return heartbeat.progress(referee=match.referee, items=[progress_of(match, **changes)])[0]["status"]


def entry(number: int, **changes: Any) -> dict[str, Any]:
    """One entry of a transcript."""
    return {
        "n": number,
        "at": f"2025-01-15T10:15:0{number % 10}+00:00",
        "sender": "referee:REF01",
        "recipient": "player:P01",
        "message_type": "GAME_INVITATION",
        "method": "handle_game_invitation",
        "elapsed_ms": None,
        "limit_ms": 5000,
        "http_status": None,
        "problem": "",
        "notes": [],
        "body": {"auth_token": REDACTED},
    } | changes
