"""What an agent that registers again keeps: a referee the instructor's trust, every agent its newest tokens."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import settings
from django.utils import timezone

from agents_registry.models import Agent, Kind
from agents_registry.registering import credentials, registration
from agents_registry.requests.reading import read_request
from league_sdk.protocol.errors import TokenInvalid
from matches.league import opening, outbox, progress
from tests import factories as make
from tests.wire import referee_request

pytestmark = pytest.mark.django_db


def register_again(*, caller: str = "127.0.0.1", endpoint: str | None = None, **changes: str) -> Agent:
    """Register "Referee 1" at port 8001 once more."""
    params = referee_request("Referee 1", port=8001, **({"endpoint": endpoint} if endpoint else {}), **changes)
    request = read_request(params, kind=Kind.REFEREE, caller=caller)
    return registration.register(request=request, league_id=None).agent


def test_a_referee_of_the_site_comes_back_with_the_key_or_its_token_only() -> None:
    site_referee = make.referee("Referee 1", trusted=True)
    with pytest.raises(registration.NotTaken):
        register_again()
    with pytest.raises(registration.NotTaken):
        register_again(endpoint="http://10.9.9.9:8001/mcp", caller="10.9.9.9")
    assert site_referee.fresh().endpoint == "http://localhost:8001/mcp"
    assert register_again(auth_token=site_referee.token).code == "REF01"
    assert register_again(code=settings.LEAGUE_REFEREE_KEY).code == "REF01"


def test_a_students_referee_stays_trusted_at_its_address_and_not_elsewhere() -> None:
    make.referee("Referee 1", trusted=False)
    registration.trust(agent_ids=[Agent.objects.get().pk], trusted=True)
    assert register_again().trusted is True
    moved = register_again(endpoint="http://10.9.9.9:8001/mcp")
    assert (moved.code, moved.trusted) == ("REF01", False)


def test_a_stranger_under_the_name_of_a_site_referee_loses_its_tokens_when_that_referee_registers() -> None:
    """Names and ports of the site's referees are predictable: a stranger may register under the next one."""
    params = referee_request("Referee 1", port=8001, endpoint="http://10.9.9.9:8001/mcp")
    request = read_request(params, kind=Kind.REFEREE, caller="10.9.9.9")
    early = registration.register(request=request, league_id=None)
    before = credentials.league_token(early.agent)
    site_referee = make.referee("Referee 1", trusted=True)
    assert (site_referee.agent.pk, site_referee.agent.site_key) == (early.agent.pk, True)
    with pytest.raises(TokenInvalid):
        credentials.authenticate(early.auth_token)
    assert credentials.league_token(site_referee.fresh()) != before
    assert credentials.authenticate(site_referee.token).pk == site_referee.agent.pk


def test_an_agent_that_registers_again_and_again_keeps_its_newest_tokens() -> None:
    first = make.player("Alpha", None)
    for _ in range(20):
        newest = make.player("Alpha", None)
    assert newest.agent.pk == first.agent.pk
    assert newest.agent.tokens.count() == registration.MAX_TOKENS_PER_AGENT
    assert credentials.authenticate(newest.token).pk == first.agent.pk
    with pytest.raises(TokenInvalid):
        credentials.authenticate(first.token)


def test_revoking_tokens_voids_the_auth_token_and_the_league_token() -> None:
    member = make.player("Alpha", None)
    before = credentials.league_token(member.agent)
    credentials.revoke_tokens(agent_ids=[member.agent.pk])
    with pytest.raises(TokenInvalid):
        credentials.authenticate(member.token)
    assert credentials.league_token(member.fresh()) != before


def test_a_referee_that_is_leaving_or_silent_is_given_no_match() -> None:
    league = opening.create_league(league_id="evening", display_name="Evening")
    referee = make.referee("Referee 1").agent
    assert outbox.referees_of(league) == [referee]
    progress.progress(referee=referee, items=[], leaving=True)
    assert outbox.referees_of(league) == []
    referee.refresh_from_db()
    progress.progress(referee=referee, items=[])
    assert outbox.referees_of(league) == [referee]
    Agent.objects.update(heard_at=timezone.now() - timedelta(seconds=60))
    assert outbox.referees_of(league) == []


def test_who_gets_the_primary_key_of_another_after_a_restore_gets_no_token_of_it() -> None:
    early, late = (make.player(name).agent for name in ("Early", "Late"))
    late.pk = early.pk
    assert credentials.league_token(late) != credentials.league_token(early)
    student = make.referee("Referee of Ann", port=8200, trusted=False).agent
    assert credentials.token_from(student, late) != credentials.token_from(student, early)
