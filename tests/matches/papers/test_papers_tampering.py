"""Whatever is changed in an honest export, ``verify`` reports it, or its list of what nothing proves names it.

Every leaf of every document is changed in several ways, every field and every row removed, every row added again;
`make test` tries a sample of these changes.
"""

from __future__ import annotations

import itertools
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from agents_registry.models import Agent
from league_sdk.cli import main
from league_sdk.ledger import reading
from league_sdk.ledger.canonical import canonical, plain
from league_sdk.ledger.chain import Broken, hash_private
from league_sdk.ledger.kinds import EventKind
from league_sdk.ledger.verify import NotALedger, Verified, verify
from matches.league import making, names
from matches.league.corrections import applying
from matches.league.effects import record
from matches.words.events import happened
from tests import rich
from tests.matches.correcting import make_correction
from tests.matches.papers.exporting import empty_site, exported_json, exported_zip, files_of_zip, import_of, refusal
from tests.sizes import sampled

pytestmark = pytest.mark.django_db
PARTS = 32
"""In how many tests the changes of a document are tried: `make test` runs one of them for each document."""
LOOKALIKES = str.maketrans("aePoR", "аеРоЯ")
SOURCES = ("staff", "public", "ledger")


def rich_league() -> None:
    """A league with everything: corrections of several kinds, undone ones, an open replay, a renamed player, a role."""
    made = rich.over()
    make_correction("replay", match_id="R2M1", reason="asked for")
    applying.undo(league_id="fall", number=4, reason="not needed", by="ada")
    make_correction("disqualify", player_id="P03", matches_become="lose", reason="cheated")
    make_correction("replay", match_id=_open_to_replay(made), reason="asked for")
    rename("P02", "Grace")
    record("fall", EventKind.ROLE_GIVEN, user="ada", role="instructor")
    address = f"http://{rich.ADDRESS}9:8101/mcp"
    record("fall", EventKind.PLAYER_MOVED, player_id="P01", name="Player 1", moved_from=address, moved_to=address)
    record("fall", EventKind.ATTEMPT_LOST, match_id="R1M1", attempt=1, referee_id="REF01", cause="REFEREE", why="x")


def _open_to_replay(made: Any) -> str:
    rows = made.league.matches.exclude(player_a__code="P03").exclude(player_b__code="P03")
    return str(rows.order_by("pk").last().match_id)


def rename(code: str, name: str) -> None:
    agent = Agent.objects.get(league_id="fall", code=code)
    agent.display_name = name
    names.edit_agent(agent=agent)


def document_from(source: str, client: Client) -> Any:
    if source == "ledger":
        return json.loads(client.get("/api/leagues/fall/ledger", {"limit": 1000}).content)
    return json.loads(exported_json(people=source == "staff"))


# Changes ------------------------------------------------------------------------------------------


def others(value: Any) -> list[Any]:
    """Values that are not the same as a leaf, some of which many readers would take for it."""
    if isinstance(value, bool):
        return [not value, int(value), str(value).lower()]
    if isinstance(value, int):
        return [value + 1, str(value), bool(value), value + 0.5]
    if isinstance(value, float):
        return [value + 1, None]
    if isinstance(value, str):
        last = value[:-1] + ("1" if value[-1:] == "0" else "0")
        return [value + "\u200b", value.translate(LOOKALIKES), last, "" if value else "x", None]
    return ["x", 0, {"x": 1}, [None]]


def changes(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], str, Any]]:
    """Every change of a document: where, what, and the new value."""
    if not isinstance(value, (dict, list)) or not value:
        for other in others(value):
            if type(other) is not type(value) or other != value:
                yield path, "set", other
        return
    for name, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*path, name), "remove", None
        if isinstance(value, list):
            yield (*path, name), "repeat", None
        else:
            yield (*path, f"{name}x"), "set", 1
        yield from changes(item, (*path, name))


def changed(text: str, path: tuple[Any, ...], verb: str, new: Any) -> Any:
    document = json.loads(text)
    inner = document
    for name in path[:-1]:
        inner = inner[name]
    if verb == "set":
        inner[path[-1]] = new
    elif verb == "remove":
        del inner[path[-1]]
    else:
        inner.insert(path[-1], json.loads(json.dumps(inner[path[-1]])))
    return document


