"""An exported league is imported: the same export and pages again; and which files are refused, and why."""

from __future__ import annotations

import functools
import io
import json
import operator
import re
import zipfile
from itertools import product
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from agents_registry.models import Agent, AgentToken
from league_sdk.protocol import SDK_VERSION
from matches.audience import pages
from matches.audience.pages import PageKey
from matches.conducting import due
from matches.league.errors import ActionRefused
from matches.models import Event, League, Match, Role, Round
from matches.papers import importing
from matches.papers.files import Limits, NotALeague, read_document
from tests import factories as make
from tests import rich
from tests.matches.correcting import make_correction
from tests.matches.papers.exporting import (
    empty_site,
    exported_json,
    exported_zip,
    files_of_zip,
    import_of,
    refusal,
    zip_of,
)
from tests.sizes import sampled

pytestmark = pytest.mark.django_db


def shown() -> dict[str, Any]:
    """Every live page of the league, as everybody and as the staff see it, and its replay halfway."""
    keys = [PageKey()]
    for staff in (False, True):
        for kind in pages.KINDS:
            for item in {"match": ["R1M1", "R3M2"], "player": ["P01", "P02", "P04"], "replay": ["9"]}.get(kind, [None]):
                keys.append(PageKey(kind, "fall", item, staff))
    return {str(key): pages.fragments(key, "en") for key in keys}


# There and back ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("people", "frozen"), sampled(product((True, False), repeat=2)))
def test_an_imported_league_has_the_same_export_and_pages(people: bool, frozen: bool) -> None:
    rich.over(frozen=frozen)
    before, seen = exported_json(people=people), shown()
    empty_site()

    done = import_of(before)

    assert (done.league.pk, done.matches, done.stopped) == ("fall", 6, False)
    assert exported_json(people=people) == before
    if people:
        assert shown() == seen
    assert set(Agent.objects.values_list("state", flat=True)) == {"SHUTDOWN"}
    assert not AgentToken.objects.exists()


def test_an_imported_zip_file_has_the_same_files_when_exported_again() -> None:
    rich.over()
    before = exported_zip()
    assert exported_zip() == before
    empty_site()
    import_of(before)
    files, again = files_of_zip(before), files_of_zip(exported_zip())
    assert list(again) == list(files)
    assert [name for name in files if again[name] != files[name]] == []


def test_an_import_verifies_the_chain_and_keeps_the_digests() -> None:
    rich.over()
    head = League.objects.get(pk="fall").ledger_head
    whole, public = json.loads(exported_json()), json.loads(exported_json(people=False))
    empty_site()
    assert import_of(whole).ledger == f"Its ledger holds, from the first event to the head {head}."
    empty_site()
    event = next(event for event in whole["events"] if event["kind"] == "match_finished")
    event["data"]["attempt"] += 1
    sentence = import_of(whole).ledger
    assert sentence.startswith(f"Its ledger DOES NOT HOLD. event {event['seq']} (match_finished, match ")
    stored = Event.objects.get(seq=event["seq"])
    assert (stored.digest, stored.salt) == (event["digest"], event["salt"])
    empty_site()
    # An export without people has nobody's role or e-mail; what it leaves out of an event is in it as a hash.
    assert import_of(public).ledger == f"Its ledger holds, from the first event to the head {head}."


def test_a_document_without_digests_gets_digests() -> None:
    rich.over()
    old = json.loads(exported_json())
    assert old.pop("written_by") == f"leaguesite {SDK_VERSION}"
    del old["league"]["ledger_head"]
    for event in old["events"]:
        del event["digest"], event["salt"]
    empty_site()
    assert import_of(old).ledger.startswith("The file is older than the ledger")
    again = exported_json()
    empty_site()
    assert import_of(again).ledger.startswith("Its ledger holds")


def test_a_league_that_was_being_played_is_stopped_by_the_import() -> None:
    make.next_round(rich.begun())
    before = exported_json()
    events = list(Event.objects.order_by("seq").values_list("seq", "kind"))
    empty_site()

    assert import_of(before).stopped is True

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


def test_a_completed_league_with_a_match_to_play_again_is_stopped_by_the_import() -> None:
    rich.over()
    make_correction("replay", match_id="R2M1", reason="the referee erred")
    before = exported_json()
    empty_site()
    assert import_of(before).stopped is True
    assert make.look() == due.Plan()


def test_an_agent_at_the_address_of_an_imported_agent_is_a_new_agent() -> None:
    rich.over()
    before = exported_json()
    empty_site()
    import_of(before)
    make.open_league("winter")
    newcomer = make.player("Player 1", "winter", port=8101)
    assert (newcomer.agent.code, Agent.objects.filter(code="P01").count()) == ("P01", 2)


