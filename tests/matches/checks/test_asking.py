"""Who may have which agent checked, and the check that is queued then."""

from __future__ import annotations

from typing import Any

import pytest

from agents_registry.addresses.callers import Caller
from matches.checks import asking, taking
from matches.checks.asking import NotAllowed, TooManyChecks
from matches.league import opening
from matches.league.errors import Invalid
from matches.models import Check
from tests import factories as make
from tests.matches.checks.asks import INSTRUCTOR, LOCAL, REMOTE, after, ask, fill

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("endpoint", "caller", "expected_endpoint"),
    [
        ("http://127.0.0.1:8101/mcp", LOCAL, "http://127.0.0.1:8101/mcp"),
        ("http://localhost:8101", LOCAL, "http://localhost:8101/mcp"),
        ("localhost:8101/mcp", REMOTE, "http://192.0.2.7:8101/mcp"),
        ("http://192.0.2.7:8101/mcp", REMOTE, "http://192.0.2.7:8101/mcp"),
        ("http://198.51.100.4:8101/mcp", INSTRUCTOR, "http://198.51.100.4:8101/mcp"),
        ("http://localhost:8101/mcp", INSTRUCTOR, "http://localhost:8101/mcp"),
    ],
)
def test_a_caller_may_check_its_own_address_and_the_instructor_any(
    endpoint: str, caller: Caller, expected_endpoint: str
) -> None:
    assert ask(endpoint, caller).endpoint == expected_endpoint


def test_localhost_of_a_remote_caller_is_replaced_with_a_note() -> None:
    assert ask("http://localhost:8101/mcp", REMOTE).notes == ["address was localhost, called at 192.0.2.7"]


@pytest.mark.parametrize(
    ("endpoint", "caller"),
    [
        ("http://198.51.100.4:8101/mcp", REMOTE),
        ("http://127.0.0.2:8101/mcp", LOCAL),
        ("http://example.org/mcp", REMOTE),
        # Behind an unknown proxy all callers have the proxy's address.
        ("http://127.0.0.1:8101/mcp", Caller("127.0.0.1", direct=False)),
        ("http://192.0.2.7:8101/mcp", Caller("192.0.2.7", direct=False)),
    ],
)
def test_an_address_that_may_be_another_machines_needs_a_token(endpoint: str, caller: Caller) -> None:
    with pytest.raises(NotAllowed):
        ask(endpoint, caller)
    assert Check.objects.count() == 0


def test_a_token_allows_the_check_of_its_own_agent_only() -> None:
    make.open_league("fall")
    member = make.player("Ada", "fall", endpoint="http://198.51.100.4:8101/mcp")
    unknown = "tok_" + "0" * 32
    for token, sentence in ((member.token, "P01 is registered at another address"), (unknown, "belongs to no agent")):
        with pytest.raises(NotAllowed, match=sentence):
            ask("http://198.51.100.5:8101/mcp", REMOTE, token=token)
    assert Check.objects.count() == 0
    assert ask("http://198.51.100.4:8101/mcp", REMOTE, token=member.token).agent == member.agent


def test_checks_that_the_instructor_asked_for_do_not_count_against_the_agents_student() -> None:
    make.open_league("fall")
    member = make.player("Ada", "fall", endpoint="http://198.51.100.4:8101/mcp")
    fill(asking.MAX_CHECKS_PER_MINUTE, "198.51.100.4", asked_by="instructor", agent=member.agent, state="FAILED")
    assert ask("", REMOTE, token=member.token).agent_id == member.agent.pk


