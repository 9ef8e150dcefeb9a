"""One program, one match: what is behind an address, whatever it is called."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from agents_registry import programs
from agents_registry.models import Agent
from agents_registry.shared import sharing
from league_sdk.judging.brief import read_brief
from league_sdk.transport import names as names_module
from league_sdk.transport.lookups import Answer, Found
from league_sdk.transport.names import AGAIN_S, FRESH_S, PATIENCE_S, Names
from matches.checks import asking, runs, taking
from matches.conducting import due
from matches.league import results
from tests import factories as make
from tests import wire
from tests.clock import Clock

NONE: frozenset[str] = frozenset()


class Zones:
    """Stands in for the lookups: answers when it is told to."""

    def __init__(self) -> None:
        self.leads_to: dict[str, str | OSError] = {}
        self.open: list[tuple[str, Answer]] = []
        self.busy = False

    def look_up(self, host: str, port: int, answer: Answer, **more: int) -> None:
        self.open.append((host, answer))

    def waits_for_others(self, host: str) -> bool:
        return self.busy

    def settle(self) -> None:
        asked, self.open = self.open, []
        for host, answer in asked:
            found = self.leads_to[host]
            if isinstance(found, OSError):
                answer([], found)
            else:
                answer(_found(found), None)


def _found(ip: str) -> Found:
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, 0))]


@pytest.fixture
def zones(monkeypatch: pytest.MonkeyPatch) -> Iterator[Zones]:
    found = Zones()
    lookups: Any = found
    monkeypatch.setattr(programs, "NAMES", Names(lookups, Clock()))
    yield found


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://192.0.2.7:8101/c0", "http://192.0.2.7:8101/c1?x=1"),
        ("http://192.0.2.7/mcp", "http://192.0.2.7:80/mcp"),
        *(
            (f"http://{spelling}:8101/a", "http://127.0.0.1:8101/mcp")
            for spelling in ("localhost", "me.localhost", "127.1", "2130706433", "0x7f.1", "0177.0.0.1", "127.9.9.9")
        ),
        ("http://[::1]:8101/a", "http://127.0.0.1:8101/mcp"),
        ("http://[::ffff:127.0.0.1]:8101/a", "http://localhost.:8101/mcp"),
        ("http://[::ffff:192.0.2.7]:8101/a", "http://192.0.2.7:8101/mcp"),
        ("https://Agents.Example/a", "https://agents.example:443/b"),
    ],
)
def test_two_addresses_of_one_program(one: str, other: str) -> None:
    assert programs.program(one, (), NONE).keys == programs.program(other, (), NONE).keys


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://192.0.2.7:8101/mcp", "http://192.0.2.7:8102/mcp"),
        ("http://192.0.2.7:8101/mcp", "http://192.0.2.8:8101/mcp"),
        ("https://a.example/mcp", "https://b.example/mcp"),
    ],
)
def test_addresses_of_two_programs(one: str, other: str) -> None:
    assert programs.program(one, (), NONE).keys.isdisjoint(programs.program(other, (), NONE).keys)


def test_a_name_counts_as_every_address_that_it_leads_to() -> None:
    named = programs.program("http://two.example:8101/mcp", ("192.0.2.7", "192.0.2.8"), NONE)
    assert named.keys == {"192.0.2.7|8101", "192.0.2.8|8101"}


def test_behind_a_gateway_the_path_counts_in_one_spelling() -> None:
    marked = frozenset({"192.0.2.7"})
    keys = [programs.program(f"http://192.0.2.7:80{path}", (), marked).keys for path in ("/a", "//x/../%61?b=1", "/b")]
    assert keys[0] == keys[1] != keys[2]


@pytest.mark.parametrize(
    "path",
    [
        "/v%2Fmcp",
        "/x/..%2fv/mcp",
        "/x/..%5Cv/mcp",
        "/x/%252e%252e%252fv/mcp",
        "/V/Mcp",
        "/v/mcp;x=1",
        "/v;x/mcp",
        "/v/./mcp%2f",
    ],
)
def test_a_gateway_may_lead_another_spelling_to_the_victims_program(path: str) -> None:
    gateway = frozenset({"192.0.2.1"})
    victim = programs.program("http://192.0.2.1/v/mcp", (), gateway)
    assert programs.program(f"http://192.0.2.1{path}", (), gateway).keys == victim.keys


@pytest.mark.parametrize("path", ["/v%20a", "/v%0a%C2%A0b", "/v%E2%80%83a"])
def test_no_path_makes_two_keys_of_one(path: str) -> None:
    (key,) = programs.program(f"http://192.0.2.1{path}", (), frozenset({"192.0.2.1"})).keys
    assert key.split() == [key]


def test_a_silent_name_server_is_waited_for_and_not_for_ever(zones: Zones) -> None:
    clock = Clock()
    lookups: Any = zones
    names = Names(lookups, clock)
    told: list[int] = []

    def tell() -> None:
        told.append(1)

    zones.leads_to["a.example"] = socket.gaierror(socket.EAI_AGAIN, "x")
    assert names.addresses("a.example", tell) is None
    zones.settle()
    assert (names.addresses("a.example", tell), zones.open, told) == (None, [], [1])
    clock.now += AGAIN_S
    assert (names.addresses("a.example", tell), len(zones.open)) == (None, 1)
    clock.now += PATIENCE_S
    # While other zones have all threads, it is not this name that is silent.
    zones.busy = True
    assert names.addresses("a.example", tell) is None
    zones.busy = False
    assert names.addresses("a.example", tell) == ()
    zones.leads_to["a.example"] = "192.0.2.7"
    zones.settle()
    assert names.addresses("a.example", tell) == ("192.0.2.7",)
    clock.now += FRESH_S + 1
    assert (names.addresses("a.example", tell), len(zones.open)) == (None, 1)


def test_no_more_names_are_kept_than_have_room(zones: Zones, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names_module, "MOST", 3)
    for number in range(9):
        programs.NAMES.addresses(f"a{number}.example", lambda: None)
    assert len(programs.NAMES._names) == 3


def register(client: Client, name: str, endpoint: str) -> dict[str, Any]:
    return wire.ask(client, "register_player", wire.player_request(name, endpoint=endpoint), caller="192.0.2.9")


def given_out() -> set[int]:
    plan = due.look(busy_agents=(), draining=False)
    return {one.match_pk for one in plan.starts}


@pytest.mark.django_db
def test_the_victims_program_is_in_one_match_whatever_it_is_called() -> None:
    make.hire(room=10)
    make.open_league("fall")
    make.join("Victim", "fall", endpoint="http://192.0.2.7:8101/mcp")
    for number in range(3):
        make.join(f"Attacker {number}", "fall", endpoint=f"http://192.0.2.7:8101/c{number}")
    make.lifecycle.start_league(league_id="fall")
    make.Round.objects.update(started_at=None)
    assert len(given_out()) == 1


@pytest.mark.django_db
def test_a_player_behind_a_gateway_is_looked_for_at_no_other_path_in_a_match_and_a_check() -> None:
    """A path that leads nowhere would lead the referee to the /mcp of the gateway, which is somebody else's."""
    make.hire(room=10)
    make.open_league("fall")
    for number in range(2):
        make.join(f"Agent {number}", "fall", endpoint=f"http://192.0.2.7:8101/c{number}")
    programs.mark_gateway(host="192.0.2.7", gateway=True)
    asking.ask_for_agents(agent_ids=[Agent.objects.get(code="P01").pk])
    [job] = taking.take(now=timezone.now())
    assert job.stays
    runs.fail(check_id=job.check_id, run=job.run, problem="over")
    make.lifecycle.start_league(league_id="fall")
    make.Round.objects.update(started_at=None)
    [start] = due.look(busy_agents=(), draining=False).starts
    told = json.loads(start.tries[0].body)["params"]
    brief = read_brief(told, referee_id="REF01", referee_endpoint="http://127.0.0.1:8001/mcp")
    assert [seat.stays for seat in brief.seats] == [True, True]