def test_the_user_who_imports_becomes_the_instructor() -> None:
    rich.over()
    before = exported_json()
    empty_site()
    teacher = User.objects.create_user("grace", is_staff=True)
    importing.import_league(file=io.BytesIO(before), by=teacher)
    assert list(Role.objects.values_list("league_id", "user", "name")) == [("fall", teacher.pk, "instructor")]


def test_the_document_contains_no_token_and_no_hash_of_one() -> None:
    made = rich.over()
    hashes = list(AgentToken.objects.values_list("sha256", flat=True))
    tokens = [player.token for player in made.players if player.token]
    assert hashes and tokens
    text = exported_json().decode()
    assert [secret for secret in [*hashes, *tokens] if secret in text] == []


def test_a_public_export_contains_no_personal_data() -> None:
    rich.over()
    with zipfile.ZipFile(io.BytesIO(exported_zip(people=False))) as zip_file:
        files = {name: zip_file.read(name).decode() for name in zip_file.namelist()}
    leaks = [(name, secret) for name, text in files.items() for secret in rich.secrets() if secret in text]
    assert leaks == []
    assert "tables/evidence.csv" not in files


def test_the_command_imports_a_zip_file(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    rich.over()
    file = tmp_path / "fall.zip"
    file.write_bytes(exported_zip())
    empty_site()
    call_command("import_league", str(file))
    head = League.objects.get(pk="fall").ledger_head
    holds = f"Its ledger holds, from the first event to the head {head}."
    assert capsys.readouterr().out == f"fall is imported: 6 matches. {holds}\n"
    with pytest.raises(CommandError, match="has a league fall already"):
        call_command("import_league", str(file))
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("import_league", str(tmp_path / "other.zip"))


def test_the_page_imports_a_zip_file_for_people_who_may_create_leagues(client: Client) -> None:
    rich.over()
    data = exported_zip()
    empty_site()
    client.force_login(User.objects.create_user("student", is_staff=True))
    assert client.get("/admin/matches/league/import/").status_code == 403
    client.force_login(User.objects.create_superuser("root", password="x" * 12))
    page = client.post("/admin/matches/league/import/", {"file": io.BytesIO(b"{}")})
    assert "expected leaguesite.league/1" in page.content.decode()
    answer = client.post("/admin/matches/league/import/", {"file": io.BytesIO(data)}, follow=True)
    assert "Fall is here: 6 matches." in answer.content.decode()


# What is refused --------------------------------------------------------------------------------


REMOVED, TWICE = object(), object()
"""In place of a value: remove the field; add the first item of the list once more."""
INVALID: list[tuple[str, Any, str]] = [
    # What is changed in a valid document, its new value, and the place that the refusal names if it is another one.
    ("format", "leaguesite.league/2", ""),
    ("format", None, ""),
    ("more", 1, ""),
    ("matches", REMOVED, ""),
    ("agents", {}, ""),
    ("agents[0]", [], ""),
    ("league.league_id", "../etc", ""),
    ("league.league_id", "demo", ""),
    ("league.display_name", "x" * 65, ""),
    ("league.display_name", "a\x00b", ""),
    ("league.display_name", "a\ud800b", ""),
    ("league.state", "WON", ""),
    ("league.paused", 1, ""),
    ("league.created_at", "yesterday", ""),
    ("league.created_at", "2025-01-15T10:00:00", ""),
    ("league.created_at", "0001-01-01T00:00:00+14:00", ""),
    ("league.event_seq", 10**30, ""),
    ("league.event_seq", True, ""),
    ("league.event_seq", 1, "events[1].seq"),
    ("league.out", {"P01": {"word": "eaten"}}, "league.out.P01.word"),
    ("league.left_out", {"P01": "eaten"}, "The page board"),
    ("league.frozen_seq", 5, "The page "),
    ("league.frozen_seq", 10**6, ""),
    ("league.settings", {"win_points": "3"}, ""),
    ("league.frozen", {"after": 1}, ""),
    ("league.frozen.agents", [1], "league.frozen"),
    (
        "matches[0].faults",
        [{"player_id": "P01", "error_code": "", "sentence": "", "tries": "x"}],
        "matches[0].faults[0]",
    ),
    ("roster[0].email", "nobody", ""),
    ("roster[3].email", "a@b", ""),
    ("roster[0].code", "x", ""),
    ("roster[1].code", "DANA-geheim-7", "roster[1]"),
    ("agents[0].code", "P 1", ""),
    ("agents[0].kind", "god", ""),
    ("agents[0].owner", "else@example.org", ""),
    ("agents[0].sha256", "x", ""),
    ("agents[0].endpoint", "x" * 301, ""),
    ("agents", TWICE, "agents["),
    ("rounds", TWICE, "rounds["),
    ("events", TWICE, "events["),
    ("corrections", TWICE, "corrections["),
    ("matches", TWICE, "matches["),
    ("checks", TWICE, "checks["),
    ("rounds[0].bye", "P99", ""),
    ("rounds[0].number", 0, ""),
    ("events[3].seq", 2, "events["),
    ("events[0].kind", "<script>", ""),
    ("events[0].data", [], ""),
    ("events[1].data", {}, ""),
    ("corrections[0].reason", "", ""),
    ("corrections[0].player", "P99", ""),
    ("notices[0].text", "x" * 501, ""),
    ("checks[0].check_id", "1", ""),
    ("checks[0].agent", "P99", ""),
    ("matches[0].winner", "P99", ""),
    ("matches[0].player_b", "P01", "matches[0]."),
    ("matches[0].round", 9, ""),
    ("matches[0].state", "READY", ""),
    ("matches[0].status", "", "matches[0].state"),
    ("matches[0].details", "x", ""),
    ("matches[0].lifecycle", [{"state": "x", "at": "y"}], "matches[0].lifecycle[0]"),
    ("matches[0].messages[0].entry", {"n": 0}, ""),
    ("matches[0].messages[0].n", -1, ""),
    ("matches[0].messages[1].n", 0, "matches[0].messages[1]"),
    ("matches[0].view", {"x": 1e308 * 10}, "The file"),
]


@pytest.mark.parametrize(("path", "value", "named_place"), INVALID)
def test_an_invalid_value_is_refused_with_its_place(document: Any, path: str, value: Any, named_place: str) -> None:
    *above, last = [int(part) if part.isdigit() else part for part in re.findall(r"\w+", path)]
    part = functools.reduce(operator.getitem, above, document)
    if value is REMOVED:
        del part[last]
    elif value is TWICE:
        part[last].append(part[last][0])
    else:
        part[last] = value
    assert refusal(document).startswith(named_place or path)


def first_result(document: Any) -> tuple[int, dict[str, Any]]:
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
        ("faults[0].error_code", [{"player_id": "P01"}]),
        ("match_id", "R1 M1"),
        ("details", None),
    ],
)
def test_an_invalid_result_in_an_event_is_refused_with_its_place(document: Any, name: str, value: Any) -> None:
    number, data = first_result(document)
    data[name.partition("[")[0]] = value
    assert refusal(document).startswith(f"events[{number}].data.{name}")


