"""The page My agent: who may open it, and what it shows and does not show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import set_script_prefix
from django.utils import timezone

from agents_registry.models import AgentToken, Kind
from agents_registry.rate_limits.attempts import SAME_SECRET
from agents_registry.registering import credentials
from agents_registry.requests.reading import read_request
from agents_registry.rosters import roster
from league_sdk.protocol.notes import Code, note
from league_sdk.protocol.transcript import Wire, entry
from matches.checks import practising
from matches.conducting import trials
from matches.conducting.trial_copies import LOST_AFTER_S, keep
from matches.league import entry as entering
from matches.league import freeze
from matches.models import Check, Message, Notice
from tests import factories as make
from tests import wire
from tests.matches.audience.hostile import HOSTILE, assert_harmless
from tests.matches.practised import practised
from tests.sizes import MANY_ROWS

pytestmark = pytest.mark.django_db
PATH = "/leagues/fall/mine/"


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    """Forget the trials of other tests."""
    trials._trials.clear()
    yield
    trials._trials.clear()


def enter_secret(client: Client, secret: str, path: str = PATH) -> Any:
    return client.post(path, {"secret": secret})


def text_of(client: Client, path: str = PATH) -> str:
    return client.get(path).content.decode()


def is_open(client: Client, path: str = PATH) -> bool:
    text = text_of(client, path)
    return 'name="secret"' not in text and "/mine/close" in text


CALL = {
    "protocol": "league.v2",
    "message_type": "CHOOSE_PARITY_CALL",
    "sender": "referee:REF01",
    "timestamp": "2025-01-15T10:15:00Z",
    "conversation_id": "conv-r1m1-001",
    "auth_token": "tok_" + "a" * 32,
    "league_id": "fall",
    "round_id": 1,
    "match_id": "R1M1",
    "game_type": "even_odd",
    "player_id": "P01",
    "deadline": "2025-01-15T10:15:30Z",
}


def add_message(match: Any, number: int, **fields: Any) -> None:
    """Add an entry to a match's transcript."""
    made = entry(n=number, at=timezone.now(), **fields)
    Message.objects.create(match=match, attempt=match.attempt, n=number, entry=dict(made))


def exchange_of_a_choice(made: make.MadeLeague, answer: Any, **how: Any) -> Any:
    """Player A of R1M1 is asked for its choice and answers; returns this player."""
    match = made.match("R1M1")
    player = match.player_a.code
    add_message(
        match, 0, sender="REF01", recipient=player, message_type="CHOOSE_PARITY_CALL", method="choose_parity",
        body=CALL | {"player_id": player},
    )  # fmt: skip
    add_message(
        match, 1, sender=player, recipient="REF01", message_type="CHOOSE_PARITY_RESPONSE",
        elapsed_ms=12, limit_ms=30000, http_status=200, body=answer, **how,
    )  # fmt: skip
    return next(one for one in made.players if one.agent.code == player)


# Who gets in ------------------------------------------------------------------------------------


def test_a_token_opens_my_agent_until_it_is_closed(client: Client) -> None:
    made = make.league()
    answer = enter_secret(client, f"  {made.players[0].token} ")
    assert (answer.status_code, answer["Location"]) == (303, PATH)
    assert is_open(client) and "P01" in text_of(client)
    answer = client.post(f"{PATH}close")
    assert (answer.status_code, answer["Location"]) == (303, PATH)
    assert not is_open(client)


def test_closing_my_agent_stays_below_the_path_prefix_of_the_site(client: Client) -> None:
    make.league()
    set_script_prefix("/mounted/")
    try:
        assert client.post(f"{PATH}close")["Location"] == f"/mounted{PATH}"
    finally:
        set_script_prefix("/")


@pytest.mark.parametrize(
    "secret",
    [
        "",
        "tok_" + "0" * 32,
        "x" * 201,
        HOSTILE,
        "\x00",
        *(
            pytest.param(secret, marks=pytest.mark.exhaustive)
            for secret in (" ", "nobody", "tok_\u202e", "שלום", "' OR 1=1 --")
        ),
    ],
)
def test_an_unknown_secret_does_not_open_my_agent(client: Client, secret: str) -> None:
    make.league()
    assert enter_secret(client, secret).status_code == 403
    assert not is_open(client)


