"""Every answer has a schema that names its fields, and every answer fits it: nothing missing, nothing more."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import jsonschema
import pytest
from django.contrib.auth import get_user_model
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from agents_registry.models import Agent, NameRefused
from league_sdk.protocol import schemas
from leaguesite.observing import health
from matches.checks import runs, taking
from matches.league import losses
from matches.models import Check, Match
from tests import factories as make
from tests import rich
from tests.leaguesite.api import document

REFUSED = "#/components/schemas/Refusal"
READS = ("", "/standings", "/luck", "/rounds", "/matches", "/agents", "/notices", "/events", "/ledger", "/corrections")
Answers = set[tuple[str, str, int]]


def answers(operation: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """The schemas of an operation's answers in JSON that are not refusals, by status."""
    schema_by_status = {}
    for status, response in operation["responses"].items():
        for media, content in response.get("content", {}).items():
            if content["schema"].get("$ref") != REFUSED and media.endswith("json"):
                schema_by_status[status] = content["schema"]
    return schema_by_status


def test_no_answer_is_a_bare_object() -> None:
    for method, path, operation in document.operations():
        for status, schema in answers(operation).items():
            for one in schema.get("anyOf", [schema]):
                row = document.resolve(one["items"] if one.get("type") == "array" else one)
                assert row.get("properties") or row.get("type") in ("string", "integer"), (method, path, status)


