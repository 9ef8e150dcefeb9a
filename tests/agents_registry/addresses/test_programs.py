"""A program is in one match at a time, by whatever address it is called."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from agents_registry.addresses import programs
from agents_registry.addresses.shared import sharing
from agents_registry.models import Agent
from league_sdk.judging.match.brief import read_brief
from matches.checks import asking, runs, taking
from matches.conducting import due
from matches.league import results
from tests import factories as make
from tests import wire
from tests.league_sdk.transport.test_names import Zones

GATEWAY = "192.0.2.1"
LOOPBACKS = ("localhost", "127.1", "2130706433", "0x7f.1", "0177.0.0.1")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("http://192.0.2.7:8101/c0", "http://192.0.2.7:8101/c1?x=1", True),
        ("http://192.0.2.7/mcp", "http://192.0.2.7:80/mcp", True),
        *(
            (f"http://{host}:8101/a", "http://127.0.0.1:8101/mcp", True)
            for host in (*LOOPBACKS, "me.localhost", "127.9.9.9", "[::1]")
        ),
        ("http://[::ffff:127.0.0.1]:8101/a", "http://localhost.:8101/mcp", True),
        ("http://[::ffff:192.0.2.7]:8101/a", "http://192.0.2.7:8101/mcp", True),
        ("https://Agents.Example/a", "https://agents.example:443/b", True),
        ("http://192.0.2.7:8101/mcp", "http://192.0.2.7:8102/mcp", False),
        ("http://192.0.2.7:8101/mcp", "http://192.0.2.8:8101/mcp", False),
        ("https://a.example/mcp", "https://b.example/mcp", False),
        # Behind a gateway the path counts. Paths count as one if any usual gateway treats them as one.
        (f"http://{GATEWAY}:80/a", f"http://{GATEWAY}:80//x/../%61?b=1", True),
        (f"http://{GATEWAY}:80/a", f"http://{GATEWAY}:80/b", False),
        *(
            (f"http://{GATEWAY}{path}", f"http://{GATEWAY}/v/mcp", True)
            for path in ("/v%2Fmcp", "/x/..%2fv/mcp", "/x/..%5Cv/mcp", "/x/%252e%252e%252fv/mcp", "/V/Mcp")
        ),
        *(
            (f"http://{GATEWAY}{path}", f"http://{GATEWAY}/v/mcp", True)
            for path in ("/v/mcp;x=1", "/v;x/mcp", "/v/./mcp%2f")
        ),
    ],
)
def test_which_addresses_are_one_program(one: str, other: str, same: bool) -> None:
    first, second = (programs.program(address, (), frozenset({GATEWAY})).keys for address in (one, other))
    assert (first == second, first.isdisjoint(second)) == (same, not same)


def test_a_name_counts_as_every_address_that_it_leads_to() -> None:
    named = programs.program("http://two.example:8101/mcp", ("192.0.2.7", "192.0.2.8"), frozenset())
    assert named.keys == {"192.0.2.7|8101", "192.0.2.8|8101"}


@pytest.mark.parametrize("path", ["/v%20a", "/v%0a%C2%A0b", "/v%E2%80%83a"])
def test_a_path_with_spaces_makes_one_key(path: str) -> None:
    (key,) = programs.program(f"http://192.0.2.1{path}", (), frozenset({"192.0.2.1"})).keys
    assert key.split() == [key]


def register(client: Client, name: str, endpoint: str) -> dict[str, Any]:
    return wire.ask(client, "register_player", wire.player_request(name, endpoint=endpoint), caller="192.0.2.9")


def given_out() -> set[int]:
    """Let the conductor look once; returns the matches (by primary key) that it gives to referees."""
    plan = due.look(busy_agents=(), draining=False)
    return {one.match_pk for one in plan.starts}


@pytest.mark.django_db
def test_a_program_is_in_one_match_whatever_addresses_it_has() -> None:
    make.referee(room=10)
    make.open_league("fall")
    make.player("Victim", "fall", endpoint="http://192.0.2.7:8101/mcp")
    for number in range(3):
        make.player(f"Attacker {number}", "fall", endpoint=f"http://192.0.2.7:8101/c{number}")
    make.lifecycle.start_league(league_id="fall")
    make.Round.objects.update(started_at=None)
    assert len(given_out()) == 1


@pytest.mark.django_db
def test_a_player_behind_a_gateway_is_looked_for_at_no_other_path_in_a_match_and_a_check() -> None:
    """With a wrong path the referee would try /mcp at the gateway, which may be somebody else's program."""
    make.referee(room=10)
    make.open_league("fall")
    for number in range(2):
        make.player(f"Agent {number}", "fall", endpoint=f"http://192.0.2.7:8101/c{number}")
    programs.mark_gateway(host="192.0.2.7", gateway=True)
    asking.ask_for_agents(agent_ids=[Agent.objects.get(code="P01").pk])
    [job] = taking.take(now=timezone.now())
    assert job.behind_gateway
    runs.fail(check_id=job.check_id, run=job.run, problem="over")
    make.lifecycle.start_league(league_id="fall")
    make.Round.objects.update(started_at=None)
    [start] = due.look(busy_agents=(), draining=False).starts
    start_message = json.loads(start.message)
    brief = read_brief(start_message, referee_id="REF01", referee_endpoint="http://127.0.0.1:8001/mcp")
    assert [seat.behind_gateway for seat in brief.seats] == [True, True]


