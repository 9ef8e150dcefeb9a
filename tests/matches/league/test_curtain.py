"""The freeze is a secret: what anyone may read is the same, byte for byte, whatever happens after it (issue of the
room, point 11), until it is unveiled from the last place up."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from agents_registry.models import Agent
from league_sdk.protocol.messages import MessageType
from matches.audience import pages
from matches.audience.pages import PageKey
from matches.league import curtain, lifecycle, losses
from matches.league.errors import ActionRefused
from matches.models import Broadcast, League, Match
from matches.view import sight
from tests import factories as make
from tests import wire
from tests.leaguesite import public_addresses

pytestmark = pytest.mark.django_db

TABLES = ("GET_STANDINGS", "GET_SCHEDULE", "GET_PLAYER_STATS")
_CSRF = re.compile(rb'(name="csrfmiddlewaretoken" value=")[^"]+')


class _GiveUp(Exception):
    """Ends a history that is not to stay."""


@pytest.fixture
def place() -> make.Setting:
    """Four players; round 1 is played, the board is frozen, and round 2 is announced."""
    place = make.veiled()
    lifecycle.start_league(league_id="fall")
    return place


def play_round(place: make.Setting, winner: int | None) -> None:
    """What is announced, else the next round, to its end."""
    announced = place.league.rounds.filter(state="ANNOUNCING").exists()
    if not announced:
        lifecycle.start_league(league_id="fall")
    make.open_current("fall")
    make.finish_round(place, winner)


def public(client: Client, place: make.Setting) -> dict[str, Any]:
    """All that anyone may read: every page, every answer of the API, every frame, every table an agent asks for."""
    found: dict[str, Any] = {}
    # /health tells how long the process runs.
    everywhere = {*public_addresses.pages("fall"), *public_addresses.api_addresses("fall")} - {"/health"}
    for path in [*sorted(everywhere), "/leagues/fall/matches/R2M1/", "/api/leagues/fall/matches/R2M1"]:
        answer = client.get(path)
        assert answer.status_code in (200, 302, 405), (path, answer.status_code)
        body = b"".join(answer.streaming_content) if answer.streaming else answer.content
        found[path] = _CSRF.sub(rb"\1", body)
    for kind in pages.KINDS:
        for item in {"match": ["R1M1", "R2M1", "R3M2"], "player": ["P01", "P02"]}.get(kind, [None]):
            key = PageKey(kind, "fall", item)
            found[f"frame {key}"] = pages.fragments(key, "en")
    found["frame index"] = pages.fragments(PageKey(), "en")
    for query in TABLES:
        params = make.signed(place.players[0], "LEAGUE_QUERY", league_id="fall", query_type=query)
        found[query] = wire.plain(wire.ask(client, "league_query", params | {"query_params": {"player_id": "P02"}}))
    return found


def told(after: int) -> list[dict[str, Any]]:
    """What agents are told to all alike, after a broadcast, but for the moment it was made."""
    rows = Broadcast.objects.filter(pk__gt=after, league_id="fall").order_by("pk")
    return [wire.plain(row.payload) for row in rows]


def quiet(place: make.Setting) -> None:
    """Nothing happens after the freeze."""


def first_wins(place: make.Setting) -> None:
    play_round(place, 0)


def second_wins(place: make.Setting) -> None:
    play_round(place, 1)


def draws_and_goes_on(place: make.Setting) -> None:
    """Draws, a silent player, a lost referee, a new name, a pause, a correction's worth of events; to the very end."""
    make.open_current("fall")
    make.look()
    match = place.match("R2M1")
    make.report(match, None, **make.silent(match, match.player_a.code))
    losses.lose_attempt(matches=Match.objects.filter(match_id="R2M2"), why="test")
    make.finish_round(place, None)
    Agent.objects.filter(code="P01").update(display_name="A new name", version="9.9.9")
    lifecycle.pause(league_id="fall")
    lifecycle.resume(league_id="fall")
    play_round(place, 1)


HISTORIES: list[Callable[[make.Setting], None]] = [first_wins, second_wins, draws_and_goes_on]


def kept(play_on: Callable[[make.Setting], None], look: Callable[[], dict[str, Any]], place: make.Setting) -> Any:
    """What is seen after a history, which is then taken back."""
    found: dict[str, Any] = {}
    try:
        with transaction.atomic():
            play_on(place)
            found = look()
            raise _GiveUp
    except _GiveUp:
        return found


@pytest.mark.parametrize("history", HISTORIES)
def test_nobody_can_tell_what_happened_after_the_freeze(
    client: Client, place: make.Setting, history: Callable[[make.Setting], None]
) -> None:
    still = kept(quiet, lambda: public(client, place), place)
    after = kept(history, lambda: public(client, place), place)
    assert sorted(still) == sorted(after)
    assert [name for name in still if still[name] != after[name]] == []


