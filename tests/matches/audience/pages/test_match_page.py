"""The match page: reason, faults, attempts, messages, and the freeze."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest
from django.test import Client

from agents_registry.models import Agent
from matches.league import lifecycle, losses, opening
from matches.league.corrections import applying
from matches.models import Match
from tests import factories as make
from tests.matches.correcting import make_correction

pytestmark = pytest.mark.django_db
PATH = "/leagues/fall/matches/R1M1/"
ADDRESS = "http://10.1.2.3:8101/mcp"


def words(page: str) -> str:
    """The text of a page, without its tags."""
    return html.unescape(" ".join(re.sub(r"<[^>]+>", " ", page).split()))


def part(page: str, element: str, name: str) -> str:
    """The text of the first element of a class."""
    matched = re.search(rf'<{element} class="{name}.*?</{element}>', page, re.DOTALL)
    return words(matched[0]) if matched else ""


def page_of(client: Client, path: str = PATH) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return str(answer.content.decode())


def fault(player: str, **changes: Any) -> dict[str, Any]:
    return {
        "player_id": player,
        "error_code": "E001",
        "message_type": "CHOOSE_PARITY_CALL",
        "tries": 4,
        "cause": "DEADLINE",
        "limit_s": 30.0,
        "sentence": "",
    } | changes


def test_a_sealed_result_says_if_the_players_were_perhaps_not_told(client: Client) -> None:
    made = make.running_league(players=2)
    make.report(made.match("R1M1"), "P01")
    untold_sentence = "The result counts, but they may not have heard it."
    Match.objects.update(seal={"told": True})
    assert untold_sentence not in page_of(client)
    Match.objects.update(seal={"untold": True})
    assert untold_sentence in page_of(client)
    make_correction("set_result", match_id="R1M1", status="DRAW", winner=None, reason="both were right")
    assert untold_sentence not in page_of(client)


def test_choices_are_in_the_readers_language(client: Client) -> None:
    made = make.running_league(players=2)
    make.report(made.match("R1M1"), "P01")
    assert "chose even" in page_of(client)
    answer = client.get(PATH, headers={"accept-language": "he"}).content.decode()
    assert "בחירה: זוגי" in words(answer)
    assert "בחירה: even" not in words(answer)


def lose(made: make.MadeLeague, *faults: dict[str, Any], **changes: Any) -> None:
    """Report R1M1 as a technical loss with these faults."""
    match = made.match("R1M1")
    fields = make.no_answer_from(match, *(one["player_id"] for one in faults)) | {"faults": list(faults)} | changes
    assert make.report(match, None, **fields)["status"] == "ACCEPTED"


def test_a_technical_loss_says_why_and_whose_fault_it_is(client: Client) -> None:
    made = make.running_league(players=2)
    lose(made, fault("P02"))
    page = page_of(client)
    assert part(page, "p", "verdict") == (
        "P01 won (technical) P02 did not answer CHOOSE_PARITY_CALL in 30 s (tries: 4): technical loss."
    )
    assert part(page, "ul", "blame") == "P02 deadline the player's side · E001 · 4 tries"


def test_a_match_lost_by_both_names_both_faults(client: Client) -> None:
    made = make.running_league(players=2)
    lose(made, fault("P01", cause="CONNECT", error_code="E009"), fault("P02", cause="REFEREE"))
    page = page_of(client)
    assert part(page, "p", "verdict") == (
        "both lost (P01: connection, P02: referee) P01 could not be reached for CHOOSE_PARITY_CALL (tries: 4); "
        "the referee failed while P02 was asked for an answer to CHOOSE_PARITY_CALL (tries: 4): technical loss."
    )
    assert part(page, "ul", "blame") == (
        "P01 connection the player's side · E009 · 4 tries P02 referee the referee's side · E001 · 4 tries"
    )


def test_a_win_says_the_number_and_what_each_chose(client: Client) -> None:
    made = make.running_league(players=2)
    make.report(made.match("R1M1"), "P01")
    page = page_of(client)
    assert part(page, "p", "verdict") == "P01 won · 8 even The number is 8, even: P01 chose even, P02 odd."
    assert re.findall(r'class="duel-name" href="([^"]+)"', page) == [
        "/leagues/fall/players/P01/",
        "/leagues/fall/players/P02/",
    ]


def test_each_attempt_has_its_own_messages_and_outcome(client: Client) -> None:
    made = make.running_league(players=2, referees=2)
    first = made.referee_of("R1M1").agent.code
    make.progress(made.match("R1M1"), transcript=[make.entry(0)])
    losses.lose_attempt(matches=Match.objects.filter(match_id="R1M1"), why="no sign of life from the referee")
    make.look()
    make.report(made.match("R1M1"), "P01", transcript=[make.entry(0), make.entry(1)])
    page = page_of(client)
    heads = [words(head) for head in re.findall(r"<h3 .*?</h3>", page, re.DOTALL)]
    assert heads == [
        f"Attempt 1 Lost with its referee {first}: no sign of life from the referee. It counts for nobody.",
        "Attempt 2 The result of this attempt counts.",
    ]
    lists = re.findall(r'<ol class="lanes".*?</ol>', page, re.DOTALL)
    assert [len(re.findall(r'id="msg-(\d)-', one)) for one in lists] == [1, 2]
    assert re.findall(r'id="msg-(\d-\d)"', page) == ["1-0", "2-0", "2-1"]


def test_a_corrected_match_shows_the_reason_and_the_reported_result(client: Client) -> None:
    made = make.running_league(players=2)
    make.report(made.match("R1M1"), "P01")
    how: dict[str, Any] = {"league_id": "fall", "by": "ada"}
    make_correction("set_result", match_id="R1M1", status="WIN", winner="P02", reason="P01 was called twice", **how)
    page = page_of(client)
    assert part(page, "p", "verdict").startswith("P02 won")
    corrections = part(page, "ul", "corrections")
    assert "P01 was called twice" in corrections
    assert corrections.endswith("The referee had reported: P01 won · 8 even.")
    applying.undo(number=1, reason="It was right", **how)
    page = page_of(client)
    assert part(page, "p", "verdict").startswith("P01 won")
    corrections = part(page, "ul", "corrections")
    assert "P01 was called twice" in corrections
    assert corrections.endswith("Undone: It was right")


def test_a_match_behind_the_freeze_says_that_it_is_hidden(client: Client) -> None:
    made = make.league_before_freeze()
    lifecycle.start_league(league_id="fall")
    make.open_round("fall")
    make.look()
    before = page_of(client, "/leagues/fall/matches/R2M1/")
    make.report(made.match("R2M1"), "P01", transcript=[make.entry(0)])
    page = page_of(client, "/leagues/fall/matches/R2M1/")
    assert part(page, "p", "verdict") == (
        "Hidden The board is frozen after round 1: what happens in this match is shown when the board is unveiled."
    )
    assert page == before
    messages = "/leagues/fall/matches/R2M1/messages"
    assert client.get(messages).json() == {}
    assert client.get(f"{messages}?message=1-0").status_code == 404
    assert client.get(f"{messages}?as=staff").status_code == 403
    assert "Hidden" not in page_of(client)


def report_with_messages(count: int) -> None:
    made = make.running_league(players=2)
    entries = [make.entry(number, notes=[f"found at {ADDRESS}"], body={"at": ADDRESS}) for number in range(count)]
    make.report(made.match("R1M1"), "P01", transcript=entries)


def test_messages_are_fetched_separately_with_masked_addresses(client: Client, admin_client: Client) -> None:
    report_with_messages(2)
    page = page_of(client)
    assert re.findall(r'<a href="(messages\?[^"]+)">', page) == ["messages?message=1-0", "messages?message=1-1"]
    assert client.get(f"{PATH}messages?message=1-1").json() == {"at": "[address]"}
    assert client.get(f"{PATH}messages").json() == {"1-0": {"at": "[address]"}, "1-1": {"at": "[address]"}}
    for address in (f"{PATH}messages?message=1-2", f"{PATH}messages?message=", "/leagues/fall/matches/R9M9/messages",
                 "/leagues/nowhere/matches/R1M1/messages"):  # fmt: skip
        assert client.get(address).status_code == 404
    assert ADDRESS not in page
    assert ADDRESS in page_of(admin_client, f"{PATH}?as=staff")
    assert admin_client.get(f"{PATH}messages?message=1-1&as=staff").json() == {"at": ADDRESS}


def test_an_address_in_place_of_a_sender_or_recipient_is_masked(client: Client, admin_client: Client) -> None:
    """A student's referee may write an endpoint where an id belongs."""
    made = make.running_league(players=2)
    by_name = "http://me.example/x"
    lines = [make.entry(0, sender=f"referee:{ADDRESS}"), make.entry(1, recipient=by_name)]
    make.report(made.match("R1M1"), "P01", transcript=lines)
    page = page_of(client)
    assert [text for text in ("10.1.2.3", "me.example") if text in page] == []
    assert page.count('<span class="pid">[address]</span>') == 2
    assert ADDRESS in page_of(admin_client, f"{PATH}?as=staff")


