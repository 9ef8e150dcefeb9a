"""The desk about players behind one address and port: what it says, and the mark that a click makes."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from agents_registry.addresses import programs
from league_sdk.protocol.states import MatchState
from matches.league import lifecycle, opening, results
from matches.models import Event, Match
from matches.push import nudge
from tests import factories as make
from tests.matches.correcting import make_correction
from tests.matches.desk.clicking import LEAGUES, count_queries, person, post, shown
from tests.sizes import sampled

pytestmark = pytest.mark.django_db
HOST = "192.0.2.7"
PROBLEM = "P01, P02, P03, P04 answer at 192.0.2.7, port 8101, under different paths. Mark it as a gateway if they are "
PROBLEM += "different programs; else the site plays their matches one after the other."


def crowd(league_id: str = "fall", count: int = 4, *, path: str = "/c{}") -> list[make.RegisteredAgent]:
    """Players behind one address and port."""
    make.open_league(league_id)
    origin = f"http://{HOST}:8101"
    return [make.player(f"Agent {n}", league_id, endpoint=origin + path.format(n)) for n in range(count)]


def address_problems(desk: Client) -> list[dict[str, Any]]:
    return [problem for problem in shown(desk)["problems"] if " answer at " in problem.text]


def mark(desk: Client, host: str = HOST, league_id: str = "fall", action_name: str = "mark") -> str:
    return post(desk, f"gateway/{action_name}", league_id, host=host)


def take_back(desk: Client, league_id: str = "fall") -> str:
    return mark(desk, league_id=league_id, action_name="take-back")


def test_the_desk_says_how_many_matches_of_a_round_wait_for_each_other(desk: Client) -> None:
    make.referee(room=10)
    crowd()
    [problem] = address_problems(desk)
    assert problem.text == f"{PROBLEM} That is up to 2 matches of each round in a row, which makes the evening slow."
    assert problem.causes[0] == "P01 Agent 0: http://192.0.2.7:8101/c0"
    opening.close_registration(league_id="fall")
    [problem] = address_problems(desk)
    assert problem.text == f"{PROBLEM} That is 2 matches of round 1 in a row, which makes the evening slow."
    lifecycle.start_league(league_id="fall")
    make.open_round("fall")
    make.look()
    first = Match.objects.get(state=MatchState.ASSIGNED)
    results.cancel(league_id="fall", match_id=first.match_id, why="a test")
    # One match of this round is left: it waits for no other.
    assert address_problems(desk)[0].text == PROBLEM


def test_the_desk_counts_no_matches_of_a_round_when_all_rounds_are_over(desk: Client) -> None:
    make.referee(room=10)
    crowd()
    for number in (1, 2, 3):
        lifecycle.start_league(league_id="fall")
        make.open_round("fall")
        if number == 3:
            # The replay keeps the league going after its last round.
            make_correction("replay", match_id="R1M1")
        for match_id in (f"R{number}M1", f"R{number}M2"):
            results.cancel(league_id="fall", match_id=match_id, why="a test")
    assert not Match.objects.filter(league="fall", round__state="RUNNING").exists()
    assert address_problems(desk)[0].text == PROBLEM


def test_players_at_separate_ports_are_not_listed_as_a_problem(desk: Client) -> None:
    make.league(players=4)
    assert (address_problems(desk), shown(desk)["gateways"]) == ([], [])


def test_at_most_eight_players_of_a_program_are_named(desk: Client) -> None:
    crowd(count=11)
    assert address_problems(desk)[0].text.startswith(
        "P01, P02, P03, P04, P05, P06, P07, P08 and 3 more answer at 192.0.2.7"
    )


def test_players_under_the_same_path_have_no_button_that_marks_a_gateway(desk: Client) -> None:
    crowd(path="/mcp")
    [problem] = address_problems(desk)
    text = (
        "under the same path: they are one program, and the site plays its matches one after the other. Each name has "
        "a seat of its own: once registration is closed, withdraw those that should not play."
    )
    assert (text in problem.text, problem.remedies) == (True, [])
    # The same is said behind a gateway.
    programs.mark_gateway(host=HOST, gateway=True)
    assert (text in address_problems(desk)[0].text, address_problems(desk)[0].remedies) == (True, [])


def test_the_host_name_that_all_players_use_is_marked_as_a_gateway(desk: Client) -> None:
    make.open_league("fall")
    for number in range(2):
        member = make.player(f"Agent {number}", "fall", endpoint=f"http://tunnel.example/c{number}")
        programs.note(member.agent, programs.program(member.agent.endpoint, (HOST, "192.0.2.8"), frozenset()))
    [problem] = address_problems(desk)
    assert "answer at tunnel.example, port 80" in problem.text
    assert problem.remedies[0].value == "tunnel.example"
    mark(desk, "tunnel.example")
    assert (address_problems(desk), shown(desk)["gateways"][0]["players"]) == ([], "P01, P02")


def test_a_button_marks_a_gateway_and_another_removes_the_mark(
    desk: Client, django_capture_on_commit_callbacks: Any
) -> None:
    crowd()
    [button] = address_problems(desk)[0].remedies
    assert (button.label, button.value) == ("Mark 192.0.2.7 as a gateway", HOST)
    page = desk.get("/admin/matches/league/fall/change/").content.decode()
    assert f'formaction="{button.url}" name="host" value="192.0.2.7"' in " ".join(page.split())
    nudges: list[bool] = []
    detach = nudge.attach(nudges.append)
    with django_capture_on_commit_callbacks(execute=True):
        sentence = mark(desk)
    detach()
    assert sentence == "192.0.2.7 is marked as a gateway: under each path there is a program of its own."
    assert (programs.gateways(), address_problems(desk), True in nudges) == ({HOST}, [], True)
    [gateway] = shown(desk)["gateways"]
    assert (gateway["host"], gateway["players"], gateway["back"].value) == (HOST, "P01, P02, P03, P04", HOST)
    mark(desk)
    sentence = take_back(desk)
    assert sentence == "192.0.2.7 is not a gateway any more: at each port there is one program, whatever the path."
    assert (programs.gateways(), len(address_problems(desk))) == (frozenset(), 1)
    on_record = Event.objects.filter(kind="gateway_changed").order_by("seq").values_list("data", flat=True)
    assert list(on_record) == [{"host": HOST, "gateway": marked, "user": "instructor"} for marked in (True, False)]


@pytest.mark.parametrize("host", sampled(["", "http://x/y", "192.0.2.7:80", "a b", "192.0.2.7,", "\x00"], every=2))
def test_an_invalid_host_is_refused_with_a_sentence_and_not_marked(desk: Client, host: str) -> None:
    crowd()
    assert mark(desk, host).startswith("This is not a host.")
    assert programs.gateways() == frozenset()


def test_a_waiting_match_names_the_other_match_and_links_to_the_problem(desk: Client) -> None:
    make.referee(room=10)
    crowd()
    lifecycle.start_league(league_id="fall")
    make.open_round("fall")
    make.look()
    first = Match.objects.get(state=MatchState.ASSIGNED).match_id
    waits = {one["row"].match_id: one["waits"] for one in shown(desk)["open"]}
    [other] = set(waits) - {first}
    reason = f"waits for {first}: both call 192.0.2.7, port 8101"
    assert waits == {first: None, other: {"text": reason, "more": "#desk-shared"}}
    mark(desk)
    assert [one["waits"] for one in shown(desk)["open"]] == [None, None]
    lifecycle.pause(league_id="fall")
    take_back(desk)
    # In a paused league the match waits for the instructor, not for the other match.
    assert [one["waits"] for one in shown(desk)["open"]] == [None, None]


def test_a_match_that_waits_for_another_league_does_not_name_its_match(desk: Client) -> None:
    make.referee(room=10)
    for league_id, path in (("fall", "/a"), ("spring", "/b")):
        crowd(league_id, 1, path=path)
        make.player("Other", league_id, endpoint=f"http://{HOST}:{8102 + len(league_id)}/mcp")
    for league_id in ("fall", "spring"):
        lifecycle.start_league(league_id=league_id)
        make.open_round(league_id)
        make.look()
    own_desk = person("instructor", "spring")
    [match] = shown(own_desk, "spring")["open"]
    assert match["waits"]["text"] == "waits for a match of another league: both call 192.0.2.7, port 8101"
    assert match["waits"]["button"].label == "Mark 192.0.2.7 as a gateway"
    # The mark would concern the other league, too.
    refused = "Players of other leagues answer at 192.0.2.7, too: ask a superuser to decide."
    assert (mark(own_desk, league_id="spring"), programs.gateways()) == (refused, frozenset())
    mark(person("instructor", "fall", "spring"), league_id="spring")
    assert programs.gateways() == {HOST}
    assert Event.objects.filter(kind="gateway_changed").count() == 2
    assert take_back(own_desk, league_id="spring") == refused
    # A league that is over does not count.
    lifecycle.stop(league_id="fall")
    take_back(own_desk, league_id="spring")
    assert programs.gateways() == frozenset()


def test_an_instructor_marks_only_hosts_of_their_league_and_an_assistant_none() -> None:
    crowd()
    own_desk = person("instructor", "fall")
    refused = "No player of this league answers at 192.0.2.9: look again."
    assert mark(own_desk, "192.0.2.9") == refused
    programs.mark_gateway(host="192.0.2.9", gateway=True)
    # Marks of hosts without a player of the league are not shown.
    assert shown(own_desk)["gateways"] == []
    client = person("assistant", "fall")
    assert address_problems(client)[0].remedies == []
    assert client.post("/admin/matches/league/fall/gateway/mark/", {"host": HOST}).status_code == 403
    programs.mark_gateway(host=HOST, gateway=True)
    assert shown(client)["gateways"][0]["back"] is None


def test_the_desk_needs_as_many_queries_for_24_shared_players_as_for_4(desk: Client) -> None:
    make.referee(room=100)
    counts = []
    for league_id, players in (("few", 4), ("many", 24)):
        crowd(league_id, players)
        lifecycle.start_league(league_id=league_id)
        make.open_round(league_id)
        make.look()
        assert shown(desk, league_id)["problems"]
        counts.append(count_queries(desk, f"{LEAGUES}{league_id}/change/"))
        lifecycle.stop(league_id=league_id)
    assert counts[0] == counts[1]
