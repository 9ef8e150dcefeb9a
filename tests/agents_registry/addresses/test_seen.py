"""Which calls show that the site is reached from outside its machine."""

from __future__ import annotations

import pytest

from agents_registry.addresses.callers import Caller
from agents_registry.addresses.seen import Seen
from leaguesite.hosting.addresses import lan_address


@pytest.mark.parametrize(
    ("caller", "noted"),
    [
        (Caller("192.0.2.7"), True),
        (Caller("2001:db8::"), True),
        # Each caller through the tunnel, the instructor too, shows that it works.
        (Caller("", proxied=True), True),
        (Caller("127.0.0.1", proxied=True), True),
        (Caller("127.0.0.1"), False),
        (Caller("127.0.0.7"), False),
        (Caller(lan_address()), False),
        (Caller("", past_proxy=True), False),
        (Caller("nobody"), False),
    ],
)
def test_a_call_from_another_machine_or_through_a_proxy_is_noted(caller: Caller, noted: bool) -> None:
    seen = Seen()
    seen.note(caller)
    assert (seen.latest is not None) is noted
    if seen.latest:
        assert (seen.latest.address, seen.latest.proxied) == (caller.ip, caller.proxied)