def test_a_league_token_does_not_allow_a_check() -> None:
    make.open_league("fall")
    member = make.player("Ada", "fall", endpoint="http://198.51.100.4:8101/mcp")
    with pytest.raises(NotAllowed):
        ask("", REMOTE, token=asking.credentials.league_token(member.agent))


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"endpoint": ""}, "endpoint"),
        ({"endpoint": "   "}, "endpoint"),
        ({"endpoint": "ftp://127.0.0.1/mcp"}, "endpoint"),
        ({"endpoint": "javascript:alert(1)"}, "endpoint"),
        ({"endpoint": "http://user:password@127.0.0.1:8101/mcp"}, "endpoint"),
        ({"endpoint": "http://169.254.169.254/latest/meta-data", "caller": INSTRUCTOR}, "endpoint"),
        ({"endpoint": "http://127.0.0.1:8101/" + "x" * 400}, "endpoint"),
        ({"endpoint": "http://127.0.0.1:8101/\x00"}, "endpoint"),
        ({"role": "audience"}, "role"),
        ({"game_type": "chess"}, "game_type"),
    ],
)
def test_an_unusable_request_is_refused_with_the_name_of_the_wrong_field(fields: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as refused:
        ask(**fields)
    assert refused.value.field == field


def test_the_sites_own_port_is_not_called(settings: Any) -> None:
    settings.LEAGUE_REFUSED_PORTS = [8101]
    with pytest.raises(Invalid, match="port 8101 belongs to the league site itself"):
        ask()


OTHERS = [f"198.51.100.{number}" for number in range(1, 21)]


def test_the_requests_of_one_network_cannot_fill_the_queue() -> None:
    fill(asking.MAX_QUEUED_PER_PLACE - 1, "192.0.2.7")
    fill(asking.MAX_QUEUED - asking.RESERVED_FOR_OTHER_PLACES - asking.MAX_QUEUED_PER_PLACE, *OTHERS)
    ask("http://192.0.2.7:9003/mcp", REMOTE)
    with pytest.raises(TooManyChecks, match="Too many checks are waiting"):
        ask("http://192.0.2.7:9004/mcp", REMOTE)
    ask()
    fill(asking.RESERVED_FOR_OTHER_PLACES - 2, *OTHERS)
    ask("http://127.0.0.1:8102/mcp")
    assert Check.objects.count() == asking.MAX_QUEUED
    with pytest.raises(TooManyChecks, match="Too many checks are waiting"):
        ask("http://127.0.0.1:8103/mcp")
    ask("http://127.0.0.1:8103/mcp", INSTRUCTOR)


def test_a_repeated_request_returns_the_queued_or_running_check() -> None:
    first = ask()
    assert ask(now=after(1)) == first
    taking.take(now=after(2))
    assert ask(now=after(3)) == first
    assert ask(game_type="tic_tac_toe", now=after(4)) != first


def test_a_check_belongs_to_the_agent_at_its_address_and_asks_for_its_game() -> None:
    opening.create_league(league_id="board", display_name="Board", game_type="tic_tac_toe")
    member = make.player("Ada", "board", port=8101, games=["tic_tac_toe"])
    check = ask()
    assert (check.agent, check.game_types) == (member.agent, ["tic_tac_toe"])


@pytest.mark.parametrize("path", ["/other", "//?a", "//?b/c", "?d"])
def test_endpoints_that_differ_only_in_their_path_share_one_host_and_port(path: str) -> None:
    ask()
    assert ask(f"http://127.0.0.1:8101{path}").address == "127.0.0.1|8101"


def test_the_role_is_the_requested_one_or_the_registered_one() -> None:
    made = make.league(players=1, referees=1)
    [player], [referee] = made.players, made.referees
    seen = [
        (check.role, check.agent)
        for check in (
            ask(player.agent.endpoint, INSTRUCTOR),
            ask(referee.agent.endpoint, INSTRUCTOR),
            ask(player.agent.endpoint, INSTRUCTOR, role="manager"),
            ask("http://127.0.0.1:9999/mcp", INSTRUCTOR),
            ask("", REMOTE, token=referee.token, role="player"),
        )
    ]
    assert seen == [
        ("player", player.agent),
        ("referee", referee.agent),
        ("manager", None),
        ("player", None),
        ("referee", referee.agent),
    ]