def test_an_import_does_not_change_a_league_that_has_agents(document: Any) -> None:
    make.open_league("fall")
    make.player("Alpha", "fall")
    with pytest.raises(ActionRefused, match="has a league fall already"):
        import_of(document)
    assert not Match.objects.exists()
    assert Agent.objects.count() == 1


def test_an_import_replaces_an_untouched_league_with_the_same_id(document: Any) -> None:
    make.open_league("fall")
    import_of(document)
    assert League.objects.get().state == "COMPLETED"


def test_a_league_of_an_unknown_game_is_refused(document: Any) -> None:
    document["league"]["game_type"] = "chess"
    assert "does not have the game chess" in refusal(document)


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
def test_a_file_that_is_not_a_document_is_refused(data: bytes) -> None:
    assert refusal(data)


def test_a_zip_file_without_a_document_or_beyond_the_limits_is_refused() -> None:
    assert "has no league.json in it" in refusal(zip_of(b"{}", "other.json"))
    whole = zip_of(b"{}" * 1000)
    assert "cannot be read" in refusal(whole[:-30] + whole[-22:])
    for data, limits in (
        (zip_of(b" " * 2000), Limits(document=1000)),
        (zip_of(b"{}"), Limits(index=40)),
        (b" " * 11, Limits(file=10)),
    ):
        with pytest.raises(NotALeague, match="too large"):
            read_document(io.BytesIO(data), limits)


def test_a_zip_file_with_a_wrong_size_is_read_only_up_to_the_limit() -> None:
    limits = Limits(document=1 << 20)
    bomb = zip_of(b" " * (50 << 20))
    # The ZIP file states the size of the file in it twice: before the file, and in the list at its end.
    size = (50 << 20).to_bytes(4, "little")
    assert bomb.count(size) == 2
    for data in (bomb, bomb.replace(size, (10).to_bytes(4, "little"))):
        with pytest.raises(NotALeague):
            read_document(io.BytesIO(data), limits)
