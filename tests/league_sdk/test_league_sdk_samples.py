"""``tests/samples``: one real message of every type (004 table 11 and 3.8.2; ruling, sections 3 and 4).

The messages of the league manager and of referees are built by the real code at a fixed time and must equal their
samples. The messages of agents are written by hand after 004 chapter 8 and must be understood.
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings
from django.test import Client as Browser
from django.utils import timezone

from agents_registry.models import Agent
from agents_registry.registering import credentials, registration
from league_sdk import match_messages
from league_sdk.dialects import answers
from league_sdk.judging.worker import league_link
from league_sdk.judging.worker.league_link import LeagueLink, referee_meta
from league_sdk.judging.worker.referee import Referee
from league_sdk.ledger.chain import is_hash
from league_sdk.protocol import SDK_VERSION, rpc, tokens
from league_sdk.protocol.messages import METHODS, MessageType
from league_sdk.protocol.states import MatchState
from league_sdk.protocol.transcript import entry
from league_sdk.rules.even_odd import EvenOdd
from league_sdk.transport.client import Reply
from matches.conducting import due
from matches.league import lifecycle, opening, outbox
from tests.league_sdk.judging.scripted import BEGIN, SILENCE, A, B, ScriptedMatch, brief
from tests.league_sdk.judging.staged import KEY, WIN, Stage, settle
from tests.league_sdk.judging.starts import START
from tests.paths import SAMPLES, SAMPLES_FOLDER

AGENTS = ["GAME_JOIN_ACK", "CHOOSE_PARITY_RESPONSE", "GAME_MOVE_RESPONSE", "LEAGUE_REGISTER_REQUEST", "LEAGUE_QUERY"]
REFEREES = ["GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_MOVE_CALL", "GAME_OVER", "GAME_ERROR"]
REPORTS = ["REFEREE_REGISTER_REQUEST", "MATCH_RESULT_REPORT"]
MANAGERS = [name for name in MessageType if name not in (*AGENTS, *REFEREES, *REPORTS)]
DRAW: dict[str, Any] = {"status": "DRAW", "result": {"winner": None}}
ROUNDS: list[dict[str, dict[str, Any]]] = [  # by match: how its result in 004 8.9 differs from the sample
    {"R1M1": {}, "R1M2": DRAW},
    {"R2M1": DRAW, "R2M2": {"result": {"winner": "P04"}}},
    {"R3M1": {}, "R3M2": {"result": {"winner": "P03"}}},
]
ZERO = {"wins": 0, "losses": 0, "draws": 0}
PATH_SECRET = "tok_" + "5a" * 16
LEAGUE_ID = "league_2025_even_odd"

Story = dict[str, dict[str, Any]]


def wire(message: Any) -> Any:
    """The message as the receiver decodes it."""
    return json.loads(rpc.dumps(message))


def test_every_type_has_a_sample() -> None:
    assert sorted(SAMPLES) == sorted(MessageType)
    assert {name: sample["message_type"] for name, sample in SAMPLES.items()} == {name: name for name in SAMPLES}


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_a_sample_begins_with_the_envelope_and_is_formatted(name: str) -> None:
    sample = SAMPLES[name]
    assert list(sample)[:5] == ["protocol", "message_type", "sender", "timestamp", "conversation_id"]
    assert sample["protocol"] == "league.v2"
    text = (SAMPLES_FOLDER / f"{name}.json").read_text(encoding="utf-8")
    assert text == json.dumps(sample, indent=2, ensure_ascii=False) + "\n"


REQUEST = (
    "referee_endpoint player_id league_id round_id match_id game_type opponent_id deadline context.opponent_id "
    "context.your_standings.wins context.your_standings.losses context.your_standings.draws"
)
SUPERSET = {  # ruling, section 4: what the documents name differently is there under every name
    "LEAGUE_REGISTER_RESPONSE": "reason rejection_reason auth_token league_id player_id status",
    "REFEREE_REGISTER_RESPONSE": "reason rejection_reason auth_token league_id referee_id status",
    "ROUND_COMPLETED": "matches_completed matches_played completed_matches summary next_round_id",
    "LEAGUE_COMPLETED": "final_standings.0.rank final_standings.0.player_id final_standings.0.display_name "
    "final_standings.0.points",
    "GAME_ERROR": "retry_count max_retries retry_info.next_retry_at retry_info.retry_count error_name "
    "error_description affected_player player_id retryable game_state action_required consequence",
    "LEAGUE_ERROR": "error_code error_name error_description context original_message_type retryable",
    "GAME_INVITATION": REQUEST,
    "CHOOSE_PARITY_CALL": REQUEST,
}


@pytest.mark.parametrize("name", SUPERSET)
def test_a_fact_with_two_names_is_sent_under_both(name: str) -> None:
    missing = []
    for path in SUPERSET[name].split():
        holder: Any = SAMPLES[name]
        for part in path.split("."):
            step = int(part) if isinstance(holder, list) else part
            if step not in (range(len(holder)) if isinstance(holder, list) else holder):
                missing.append(path)
                break
            holder = holder[step]
    assert missing == []


# -- a referee to players ---------------------------------------------------------------------------------


class Generic(EvenOdd):
    """Even/Odd with GAME_MOVE_CALL and GAME_MOVE_RESPONSE, as in 004 3.8.2."""

    call_message = MessageType.GAME_MOVE_CALL
    response_message = MessageType.GAME_MOVE_RESPONSE


async def test_a_referee_sends_the_samples_to_players() -> None:
    seats = {
        "a": {"league_token": "tok_" + "a1" * 16, "standings": ZERO, "path_secret": PATH_SECRET},
        "b": {"league_token": "tok_" + "b2" * 16, "standings": ZERO, "path_secret": PATH_SECRET},
    }
    played, silent = ScriptedMatch(brief=brief(**seats)), ScriptedMatch(brief=brief(**seats), moves={B: [SILENCE] * 4})
    await played.play()
    await silent.play()
    generic = Generic()
    match = played.brief
    deadline = datetime(2025, 1, 15, 10, 15, 30, tzinfo=UTC)
    sent: Story = {
        **{one.type: one.message for one in played.to(A)},
        "GAME_ERROR": silent.to(B, "GAME_ERROR")[0].message,
        "GAME_MOVE_CALL": match_messages.move_call(
            match.to(match.seats[0]), generic, generic.new_state((A, B)), now=BEGIN, deadline=deadline
        ),
    }
    assert {name: wire(message) for name, message in sent.items()} == {name: SAMPLES[name] for name in REFEREES}


# -- a referee to the league manager ----------------------------------------------------------------------


class Manager:
    """A league manager that accepts every message and stores it."""

    def __init__(self) -> None:
        self.messages: Story = {}

    async def post(self, url: str, message: dict[str, Any], *, limit_s: float, headers: Any = None) -> Reply:
        params = wire(message["params"])
        self.messages[params["message_type"]] = params
        accepted = {"status": "ACCEPTED", "referee_id": "REF01", "auth_token": "tok_" + "c3" * 16}
        result = accepted | {"league_token": START["auth_token"]}
        return Reply(200, {"jsonrpc": "2.0", "result": result, "id": message["id"]}, "", 0.0)

    async def aclose(self) -> None:
        self.messages.clear()


async def test_a_referee_sends_the_samples_to_the_league_manager(monkeypatch: pytest.MonkeyPatch) -> None:
    stage, manager = Stage(), Manager()
    monkeypatch.setattr(league_link, "datetime", SimpleNamespace(now=BEGIN.astimezone))
    monkeypatch.setattr(league_link, "uuid", SimpleNamespace(uuid4=lambda: UUID(int=0xABCDEF << 104)))
    own_meta = referee_meta("Referee Alpha", "http://localhost:8001/mcp", ["even_odd"], 2, "the-key-of-the-site")
    link = LeagueLink("http://localhost:8000/mcp", own_meta, manager)
    await link.register()
    referee = Referee(link, endpoint=own_meta["contact_endpoint"], max_concurrent=2, uses=stage.uses)
    referee.start_match(START)
    await settle()
    fields = {"sender": "P01", "recipient": "REF01", "elapsed_ms": 120, "limit_ms": 30000, "http_status": 200}
    answer = {"jsonrpc": "2.0", "result": SAMPLES["CHOOSE_PARITY_RESPONSE"], "id": 1101}
    stage.logs[KEY].set_state(MatchState.COLLECTING_CHOICES, BEGIN)
    stage.logs[KEY].add(entry(n=0, at=BEGIN, message_type="CHOOSE_PARITY_RESPONSE", body=answer, **fields))
    stage.end(WIN)
    await settle()
    # The sample does not follow every release.
    meta = manager.messages["REFEREE_REGISTER_REQUEST"]["referee_meta"]
    assert meta["version"] == SDK_VERSION
    meta["version"] = SAMPLES["REFEREE_REGISTER_REQUEST"]["referee_meta"]["version"]
    assert manager.messages == {name: SAMPLES[name] for name in REPORTS}
    await referee.aclose()


# -- the league manager -----------------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Returns a function that sets the time of the site, on 2025-01-15."""

    def set_to(time: str) -> None:
        moment = datetime.fromisoformat(f"2025-01-15T{time}+00:00")
        monkeypatch.setattr(timezone, "now", lambda: moment)

    return set_to