def test_tokens_of_other_leagues_and_of_referees_do_not_open_my_agent(client: Client) -> None:
    made = make.league()
    make.open_league("spring")
    other = make.player("Stranger", "spring", port=8190)
    secrets = [other.token, made.referees[0].token, credentials.league_token(made.players[0].agent)]
    assert [enter_secret(client, secret).status_code for secret in secrets] == [403] * 3
    assert enter_secret(client, other.token, "/leagues/spring/mine/").status_code == 303
    assert is_open(client, "/leagues/spring/mine/") and not is_open(client)


def import_roster(league_id: str = "fall") -> None:
    lines = "name,email,code\nDana,dana@example.org,dana-code\nEli,eli@example.org,eli-code\n"
    roster.import_csv(league_id=league_id, text=lines)


def register(name: str, code: str, port: int) -> make.RegisteredAgent:
    params = wire.player_request(name, port=port, sender=f"player:{name}", code=code)
    registered = entering.register_player(
        request=read_request(params, kind=Kind.PLAYER, caller="127.0.0.1"), named="fall"
    )
    assert registered.agent is not None, registered.reason
    return make.RegisteredAgent(registered.agent, registered.auth_token)


def test_a_personal_code_opens_all_its_agents_and_no_others(client: Client) -> None:
    make.open_league()
    import_roster()
    register("One", "dana-code", 8101)
    register("Two", "dana-code", 8102)
    register("Other", "eli-code", 8103)
    assert enter_secret(client, "DANA-code").status_code == 303
    text = text_of(client)
    assert re.findall(r'\?agent=(\w+)"', text) == ["P01", "P02"]
    assert "Two" in text and "Other" not in text
    assert '<span class="pid">P02</span> <bdi>Two</bdi> <span class="quiet"' in text_of(client, f"{PATH}?agent=P02")
    # The id of somebody else's agent is ignored: the first of the person's own agents is shown.
    assert '<span class="pid">P01</span> <bdi>One</bdi> <span class="quiet"' in text_of(client, f"{PATH}?agent=P03")
    leaked = [word for word in ("dana", "Dana", "eli", "8103") if word in text]
    assert leaked == []


def test_a_person_without_an_agent_is_sent_to_the_join_page(client: Client) -> None:
    make.open_league()
    import_roster()
    enter_secret(client, "dana-code")
    text = text_of(client)
    assert "Not registered yet" in text and "/leagues/fall/join/" in text
    make.open_league("spring")
    import_roster("spring")
    assert enter_secret(client, "dana-code", "/leagues/spring/mine/").status_code == 303


def test_a_revoked_token_or_a_replaced_code_ends_the_access(client: Client) -> None:
    made = make.league()
    enter_secret(client, made.players[0].token)
    credentials.revoke_tokens(agent_ids=[made.players[0].agent.pk])
    assert not is_open(client) and "not valid any more" in text_of(client)
    import_roster()
    enter_secret(client, "dana-code")
    roster.import_csv(league_id="fall", text="name,email,code\nDana,dana@example.org,another\n")
    assert not is_open(client)


def test_a_wrong_secret_does_not_make_the_one_entered_before_invalid(client: Client) -> None:
    made = make.league()
    enter_secret(client, made.players[0].token)
    answer = enter_secret(client, "wrong")
    assert (answer.status_code, "not valid any more" in answer.content.decode()) == (403, False)
    assert is_open(client)


def test_a_repeated_wrong_secret_is_limited_for_its_caller_alone(client: Client) -> None:
    made = make.league()
    wrong = "tok_" + "0" * 32
    max_tries = SAME_SECRET.amount
    assert [enter_secret(client, wrong).status_code for _ in range(max_tries + 1)] == [403] * max_tries + [429]
    assert enter_secret(client, "another").status_code == 403
    assert client.post(PATH, {"secret": wrong}, REMOTE_ADDR="192.0.2.9").status_code == 403
    assert enter_secret(client, made.players[0].token).status_code == 303


def test_my_agent_needs_a_csrf_token_and_is_never_cached(client: Client) -> None:
    made = make.league()
    strict = Client(enforce_csrf_checks=True)
    assert [strict.post(f"{PATH}{end}").status_code for end in ("", "close", "again")] == [403] * 3
    enter_secret(client, made.players[0].token)
    answer = client.get(PATH)
    assert "no-store" in answer["Cache-Control"] and "Cookie" in answer["Vary"]
    assert [client.get(f"{PATH}{end}").status_code for end in ("close", "again")] == [405] * 2
    assert client.get("/leagues/none/mine/").status_code == 404