def is_named(found: Verified, honest: Verified, document: Any, path: tuple[Any, ...]) -> bool:
    """Whether the report names what stands at a path of the document."""
    if set(found.unproven) - set(honest.unproven):
        return True
    part, *rest = path
    lines = {line.partition(":")[0]: line.partition(":")[2] for line in found.unproven}
    if re.search(rf"\b{part}\b", lines.get("in the document", "").partition(";")[0]):
        return True
    line = lines.get(f"in {part}", "")
    row = document[part]
    if isinstance(row, list):
        row, *rest = (row[rest[0]] if rest[0] < len(row) else {}), *rest[1:]
    if rest and re.search(rf"\b{rest[0]}\b", line.partition(";")[0]):
        return True
    prose = line.partition(";")[2]
    if part == "league" and rest[0] == "out" and rest[-1] != "word":
        return "of out the words" in prose
    if part == "agents":
        return "everything of referees" in prose and row.get("kind") != "player"
    if part == "matches":
        return "everything of matches without a result" in prose and not row.get("status")
    if part == "rounds":
        return "everything of rounds without a result" in prose and row.get("state") == "PENDING"
    if part == "events" and f"{row.get('seq')} ({row.get('kind')})" in str(found.doubts):
        return rest[0] == "data"
    return part == "events" and row.get("kind") == "notice_withdrawn" and "withdrawn notices" in line


@pytest.mark.parametrize(
    ("source", "part"), sampled([(source, part) for source in SOURCES for part in range(PARTS)], every=PARTS)
)
def test_every_change_of_a_document_is_reported_or_named(source: str, part: int, client: Client) -> None:
    rich_league()
    text = json.dumps(document_from(source, client))
    original = json.loads(text)
    honest, same = verify(original), canonical(plain(original))
    silent = []
    for path, verb, new in itertools.islice(changes(original), part, None, PARTS):
        document = changed(text, path, verb, new)
        try:
            found = verify(document)
        except (Broken, NotALedger):
            continue
        if canonical(plain(document)) != same and not is_named(found, honest, original, path):
            silent.append((path, verb, new))
    assert silent == []


def test_a_public_export_verifies_and_has_no_address_of_a_player_that_moved(client: Client) -> None:
    rich_league()
    document = document_from("public", client)
    assert verify(document).events == document["league"]["event_seq"]
    assert not [
        name for name, file in files_of_zip(exported_zip(people=False)).items() if rich.ADDRESS.encode() in file
    ]


def test_results_that_were_swapped_between_two_matches_are_reported(document: Any) -> None:
    first, second = document["matches"][1], document["matches"][3]
    for name in ("status", "winner", "reason", "details", "faults", "finished_at"):
        first[name], second[name] = second[name], first[name]
    with pytest.raises(Broken, match=r"^the result of match R\dM\d, "):
        verify(document)


def test_a_private_part_whose_salt_was_replaced_by_its_hash_is_named(document: Any) -> None:
    """With its hash alone the chain holds, whatever the file says in it."""
    event = [one for one in document["events"] if one["kind"] == "match_finished"][-1]
    event["salt"] = hash_private(event["salt"], event["kind"], event["data"])
    event["data"]["reason"] = "won by luck"
    row = next(one for one in document["matches"] if one["match_id"] == event["data"]["match_id"])
    row["reason"] = "won by luck"
    assert f"{event['seq']} (match_finished)" in str(verify(document).doubts)


# Files --------------------------------------------------------------------------------------------


def written(folder: Path, files: list[tuple[str, bytes]]) -> str:
    """The path of a ZIP file with these entries, in this order."""
    with zipfile.ZipFile(folder / "league.zip", "w") as zip_file:
        for name, content in files:
            zip_file.writestr(name, content)
    return str(folder / "league.zip")