@pytest.fixture
def story(db: None, client: Browser, clock: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> Story:
    """Play the league of chapter 8; returns the league manager's first message of each type to REF01 or P01."""
    made = iter(range(1, 100))
    monkeypatch.setattr(tokens, "new_token", lambda: f"tok_{next(made):032x}")
    monkeypatch.setattr(
        credentials, "league_token", lambda agent: "tok_" + ("a1" if agent.code == "P01" else "e5") * 16
    )
    messages: Story = {}

    def hear(message: dict[str, Any]) -> dict[str, Any]:
        messages.setdefault(message["message_type"], message)
        return message

    def tell(sample: str, **changes: Any) -> dict[str, Any]:
        message = SAMPLES[sample] | changes
        body = rpc.dumps(rpc.call(METHODS[MessageType(sample)], message, 1))
        reply = client.post("/mcp", body, content_type="application/json").json()
        return reply["result"] if "result" in reply else hear(reply["error"]["data"])

    def deliver() -> None:
        plan = due.look(busy_agents=(), draining=False)
        for parcel in plan.parcels[first]:
            hear(json.loads(parcel.body)["params"])
        settled = [(parcel.delivery_pk, "") for parcels in plan.parcels.values() for parcel in parcels]
        outbox.settle(settled)

    clock("10:00:01")
    opening.create_league(league_id=LEAGUE_ID, display_name="Even/Odd League")
    meta = SAMPLES["REFEREE_REGISTER_REQUEST"]["referee_meta"] | {"registration_code": settings.LEAGUE_REFEREE_KEY}
    referee = hear(tell("REFEREE_REGISTER_REQUEST", referee_meta=meta))
    clock("10:05:01")
    player = hear(tell("LEAGUE_REGISTER_REQUEST"))
    first = Agent.objects.get(code="P01").pk
    for port, name in ((8102, "Agent Beta"), (8103, "Agent Gamma"), (8104, "Agent Delta")):
        meta = SAMPLES["LEAGUE_REGISTER_REQUEST"]["player_meta"] | {
            "display_name": name,
            "contact_endpoint": f"http://localhost:{port}/mcp",
        }
        assert tell("LEAGUE_REGISTER_REQUEST", player_meta=meta)["status"] == "ACCEPTED"
    for number, results in enumerate(ROUNDS, start=1):
        clock(f"1{number - 1}:10:00")
        registration.heard_from_referee(agent_id=Agent.objects.get(code="REF01").pk)
        lifecycle.start_league(league_id=LEAGUE_ID)
        deliver()
        due.look(busy_agents=(), draining=False)
        due.look(busy_agents=(), draining=False)
        clock(f"1{number - 1}:20:00")
        for match_id, changes in results.items():
            fields = {"match_id": match_id, "round_id": number, "auth_token": referee["auth_token"]}
            assert tell("MATCH_RESULT_REPORT", **fields, **changes)["status"] == "ACCEPTED"
        deliver()
        if number == 1:
            clock("10:25:00")
            hear(tell("LEAGUE_QUERY", auth_token=player["auth_token"]))
            tell("LEAGUE_QUERY")
    return messages


def test_the_league_manager_sends_the_samples(story: Story) -> None:
    """It also understands the samples of agents, which are sent to it here."""
    table = story["LEAGUE_STANDINGS_UPDATE"]
    # The digest depends on random salts.
    assert is_hash(table["ledger_head"])
    table["ledger_head"] = SAMPLES["LEAGUE_STANDINGS_UPDATE"]["ledger_head"]
    for name in ("LEAGUE_REGISTER_RESPONSE", "REFEREE_REGISTER_RESPONSE"):
        # The addresses are those that the agent called.
        assert story[name]["inbox"]["poll_url"] == "http://testserver/inbox"
        story[name]["inbox"] = SAMPLES[name]["inbox"]
    assert {name: wire(story[name]) for name in MANAGERS} == {name: SAMPLES[name] for name in MANAGERS}
    assert sorted(story) == sorted(MANAGERS)


# -- agents to a referee ----------------------------------------------------------------------------------


def answer_of(name: str) -> answers.Answer:
    reply = {"jsonrpc": "2.0", "result": SAMPLES[name], "id": 1101}
    return answers.read_answer(reply, rpc_id=1101)


@pytest.mark.parametrize("name", ["GAME_JOIN_ACK", "CHOOSE_PARITY_RESPONSE", "GAME_MOVE_RESPONSE"])
def test_a_referee_reads_the_samples_of_players_without_notes(name: str) -> None:
    answer = answer_of(name)
    assert answer == answers.Answer(message=SAMPLES[name], refused=None, notes=())
    assert answers.oddities(answer.message, match_id="R1M1", player_id="P01") == []


def test_a_referee_reads_the_decisions_in_the_samples() -> None:
    assert answers.accepted(answer_of("GAME_JOIN_ACK").message) is True
    assert answers.choice(answer_of("CHOOSE_PARITY_RESPONSE").message, "parity_choice") == "even"
    assert answers.choice(answer_of("GAME_MOVE_RESPONSE").message, "choice") == "even"