def test_entering_a_secret_replaces_the_session_key(client: Client) -> None:
    made = make.league()
    import_roster()
    enter_secret(client, "dana-code")
    before = client.session.session_key
    enter_secret(client, made.players[0].token)
    assert client.session.session_key != before


# What is shown ----------------------------------------------------------------------------------


def test_a_wrong_answer_is_compared_with_the_expected_one(client: Client) -> None:
    made = make.running_league()
    player = exchange_of_a_choice(made, {"jsonrpc": "2.0", "id": 1, "result": {"parity_choice": "maybe"}})
    enter_secret(client, player.token)
    text = text_of(client)
    [exchange] = re.findall(r'class="exchange" id="x(\S+)" data-mark="(\w+)"', text)
    assert exchange == ("1.0", "wrong")
    # The wrong choice made the answer unusable; the missing fields were tolerated.
    assert re.findall(r'<tr data-mark="(\w+)" data-cost><th scope="row" dir="ltr" translate="no">(\w+)', text) == [
        ("wrong", "parity_choice")
    ]
    assert '<tr data-mark="missing"><th scope="row" dir="ltr" translate="no">timestamp' in text
    assert "&quot;maybe&quot;" in text and "even, odd" in text
    assert "curl -sS -X POST" in text


def test_a_right_answer_is_shown_with_the_http_request_that_brought_it(client: Client) -> None:
    made = make.running_league()
    right = {
        "protocol": "league.v2",
        "message_type": "CHOOSE_PARITY_RESPONSE",
        "sender": f"player:{made.match('R1M1').player_a.code}",
        "timestamp": "2025-01-15T10:15:01Z",
        "conversation_id": "conv-r1m1-001",
        "auth_token": "tok_" + "b" * 32,
        "match_id": "R1M1",
        "player_id": made.match("R1M1").player_a.code,
        "parity_choice": "odd",
    }
    way = Wire(
        path="/secret-path/mcp", shape="legacy", method="PARITY", id=1007, session=False, status=200,
        content_type="application/json", request={"method": "PARITY", "payload": {"auth_token": "tok_" + "c" * 32}},
    )  # fmt: skip
    player = exchange_of_a_choice(made, {"jsonrpc": "2.0", "id": 1007, "result": right}, wire=[way])
    enter_secret(client, player.token)
    text = text_of(client)
    assert re.findall(r'class="exchange" id="\S+" data-mark="(\w+)"', text) == ["ok"]
    assert "POST /secret-path/mcp" in text and "&quot;PARITY&quot;" in text
    # The public sees neither.
    public = client.get("/leagues/fall/matches/R1M1/").content.decode()
    public += client.get("/api/leagues/fall/matches/R1M1").content.decode()
    assert "secret-path" not in public and "wire" not in public


def test_my_agent_shows_no_messages_of_the_opponent_and_no_token(client: Client) -> None:
    made = make.running_league()
    player = exchange_of_a_choice(made, {"result": {"parity_choice": "odd", "auth_token": "tok_" + "d" * 32}})
    match = made.match("R1M1")
    other = match.player_b
    add_message(match, 2, sender="REF01", recipient=other.code, message_type="X", method="x", body={"for": "the other"})
    add_message(
        match, 3, sender=f"player:{other.code}", recipient="REF01", message_type="Y", body={"said": "a hidden choice"}
    )
    enter_secret(client, player.token)
    text = text_of(client)
    assert [word for word in ("the other", "a hidden choice", other.endpoint) if word in text] == []
    assert re.findall(r"tok_[0-9a-f]{8,}", text) == []


def test_a_freeze_does_not_hide_an_agents_own_matches(client: Client) -> None:
    made = make.league()
    freeze.plan(league_id="fall", from_round=1)
    make.next_round(made)
    player = exchange_of_a_choice(made, {"result": {"parity_choice": "odd"}})
    make.finish_round(made)
    enter_secret(client, player.token)
    text = text_of(client)
    assert ">won<" in text and "parity_choice" in text
    assert "standings" not in re.sub(r"your_standings", "", text)


def test_my_agent_shows_notices_to_everybody_and_to_its_owner_only(client: Client) -> None:
    made = make.league()
    now = timezone.now()
    for text, agent, withdrawn_at in (
        ("for the room", None, None),
        ("for you", made.players[0].agent, None),
        ("for another", made.players[1].agent, None),
        ("taken back", None, now),
        (HOSTILE, None, None),
    ):
        Notice.objects.create(
            league_id="fall", agent=agent, text=text, made_by="i", made_at=now, withdrawn_at=withdrawn_at
        )  # fmt: skip
    enter_secret(client, made.players[0].token)
    text = text_of(client)
    assert "for the room" in text and "for you" in text
    assert "for another" not in text and "taken back" not in text


