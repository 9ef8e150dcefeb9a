"""The committed draw on the match page: commitment before, seed after the end (ruling, section 12)."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest
from django.test import Client

from league_sdk.rules.draws import commitment
from matches.league import lifecycle
from matches.models import Event, Match
from matches.view import sight
from tests import factories as make
from tests.matches.correcting import make_correction

pytestmark = pytest.mark.django_db
PATH = "/leagues/fall/matches/R1M1/"
SEED = bytes(range(32))
UNSEALED_SENTENCE = "a referee that does not seal its verdicts"


def amend(kind: str, **data: Any) -> None:
    """Give the last event of a kind more data, as the league manager writes it for a committed draw."""
    event = Event.objects.filter(league_id="fall", kind=kind).latest("seq")
    event.data |= data
    event.save(update_fields=["data"])
    sight._latest.clear()
    sight._pasts.clear()


def publish_commitment(match_id: str = "R1M1", seed: bytes = SEED) -> None:
    amend("round_started", draw_commitments={match_id: commitment(seed)})


def draw_part(client: Client, path: str = PATH) -> str:
    """The part of the page that tells of the draw."""
    answer = client.get(path)
    assert answer.status_code == 200
    matched = re.search(r'<section id="fragment-match_draw".*?</section>', answer.content.decode(), re.DOTALL)
    assert matched is not None
    return html.unescape(matched[0])


def check_of(part: str) -> dict[str, Any]:
    matched = re.search(r'data-check="(\{.*?\})"', part)
    assert matched is not None
    return dict(json.loads(matched[1]))


def test_a_match_without_commitment_shows_nothing_about_the_draw(client: Client) -> None:
    make.running_league(players=2)
    # A round that was started by an older version of the site has no commitments.
    Event.objects.filter(kind="round_started").update(data={"round_id": 1})
    assert " hidden>" in draw_part(client)


def test_a_running_match_shows_the_commitment_but_not_the_seed(client: Client) -> None:
    make.running_league(players=2)
    Match.objects.update(draw_seed=SEED.hex())
    publish_commitment()
    part = draw_part(client)
    assert commitment(SEED)[:12] in part
    assert "data-check" not in part
    assert SEED.hex() not in client.get(PATH).content.decode()


def test_a_finished_match_has_all_that_a_check_needs(client: Client) -> None:
    made = make.running_league(players=2)
    publish_commitment()
    make.report(made.match("R1M1"), "P01")
    amend("match_finished", draw_seed=SEED.hex(), play=1, sealed=True)
    assert check_of(draw_part(client)) == {
        "players": ["P01", "P02"],
        "choices": ["even", "odd"],
        "number": 8,
        # The referee of this test does not report the parity.
        "parity": None,
        "winner": "P01",
        "commitment": commitment(SEED),
        "seed": SEED.hex(),
        "league_id": "fall",
        "match_id": "R1M1",
        "play": 1,
        "game": "even_odd",
    }


def test_a_technical_loss_has_no_number_but_a_seed(client: Client) -> None:
    made = make.running_league(players=2)
    publish_commitment()
    match = made.match("R1M1")
    make.report(match, None, **make.no_answer_from(match, "P02"))
    amend("match_finished", draw_seed=SEED.hex())
    check = check_of(draw_part(client))
    assert (check["number"], check["seed"]) == (None, SEED.hex())


def test_a_match_of_a_referee_that_does_not_seal_has_no_draw_check(client: Client) -> None:
    made = make.running_league(players=2)
    publish_commitment()
    make.report(made.match("R1M1"), "P01")
    part = draw_part(client)
    assert UNSEALED_SENTENCE in part
    assert "data-check" not in part


def test_a_correction_does_not_change_what_the_check_of_the_draw_gets(client: Client) -> None:
    made = make.running_league(players=2)
    publish_commitment()
    make.report(made.match("R1M1"), "P01")
    amend("match_finished", draw_seed=SEED.hex())
    make_correction("set_result", match_id="R1M1", status="WIN", winner="P02", reason="P01 was called twice")
    check = check_of(draw_part(client))
    assert (check["winner"], check["number"]) == ("P01", 8)


def test_a_match_opened_again_shows_the_new_commitment_and_not_the_old_seed(client: Client) -> None:
    made = make.running_league(players=2)
    publish_commitment()
    make.report(made.match("R1M1"), "P01")
    amend("match_finished", draw_seed=SEED.hex())
    make_correction("replay", match_id="R1M1", reason="P01 was called twice")
    second = commitment(bytes(32))
    amend("corrected", draw_commitments={"R1M1": second})
    part = draw_part(client)
    assert second[:12] in part
    assert commitment(SEED) not in part
    assert "data-check" not in part
    assert "play 2" in part


def test_the_seed_of_a_match_behind_a_freeze_is_not_shown(client: Client) -> None:
    made = make.league_before_freeze()
    lifecycle.start_league(league_id="fall")
    make.open_round("fall")
    make.look()
    publish_commitment("R2M1")
    make.report(made.match("R2M1"), "P01")
    amend("match_finished", draw_seed=SEED.hex())
    assert SEED.hex() not in client.get("/leagues/fall/matches/R2M1/").content.decode()
    assert "data-check" not in draw_part(client, "/leagues/fall/matches/R2M1/")
