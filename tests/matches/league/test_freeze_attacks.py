"""What happens after a freeze is secret: what anyone may read stays the same, byte for byte.

This also holds for those who try to find out: by moments of the past, other players, headers, later corrections.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone

from agents_registry.models import Agent
from agents_registry.registering import registration
from matches.audience import pages
from matches.audience.pages import PageKey, mine
from matches.league import freeze, lifecycle, losses, notices, opening, series
from matches.league.corrections import applying
from matches.models import League, Match
from tests import factories as make
from tests import rich, wire
from tests.leaguesite import public_addresses
from tests.matches.correcting import make_correction

pytestmark = pytest.mark.django_db

QUERIES = ("GET_STANDINGS", "GET_SCHEDULE", "GET_PLAYER_STATS", "GET_NEXT_MATCH")
_CSRF = re.compile(rb'(name="csrfmiddlewaretoken" value=")[^"]+')


class _GiveUp(Exception):
    """Raised to roll a transaction back."""


def answers_after(
    play_on: Callable[[make.MadeLeague], None], read: Callable[[], dict[str, Any]], made: make.MadeLeague
) -> Any:
    """What ``read`` returns after ``play_on``; everything is rolled back afterwards."""
    values: dict[str, Any] = {}
    try:
        with transaction.atomic():
            play_on(made)
            values = read()
            raise _GiveUp
    except _GiveUp:
        return values


@pytest.fixture
def made() -> make.MadeLeague:
    """Four players with transcripts; round 1 is played, the board is frozen, and round 2 is announced.

    A student's referee is there that nobody has let judge.
    """
    made = make.running_league(players=4)
    made.referees.append(make.referee("Student", port=8008, trusted=False, progress=False))
    series.put(league_id="fall", series_id=public_addresses.EXAMPLES["series_id"])
    freeze.plan(league_id="fall", from_round=2)
    rich.play(made)
    lifecycle.start_league(league_id="fall")
    # The referee is not taken for lost, however long reading all pages takes.
    Agent.objects.filter(kind="referee").update(heard_at=timezone.now() + timedelta(hours=1))
    return made


def play_round(made: make.MadeLeague) -> None:
    if not made.league.rounds.filter(state="ANNOUNCING").exists():
        lifecycle.start_league(league_id="fall")
    make.open_round("fall")
    rich.play(made)


def nothing_happens(made: make.MadeLeague) -> None:
    """Change nothing after the freeze."""


def second_wins(made: make.MadeLeague) -> None:
    make.open_round("fall")
    make.finish_round(made, 1)


def draws_and_goes_on(made: make.MadeLeague) -> None:
    """Draws, a silent player, a lost attempt, a pause."""
    make.open_round("fall")
    make.look()
    match = made.match("R2M1")
    make.report(match, None, **make.no_answer_from(match, match.player_a.code))
    losses.lose_attempt(matches=Match.objects.filter(match_id="R2M2"), why="test")
    make.finish_round(made, None)
    lifecycle.pause(league_id="fall")
    lifecycle.resume(league_id="fall")


def corrected(made: make.MadeLeague) -> None:
    """Correct round 1 in several ways, and undo one of the corrections."""
    make_correction("set_result", match_id="R1M1", status="DRAW")
    make_correction("void", match_id="R1M2")
    make_correction("points", player_id="P03", points=-4)
    applying.undo(league_id="fall", number=2, reason="it was right", by="ada")
    make_correction("disqualify", player_id="P04", matches_become="lose")


def replayed(made: make.MadeLeague) -> None:
    """Replay a match of round 1 to its end, and another one that is still being played."""
    make.open_round("fall")
    make_correction("replay", match_id="R1M1")
    rich.play(made)
    make_correction("replay", match_id="R1M2")
    make.look()


def renamed(made: make.MadeLeague) -> None:
    """Agents with new names, versions, addresses; some are gone, one is withdrawn."""
    Agent.objects.filter(code="P01").update(display_name="A new name", version="9.9.9", problem="gone")
    Agent.objects.filter(code="P02").update(endpoint="http://10.9.9.9:1/x", silences=3)
    registration.retire(agent_ids=Agent.objects.filter(code="P03").values_list("pk", flat=True))
    make_correction("withdraw", player_id="P03", matches_become="keep")


def to_the_end(made: make.MadeLeague) -> None:
    lifecycle.run_all(league_id="fall")
    make.open_round("fall")
    rich.play(made)
    while made.league.state == "RUNNING":
        play_round(made)


def stopped(made: make.MadeLeague) -> None:
    play_round(made)
    notices.say(league_id="fall", text="to one", by="ada", player_id="P01")
    lifecycle.pause(league_id="fall")
    lifecycle.stop(league_id="fall")


def public_answers(client: Client, made: make.MadeLeague) -> dict[str, Any]:
    """Everything that anyone may read: pages, the API, frames, queries of agents, and answers to reports."""
    last = League.objects.get(pk="fall").frozen_seq
    paths = {*public_addresses.pages("fall"), *public_addresses.api_addresses("fall")} - {"/health"}
    for match in made.league.matches.values_list("match_id", flat=True):
        paths |= {f"/leagues/fall/matches/{match}/", f"/leagues/fall/matches/{match}/messages"}
        paths |= {f"/api/leagues/fall/matches/{match}"}
    paths |= {f"/leagues/fall/players/{code}/" for code in ("P01", "P02", "P03", "P04")}
    moments = [last, last + 1, last + 7, 10**30, "x", ""]
    paths |= {f"/leagues/fall/replay/fragments/?at={at}" for at in [*range(last), *moments]}
    # The whole page shows the same fragments: a few moments are enough.
    paths |= {f"/leagues/fall/replay/?at={at}" for at in [0, *moments]}
    bodies: dict[str, Any] = {}
    for path in sorted(paths):
        answer = client.get(path, headers={"Accept-Encoding": "identity"})
        # The page to share does not exist before the unveiling is over.
        expected = (404,) if "/story/" in path else (200, 302, 405)
        assert answer.status_code in expected, (path, answer.status_code)
        body = b"".join(answer.streaming_content) if answer.streaming else answer.content
        bodies[path] = _CSRF.sub(rb"\1", body)
        # All headers, also lengths and ETags, but those of pages with a form, whose random token changes both.
        bodies[f"headers of {path}"] = sorted(answer.items()) if b"csrf" not in body else None
    feed = client.get("/api/leagues/fall/events?limit=500").json()
    bodies["feed"] = feed
    bodies["feed on"] = client.get(f"/api/leagues/fall/events?since={feed['next']}").json()
    for language in ("en", "he"):
        bodies[f"frame index {language}"] = pages.fragments(PageKey(), language)
        for kind in pages.KINDS:
            items = {"match": ["R1M1", "R1M2", "R2M1", "R3M1"], "player": ["P01", "P02", "P03", "P04"]}
            for item in items.get(kind, [None]):
                bodies[f"frame {kind} {item} {language}"] = pages.fragments(PageKey(kind, "fall", item), language)
    for query in QUERIES:
        for player in ("P02", "P03", "P04"):
            params = make.message_from(made.players[0], "LEAGUE_QUERY", league_id="fall", query_type=query)
            reply = wire.ask(client, "league_query", params | {"query_params": {"player_id": player}})
            bodies[f"{query} {player}"] = wire.plain(reply)
            for judge in made.referees[1:]:
                by_judge = make.message_from(judge, "LEAGUE_QUERY", league_id="fall", query_type=query)
                reply = wire.ask(client, "league_query", by_judge | {"query_params": {"player_id": player}})
                bodies[f"{query} {player} {judge.agent.name}"] = wire.plain(reply)
    return bodies | answers_to_reports(client, made)


def answers_to_reports(client: Client, made: make.MadeLeague) -> dict[str, Any]:
    """The answers to reports of an untrusted referee about matches of others."""
    answers = {}
    for judge in made.referees[1:]:
        for match_id in ("R1M1", "R2M1", "R2M2", "R3M1"):
            for attempt in (None, 1, 2, 3):
                fields = {"match_id": match_id, "attempt": attempt, "result": {"winner": "P01", "score": {}}}
                by_judge = make.message_from(judge, "MATCH_RESULT_REPORT", league_id="fall", **fields)
                refused = wire.refused(client, "report_match_result", by_judge)
                answers[f"report of {match_id} {attempt} by {judge.agent.name}"] = refused["message"]
    return answers


def edited(made: make.MadeLeague) -> None:
    """Change the league's settings and play on by them."""
    name = made.league.display_name
    changed = {"win_points": 7, "technical_loss_points": -3, "auto_advance": True, "move_timeout_s": 9}
    opening.edit_league(league_id="fall", display_name=name, settings=changed)
    play_round(made)


