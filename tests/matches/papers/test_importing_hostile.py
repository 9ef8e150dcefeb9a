"""Files that somebody made to do harm: zip bombs, changed results; and secrets in exports."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Callable
from typing import Any

import pytest

from matches.conducting import due
from matches.league.errors import ActionRefused
from matches.models import League, Match
from matches.papers.files import Limits, NotALeague, read_document
from tests import factories as make
from tests import rich
from tests.matches.correcting import make_correction
from tests.matches.league.test_sealing import seal_of
from tests.matches.papers.exporting import empty_site, exported_json, import_of, refusal, zip_of

pytestmark = pytest.mark.django_db


# ZIP files --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA], ids=str
)
def test_a_zip_file_with_a_changed_byte_is_refused_with_a_sentence(method: int) -> None:
    whole = zip_of(b'{"format": "of another program", "and": "more of it"}' * 20, method=method)
    for index in range(30, len(whole)):
        assert refusal(whole[:index] + bytes([whole[index] ^ 0xA5]) + whole[index + 1 :])


def test_the_zip64_list_of_files_is_bounded_too() -> None:
    """Readers believe the record of zip64; the ordinary record beside it may state any size."""
    local = struct.pack("<4s5H3L2H", b"PK\x03\x04", 20, *[0] * 7, 1, 0) + b"a"
    entry = struct.pack("<4s6H3L5H2L", b"PK\x01\x02", 20, 20, *[0] * 7, 1, *[0] * 6) + b"a"
    count = 1000
    index = entry * count
    record = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, len(index), len(local))
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, len(local) + len(index), 1)
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, 10, len(local), 0)
    bomb = local + index + record + locator + end
    with zipfile.ZipFile(io.BytesIO(bomb)) as zip_file:
        assert len(zip_file.infolist()) == count
    with pytest.raises(NotALeague, match="too large"):
        read_document(io.BytesIO(bomb), Limits(index=10_000))


def test_only_the_document_of_a_zip_file_is_read(document: Any) -> None:
    """Paths that lead elsewhere are names like others: nothing is ever unpacked."""
    whole = json.dumps(document).encode()
    import_of(zip_of(whole, "../../league.json", "/etc/passwd", "league.json"))
    assert League.objects.get().pk == "fall"


# Documents --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda one: one["matches"][0].update(winner=one["matches"][0]["player_b"]), "matches[0].status"),
        (lambda one: one["matches"][0].update(status="CANCELLED", winner=None), "matches[0].status"),
        (lambda one: one["events"].__delitem__(slice(-1, None)), ""),
        (lambda one: one["matches"][0].update(draw_seed="0" * 64), "matches[0].draw_seed"),
        (lambda one: one["matches"][0].update(seal={"told": True}), "matches[0].seal"),
        (lambda one: one["matches"][0].update(attempt=2**31 - 1), "matches[0].attempt"),
        (lambda one: one["corrections"][0].update(number=2**31 - 1), "corrections[0].number"),
        (lambda one: one["league"].update(unveiled=2**31 - 1), "league.unveiled"),
        (lambda one: one["league"].update(league_id="demo"), "league.league_id"),
    ],
)
def test_a_changed_document_is_refused_or_its_chain_does_not_hold(
    document: Any, change: Callable[[dict[str, Any]], None], expected: str
) -> None:
    change(document)
    if expected:
        assert refusal(document).startswith(expected)
    else:
        assert import_of(document).ledger.startswith("Its ledger DOES NOT HOLD. ")


def test_a_result_without_an_event_is_refused(document: Any) -> None:
    """A chain that does not hold is only reported, but rows and events must have the same results."""
    events = document["events"]
    last = next(event for event in reversed(events) if event["kind"] == "match_finished")
    events.remove(last)
    assert refusal(document).endswith("the events of the league tell another result")


@pytest.mark.parametrize("people", [True, False])
def test_an_export_during_a_round_contains_no_seed_and_no_sealed_verdict(people: bool) -> None:
    make.next_round(rich.begun())
    first, second = Match.objects.filter(state="ASSIGNED").order_by("pk")
    verdict = seal_of(
        first, winner_player_id=first.player_b.code, reason="a sealed reason", details={"drawn_number": 3}, draw=3
    )
    assert make.progress(first, state="DRAWING_NUMBER", seal=verdict) == "sealed"
    seeds = [Match.objects.get(pk=one.pk).draw_seed for one in (first, second)]
    assert all(seeds)
    before = exported_json(people=people)
    assert [secret for secret in (*seeds, "a sealed reason") if secret.encode() in before] == []
    empty_site()

    done = import_of(before)

    assert (done.stopped, done.ledger.startswith("Its ledger holds")) == (True, True)
    assert {match.state for match in Match.objects.filter(match_id__in=(first.match_id, second.match_id))} == {
        "PENDING"
    }
    assert make.look() == due.Plan()
    with pytest.raises(ActionRefused):
        make_correction("replay", match_id="R1M1", reason="to go on here")
