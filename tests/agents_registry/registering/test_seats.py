"""One program has one seat: who has the seat of an address that several players name."""

from __future__ import annotations

import pytest

from agents_registry.addresses import programs
from agents_registry.models import Agent, Gateway, Kind, RosterEntry
from agents_registry.registering import registration, seats
from agents_registry.requests.reading import read_request
from matches.league import entry, moves, opening
from matches.models import League, Match
from tests import factories as make
from tests import wire

pytestmark = pytest.mark.django_db
HOME, ELSEWHERE, FAR = "192.0.2.7", "192.0.2.66", "192.0.2.67"
ADDRESS = f"http://{HOME}:8101/mcp"


def join(name: str, caller: str = HOME, endpoint: str = ADDRESS, league: str | None = None, code: str = "") -> Agent:
    """Register a player from an address."""
    codes = {"registration_code": code} if code else {}
    params = wire.player_request(name, endpoint=endpoint, **codes)
    done = entry.register_player(request=read_request(params, kind=Kind.PLAYER, caller=caller), named=league)
    assert done.agent is not None, done.reason
    return done.agent


def replaced() -> dict[str, str]:
    """For each player without a seat, the player that has it, by name."""
    names = {agent.pk: agent.name for agent in Agent.objects.all()}
    return {names[pk]: other.name for pk, other in seats.replaced(Agent.objects.order_by("pk")).items()}


def enters() -> list[str]:
    """The players that enter from the lobby when a league opens."""
    make.open_league("fall")
    return sorted(Agent.objects.filter(league_id="fall").values_list("name", flat=True))


def test_naming_a_rivals_address_does_not_displace_the_rival() -> None:
    join("Rival")
    thief = join("Thief", ELSEWHERE)
    assert replaced() == {"Thief": "Rival"}
    assert enters() == ["Rival"]
    thief.refresh_from_db()
    assert thief.notes[-1] == "stayed in the lobby: its address is that of Rival"
    assert not thief.ping_wanted


def test_naming_a_rivals_address_first_loses_the_seat_once_the_rival_comes() -> None:
    join("Thief", ELSEWHERE)
    join("Rival")
    assert enters() == ["Rival"]


def test_a_program_that_registers_under_a_new_name_has_the_seat_under_that_name_only() -> None:
    join("Draft")
    join("Final")
    assert enters() == ["Final"]


def test_ten_names_of_one_program_have_one_seat() -> None:
    for number in range(10):
        join(f"Copy {number}")
    assert enters() == ["Copy 9"]


def test_ten_names_at_an_address_that_nobody_has_shown_to_be_at_have_one_seat() -> None:
    for number in range(10):
        join(f"Copy {number}", ELSEWHERE)
    assert enters() == ["Copy 0"]


def test_two_players_called_from_elsewhere_both_have_seats_if_nobody_is_shown_to_be_at_their_address() -> None:
    join("Behind a tunnel", ELSEWHERE)
    join("Perhaps a thief", FAR)
    assert enters() == ["Behind a tunnel", "Perhaps a thief"]


def test_two_players_whose_callers_are_not_known_do_not_replace_each_other() -> None:
    join("Alpha", "")
    join("Beta", "")
    assert replaced() == {}


def test_readmission_by_the_instructor_shows_who_is_at_an_address() -> None:
    join("Thief", ELSEWHERE)
    agent = join("Behind a tunnel", ELSEWHERE)
    assert replaced() == {"Behind a tunnel": "Thief"}
    registration.readmit(agent_ids=[agent.pk])
    join("Behind a tunnel", ELSEWHERE)
    assert replaced() == {"Thief": "Behind a tunnel"}


def test_readmission_also_counts_for_an_agent_that_has_kept_its_token() -> None:
    """The kit keeps its token. Otherwise a thief behind the same router that registered first would keep the seat."""
    join("Thief", ELSEWHERE)
    token = register_with_token("Behind a tunnel", ELSEWHERE, ADDRESS)
    registration.readmit(agent_ids=[Agent.objects.get(name="Behind a tunnel").pk])
    register_with_token("Behind a tunnel", ELSEWHERE, ADDRESS, token)
    assert replaced() == {"Thief": "Behind a tunnel"}