@pytest.mark.parametrize("people", [True, False])
def test_the_other_files_of_a_zip_file_are_named_as_not_proven(
    people: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rich_league()
    files = files_of_zip(exported_zip(people=people))
    assert len(files) > 20
    others = [(name, b"tampered") for name in files if name != "league.json"]
    path = written(tmp_path, [("league.json", files["league.json"]), *others, ("extra.txt", b"x")])
    for name, content in others:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    (tmp_path / "league.json").write_bytes(files["league.json"])
    for source in (path, str(tmp_path)):
        assert main(["verify", source]) == 0
        assert "every other file of a ZIP or folder: only league.json is read" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("second", ["league.json", "LEAGUE.json", "./league.json", "x/../league.json"])
def test_a_zip_file_with_two_documents_is_refused(second: str, document: Any, tmp_path: Path) -> None:
    """One reader would take the first, another the last; and one may replace the other when they are unpacked."""
    content = json.dumps(document).encode()
    path = written(tmp_path, [("league.json", content), (second, content)])
    with pytest.raises(NotALedger, match=r"several files league\.json"):
        reading.read(path)
    assert "several files league.json" in refusal(Path(path).read_bytes())


def test_a_field_that_stands_twice_in_an_object_is_refused(document: Any, tmp_path: Path) -> None:
    content = json.dumps(document).replace('"status": "WIN"', '"status": "DRAW", "status": "WIN"', 1).encode()
    (tmp_path / "league.json").write_bytes(content)
    with pytest.raises(NotALedger, match="stands twice in one object"):
        reading.read(str(tmp_path))
    assert "stands twice in one object" in refusal(content)


# Import -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("reason", "won by luck"),
        ("faults", [{"player_id": "P01", "error_code": "E001", "sentence": "P01 did not answer"}]),
        ("details", {"drawn_number": 3, "choices": {"P01": "odd", "P02": "odd"}}),
        ("referee", None),
        ("attempt", 7),
        ("finished_at", "2025-01-15T10:15:00+00:00"),
    ],
)
def test_an_import_says_of_a_changed_match_what_verify_says(document: Any, field: str, value: Any) -> None:
    match = document["matches"][1]
    assert match["status"] and match[field] != value
    match[field] = value
    try:
        said = "; ".join(verify(document).doubts)
    except Broken as broken:
        said = str(broken)
    assert f"{field} of matches {match['match_id']}" in said or f"match {match['match_id']}, {field}" in said
    assert said in import_of(document).ledger.translate({0x2068: None, 0x2069: None})


# Renamed players ----------------------------------------------------------------------------------


def test_a_league_whose_player_was_renamed_holds_and_no_other_name_does(client: Client) -> None:
    made = rich.over()
    rename("P02", "Grace")
    event = made.league.events.get(kind=EventKind.PLAYER_RENAMED)
    assert event.data == {"player_id": "P02", "name": "Grace"}
    rename("P02", "Grace")
    assert made.league.events.filter(kind=EventKind.PLAYER_RENAMED).count() == 1
    for source in SOURCES:
        assert verify(document_from(source, client)).doubts == ()
    assert happened(event.kind, event.data) == "P02 is called Grace from now on."
    document = document_from("staff", client)
    next(one for one in document["agents"] if one["code"] == "P02")["display_name"] = "Mallory"
    with pytest.raises(Broken, match=r"the table, player P02.*Mallory.*Grace"):
        verify(document)


def test_a_renaming_behind_a_freeze_is_not_public(client: Client) -> None:
    rich.over(frozen=True)
    before = document_from("ledger", client)
    rename("P02", "Grace")
    assert document_from("ledger", client) == before
    assert "Grace" not in client.get("/api/leagues/fall/events").content.decode()
    assert verify(before).doubts == ()


def test_a_name_changed_before_renamings_were_events_is_named_and_no_tampering(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(making, "record_schedule", schedule_of_an_earlier_version)
    rich.over()
    Agent.objects.filter(league_id="fall", code="P02").update(display_name="Grace")
    for source in SOURCES:
        assert "P02 (Grace, in the events Player 2)" in verify(document_from(source, client)).doubts[0]


def schedule_of_an_earlier_version(league: Any, players: Any) -> None:
    record(
        league.pk,
        EventKind.SCHEDULE_MADE,
        players=len(players),
        rounds=league.rounds.count(),
        names={player.code: player.display_name for player in players},
        **making.terms(league),
    )


def test_a_document_is_verified_again_after_its_import(client: Client) -> None:
    rich_league()
    document = document_from("staff", client)
    found = verify(document)
    empty_site()
    import_of(document)
    assert verify(document_from("staff", client)).doubts == found.doubts
