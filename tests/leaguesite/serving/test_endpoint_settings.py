"""The policy of addresses as the environment configures it; a variable that cannot be read is named."""

from __future__ import annotations

from typing import Any

import pytest

from league_sdk.transport.policy import EndpointPolicy
from leaguesite.serving.endpoint_settings import read


def test_without_configuration_the_policy_is_the_default() -> None:
    assert EndpointPolicy.from_params(read({})) == EndpointPolicy()


def test_every_variable_becomes_part_of_the_policy() -> None:
    environ = {
        "LEAGUE_ENDPOINT_NETWORKS": "10.0.0.0/8, 127.0.0.0/8,::1",
        "LEAGUE_ENDPOINT_REFUSED_NETWORKS": "10.9.0.0/16",
        "LEAGUE_ENDPOINT_PORTS": "443, 8000-8999",
        "LEAGUE_ENDPOINT_SCHEMES": "HTTPS",
        "LEAGUE_OWN_HOSTS": "League.example.org,192.0.2.1,2001:DB8:0::1,172.30.57.0/24",
        "DATABASE_URL": "postgres://league:secret@db,other:5433/league",
        "REDIS_URL": "redis://cache:6380/0",
    }
    assert EndpointPolicy.from_params(read(environ)) == EndpointPolicy(
        own_hosts=("league.example.org", "192.0.2.1", "2001:db8::1", "172.30.57.0/24"),
        closed_ports=(5432, 5433, 6380),
        networks=("10.0.0.0/8", "127.0.0.0/8", "::1/128"),
        refused_networks=("10.9.0.0/16",),
        ports=((443, 443), (8000, 8999)),
        schemes=("https",),
    )


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("LEAGUE_ENDPOINT_NETWORKS", "10.0.0/8", "expected addresses and networks such as"),
        ("LEAGUE_ENDPOINT_NETWORKS", "10.0.0.1/8", "has host bits set"),
        ("LEAGUE_ENDPOINT_REFUSED_NETWORKS", "school", "expected addresses and networks such as"),
        ("LEAGUE_ENDPOINT_PORTS", "http", "'http' is neither a port nor a range"),
        ("LEAGUE_ENDPOINT_PORTS", "9000-8000", "'9000-8000' is neither a port nor a range"),
        ("LEAGUE_ENDPOINT_PORTS", "0", "'0' is neither a port nor a range"),
        ("LEAGUE_ENDPOINT_PORTS", "1-65536", "'1-65536' is neither a port nor a range"),
        ("LEAGUE_ENDPOINT_PORTS", "٨٠", "'٨٠' is neither a port nor a range"),
        ("LEAGUE_ENDPOINT_SCHEMES", "http,ftp", "'ftp' is no scheme of agents' addresses"),
        ("LEAGUE_OWN_HOSTS", "web,172.30.57/24", "expected addresses and networks such as"),
        ("DATABASE_URL", "postgres://db:port/x", "its port cannot be read"),
    ],
)
def test_a_variable_that_cannot_be_read_is_named_in_the_error(variable: str, value: str, says: str) -> None:
    with pytest.raises(ValueError) as caught:
        read({variable: value})
    assert str(caught.value).startswith(f"{variable}: ") and says in str(caught.value)


@pytest.mark.parametrize("url", ["", "unix:///run/redis.sock", "sqlite:///x"])
def test_a_service_without_a_port_closes_none(url: str) -> None:
    settings_read: dict[str, Any] = read({"REDIS_URL": url})
    assert settings_read["closed_ports"] == []