def test_the_messages_are_read_with_as_many_queries_for_3_as_for_300(client: Client) -> None:
    query_counts = []
    for count in (3, 300):
        make.League.objects.all().delete()
        Agent.objects.all().delete()
        report_with_messages(count)
        with make.counting_queries(query_counts):
            assert len(client.get(f"{PATH}messages").json()) == count
    assert query_counts[0] == query_counts[1]


def test_a_long_match_stays_light(client: Client) -> None:
    """A message body may have 4 kB; the page does not contain the bodies."""
    made = make.running_league(players=2)
    entries = [make.entry(number, body={"text": "x" * 4000}) for number in range(170)]
    make.report(made.match("R1M1"), "P01", transcript=entries)
    page = page_of(client)
    assert page.count('id="msg-') == 170
    assert len(page.encode()) < 200_000


def test_the_board_contains_its_moves_and_how_long_each_took(client: Client) -> None:
    make.referee()
    Agent.objects.update(game_types=["tic_tac_toe"])
    opening.create_league(league_id="fall", display_name="Fall", game_type="tic_tac_toe")
    for number in (1, 2):
        make.player(f"Player {number}", "fall", port=8100 + number, games=["tic_tac_toe"])
    lifecycle.start_league(league_id="fall")
    make.open_round("fall")
    make.look()
    view = {
        "board": [["X", "", ""], ["", "O", ""], ["", "", ""]],
        "moves": [0, 4],
        "marks": {"P01": "X", "P02": "O"},
        "to_move": "P01",
    }
    calls = [
        make.entry(n, recipient=player, message_type="GAME_MOVE_CALL") if n % 2 == 0 else
        make.entry(n, sender=player, recipient="referee:REF01", message_type="GAME_MOVE_RESPONSE", elapsed_ms=7 + n)
        for n, player in enumerate(["player:P01", "player:P01", "player:P02", "player:P02"])
    ]  # fmt: skip
    match = Match.objects.select_related("referee", "league").get()
    make.progress(match, state="COLLECTING_CHOICES", view=view, transcript=calls)
    page = page_of(client)
    steps = re.search(r'data-steps="([^"]+)"', page)
    assert steps is not None
    assert json.loads(steps[1].replace("&quot;", '"')) == [[[0, 0, "X"]], [[1, 1, "O"]]]
    assert re.findall(r'class="move-took" href="#msg-([\d-]+)">([^<]+)<', page) == [
        ("1-1", "8 ms"),
        ("1-3", "10 ms"),
    ]
