"""A league goes out and comes in again: the same bytes, the same pages; and what is refused, with its place."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from agents_registry.models import Agent, AgentToken
from matches.audience import pages
from matches.audience.pages import PageKey
from matches.conducting import due
from matches.league.errors import ActionRefused
from matches.models import Check, Event, League, Match, Role, Round
from matches.papers import bundle, files, importing, layout
from matches.view import sight
from tests import factories as make
from tests import rich
from tests.matches.correcting import do

pytestmark = pytest.mark.django_db


def exported(*, people: bool = True) -> bytes:
    out = io.BytesIO()
    bundle.write(League.objects.get(pk="fall"), out, people=people)
    return out.getvalue()


def archived(*, people: bool = True) -> bytes:
    out = io.BytesIO()
    layout.write(League.objects.get(pk="fall"), out, people=people)
    return out.getvalue()


def emptied() -> None:
    """As on a site that has just been set up; but for the memory of this process."""
    League.objects.all().delete()
    Agent.objects.all().delete()
    Check.objects.all().delete()
    sight._latest.clear()
    sight._pasts.clear()


def taken(data: bytes) -> importing.Imported:
    return importing.import_league(file=io.BytesIO(data))


def shown() -> dict[str, Any]:
    """Every live page of the league, as everybody and as the staff see it, and its replay halfway."""
    keys = [PageKey()]
    for staff in (False, True):
        for kind in pages.KINDS:
            for item in {"match": ["R1M1", "R3M2"], "player": ["P01", "P02", "P04"], "replay": ["9"]}.get(kind, [None]):
                keys.append(PageKey(kind, "fall", item, staff))
    return {str(key): pages.fragments(key, "en") for key in keys}


def refusal(data: bytes) -> str:
    with pytest.raises(ActionRefused) as refused:
        taken(data)
    assert not League.objects.filter(pk="fall").exists()
    return str(refused.value)


# There and back ---------------------------------------------------------------------------------


@pytest.mark.parametrize("people", [True, False])
@pytest.mark.parametrize("frozen", [True, False])
def test_a_league_comes_back_as_it_was(people: bool, frozen: bool) -> None:
    rich.over(frozen=frozen)
    before, seen = exported(people=people), shown()
    emptied()

    done = taken(before)

    assert (done.league.pk, done.matches, done.stopped) == ("fall", 6, False)
    assert exported(people=people) == before
    if people:
        assert shown() == seen
    assert set(Agent.objects.values_list("state", flat=True)) == {"SHUTDOWN"}
    assert not AgentToken.objects.exists()


def test_the_archive_comes_back_the_same_too_and_is_the_same_each_time() -> None:
    rich.over()
    before = archived()
    assert archived() == before
    emptied()
    taken(before)
    files, again = unpacked(before), unpacked(archived())
    assert list(again) == list(files)
    assert [name for name in files if again[name] != files[name]] == []


def test_an_import_says_whether_the_chain_holds_and_keeps_it_as_it_is() -> None:
    rich.over()
    head = League.objects.get(pk="fall").ledger_head
    whole, public = json.loads(exported()), json.loads(exported(people=False))
    emptied()
    assert taken(json.dumps(whole).encode()).ledger == f"Its ledger holds, from the first event to the head {head}."
    emptied()
    event = next(event for event in whole["events"] if event["kind"] == "match_finished")
    event["data"]["attempt"] += 1
    said = taken(json.dumps(whole).encode()).ledger
    assert said.startswith(f"Its ledger DOES NOT HOLD. event {event['seq']} (match_finished, match ")
    kept = Event.objects.get(seq=event["seq"])
    assert (kept.digest, kept.salt) == (event["digest"], event["salt"])
    emptied()
    # Nobody's role or e-mail is in one without people; what is left out of an event is there as its hash.
    assert taken(json.dumps(public).encode()).ledger == f"Its ledger holds, from the first event to the head {head}."


def test_a_document_from_before_the_ledger_is_chained() -> None:
    rich.over()
    old = json.loads(exported())
    del old["league"]["ledger_head"]
    for event in old["events"]:
        del event["digest"], event["salt"]
    emptied()
    assert taken(json.dumps(old).encode()).ledger.startswith("The file is older than the ledger")
    again = exported()
    emptied()
    assert taken(again).ledger.startswith("Its ledger holds")


def unpacked(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def test_a_league_that_was_being_played_is_stopped_and_the_conductor_leaves_it_alone() -> None:
    make.playing_on(rich.begun())
    before = exported()
    events = list(Event.objects.order_by("seq").values_list("seq", "kind"))
    emptied()

    assert taken(before).stopped is True

    assert list(Event.objects.order_by("seq").values_list("seq", "kind")) == [
        *events,
        (events[-1][0] + 1, "league_stopped"),
    ]
    league = League.objects.get()
    assert (league.state, set(Match.objects.exclude(state="FINISHED").values_list("state", flat=True))) == (
        "STOPPED",
        {"PENDING"},
    )
    assert set(Round.objects.values_list("state", flat=True)) == {"COMPLETED", "PENDING"}
    assert make.look() == due.Plan()


def test_a_match_that_is_played_again_after_the_end_does_not_go_on_here() -> None:
    rich.over()
    do("replay", match_id="R2M1", reason="the referee erred")
    before = exported()
    emptied()
    assert taken(before).stopped is True
    assert make.look() == due.Plan()


def test_who_registers_from_the_same_address_is_somebody_else() -> None:
    rich.over()
    before = exported()
    emptied()
    taken(before)
    make.open_league("winter")
    newcomer = make.join("Player 1", "winter", port=8101)
    assert (newcomer.agent.code, Agent.objects.filter(code="P01").count()) == ("P01", 2)


def test_the_one_who_imports_is_its_instructor() -> None:
    rich.over()
    before = exported()
    emptied()
    teacher = User.objects.create_user("grace", is_staff=True)
    importing.import_league(file=io.BytesIO(before), by=teacher)
    assert list(Role.objects.values_list("league_id", "user", "name")) == [("fall", teacher.pk, "instructor")]


def test_no_token_and_no_hash_of_one_is_in_the_document() -> None:
    place = rich.over()
    hashes = list(AgentToken.objects.values_list("sha256", flat=True))
    tokens = [player.token for player in place.players if player.token]
    assert hashes and tokens
    text = exported().decode()
    assert [secret for secret in [*hashes, *tokens] if secret in text] == []


def test_without_people_nothing_of_them_is_in_any_file() -> None:
    rich.over()
    with zipfile.ZipFile(io.BytesIO(archived(people=False))) as archive:
        files = {name: archive.read(name).decode() for name in archive.namelist()}
    found = [(name, secret) for name, text in files.items() for secret in rich.secrets() if secret in text]
    assert found == []
    assert "tables/evidence.csv" not in files


def test_the_command(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    rich.over()
    file = tmp_path / "fall.zip"
    file.write_bytes(archived())
    emptied()
    call_command("import_league", str(file))
    head = League.objects.get(pk="fall").ledger_head
    holds = f"Its ledger holds, from the first event to the head {head}."
    assert capsys.readouterr().out == f"fall is imported: 6 matches. {holds}\n"
    with pytest.raises(CommandError, match="has a league fall already"):
        call_command("import_league", str(file))
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("import_league", str(tmp_path / "other.zip"))


def test_the_page(client: Client) -> None:
    rich.over()
    data = archived()
    emptied()
    client.force_login(User.objects.create_user("student", is_staff=True))
    assert client.get("/admin/matches/league/import/").status_code == 403
    client.force_login(User.objects.create_superuser("root", password="x" * 12))
    page = client.post("/admin/matches/league/import/", {"file": io.BytesIO(b"{}")})
    assert "expected leaguesite.league/1" in page.content.decode()
    answer = client.post("/admin/matches/league/import/", {"file": io.BytesIO(data)}, follow=True)
    assert "Fall is here: 6 matches." in answer.content.decode()


# What is refused --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def _kept() -> dict[str, bytes]:
    return {}


@pytest.fixture
def document(_kept: dict[str, bytes]) -> dict[str, Any]:
    """A league's document to spoil; the site is empty."""
    if "data" not in _kept:
        rich.over()
        _kept["data"] = exported()
        emptied()
    return json.loads(_kept["data"])


