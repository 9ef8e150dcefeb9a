"""What holds for many pages: hostile texts are escaped, a push equals the first load, unknown addresses are 404."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from matches.audience import pages
from matches.audience.pages import PageKey
from matches.league import notices
from matches.models import League
from tests import factories as make
from tests.matches.audience.hostile import HOSTILE, assert_harmless, hostile_league
from tests.matches.correcting import make_correction
from tests.paths import ROOT
from tests.sizes import sampled

pytestmark = pytest.mark.django_db
PATHS = [
    "/",
    *(f"/leagues/fall/{path}" for path in ("", "charts/", "screen/", "replay/", "embed/", "join/", "players/P01/")),
]
FAULT = {"player_id": "P01", "error_code": HOSTILE, "message_type": HOSTILE, "cause": HOSTILE, "sentence": HOSTILE}


def test_no_line_of_the_audiences_templates_is_longer_than_200_characters() -> None:
    templates = [
        *(ROOT / "templates/leagues").rglob("*.html"),
        *(ROOT / "templates/games").rglob("*.html"),
        *(ROOT / "templates/practice").rglob("*.html"),
        *(ROOT / "templates/check").rglob("*.html"),
    ]
    long = [file.name for file in templates if any(len(line) > 200 for line in file.read_text("utf-8").splitlines())]
    assert long == []


def assert_all_harmless(client: Client, *more: str) -> None:
    for path in (*PATHS, *more):
        text = client.get(path).content.decode()
        assert_harmless(text)
        assert 'style="' not in text, path


def test_hostile_names_break_out_of_no_page(client: Client) -> None:
    make.league(players=0)
    League.objects.update(display_name=HOSTILE[:64])
    for number in (1, 2):
        make.player(HOSTILE, "fall", port=8100 + number)
    assert_all_harmless(client)


def test_hostile_results_break_out_of_no_page(client: Client) -> None:
    made = hostile_league()
    entry = make.entry(
        0,
        sender=HOSTILE,
        recipient=HOSTILE,
        message_type=HOSTILE,
        method=HOSTILE,
        problem=HOSTILE,
        notes=[HOSTILE],
        body={HOSTILE: HOSTILE},
        elapsed_ms=HOSTILE,
        limit_ms=HOSTILE,
        http_status=HOSTILE,
    )
    details = {"drawn_number": HOSTILE, "number_parity": HOSTILE, "choices": {"P01": HOSTILE, "P02": [HOSTILE]}}
    make.report(
        made.match("R1M1"),
        "P02",
        status="TECHNICAL_LOSS",
        reason=HOSTILE,
        transcript=[entry],
        faults=[FAULT, FAULT | {"cause": "HTTP_STATUS", "limit_s": 5, "detail": HOSTILE}],
        result={"winner": "P02", "score": {}, "details": details},
    )
    notices.say(league_id="fall", text=HOSTILE, by="x")
    make_correction("points", player_id="P01", points=1, reason=HOSTILE, by="x")
    pages_with_results = ("/leagues/fall/matches/R1M1/", "/leagues/fall/players/P02/")
    assert_all_harmless(client, *pages_with_results)
    make_correction("set_result", match_id="R1M1", status="DRAW", winner=None, reason=HOSTILE, by="x")
    assert_all_harmless(client, *pages_with_results)
    fragments = client.get("/leagues/fall/replay/fragments/", {"at": 2}).json()["fragments"].values()
    assert [html for html in fragments if "<script" in html or "<img" in html] == []


@pytest.mark.parametrize("start", [False, True])
def test_the_first_load_and_the_live_push_are_the_same_text(client: Client, start: bool) -> None:
    made = make.league(players=4)
    if start:
        make.next_round(made)
        make.report(made.match("R1M1"), made.match("R1M1").player_a.code, transcript=[make.entry(0)])
    paths = {
        PageKey(): "/",
        PageKey("player", "fall", "P01"): "/leagues/fall/players/P01/",
        **{PageKey(kind, "fall"): f"/leagues/fall/{kind}/" for kind in ("charts", "join", "screen")},
        PageKey("board", "fall"): "/leagues/fall/",
    }
    if start:
        paths[PageKey("match", "fall", "R1M1")] = "/leagues/fall/matches/R1M1/"
    for key, path in paths.items():
        fragments = pages.fragments(key, "en")
        assert fragments is not None
        text = client.get(path).content.decode()
        assert [name for name, html in fragments.items() if html.strip() not in text] == []


@pytest.mark.parametrize(
    "path",
    sampled(
        [
            *(
                f"/leagues/nowhere/{path}"
                for path in ("", "join/", "join/kit.zip", "replay/", "replay/fragments/", "embed/")
            ),
            *(f"/leagues/fall/matches/{match_id}/" for match_id in ("R9M9", "%00")),
            *(f"/leagues/fall/players/{player_id}/" for player_id in ("P99", "REF01")),
            "/leagues/%00/",
            "/x",
        ]
    ),
)
def test_an_unknown_address_is_our_404_page(client: Client, path: str) -> None:
    make.running_league(players=2)
    answer = client.get(path)
    assert answer.status_code == 404
    assert re.findall(r"<h1>(.*?)</h1>", answer.content.decode()) == ["There is no such page"]
