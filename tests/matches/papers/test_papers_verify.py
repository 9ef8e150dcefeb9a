"""``verify`` accepts what the desk exports: the league as JSON, and the ZIP file with this file in it."""

from __future__ import annotations

import json
import zipfile
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from league_sdk.cli import main
from league_sdk.ledger import reading
from league_sdk.ledger.chain import Broken
from league_sdk.ledger.verify import NotALedger, verify
from matches.league.corrections import applying
from matches.models import Event, League
from tests import factories as make
from tests import rich
from tests.matches.correcting import make_correction
from tests.matches.papers.exporting import empty_site, exported_json, exported_zip, import_of
from tests.sizes import sampled

pytestmark = pytest.mark.django_db


def document(*, people: bool = True) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(exported_json(people=people))
    return fields


def played_and_corrected() -> None:
    """Six matches, with corrections of every kind but a withdrawal, and an undoing."""
    made = make.running_league()
    make.finish_round(made)
    make.next_round(made)
    make.finish_round(made, winner=None)
    make.next_round(made)
    make.finish_round(made)
    loser = made.match("R1M1").player_b.code
    make_correction("points", player_id="P02", points=2, reason="tidy desk")
    make_correction("set_result", match_id="R1M1", status="WIN", winner=loser, reason="seen by me")
    applying.undo(league_id="fall", number=2, reason="it was not", by="ada")
    make_correction("void", match_id="R1M2", reason="power cut")
    make_correction("disqualify", player_id="P04", matches_become="lose", reason="cheated")
    make_correction("replay", match_id="R2M1", reason="asked for")


def test_verify_accepts_the_exported_document_and_zip_file(tmp_path: Path, capsys: Any) -> None:
    played_and_corrected()
    league = League.objects.get(pk="fall")
    head = Event.objects.get(kind="round_completed", data__round_id=1).digest
    (tmp_path / "league.json").write_text(json.dumps(document()))
    (tmp_path / "league.zip").write_bytes(exported_zip())
    for name in ("league.json", "league.zip"):
        verified = verify(reading.read(str(tmp_path / name)), head=head)
        assert (verified.head, verified.events) == (league.ledger_head, league.events.count())
        assert main(["verify", str(tmp_path / name), "--head", head]) == 0
        output = capsys.readouterr().out
        assert output.startswith("HOLDS: league fall")
        assert "together they give the results of the matches in the export" in output


@pytest.mark.parametrize(("people", "frozen"), sampled(product((True, False), repeat=2)))
def test_verify_accepts_the_export_of_a_league_before_and_after_its_import(people: bool, frozen: bool) -> None:
    rich.over(frozen=frozen)
    before = document(people=people)
    assert verify(before).events == len(before["events"])
    empty_site()
    import_of(before)
    verify(document(people=people))


@pytest.mark.parametrize(
    ("change", "problem"),
    sampled(
        [
            (lambda one: one["events"][3]["data"].update(sneaked="in"), "event 4"),
            (lambda one: one["events"].pop(), "the head after"),
            (lambda one: one["events"][0].update(salt="b" * 32), "event 1"),
            (lambda one: one["events"][0].update(salt="b"), "event 1"),
            (lambda one: one["matches"][0].update(status="CANCELLED", winner=None), "the result of match R1M1"),
            (lambda one: one["matches"].pop(0), "the result of match R1M1"),
            (lambda one: one["matches"][-1].update(status="DRAW", match_id="R9M9"), "the result of match R9M9"),
            (lambda one: one["agents"].pop(), "the table, player"),
            (lambda one: one["league"]["settings"].update(win_points=1), "the points of the league"),
        ]
    ),
)
def test_verify_names_what_was_changed_in_an_export(change: Any, problem: str) -> None:
    make.finish_round(make.running_league())
    exported_document = document()
    exported_document["agents"].sort(key=lambda one: str(one["kind"]), reverse=True)
    change(exported_document)
    with pytest.raises(Broken, match=problem):
        verify(exported_document)


def test_verify_says_why_an_export_cannot_be_verified(tmp_path: Path, capsys: Any) -> None:
    played_and_corrected()
    Event.objects.filter(seq=2).update(kind="role_given")
    with pytest.raises(NotALedger, match="made without people, which leaves events out"):
        verify(document(people=False))
    old = document()
    old["league"]["ledger_head"] = ""
    old["events"] = [one | {"digest": "", "salt": ""} for one in old["events"]]
    with pytest.raises(NotALedger, match="older than the ledger"):
        verify(old)
    for bad in (
        document() | {"events": [{"seq": "1"}]},
        document() | {"league": None},
        document() | {"events": [document()["events"][0] | {"at": "yesterday"}]},
        document() | {"league": document()["league"] | {"settings": {"win_points": "many"}}},
    ):
        with pytest.raises(NotALedger, match=r"\.$"):
            verify(bad)
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as zip_file:
        zip_file.writestr("README", "x")
    (tmp_path / "cut.zip").write_bytes(b"PK\x03\x04 and no more")
    for name, why in (("other.zip", "no league.json in it"), ("cut.zip", "cannot be unpacked")):
        assert main(["verify", str(tmp_path / name)]) == 1
        assert why in capsys.readouterr().out