def test_a_rival_that_listens_and_also_dials_out_is_at_its_address() -> None:
    """Players of the SDK and the kit do so while they wait for a league that has not called them."""
    rival = join("Rival")
    registration.note_lines(opened={rival.pk: "poll"}, closed=[], contested=[])
    thief = join("Thief", ELSEWHERE)
    assert replaced() == {"Thief": "Rival"}
    registration.note_lines(opened={thief.pk: "poll"}, closed=[], contested=[])
    assert replaced() == {}


def test_a_class_behind_one_router_that_dials_out_keeps_all_its_seats() -> None:
    """All call from one address and name one port: the site reads localhost as that address."""
    agents = [join(f"Of {number}", endpoint="http://localhost:8101/mcp") for number in range(3)]
    assert {agent.endpoint for agent in agents} == {ADDRESS}
    registration.note_lines(opened={agents[0].pk: "poll", agents[1].pk: "websocket"}, closed=[], contested=[])
    assert replaced() == {}
    join("Listens")
    assert replaced() == {"Of 2": "Listens"}


def test_players_without_an_address_are_programs_of_their_own() -> None:
    for name in ("Alpha", "Beta"):
        params = wire.player_request(name)
        params["player_meta"] = {"display_name": name, "delivery": "poll"}
        entry.register_player(request=read_request(params, kind=Kind.PLAYER, caller=HOME), named=None)
    assert replaced() == {}


def test_another_port_of_a_host_is_another_program_and_another_name_of_it_is_not() -> None:
    join("Alpha", "127.0.0.1", "http://127.0.0.1:8101/mcp")
    join("Beta", "127.0.0.1", "http://127.0.0.1:8102/mcp")
    assert replaced() == {}
    join("Gamma", "127.0.0.1", "http://localhost:8102/mcp/")
    join("Delta", "127.0.0.1", "http://127.0.0.2:8102/mcp")
    assert replaced() == {"Beta": "Gamma", "Delta": "Gamma"}


def test_paths_of_one_server_are_distinguished_also_behind_a_gateway() -> None:
    join("Alpha", endpoint=f"http://{HOME}:80/alpha")
    join("Beta", endpoint=f"http://{HOME}:80/beta")
    assert replaced() == {}
    Gateway.objects.create(host=HOME, marked_at=Agent.objects.earliest("pk").registered_at)
    assert replaced() == {}
    join("Gamma", endpoint=f"http://{HOME}:80/beta")
    assert replaced() == {"Beta": "Gamma"}


def test_the_agent_that_registered_the_address_last_in_another_league_is_there() -> None:
    ghost = join("Ghost")
    make.open_league("other", registration_code="none")
    join("Living", league="other", code="none")
    assert enters() == []
    ghost.refresh_from_db()
    assert ghost.notes[-1] == "stayed in the lobby: Living has registered at its address since"


def test_a_player_of_another_league_keeps_others_from_playing_with_its_program() -> None:
    make.open_league("other", registration_code="none")
    join("Rival", league="other", code="none")
    League.objects.update(state="SCHEDULED")
    join("Thief", ELSEWHERE)
    assert enters() == []


def test_a_player_of_a_league_that_is_over_keeps_nobody_out() -> None:
    make.open_league("old")
    join("Old", league="old")
    League.objects.update(state="STOPPED")
    join("New")
    assert enters() == ["New"]


def test_a_program_at_the_address_of_a_player_whose_league_is_over_is_not_taken_for_that_player() -> None:
    make.open_league("old")
    join("Old", league="old")
    League.objects.update(state="STOPPED")
    join("Behind a proxy now", ELSEWHERE)
    assert enters() == ["Behind a proxy now"]


def test_all_names_of_one_owner_have_seats_and_somebody_elses_code_takes_none() -> None:
    make.open_league("fall")
    people = [
        RosterEntry.objects.create(league_id="fall", name=name, email=f"{name}@example.com", code=f"{name}-code-1")
        for name in ("ada", "bob")
    ]
    for number in range(3):
        join(f"Ada {number}", league="fall", code=people[0].code)
    # A personal code shows who somebody is, not that the address is theirs.
    join("Bob", ELSEWHERE, league="fall", code=people[1].code)
    assert replaced() == {"Bob": "Ada 2"}