def set_at(*path: Any, to: Any) -> Callable[[dict[str, Any]], None]:
    """A change of one value of the document."""

    def change(data: Any) -> None:
        for part in path[:-1]:
            data = data[part]
        data[path[-1]] = to

    return change


def without(*path: Any) -> Callable[[dict[str, Any]], None]:
    def change(data: Any) -> None:
        for part in path[:-1]:
            data = data[part]
        del data[path[-1]]

    return change


def twice(name: str) -> Callable[[dict[str, Any]], None]:
    return lambda data: data[name].append(data[name][0])


SPOILED = [
    (set_at("format", to="leaguesite.league/2"), "format"),
    (set_at("format", to=None), "format"),
    (set_at("more", to=1), "more"),
    (without("matches"), "matches"),
    (set_at("agents", to={}), "agents"),
    (set_at("agents", 0, to=[]), "agents[0]"),
    (set_at("league", "league_id", to="../etc"), "league.league_id"),
    (set_at("league", "league_id", to="demo"), "league.league_id"),
    (set_at("league", "display_name", to="x" * 65), "league.display_name"),
    (set_at("league", "display_name", to="a\x00b"), "league.display_name"),
    (set_at("league", "display_name", to="a\ud800b"), "league.display_name"),
    (set_at("league", "state", to="WON"), "league.state"),
    (set_at("league", "paused", to=1), "league.paused"),
    (set_at("league", "created_at", to="yesterday"), "league.created_at"),
    (set_at("league", "created_at", to="2025-01-15T10:00:00"), "league.created_at"),
    (set_at("league", "created_at", to="0001-01-01T00:00:00+14:00"), "league.created_at"),
    (set_at("league", "event_seq", to=10**30), "league.event_seq"),
    (set_at("league", "event_seq", to=True), "league.event_seq"),
    (set_at("league", "event_seq", to=1), "events[1].seq"),
    (set_at("league", "out", to={"P01": {"word": "eaten"}}), "league.out.P01.word"),
    (set_at("league", "left_out", to={"P01": "eaten"}), "The page board"),
    (set_at("league", "frozen_seq", to=5), "The page "),
    (set_at("league", "frozen_seq", to=10**6), "league.frozen_seq"),
    (set_at("league", "settings", to={"win_points": "3"}), "league.settings"),
    (set_at("league", "frozen", to={"after": 1}), "league.frozen"),
    (set_at("league", "frozen", "agents", to=[1]), "league.frozen"),
    (
        set_at("matches", 0, "faults", to=[{"player_id": "P01", "error_code": "", "sentence": "", "tries": "x"}]),
        "matches[0].faults[0]",
    ),
    (set_at("roster", 0, "email", to="nobody"), "roster[0].email"),
    (set_at("roster", 3, "email", to="a@b"), "roster[3].email"),
    (set_at("roster", 0, "code", to="x"), "roster[0].code"),
    (set_at("roster", 1, "code", to="DANA-geheim-7"), "roster[1]"),
    (set_at("agents", 0, "code", to="P 1"), "agents[0].code"),
    (set_at("agents", 0, "kind", to="god"), "agents[0].kind"),
    (set_at("agents", 0, "owner", to="else@example.org"), "agents[0].owner"),
    (set_at("agents", 0, "sha256", to="x"), "agents[0].sha256"),
    (set_at("agents", 0, "endpoint", to="x" * 301), "agents[0].endpoint"),
    (twice("agents"), "agents["),
    (twice("rounds"), "rounds["),
    (twice("events"), "events["),
    (twice("corrections"), "corrections["),
    (twice("matches"), "matches["),
    (twice("checks"), "checks["),
    (set_at("rounds", 0, "bye", to="P99"), "rounds[0].bye"),
    (set_at("rounds", 0, "number", to=0), "rounds[0].number"),
    (set_at("events", 3, "seq", to=2), "events["),
    (set_at("events", 0, "kind", to="<script>"), "events[0].kind"),
    (set_at("events", 0, "data", to=[]), "events[0].data"),
    (set_at("events", 1, "data", to={}), "events[1].data"),
    (set_at("corrections", 0, "reason", to=""), "corrections[0].reason"),
    (set_at("corrections", 0, "player", to="P99"), "corrections[0].player"),
    (set_at("notices", 0, "text", to="x" * 501), "notices[0].text"),
    (set_at("checks", 0, "check_id", to="1"), "checks[0].check_id"),
    (set_at("checks", 0, "agent", to="P99"), "checks[0].agent"),
    (set_at("matches", 0, "winner", to="P99"), "matches[0].winner"),
    (set_at("matches", 0, "player_b", to="P01"), "matches[0]."),
    (set_at("matches", 0, "round", to=9), "matches[0].round"),
    (set_at("matches", 0, "state", to="READY"), "matches[0].state"),
    (set_at("matches", 0, "status", to=""), "matches[0].state"),
    (set_at("matches", 0, "details", to="x"), "matches[0].details"),
    (set_at("matches", 0, "lifecycle", to=[{"state": "x", "at": "y"}]), "matches[0].lifecycle[0]"),
    (set_at("matches", 0, "messages", 0, "entry", to={"n": 0}), "matches[0].messages[0].entry"),
    (set_at("matches", 0, "messages", 0, "n", to=-1), "matches[0].messages[0].n"),
    (set_at("matches", 0, "messages", 1, "n", to=0), "matches[0].messages[1]"),
    (set_at("matches", 0, "view", to={"x": 1e308 * 10}), "The file"),
]


