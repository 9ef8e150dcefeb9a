"""Who is taken for a referee that may judge, when one registers under a known name and port."""

from __future__ import annotations

import pytest
from django.conf import settings

from agents_registry import registration
from agents_registry.models import Agent, Kind
from tests.factories import hire
from tests.wire import referee_request

pytestmark = pytest.mark.django_db


def again(*, caller: str = "127.0.0.1", endpoint: str | None = None, **changes: str) -> Agent:
    """Register "Referee 1" at port 8001 once more."""
    params = referee_request("Referee 1", port=8001, **({"endpoint": endpoint} if endpoint else {}), **changes)
    request = registration.read_request(params, kind=Kind.REFEREE, caller=caller)
    return registration.register(request=request, league_id=None).agent


def test_a_referee_of_the_site_comes_back_with_the_key_or_its_token_only() -> None:
    site = hire("Referee 1", trusted=True)
    with pytest.raises(registration.NotTheSame):
        again()
    with pytest.raises(registration.NotTheSame):
        again(endpoint="http://10.9.9.9:8001/mcp", caller="10.9.9.9")
    assert site.fresh().endpoint == "http://localhost:8001/mcp"
    assert again(auth_token=site.token).code == again(code=settings.LEAGUE_REFEREE_KEY).code == "REF01"


def test_a_students_referee_keeps_its_tick_at_its_address_and_loses_it_elsewhere() -> None:
    hire("Referee 1", trusted=False)
    registration.trust(agent_ids=[Agent.objects.get().pk], trusted=True)
    assert again().trusted is True
    moved = again(endpoint="http://10.9.9.9:8001/mcp")
    assert (moved.code, moved.trusted) == ("REF01", False)