@pytest.mark.django_db
def test_a_name_is_looked_up_before_the_match_and_pinned_for_the_referee(zones: Zones) -> None:
    make.referee(room=10)
    make.open_league("fall")
    make.player("Victim", "fall", endpoint="http://192.0.2.7:8101/mcp")
    make.player("Beta", "fall", endpoint="http://192.0.2.8:8101/mcp")
    alias = make.player("Alias", "fall", endpoint="http://alias.example:8101/x")
    make.player("Gamma", "fall", endpoint="http://192.0.2.9:8101/mcp")
    zones.leads_to["alias.example"] = "192.0.2.7"
    make.lifecycle.start_league(league_id="fall")
    make.Round.objects.update(started_at=None)
    # The name is not looked up yet: its match waits, the other match starts.
    assert len(given_out()) == 1
    first, other = make.Match.objects.get(state="ASSIGNED"), make.Match.objects.get(state="READY")
    assert (first.player_a.name, first.player_b.name) == ("Victim", "Beta")
    # Now the name is known: it leads to the victim's program, which is in a match.
    zones.settle()
    assert given_out() == set()
    results.cancel(league_id="fall", match_id=first.match_id, why="over")
    assert given_out() == {other.pk}
    assert (alias.fresh().program, alias.fresh().addresses) == ("192.0.2.7|8101", "192.0.2.7")
    assert programs.pins(alias.fresh()) == {"pinned": {"alias.example": ["192.0.2.7"]}}


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["//mcp", "/./mcp", "/x/../mcp", "/mcp/", "/%6dcp"])
def test_another_spelling_of_the_path_is_the_same_player(client: Client, path: str) -> None:
    make.open_league("fall")
    for endpoint in ("http://192.0.2.9:8101/mcp", f"http://192.0.2.9:8101{path}"):
        assert register(client, "Alpha", endpoint)["status"] == "ACCEPTED"
    assert Agent.objects.count() == 1


@pytest.mark.django_db
def test_sharing_lists_the_agents_on_one_machine() -> None:
    make.open_league("fall")
    one = make.player("Alpha", "fall", endpoint="http://192.0.2.7:8101/mcp").agent
    two = make.player("Beta", "fall", endpoint="http://192.0.2.7:8102/mcp").agent
    make.player("Gamma", "fall", endpoint="http://192.0.2.8:8101/mcp")
    # For each agent: some of the others on its machine, at most as many as are asked for, and how many there are.
    assert sharing(Agent.objects.all(), 3) == {one.pk: ([two], 1), two.pk: ([one], 1)}
    three = make.player("Delta", "fall", endpoint="http://192.0.2.7:8103/mcp").agent
    assert sharing(Agent.objects.order_by("pk"), 1) == {
        one.pk: ([two], 2),
        two.pk: ([one], 2),
        three.pk: ([one], 2),
    }