@pytest.mark.parametrize(("spoil", "place"), SPOILED)
def test_what_is_wrong_is_named_by_its_place(
    document: dict[str, Any], spoil: Callable[[dict[str, Any]], None], place: str
) -> None:
    spoil(document)
    assert refusal(json.dumps(document).encode()).startswith(place)


def finished(document: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    return next((n, one["data"]) for n, one in enumerate(document["events"]) if one["kind"] == "match_finished")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("players", ["P01"]),
        ("players", "P01"),
        ("winner_id", "P99"),
        ("status", "LOST"),
        ("round_id", "one"),
        ("faults", [1]),
        ("match_id", "R1 M1"),
        ("details", None),
    ],
)
def test_a_result_that_is_none_is_named_too(document: dict[str, Any], name: str, value: Any) -> None:
    number, data = finished(document)
    data[name] = value
    assert refusal(json.dumps(document).encode()).startswith(f"events[{number}].data.{name}")


def test_a_fault_that_cannot_be_told_is_refused(document: dict[str, Any]) -> None:
    number, data = finished(document)
    data["faults"] = [{"player_id": "P01"}]
    assert refusal(json.dumps(document).encode()).startswith(f"events[{number}].data.faults[0].error_code")


def test_a_league_that_is_here_is_never_touched(document: dict[str, Any]) -> None:
    make.open_league("fall")
    make.join("Alpha", "fall")
    with pytest.raises(ActionRefused, match="has a league fall already"):
        taken(json.dumps(document).encode())
    assert not Match.objects.exists()
    assert Agent.objects.count() == 1


