"""Corrections through the API: previewed, made, listed, undone, with the instructor's key only."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from matches.view import sight
from tests import factories as make
from tests.matches.correcting import make_correction
from tests.sizes import sampled

pytestmark = pytest.mark.django_db
ADDRESS = "/api/leagues/fall/corrections"
VOID = {"kind": "void", "match_id": "R1M1", "reason": "wrong game started"}


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> make.MadeLeague:
    """Round 1 is over."""
    monkeypatch.setenv("LEAGUE_API_KEY", "the-key")
    made = make.running_league(players=4)
    make.finish_round(made)
    return made


def post(client: Client, body: dict[str, Any], address: str = ADDRESS, key: str = "the-key") -> Any:
    return client.post(
        address, body, content_type="application/json", headers={"Authorization": f"Bearer {key}"} if key else {}
    )


def test_a_preview_changes_nothing_and_what_it_showed_is_done(client: Client, made: make.MadeLeague) -> None:
    answer = post(client, VOID | {"preview": True})
    assert answer.status_code == 200
    shown = answer.json()
    assert shown["matches"] == [{"match_id": "R1M1", "players": "P01–P02", "was": "P01 won", "becomes": "cancelled"}]
    assert [row["points"] for row in shown["before"]] == [3, 3, 0, 0]
    changed = {row["player_id"]: row["points_by"] for row in shown["after"] if row["changed"]}
    # P03 and P04 share a place now, too.
    assert changed == {"P01": -3, "P02": 0, "P03": 0, "P04": 0}
    assert client.get(ADDRESS, headers={"Authorization": "Bearer the-key"}).json() == []

    confirmed = post(client, VOID | {"fingerprint": shown["fingerprint"]})
    assert confirmed.status_code == 201
    assert (
        confirmed.json()["number"],
        confirmed.json()["made_by"],
        confirmed.json()["before"]["R1M1"]["winner_id"],
    ) == (
        1,
        "API",
        "P01",
    )
    assert [row.points for row in sight.public(made.league).standings] == [row["points"] for row in shown["after"]]
    outdated = post(client, {"kind": "points", "player_id": "P01", "points": 1, "reason": "why", "fingerprint": "x"})
    assert (outdated.status_code, outdated.json()["error"]) == (
        409,
        "The league has changed since this was shown: look again, then confirm.",
    )


def test_undoing_a_correction_by_the_api(client: Client, made: make.MadeLeague) -> None:
    post(client, VOID)
    address = f"{ADDRESS}/1/undo"
    shown = post(client, {"reason": "it was right", "preview": True}, address).json()
    assert [row["points"] for row in shown["after"]] == [3, 3, 0, 0]
    undone = post(client, {"reason": "it was right", "fingerprint": shown["fingerprint"]}, address)
    assert (undone.status_code, undone.json()["undone_reason"]) == (200, "it was right")
    [listed] = client.get(ADDRESS, headers={"Authorization": "Bearer the-key"}).json()
    assert (listed["number"], listed["undone_by"]) == (1, "API")
    assert post(client, {"reason": "it was right"}, address).status_code == 409
    assert post(client, {"reason": "it was right"}, f"{ADDRESS}/2/undo").status_code == 404


REFUSED: dict[str, tuple[dict[str, Any], int, str | None]] = {
    "no reason": ({"kind": "void", "match_id": "R1M1"}, 422, "reason"),
    "a reason that is too short": (VOID | {"reason": "no"}, 422, "reason"),
    "a strange kind": (VOID | {"kind": "erase"}, 422, "kind"),
    "no such match": (VOID | {"match_id": "R1\x00"}, 422, "match_id"),
    "too many points": ({"kind": "points", "player_id": "P01", "points": 1001, "reason": "why"}, 422, "points"),
    "points as text": ({"kind": "points", "player_id": "P01", "points": "3", "reason": "why"}, 422, "points"),
    "something else": (VOID | {"winer": "P01"}, 422, "winer"),
}


@pytest.mark.parametrize(("body", "status", "field"), sampled(REFUSED.values(), every=2), ids=REFUSED)
@pytest.mark.parametrize("preview", [False, pytest.param(True, marks=pytest.mark.exhaustive)])
def test_a_correction_that_is_refused_names_the_field(
    client: Client, made: make.MadeLeague, body: dict[str, Any], status: int, field: str | None, preview: bool
) -> None:
    answer = post(client, body | {"preview": preview})
    assert (answer.status_code, answer.json()["field"]) == (status, field)


def test_corrections_need_the_key_and_a_league_that_exists(client: Client, made: make.MadeLeague) -> None:
    for key in ("", "another"):
        assert post(client, VOID, key=key).status_code == 401
        assert post(client, {"reason": "why"}, f"{ADDRESS}/1/undo", key=key).status_code == 401
    assert client.get(ADDRESS).status_code == 401
    assert post(client, VOID, "/api/leagues/nowhere/corrections").status_code == 404


def test_listing_30_corrections_takes_no_more_queries_than_listing_3(client: Client, made: make.MadeLeague) -> None:
    def cost() -> int:
        with CaptureQueriesContext(connection) as seen:
            client.get(ADDRESS, headers={"Authorization": "Bearer the-key"})
        return len(seen)

    for _ in range(3):
        make_correction("points", player_id="P01", points=1, reason="why")
    few = cost()
    for _ in range(27):
        make_correction("points", player_id="P02", points=1, reason="why")
    assert cost() == few