def test_in_a_league_that_is_open_each_name_of_one_program_has_a_seat() -> None:
    """Decision 30: nobody is left out of a schedule; the desk names those that are one program."""
    make.open_league("fall")
    for name in ("Draft", "Final"):
        join(name, league="fall")
    assert replaced() == {"Draft": "Final"}
    opening.close_registration(league_id="fall")
    [match] = Match.objects.filter(league_id="fall")
    assert {match.player_a.name, match.player_b.name} == {"Draft", "Final"}


def test_a_player_that_the_instructor_added_keeps_its_seat() -> None:
    make.open_league("fall")
    entry.add_by_hand(league_id="fall", name="By hand", endpoint=ADDRESS)
    join("Thief", ELSEWHERE, league="fall")
    assert replaced() == {"Thief": "By hand"}
    join("Itself", league="fall")
    assert replaced() == {"Thief": "Itself"}


def test_an_agent_that_leaves_its_address_for_a_line_is_no_longer_shown_to_be_there() -> None:
    first = make.player("Alpha", port=8101)
    assert first.fresh().shown_at is not None
    params = wire.player_request("Alpha", auth_token=first.token)
    params["player_meta"] = {"display_name": "Alpha", "delivery": "poll"}
    entry.register_player(request=read_request(params, kind=Kind.PLAYER, caller=ELSEWHERE), named=None)
    moves.settle()
    assert first.fresh().is_inbox_only
    assert first.fresh().shown_at is None


@pytest.mark.parametrize("suffix", ["?1", "/", "/x"])
def test_naming_another_path_of_a_rivals_program_gives_no_seat_unless_a_gateway_is_there(suffix: str) -> None:
    """Many programs answer at every path; a query or a slash at the end is no other path, even at a gateway."""
    join("Rival")
    join("Thief", ELSEWHERE, f"{ADDRESS}{suffix}")
    assert replaced() == {"Thief": "Rival"}
    Gateway.objects.create(host=HOME, marked_at=Agent.objects.earliest("pk").registered_at)
    assert replaced() == ({"Thief": "Rival"} if suffix in ("?1", "/") else {})


def test_an_address_that_a_thief_had_before_gives_it_no_seat_at_a_rivals_address() -> None:
    join("Rival")
    token = register_with_token("Thief", ELSEWHERE, f"http://{ELSEWHERE}:8101/mcp")
    # A match was given out meanwhile.
    thief = Agent.objects.get(name="Thief")
    programs.note(thief, programs.program(thief.endpoint, (), programs.gateways()))
    token = register_with_token("Thief", ELSEWHERE, None, token)
    moves.settle()
    register_with_token("Thief", ELSEWHERE, ADDRESS, token)
    moves.settle()
    # It has not moved to the rival's address, and keeps the seat that its inbox has.
    assert Agent.objects.get(name="Thief").is_inbox_only
    assert replaced() == {}


def register_with_token(name: str, caller: str, endpoint: str | None, token: str = "") -> str:
    """Register a player with its token, at an address or with an inbox; returns the new token."""
    where = {"delivery": "poll"} if endpoint is None else {"endpoint": endpoint}
    params = wire.player_request(name, auth_token=token, **where)
    done = entry.register_player(request=read_request(params, kind=Kind.PLAYER, caller=caller), named=None)
    return done.auth_token


def test_a_league_that_is_over_does_not_count_even_if_an_agent_has_waited_since_before_it() -> None:
    join("Waits since long ago", FAR, f"http://{FAR}:8101/mcp")
    make.open_league("old", registration_code="none")
    join("Old", league="old", code="none")
    League.objects.update(state="STOPPED")
    join("Behind a proxy now", ELSEWHERE)
    assert enters() == ["Behind a proxy now", "Waits since long ago"]


def test_only_the_agent_that_came_to_an_address_last_speaks_for_it() -> None:
    """A student who sat at this machine yesterday kept a token."""
    ghost = join("Ghost")
    assert seats.speak_for(ghost.endpoint_key) == {ghost.pk}
    rival = join("Rival")
    assert seats.speak_for(rival.endpoint_key) == {rival.pk}


def test_a_query_at_the_address_of_a_player_that_the_instructor_added_gives_no_seat() -> None:
    make.open_league("fall")
    entry.add_by_hand(league_id="fall", name="By hand", endpoint=ADDRESS)
    join("Thief", ELSEWHERE, f"{ADDRESS}?1", league="fall")
    assert replaced() == {"Thief": "By hand"}