def test_the_empty_league_that_a_fresh_site_opens_gives_way(document: dict[str, Any]) -> None:
    make.open_league("fall")
    taken(json.dumps(document).encode())
    assert League.objects.get().state == "COMPLETED"


def test_a_game_that_is_not_here(document: dict[str, Any]) -> None:
    document["league"]["game_type"] = "chess"
    assert "does not have the game chess" in refusal(json.dumps(document).encode())


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"format": NaN}',
        b"9" * 5000,
        b"PK\x03\x04",
        b"PK\x03\x04" + b"x" * 100,
        b"null",
        b'"leaguesite.league/1"',
    ],
)
def test_what_is_no_document_at_all(data: bytes) -> None:
    assert refusal(data)


def packed(**files: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name.replace("_", "."), content)
    return out.getvalue()


def test_archives_that_are_not_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "has no league.json in it" in refusal(packed(other_json=b"{}"))
    whole = packed(league_json=b"{}" * 1000)
    assert "cannot be read" in refusal(whole[:-30] + whole[-22:])
    monkeypatch.setattr(files, "MAX_DOCUMENT_BYTES", 1000)
    assert "too large" in refusal(packed(league_json=b" " * 2000))
    monkeypatch.setattr(files, "MAX_INDEX_BYTES", 40)
    assert "too large" in refusal(packed(league_json=b"{}"))
    monkeypatch.setattr(files, "MAX_FILE_BYTES", 10)
    assert "too large" in refusal(b" " * 11)


def test_an_archive_that_lies_about_its_size_is_read_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_DOCUMENT_BYTES", 1 << 20)
    bomb = packed(league_json=b" " * (50 << 20))
    # It claims to be small, where it begins and in the list at its end.
    size = (50 << 20).to_bytes(4, "little")
    assert bomb.count(size) == 2
    with pytest.raises(ActionRefused):
        taken(bomb)
    with pytest.raises(ActionRefused):
        taken(bomb.replace(size, (10).to_bytes(4, "little")))