def test_the_tables_that_agents_are_sent_are_the_same_and_say_so(place: make.Setting) -> None:
    last = Broadcast.objects.order_by("-pk").values_list("pk", flat=True)[0]
    sent = []
    for winner in (0, 1, None):
        try:
            with transaction.atomic():
                play_round(place, winner)
                play_round(place, winner)
                sent.append(told(last))
                raise _GiveUp
        except _GiveUp:
            continue
    assert sent[0] == sent[1] == sent[2]
    marked = {message["message_type"]: message.get("frozen_after_round") for message in sent[0]}
    assert marked[MessageType.LEAGUE_STANDINGS_UPDATE] == 1
    assert "summary" not in next(one for one in sent[0] if one["message_type"] == MessageType.ROUND_COMPLETED)
    assert MessageType.LEAGUE_COMPLETED not in marked


def test_answers_to_agents_say_that_the_table_is_frozen(client: Client, place: make.Setting) -> None:
    play_round(place, 0)
    for query in TABLES:
        params = make.signed(place.players[0], "LEAGUE_QUERY", league_id="fall", query_type=query)
        assert wire.ask(client, "league_query", params)["data"]["frozen_after_round"] == 1


def test_the_staff_sees_all_when_it_asks_for_it(client: Client, admin_client: Client, place: make.Setting) -> None:
    play_round(place, 1)
    address = "/leagues/fall/"
    assert admin_client.get(address).content == client.get(address).content
    assert admin_client.get(f"{address}?as=staff").context["league"]["frozen_after"] is None
    assert admin_client.get(f"{address}?as=staff").context["league"]["round_number"] == 2
    assert client.get(f"{address}?as=staff").status_code == 403
    assert client.get(f"/api{address}standings?as=staff").status_code == 401


def over(place: make.Setting) -> list[str]:
    """Plays to the end; the players as the final table has them."""
    play_round(place, 0)
    play_round(place, 1)
    return [row.player_id for row in sight.everything(place.league).standings]


def shown(place: make.Setting) -> list[tuple[int, str, int]]:
    return [(row.rank, row.player_id, row.played) for row in sight.public(place.league).standings]


def test_the_table_is_unveiled_from_the_last_place_up(place: make.Setting) -> None:
    final = over(place)
    frozen = [code for _, code, _ in shown(place)]
    for place_shown in (4, 3, 2):
        assert curtain.unveil(league_id="fall") == place_shown
        table = shown(place)
        assert [code for _, code, _ in table[place_shown - 1 :]] == final[place_shown - 1 :]
        assert [played for _, _, played in table[place_shown - 1 :]] == [3] * (5 - place_shown)
        above = [code for code in frozen if code not in final[place_shown - 1 :]]
        assert [code for _, code, _ in table[: place_shown - 1]] == above
        assert [played for _, _, played in table[: place_shown - 1]] == [1] * (place_shown - 1)
        assert [rank for rank, _, _ in table] == [1, 2, 3, 4]
    assert not Broadcast.objects.filter(message_type=MessageType.LEAGUE_COMPLETED).exists()
    assert curtain.unveil(league_id="fall") == 1
    assert [code for _, code, _ in shown(place)] == final
    ended = Broadcast.objects.get(message_type=MessageType.LEAGUE_COMPLETED)
    assert [row["player_id"] for row in ended.payload["final_standings"]] == final
    assert sight.public(place.league).now
    assert set(Agent.objects.filter(kind="player").values_list("state", flat=True)) == {"SHUTDOWN"}


def test_lifting_it_at_once_in_the_middle_of_the_league(place: make.Setting) -> None:
    play_round(place, 0)
    curtain.lift(league_id="fall")
    assert sight.public(place.league).standings == sight.everything(place.league).standings
    play_round(place, 0)
    assert place.events().count("frozen") == 1
    assert League.objects.get(pk="fall").state == "COMPLETED"


REFUSED = {
    "fall has no freeze to lift": lambda: curtain.lift(league_id="fall"),
    "nor to unveil": lambda: curtain.unveil(league_id="fall"),
    "round 1 has begun": lambda: curtain.plan(league_id="fall", from_round=1),
    "there is no round 4": lambda: curtain.plan(league_id="fall", from_round=4),
    "nor a league": lambda: curtain.plan(league_id="nowhere", from_round=2),
}


@pytest.mark.parametrize("action", REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_done_is_refused_and_changes_nothing(action: Callable[[], object]) -> None:
    make.playing(players=4)
    before = League.objects.filter(pk="fall").values().get()
    with pytest.raises(ActionRefused):
        action()
    assert League.objects.filter(pk="fall").values().get() == before


def test_a_frozen_board_is_not_planned_anew_and_not_unveiled_before_the_end(place: make.Setting) -> None:
    play_round(place, 0)
    for action in (lambda: curtain.plan(league_id="fall", from_round=3), lambda: curtain.unveil(league_id="fall")):
        with pytest.raises(ActionRefused):
            action()


def test_a_freeze_can_be_called_off_before_it_falls() -> None:
    place = make.veiled()
    curtain.plan(league_id="fall", from_round=None)
    lifecycle.start_league(league_id="fall")
    assert sight.public(place.league).now


def test_what_is_kept_of_a_freeze_can_be_stored(place: make.Setting) -> None:
    play_round(place, 0)
    assert json.loads(json.dumps(place.league.frozen)) == place.league.frozen