def fields_of(schema: dict[str, Any], where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The fields of an object, each with its schema's name and its own."""
    for name, field in schema.get("properties", {}).items():
        yield f"{where}.{name}", field


def test_every_field_says_what_it_means_and_of_which_type_it_is() -> None:
    fields = [
        pair for name, schema in document.strict()["components"]["schemas"].items() for pair in fields_of(schema, name)
    ]
    assert [where for where, field in fields if not field.get("description")] == []
    any_json = {where for where, field in fields if not {"type", "anyOf", "enum", "const", "$ref"} & field.keys()}
    bodies = {"TranscriptEntry.body", "ClauseRow.sent", "ClauseRow.came", "StepRow.sent", "StepRow.came"}
    assert any_json == bodies | {"StepRow.move"}


@pytest.mark.parametrize(
    ("path", "field"), [("/api/checks", "auth_token"), ("/api/leagues/fall/corrections", "points")]
)
def test_the_bodies_of_checks_and_corrections_have_schemas_of_their_own(path: str, field: str) -> None:
    """Ninja lets the later of two models with one name replace the earlier one in the document."""
    _path, operation = document.operation_of("POST", path)
    body = operation["requestBody"]["content"]["application/json"]["schema"]
    assert field in document.resolve(body)["properties"]


def test_every_refusal_says_what_its_status_means() -> None:
    for method, path, operation in document.operations():
        for status, response in operation["responses"].items():
            schema = response.get("content", {}).get("application/json", {}).get("schema", {})
            if status >= 400 and schema.get("$ref") == REFUSED:
                assert response["description"].endswith("."), (method, path, status)


class Caller:
    """Calls the API with the key, and checks every answer against the document.

    Args:
        key: the instructor's API key.
    """

    def __init__(self, key: str) -> None:
        self.seen: Answers = set()
        self._client, self._headers = Client(), {"Authorization": f"Bearer {key}"}

    def get(self, path: str) -> Any:
        return self._checked("GET", path, self._client.get(path, headers=self._headers))

    def post(self, path: str, body: Any = None) -> Any:
        content = {"data": b"" if body is None else body, "content_type": "application/json"}
        return self._checked("POST", path, self._client.post(path, headers=self._headers, **content))

    def send_file(self, path: str, content: bytes) -> Any:
        form = {"file": SimpleUploadedFile("league.json", content)}
        return self._checked("POST", path, self._client.post(path, form, headers=self._headers))

    def _checked(self, method: str, path: str, response: Any) -> Any:
        where, operation = document.operation_of(method, path.partition("?")[0])
        answer = json.loads(b"".join(response.streaming_content) if response.streaming else response.content)
        media = response.headers["Content-Type"].partition(";")[0]
        document.assert_fits(document.schema_of(operation, response.status_code, media), answer)
        self.seen.add((method, where, response.status_code))
        return answer


@pytest.fixture
def caller(db: None, api_key: str) -> Caller:
    return Caller(api_key)


def read_all(caller: Caller, league_id: str) -> None:
    """Read everything of a league, as the public and as the staff see it."""
    for staff in ("", "?as=staff"):
        for read in READS:
            caller.get(f"/api/leagues/{league_id}{read}{staff}")
        for match_id in Match.objects.filter(league_id=league_id).values_list("match_id", flat=True):
            caller.get(f"/api/leagues/{league_id}/matches/{match_id}{staff}")


def read_the_site(caller: Caller) -> None:
    for path in (
        "leagues",
        "games",
        "gateways",
        "audit",
        "compatibility",
        "protocol/",
        *(f"protocol/{one}" for one in schemas.MODELS),
    ):
        caller.get(f"/api/{path}")
    for check in Check.objects.all():
        caller.get(f"/api/checks/{check.pk}")


def correct(caller: Caller) -> None:
    """Preview, make and undo a correction of points, of a match and of a player."""
    path = "/api/leagues/fall/corrections"
    for wish in (
        {"kind": "points", "player_id": "P01", "points": 2},
        {"kind": "void", "match_id": "R1M1"},
        {"kind": "withdraw", "player_id": "P02", "matches_become": "lose"},
    ):
        caller.post(path, {**wish, "reason": "because", "preview": True})
        number = caller.post(path, {**wish, "reason": "because"})["number"]
        caller.get(path)
        undo = f"{path}/{number}/undo"
        caller.post(undo, {"reason": "because", "preview": True})
        caller.post(undo, {"reason": "because"})


def run_a_league(caller: Caller) -> None:
    """From the opening of a league to its end."""
    path = "/api/leagues/spring"
    # A referee that sends no heartbeats: on a slow machine one might come too late, and its matches would be lost.
    make.referee("Patient", port=8050, progress=False)
    caller.post("/api/leagues", {"league_id": "spring"})
    for number in range(4):
        make.player(f"Player {number}", "spring", port=8100 + number)
    for action in ("close", "rounds/start", "pause", "resume"):
        caller.post(f"{path}/{action}")
    make.running_league("winter", players=4, referees=2)
    Match.objects.filter(league_id="winter").update(lost_attempts=2)
    losses.lose_attempt(matches=Match.objects.filter(league_id="winter"), why="test")
    for steered in ("next", "previous", "hold", "release", "automatic"):
        caller.post(f"/api/leagues/winter/screen/{steered}")
    caller.post("/api/leagues/winter/matches/R1M1/feature")
    for action in ("release", "cancel"):
        caller.post(f"/api/leagues/winter/matches/R1M1/{action}")
    caller.post(f"{path}/notices", {"text": "Hello", "player_id": "P01"})
    read_all(caller, "spring")
    caller.post(f"{path}/stop")
    caller.post("/api/leagues", {"league_id": "summer"})
    guests = [make.player(f"Guest {number}", "summer", port=8200 + number) for number in range(2)]
    practise(caller, guests[0].token)
    caller.post("/api/leagues/summer/start", {"auto_advance": True})
    caller.post("/api/referees/REF01/trust", {"trusted": True})
    caller.post("/api/gateways", {"host": "192.0.2.7"})
    caller.post("/api/checks", {"endpoint": "http://192.0.2.8:8101/mcp", "role": "player"})


def practise(caller: Caller, token: str) -> None:
    """Have an agent practise, and read the report."""
    practice = caller.post("/api/practice", {"auth_token": token})["practice_id"]
    [job] = [one for one in taking.take(now=timezone.now()) if one.opponent]
    step = {"message_type": "GAME_OVER", "sent": {}, "came": {}, "elapsed_ms": 3, "http_status": 200, "move": None}
    steps = [step | {"problem": "", "problem_words": None}]
    report = {"schema": 1, "status": "WIN", "view": {}, "steps": steps, "faults": [], "result": {}, "took_s": 0.1}
    runs.finish_practice(check_id=job.check_id, run=job.run, report=report)
    caller.get(f"/api/practice/{practice}")


def use_the_desk(caller: Caller) -> None:
    """Carry out the other actions of the desk: settings, plan, freeze, roster, roles, agents, names."""
    get_user_model().objects.create_user("ada", is_staff=True)
    path = "/api/leagues/autumn"
    caller.post("/api/leagues", {"league_id": "autumn"})
    caller.post(f"{path}/settings", {"display_name": "Autumn", "settings": {"move_timeout_s": 3}})
    caller.post(f"{path}/players", {"name": "By Hand", "endpoint": "http://192.0.2.9:8101/mcp"})
    caller.post(f"{path}/crowd/let_in", {"address": "203.0.113.5"})
    caller.post(f"{path}/roster", {"text": "name,email\nDana,dana@example.org"})
    number = caller.get(f"{path}/roster")[0]["number"]
    caller.post(f"{path}/agents/P01/edit", {"owner": number, "display_name": "Other"})
    caller.post(f"{path}/roster/remove", {"people": [number]})
    for action in ("ask", "check", "readmit", "revoke_tokens", "bring_back"):
        caller.post(f"{path}/agents/P01/{action}")
    for action in ("ask", "check"):
        caller.post(f"{path}/agents/{action}")
    caller.post(f"{path}/roles", {"username": "ada", "name": "assistant"})
    caller.post(f"{path}/roles/{caller.get(f'{path}/roles')[0]['number']}/take")
    tomorrow = (timezone.now() + timedelta(days=1)).isoformat()
    caller.post(f"{path}/plan", {"when": tomorrow, "all_rounds": True})
    caller.get(f"{path}/plan")
    for action in ("plan/call_off", "plan/forget"):
        caller.post(f"{path}/{action}")
    caller.post(f"{path}/freeze", {"from_round": 1})
    caller.get(f"{path}/freeze")
    caller.post(f"{path}/freeze/call_off")
    notice = caller.post(f"{path}/notices", {"text": "Hello"})["id"]
    caller.post(f"{path}/notices/{notice}/withdraw")
    caller.get(f"{path}/settings")
    names(caller, path)
    make.player("Second", "autumn", port=8302)
    caller.post(f"{path}/rounds/run_all")
    caller.post(f"{path}/rounds/one_by_one")


def season(caller: Caller) -> None:
    """A league that is over is cloned, put into a series and the archive, and deleted."""
    path = "/api/leagues/spring"
    caller.post(f"{path}/series", {"series_id": "course"})
    caller.get("/api/series")
    caller.get("/api/series/course")
    caller.post(f"{path}/clone", {"wanted_id": "next"})
    caller.post(f"{path}/archive")
    caller.post(f"{path}/archive/take_back")
    caller.post(f"{path}/series/leave")
    caller.post(f"{path}/delete", {"typed": "spring"})


def names(caller: Caller, path: str) -> None:
    """Two players were refused because their names look like another's: one is let in, one is put aside."""
    for number, name in enumerate(("0ther", "Оther")):
        made = NameRefused.objects.create(
            league_id="autumn",
            kind="player",
            name=name,
            endpoint=f"http://192.0.2.{number}:8101/mcp",
            endpoint_key=f"192.0.2.{number}:8101",
            resembles=Agent.objects.get(league_id="autumn", code="P01"),
            at=timezone.now(),
        )
        caller.get(f"{path}/names")
        caller.post(f"{path}/names/{made.pk}/{('let_in', 'put_aside')[number]}")


def files(caller: Caller) -> None:
    """The export of a league, and its import."""
    caller.get("/api/leagues/fall/export/league.json")
    document = caller.get("/api/leagues/fall/export/league.json?people=1")
    document["league"]["league_id"] = "imported"
    caller.send_file("/api/import", json.dumps(document).encode())


def refuse(caller: Caller) -> None:
    """Requests that are refused for different reasons: their refusals have one form."""
    caller.get("/api/leagues/nowhere")
    caller.get("/api/leagues/fall/matches?limit=x")
    caller.get("/api/protocol/NOTHING")
    caller.post("/api/leagues", {"league_id": "fall"})
    caller.post("/api/leagues", {"league_id": "x", "unknown": 1})


@pytest.mark.usefixtures("no_health_checks")
def test_every_answer_fits_its_schema_strictly(caller: Caller) -> None:
    caller.get("/health")
    health.add_check("referees", lambda: "1 of 2 referees have not registered")
    caller.get("/health")
    rich.over()
    read_all(caller, "fall")
    correct(caller)
    run_a_league(caller)
    read_the_site(caller)
    use_the_desk(caller)
    season(caller)
    files(caller)
    refuse(caller)
    # These two need a frozen board: the next test calls them.
    of_frozen_boards = {("POST", f"/api/leagues/{{league_id}}/freeze/{one}", 200) for one in ("unveil", "lift")}
    declared = {(method, path, status) for method, path, one in document.operations() for status in answers(one)}
    assert declared - caller.seen == of_frozen_boards


def test_what_a_frozen_board_shows_fits_as_well(caller: Caller) -> None:
    rich.over(frozen=True)
    read_all(caller, "fall")
    assert caller.post("/api/leagues/fall/freeze/unveil")["places_unveiled"] == 1
    read_all(caller, "fall")
    caller.post("/api/leagues/fall/freeze/lift")


def test_an_answer_that_does_not_fit_its_schema_is_noticed() -> None:
    _path, operation = document.operation_of("GET", "/api/gateways")
    document.assert_fits(document.schema_of(operation, 200), ["192.0.2.7"])
    _path, operation = document.operation_of("GET", "/health")
    fine = {"status": "ok", "agent_id": "LM01", "version": "1", "uptime": 1}
    document.assert_fits(document.schema_of(operation, 200), fine)
    for wrong in ({**fine, "more": 1}, {**fine, "uptime": "1"}, {"status": "ok"}, {**fine, "status": "odd"}):
        with pytest.raises(jsonschema.ValidationError):
            document.assert_fits(document.schema_of(operation, 200), wrong)