@pytest.mark.django_db
def test_a_name_is_looked_up_before_the_match_and_pinned_for_the_referee(zones: Zones) -> None:
    make.hire(room=10)
    make.open_league("fall")
    make.join("Victim", "fall", endpoint="http://192.0.2.7:8101/mcp")
    make.join("Beta", "fall", endpoint="http://192.0.2.8:8101/mcp")
    alias = make.join("Alias", "fall", endpoint="http://alias.example:8101/x")
    make.join("Gamma", "fall", endpoint="http://192.0.2.9:8101/mcp")
    zones.leads_to["alias.example"] = "192.0.2.7"
    make.lifecycle.start_league(league_id="fall")
    make.Round.objects.update(started_at=None)
    # The name is not known yet: its match waits, and the other does not wait for it.
    assert len(given_out()) == 1
    first, other = make.Match.objects.get(state="ASSIGNED"), make.Match.objects.get(state="READY")
    assert (first.player_a.name, first.player_b.name) == ("Victim", "Beta")
    # Now it is known, and leads to the victim's program, which is in a match.
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
@pytest.mark.parametrize("host", ["255.255.255.255", "224.0.0.1", "[ff02::1]", "127.255.255.255", "127.0.0.0"])
def test_an_address_that_is_no_machine_is_refused(client: Client, host: str) -> None:
    make.open_league("fall")
    body = wire.request("register_player", wire.player_request("Alpha", endpoint=f"http://{host}:8101/mcp"))
    refused = wire.post(client, body, caller="127.0.0.1").json()
    assert "is not called" in str(refused)
    assert not Agent.objects.exists()


