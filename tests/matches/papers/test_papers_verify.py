"""``verify`` takes what the desk exports: the whole league as JSON, and the archive with it."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from agents_registry.models import Agent
from league_sdk.cli import main
from league_sdk.ledger import export, reading
from league_sdk.ledger.chain import Broken
from league_sdk.ledger.verify import NotALedger, verify
from matches.league.corrections import applying
from matches.models import Check, Event, League
from matches.papers import bundle, importing, layout, shape
from matches.view import sight
from tests import factories as make
from tests import rich
from tests.matches.correcting import do

pytestmark = pytest.mark.django_db


def exported(*, people: bool = True) -> dict[str, Any]:
    out = io.BytesIO()
    bundle.write(League.objects.get(pk="fall"), out, people=people)
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


def played() -> None:
    """Six matches, with a correction of each kind and an undoing."""
    place = make.playing()
    make.finish_round(place)
    make.playing_on(place)
    make.finish_round(place, winner=None)
    make.playing_on(place)
    make.finish_round(place)
    loser = place.match("R1M1").player_b.code
    do("points", player_id="P02", points=2, reason="tidy desk")
    do("set_result", match_id="R1M1", status="WIN", winner=loser, reason="seen by me")
    applying.undo(league_id="fall", number=2, reason="it was not", by="ada")
    do("void", match_id="R1M2", reason="power cut")
    do("disqualify", player_id="P04", matches_become="lose", reason="cheated")
    do("replay", match_id="R2M1", reason="asked for")


def test_the_export_holds_as_a_document_and_as_an_archive(tmp_path: Path, capsys: Any) -> None:
    played()
    assert (export.FORMAT, export.DOCUMENT) == (shape.FORMAT, layout.DOCUMENT)
    league = League.objects.get(pk="fall")
    kept = Event.objects.get(kind="round_completed", data__round_id=1).digest
    (tmp_path / "league.json").write_text(json.dumps(exported()))
    with (tmp_path / "league.zip").open("wb") as file:
        layout.write(league, file, people=True)
    for name in ("league.json", "league.zip"):
        found = verify(reading.read(str(tmp_path / name)), head=kept)
        assert (found.head, found.events) == (league.ledger_head, league.events.count())
        assert main(["verify", str(tmp_path / name), "--head", kept]) == 0
        said = capsys.readouterr().out
        assert said.startswith("HOLDS: league fall")
        assert "added up they give the results that stand beside them" in said


@pytest.mark.parametrize("frozen", [True, False])
@pytest.mark.parametrize("people", [True, False])
def test_a_league_with_everything_in_it_holds_before_and_after_it_was_imported(people: bool, frozen: bool) -> None:
    rich.over(frozen=frozen)
    before = exported(people=people)
    assert verify(before).events == len(before["events"])
    League.objects.all().delete()
    Agent.objects.all().delete()
    Check.objects.all().delete()
    sight._latest.clear()
    sight._pasts.clear()
    importing.import_league(file=io.BytesIO(json.dumps(before).encode()))
    verify(exported(people=people))


@pytest.mark.parametrize(
    ("change", "problem"),
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
    ],
)
def test_what_was_changed_in_it_is_named(change: Any, problem: str) -> None:
    make.finish_round(make.playing())
    found = exported()
    found["agents"].sort(key=lambda one: str(one["kind"]), reverse=True)
    change(found)
    with pytest.raises(Broken, match=problem):
        verify(found)


def test_one_that_cannot_be_verified_says_why(tmp_path: Path, capsys: Any) -> None:
    played()
    Event.objects.filter(seq=2).update(kind="role_given")
    with pytest.raises(NotALedger, match="made without people, which leaves events out"):
        verify(exported(people=False))
    old = exported()
    old["league"]["ledger_head"] = ""
    old["events"] = [one | {"digest": "", "salt": ""} for one in old["events"]]
    with pytest.raises(NotALedger, match="older than the ledger"):
        verify(old)
    for bad in (
        exported() | {"events": [{"seq": "1"}]},
        exported() | {"league": None},
        exported() | {"events": [exported()["events"][0] | {"at": "yesterday"}]},
        exported() | {"league": exported()["league"] | {"settings": {"win_points": "many"}}},
    ):
        with pytest.raises(NotALedger, match=r"\.$"):
            verify(bad)
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("README", "x")
    (tmp_path / "cut.zip").write_bytes(b"PK\x03\x04 and no more")
    for name, why in (("other.zip", "no league.json in it"), ("cut.zip", "cannot be unpacked")):
        assert main(["verify", str(tmp_path / name)]) == 1
        assert why in capsys.readouterr().out
