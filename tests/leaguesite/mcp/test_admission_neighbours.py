"""One caller that sends the wrong code, or registers without end, keeps nobody else at its address out."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from agents_registry.models import RosterEntry
from agents_registry.rate_limits.attempts import REGISTRATIONS, SAME_SECRET
from agents_registry.rosters import roster
from matches.league import lifecycle
from tests import factories as make
from tests import wire
from tests.agents_registry.rate_limits.test_attempts import SCHOOL
from tests.leaguesite.mcp.test_admission_limits import send

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]
CODE = "cs101"


def status_of(answer: Any) -> Any:
    return answer.status_code, answer.json().get("result", {}).get("status")


def test_a_class_code_sent_as_a_personal_code_locks_nobody_out(client: Client) -> None:
    """The page of one's own agent asks for the personal code; students mistake it and send the class code."""
    make.open_league("fall", registration_code=CODE)
    for _ in range(SAME_SECRET.amount + 1):
        assert client.post("/leagues/fall/mine/", {"secret": CODE}, REMOTE_ADDR=SCHOOL).status_code == 403
    mine = wire.player_request("Ada", port=8101, code=CODE, league_id="fall")
    assert status_of(send(client, "register_player", mine)) == (200, "ACCEPTED")


def test_the_code_of_one_league_sent_to_another_locks_nobody_out(client: Client) -> None:
    make.open_league("fall", registration_code=CODE)
    make.open_league("spring", registration_code="another")
    for number in range(SAME_SECRET.amount + 1):
        other = wire.player_request(f"Mallory {number}", port=9000 + number, code=CODE, league_id="spring")
        assert status_of(send(client, "register_player", other)) == (200, "REJECTED")
    mine = wire.player_request("Ada", port=8101, code=CODE, league_id="fall")
    assert status_of(send(client, "register_player", mine)) == (200, "ACCEPTED")


@pytest.mark.parametrize("over", [False, True])
def test_codes_of_a_league_that_is_over_are_no_shield_for_guesses(client: Client, over: bool) -> None:
    """A student may have written the file of an imported league, with every short code on its roster."""
    make.open_league("fall", registration_code=CODE)
    make.open_league("old", registration_code="4711")
    people = [RosterEntry(league_id="old", name="x", email=f"{n}@x.org", code=f"{n}") for n in range(1000, 1600)]
    RosterEntry.objects.bulk_create(people)
    if over:
        lifecycle.stop(league_id="old")
    for secret in ("4711", *(person.code for person in people)):
        client.post("/leagues/fall/mine/", {"secret": secret}, REMOTE_ADDR=SCHOOL)
    assert client.post("/leagues/fall/mine/", {"secret": "1234"}, REMOTE_ADDR=SCHOOL).status_code == (
        429 if over else 403
    )


def test_an_agent_that_registers_without_end_uses_up_no_registrations_of_others(client: Client, settings: Any) -> None:
    settings.LEAGUE_REGISTRATIONS_PER_ADDRESS = f"{REGISTRATIONS.amount + 5} per 10 second"
    make.open_league("fall")
    loop = wire.player_request("Loop", port=8666)
    status_codes = [send(client, "register_player", loop).status_code for _ in range(REGISTRATIONS.amount + 10)]
    assert status_codes == [200] * REGISTRATIONS.amount + [429] * 10
    mine = wire.player_request("Ada", port=8101)
    assert status_of(send(client, "register_player", mine)) == (200, "ACCEPTED")


def test_unreadable_registrations_use_up_no_registrations_of_others(client: Client, settings: Any) -> None:
    settings.LEAGUE_REGISTRATIONS_PER_ADDRESS, settings.LEAGUE_CALLS_PER_ADDRESS = "3 per 10 second", "5 per 10 second"
    make.open_league("fall")
    nobody = wire.player_request("Nobody", endpoint="nowhere at all")
    old = wire.player_request("Nobody", port=8666, protocol="league.v1")
    status_codes = [send(client, "register_player", one).status_code for one in (nobody, old, nobody, old, nobody, old)]
    assert status_codes == [200] * 5 + [429]
    mine = wire.player_request("Ada", port=8101)
    assert status_of(send(client, "register_player", mine)) == (200, "ACCEPTED")


def test_registering_a_classmates_name_without_end_does_not_lock_the_classmate_out(client: Client) -> None:
    """The calls have no personal code or a made-up one; the classmate's has the right one."""
    make.open_league("fall")
    roster.import_csv(league_id="fall", text="name,email,code\nAda,ada@example.org,ada-1815\n")
    for code in ("", "ada-1816"):
        answers = [
            send(client, "register_player", wire.player_request("Ada", port=8101, league_id="fall", code=code))
            for _ in range(REGISTRATIONS.amount + 1)
        ]
        assert answers[-1].status_code == 429
    mine = wire.player_request("Ada", port=8101, league_id="fall", code="ada-1815")
    assert status_of(send(client, "register_player", mine)) == (200, "ACCEPTED")