@pytest.mark.django_db
def test_who_shares_a_machine() -> None:
    make.open_league("fall")
    one = make.join("Alpha", "fall", endpoint="http://192.0.2.7:8101/mcp").agent
    two = make.join("Beta", "fall", endpoint="http://192.0.2.7:8102/mcp").agent
    make.join("Gamma", "fall", endpoint="http://192.0.2.8:8101/mcp")
    assert sharing(Agent.objects.all(), 3) == {one.pk: ([two], 1), two.pk: ([one], 1)}
    three = make.join("Delta", "fall", endpoint="http://192.0.2.7:8103/mcp").agent
    assert sharing(Agent.objects.order_by("pk"), 1) == {
        one.pk: ([two], 2),
        two.pk: ([one], 2),
        three.pk: ([one], 2),
    }


@pytest.mark.django_db
def test_the_instructor_marks_a_gateway_and_takes_it_back(client: Client, settings: Any) -> None:
    assert client.post("/api/gateways", {"host": "192.0.2.7"}, content_type="application/json").status_code == 401
    for host in (" Gateway.Example ", "localhost"):
        assert [programs.mark_gateway(host=host, gateway=True) for _ in range(2)] == [True, False]
    assert programs.gateways() == {"gateway.example", programs.THIS_MACHINE}
    assert [programs.mark_gateway(host="gateway.example", gateway=False) for _ in range(2)] == [True, False]
    assert programs.gateways() == {programs.THIS_MACHINE}
    for wrong in ("", "a b", "http://x", "x/y", "x:80", 5, None):
        with pytest.raises(programs.InvalidFormat):
            programs.mark_gateway(host=wrong, gateway=True)


@pytest.mark.django_db
def test_a_mark_counts_at_once_also_for_what_is_in_play(zones: Zones) -> None:
    make.hire(room=10)
    make.open_league("fall")
    for number in range(4):
        make.join(f"Agent {number}", "fall", endpoint=f"http://192.0.2.7:8101/c{number}")
    make.lifecycle.start_league(league_id="fall")
    make.Round.objects.update(started_at=None)
    first = given_out()
    assert (len(first), given_out()) == (1, set())
    programs.mark_gateway(host="192.0.2.7", gateway=True)
    # The first match is still in play, as what it was when it was given out: one program with all the others.
    second = given_out()
    assert (len(second), second & first) == (1, set())


@pytest.mark.django_db
def test_a_mark_that_is_taken_back_starts_no_second_match_beside_those_in_play() -> None:
    make.hire(room=10)
    make.open_league("fall")
    programs.mark_gateway(host="192.0.2.7", gateway=True)
    for number in range(4):
        make.join(f"Agent {number}", "fall", endpoint=f"http://192.0.2.7:8101/c{number}")
    make.lifecycle.start_league(league_id="fall")
    make.open_current("fall")
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
        # By its number, or by another name, nobody knows which of the programs behind the gateway it is.
        (("http://gate.example/a", "http://192.0.2.7/b"), "gate.example", False),
        (("http://gate.example/a", "http://other.example/b"), "gate.example", False),
        (("http://gate.example/a", "http://192.0.2.7:81/b"), "gate.example", True),
        (("https://gate.example/a", "https://gate.example/b"), "gate.example", True),
    ],
)
def test_what_is_behind_a_gateway_is_apart_only_where_all_of_it_is_known(
    endpoints: tuple[str, str], marked: str, apart: bool
) -> None:
    one, other = (programs.program(endpoint, ("192.0.2.7",), frozenset({marked})).keys for endpoint in endpoints)
    assert programs.held(one).isdisjoint(programs.free_for(other)) is apart
    assert programs.held(other).isdisjoint(programs.free_for(one)) is apart