def test_hostile_answers_do_not_break_out_of_my_agent(client: Client) -> None:
    made = make.running_league()
    deep: Any = HOSTILE
    for _ in range(12):
        deep = {HOSTILE: [deep]}
    notes = [note(Code.LACKS, sentence=HOSTILE, names="x" * 10_000)]
    player = exchange_of_a_choice(made, {"result": deep, HOSTILE: "\u202eabc"}, problem=HOSTILE, notes=notes)
    match = made.match("R1M1")
    for number, body in enumerate([None, [], "text", 5, {"cut": True, "beginning": "x"}, {"result": []}], 2):
        add_message(match, number, sender=player.agent.code, recipient="REF01", message_type=HOSTILE, body=body)
    enter_secret(client, player.token)
    assert_harmless(text_of(client), shown=False)


def test_the_page_makes_as_many_queries_for_few_messages_as_for_many(client: Client) -> None:
    made = make.running_league()
    player = exchange_of_a_choice(made, {"result": {"parity_choice": "odd"}})
    enter_secret(client, player.token)
    text_of(client)
    query_counts = []
    for first, last in ((2, 5), (5, 2 + MANY_ROWS)):
        for number in range(first, last):
            add_message(
                made.match("R1M1"), number, sender=player.agent.code, recipient="REF01", message_type="X", body={}
            )
        with make.counting_queries(query_counts):
            text_of(client)
    assert query_counts[0] == query_counts[1]


def test_the_page_makes_as_many_queries_for_3_matches_as_for_19(client: Client) -> None:
    query_counts = []
    for league_id, players in (("three", 4), ("nineteen", 20)):
        made = make.running_league(league_id, players=players, referees=0 if query_counts else 1)
        make.finish_round(made)
        path = f"/leagues/{league_id}/mine/"
        enter_secret(client, made.players[0].token, path)
        text = text_of(client, path)
        assert len(re.findall(r'<li data-how="', text)) == players - 1
        with make.counting_queries(query_counts):
            text_of(client, path)
    assert query_counts[0] == query_counts[1]


def test_the_partial_page_is_contained_in_the_whole_page(client: Client) -> None:
    made = make.running_league()
    player = exchange_of_a_choice(made, {"result": {"parity_choice": "odd"}})
    enter_secret(client, player.token)
    part = text_of(client, f"{PATH}?part=1&agent={player.agent.code}&match=R1M1")
    assert part.startswith('<section id="fragment-mine"') and part.strip() in text_of(client)


# Send it again --------------------------------------------------------------------------------------


def send_again(client: Client, player: make.RegisteredAgent, **changes: str) -> Any:
    return client.post(f"{PATH}again", {"agent": player.agent.code, "match": "R1M1", "entry": "1.0"} | changes)


def test_a_request_can_be_sent_again_when_no_match_is_running(client: Client) -> None:
    made = make.running_league()
    player = exchange_of_a_choice(made, {"result": {"parity_choice": "odd"}})
    enter_secret(client, player.token)
    assert send_again(client, player).status_code == 409, "the agent plays a match"
    make.finish_round(made)
    answer = send_again(client, player)
    assert (answer.status_code, answer["Location"]) == (303, f"{PATH}?agent={player.agent.code}&match=R1M1#trial")
    trial = trials.of(player.agent.pk)
    assert trial is not None and trial.message["conversation_id"].startswith("trial-")
    assert trial.message["auth_token"] == "tok_trial" and trial.message["deadline"] != CALL["deadline"]
    assert (trial.endpoint, trial.choice_field, trial.limit_s) == (player.agent.endpoint, "parity_choice", 30)
    assert send_again(client, player).status_code == 409, "one trial at a time"
    assert "On its way." in text_of(client)