@pytest.mark.long
@pytest.mark.parametrize(
    "histories",
    [(second_wins, draws_and_goes_on, to_the_end, stopped), (corrected, replayed, renamed, edited)],
    ids=["the league goes on", "the staff acts"],
)
def test_no_public_page_changes_after_the_freeze(
    client: Client, made: make.MadeLeague, histories: tuple[Callable[[make.MadeLeague], None], ...]
) -> None:
    expected = answers_after(nothing_happens, lambda: public_answers(client, made), made)
    for history in histories:
        seen = answers_after(history, lambda: public_answers(client, made), made)
        assert sorted(seen) == sorted(expected), history.__name__
        assert [name for name in expected if expected[name] != seen[name]] == [], history.__name__


def test_a_player_gets_its_own_next_match_while_the_board_is_frozen(client: Client, made: make.MadeLeague) -> None:
    play_round(made)
    rounds = []
    for who in made.players[:2]:
        params = make.message_from(who, "LEAGUE_QUERY", league_id="fall", query_type="GET_NEXT_MATCH")
        answer = wire.ask(client, "league_query", params | {"query_params": {"player_id": "P01"}})
        rounds.append(answer["data"]["next_match"]["round_id"])
    assert rounds == [3, 2]


@pytest.mark.parametrize("named", ["fall", None])
def test_registering_again_does_not_reveal_that_a_frozen_league_has_ended(
    made: make.MadeLeague, named: str | None
) -> None:
    to_the_end(made)
    assert made.league.state == "COMPLETED"
    known = made.players[0].agent
    again = make.player(known.display_name, named, endpoint=known.endpoint)
    assert (again.agent.pk, again.fresh().state) == (known.pk, "ACTIVE")


def test_my_agent_does_not_show_corrections_while_the_board_is_frozen() -> None:
    """Before the unveiling the owner sees the referee's result, not the correction."""
    made = make.running_league(players=4)
    make.finish_round(made)
    freeze.plan(league_id="fall", from_round=2)
    lifecycle.start_league(league_id="fall")
    league, agent = made.league, made.match("R1M1").player_a

    def shown_letters() -> list[tuple[str, str]]:
        rows = mine.context(made.league, [agent])["matches"]
        return [(row.match_id, row.letter) for row in rows]

    before = shown_letters()
    assert ("R1M1", "W") in before
    make_correction("void", league_id=league.pk, match_id="R1M1", reason="wrong game", by="someone")
    assert shown_letters() == before
    make.open_round("fall")
    make.finish_round(made)
    assert len([how for _, how in shown_letters() if how]) == 2
    freeze.lift(league_id="fall")
    assert ("R1M1", "C") in shown_letters()