@pytest.mark.django_db
def test_the_instructor_marks_a_host_as_a_gateway_and_removes_the_mark() -> None:
    for host in (" Gateway.Example ", "localhost"):
        assert [programs.mark_gateway(host=host, gateway=True) for _ in range(2)] == [True, False]
    assert programs.gateways() == {"gateway.example", programs.THIS_MACHINE}
    assert [programs.mark_gateway(host="gateway.example", gateway=False) for _ in range(2)] == [True, False]
    assert programs.gateways() == {programs.THIS_MACHINE}
    for wrong in ("", "a b", "http://x", "x/y", "x:80", 5, None):
        with pytest.raises(programs.InvalidFormat):
            programs.mark_gateway(host=wrong, gateway=True)


@pytest.mark.django_db
def test_a_new_gateway_mark_also_counts_for_matches_in_play(zones: Zones) -> None:
    make.referee(room=10)
    make.open_league("fall")
    for number in range(4):
        make.player(f"Agent {number}", "fall", endpoint=f"http://192.0.2.7:8101/c{number}")
    make.lifecycle.start_league(league_id="fall")
    make.Round.objects.update(started_at=None)
    first = given_out()
    assert (len(first), given_out()) == (1, set())
    programs.mark_gateway(host="192.0.2.7", gateway=True)
    # The first match was given out while all players counted as one program; by the mark they are apart there, too.
    second = given_out()
    assert (len(second), second & first) == (1, set())


@pytest.mark.django_db
def test_removing_a_gateway_mark_starts_no_second_match_beside_those_in_play() -> None:
    make.referee(room=10)
    make.open_league("fall")
    programs.mark_gateway(host="192.0.2.7", gateway=True)
    for number in range(4):
        make.player(f"Agent {number}", "fall", endpoint=f"http://192.0.2.7:8101/c{number}")
    make.lifecycle.start_league(league_id="fall")
    make.open_round("fall")
    waiting = make.Match.objects.filter(match_id="R1M2")
    waiting.update(state="PENDING")
    assert len(given_out()) == 1
    waiting.update(state="READY")
    programs.mark_gateway(host="192.0.2.7", gateway=False)
    assert given_out() == set()
    programs.mark_gateway(host="192.0.2.7", gateway=True)
    assert len(given_out()) == 1


@pytest.mark.parametrize(
    ("endpoints", "marked", "apart"),
    [
        (("http://192.0.2.7:80/a", "http://192.0.2.7:80/b"), "192.0.2.7", True),
        (("http://192.0.2.7:80/a", "http://192.0.2.7:80//a/"), "192.0.2.7", False),
        (("http://gate.example/a", "http://gate.example/b"), "gate.example", True),
        # Called by IP address or by another name, it could be any program behind the gateway.
        (("http://gate.example/a", "http://192.0.2.7/b"), "gate.example", False),
        (("http://gate.example/a", "http://other.example/b"), "gate.example", False),
        (("http://gate.example/a", "http://192.0.2.7:81/b"), "gate.example", True),
        (("https://gate.example/a", "https://gate.example/b"), "gate.example", True),
    ],
)
def test_programs_at_one_port_of_a_gateway_are_apart_only_if_both_paths_are_known(
    endpoints: tuple[str, str], marked: str, apart: bool
) -> None:
    one, other = (programs.program(endpoint, ("192.0.2.7",), frozenset({marked})).keys for endpoint in endpoints)
    assert programs.held(one).isdisjoint(programs.free_for(other)) is apart
    assert programs.held(other).isdisjoint(programs.free_for(one)) is apart