def test_a_trial_that_was_lost_is_not_shown_as_sent(client: Client) -> None:
    made = make.running_league()
    player = exchange_of_a_choice(made, {"result": {"parity_choice": "odd"}})
    make.finish_round(made)
    enter_secret(client, player.token)
    send_again(client, player)
    trial = trials.of(player.agent.pk)
    assert trial is not None
    long_ago = trial.asked_at - timedelta(seconds=trial.limit_s + LOST_AFTER_S)
    lost = trials._trials[player.agent.pk] = replace(trial, asked_at=long_ago)
    # On Redis there is a copy for the other processes.
    keep(lost)
    [section] = re.findall(r'<section class="trial".*?</section>', text_of(client), re.DOTALL)
    assert "There is no result: the site was busy or has stopped." in section
    assert "Sent to your agent" not in section and "Received from it" not in section


def test_only_existing_requests_to_ones_own_agent_are_sent_again(client: Client) -> None:
    made = make.running_league()
    player = exchange_of_a_choice(made, {"result": {"parity_choice": "odd"}})
    make.finish_round(made)
    match = made.match("R1M1")
    add_message(
        match, 9, sender="REF01", recipient=match.player_b.code, message_type="GAME_OVER", method="x", body=CALL
    )
    add_message(
        match, 10, sender="REF01", recipient=player.agent.code, message_type="GAME_OVER", method="x", body="z" * 9000
    )
    assert send_again(client, player).status_code == 403, "no secret was entered"
    enter_secret(client, player.token)
    wrong = ["1.1", "1.9", "1.10", "2.0", "", ".", "x.y", "1.99999999999999999999", "1.\x00", "١.٠"]
    assert [send_again(client, player, entry=number).status_code for number in wrong] == [404] * len(wrong)
    assert send_again(client, player, match="R9M9\x00").status_code == 404
    other = next(one.agent.code for one in made.players if one.agent.pk != player.agent.pk)
    assert send_again(client, player, agent=other).status_code == 404
    assert trials.of(player.agent.pk) is None


# Practice matches ---------------------------------------------------------------------------------

PRACTISE = f"{PATH}practice"
PRACTICE_FORM = {"agent": "P01", "game_type": "even_odd", "opponent": "hard", "begins": "house"}


def test_a_student_has_their_agent_practise_and_finds_the_report_again(client: Client) -> None:
    made = make.league(players=2)
    enter_secret(client, made.players[0].token)
    text = text_of(client)
    assert re.findall(r'<option value="(\w+)"', text) == ["even_odd", "easy", "medium", "hard", "agent", "house"]
    sent = client.post(PRACTISE, PRACTICE_FORM)
    practice = Check.practices.get()
    assert (sent.status_code, sent["Location"]) == (303, f"/practice/{practice.pk}")
    assert (practice.agent, practice.opponent, practice.second) == (made.players[0].agent, "hard", True)
    text = text_of(client)
    assert 'name="opponent"' not in text
    assert f'<a href="/practice/{practice.pk}">A practice match is being played or waits for its turn.</a>' in text


def test_an_owner_who_may_not_practise_now_is_told_when_the_next_match_may_be_asked_for(client: Client) -> None:
    made = make.league(players=2)
    enter_secret(client, made.players[0].token)
    for _ in range(practising.MAX_PER_WINDOW):
        practised(made.players[0].agent)
    assert "10 practice matches in 10 minutes are the most: ask for the next one at " in text_of(client)
    refused = client.post(PRACTISE, PRACTICE_FORM)
    assert refused.status_code == 429
    assert "10 practice matches in 10 minutes are the most" in refused.content.decode()


def test_only_who_has_proved_to_own_an_agent_has_it_practise(client: Client) -> None:
    made = make.league(players=2)
    assert client.post(PRACTISE, PRACTICE_FORM).status_code == 403
    enter_secret(client, made.players[0].token)
    assert client.post(PRACTISE, PRACTICE_FORM | {"agent": "P02"}).status_code == 404
    AgentToken.objects.filter(agent=made.players[0].agent).update(proven=False)
    assert 'name="opponent"' not in text_of(client)
    assert client.post(PRACTISE, PRACTICE_FORM).status_code == 403
    assert client.get(PRACTISE).status_code == 405
    assert not Check.checks_and_practices.exists()


def test_the_page_makes_as_many_queries_for_1_practice_match_as_for_7(
    client: Client, django_assert_num_queries: Any
) -> None:
    made = make.league(players=2)
    enter_secret(client, made.players[0].token)
    practised(made.players[0].agent)
    with CaptureQueriesContext(connection) as few:
        client.get(PATH)
    for _ in range(6):
        practised(made.players[0].agent)
    with django_assert_num_queries(len(few)):
        text = text_of(client)
    assert text.count("the house&#x27;s medium agent") == 5
