"""Which addresses are called: nothing that only the server itself should reach (ruling, section 9)."""

import socket
from typing import Any

import pytest
from aiohttp.abc import ResolveResult

from league_sdk.transport.policy import EndpointPolicy, Forbidden, PolicyResolver

POLICY = EndpointPolicy(refused_ports=(8000, 80))


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:8101/mcp",
        "http://127.0.0.1:8101/mcp",
        "http://192.168.1.20:8000/mcp",
        "http://10.0.0.7:8000",
        "https://agent.example.org/mcp",
        "http://[::1]:8101/mcp",
        "http://[2001:db8::1]:8000/mcp",
        "https://127.0.0.1/mcp",
        "HTTP://LOCALHOST:8101/",
    ],
)
def test_addresses_of_agents(url: str) -> None:
    POLICY.check_url(url)


@pytest.mark.parametrize(
    ("url", "network"),
    [
        ("http://169.254.169.254/latest/meta-data/", "169.254.0.0/16"),
        ("http://169.254.0.1:8101/mcp", "169.254.0.0/16"),
        ("http://[::ffff:169.254.169.254]/", "169.254.0.0/16"),
        ("http://[::ffff:a9fe:a9fe]/", "169.254.0.0/16"),
        ("http://[fe80::1]:8101/", "fe80::/10"),
        ("http://[fe80::1%25eth0]:8101/", "fe80::/10"),
        ("http://[febf:ffff::1]/", "fe80::/10"),
        ("http://224.0.0.1/", "224.0.0.0/4"),
        ("http://239.255.255.250:1900/", "224.0.0.0/4"),
        ("http://[ff02::1]/", "ff00::/8"),
        ("http://0.0.0.0:8000/mcp", "0.0.0.0/32"),
        ("http://[::ffff:0.0.0.0]:8000/mcp", "0.0.0.0/32"),
        ("http://[::]:8000/mcp", "::/128"),
        ("http://255.255.255.255/", "255.255.255.255/32"),
    ],
)
def test_networks_that_are_never_called(url: str, network: str) -> None:
    with pytest.raises(Forbidden) as caught:
        POLICY.check_url(url)
    assert str(caught.value) == f"addresses in {network} are not called"


@pytest.mark.parametrize(
    ("url", "port"),
    [
        ("http://127.0.0.1:8000/mcp", 8000),
        ("http://127.8.9.10:8000/mcp", 8000),
        ("http://[::1]:8000/mcp", 8000),
        ("http://[::ffff:127.0.0.1]:8000/mcp", 8000),
        ("http://[::ffff:7f00:1]:8000/mcp", 8000),
        ("http://127.0.0.1/mcp", 80),
    ],
)
def test_the_sites_own_ports_on_this_machine(url: str, port: int) -> None:
    with pytest.raises(Forbidden) as caught:
        POLICY.check_url(url)
    assert str(caught.value) == f"port {port} belongs to the league site itself"


@pytest.mark.parametrize(
    "url",
    [
        "http://user:password@example.org/mcp",
        "http://user@example.org/mcp",
        "http://@example.org/mcp",
        "http://example.org@127.0.0.1:8000/mcp",
        "ftp://example.org/",
        "file:///etc/passwd",
        "gopher://127.0.0.1:6379/_INFO",
        "unix:///var/run/docker.sock",
        "javascript:alert(1)",
        "//example.org/mcp",
        "example.org/mcp",
        "http:///mcp",
        "http://",
        "",
    ],
)
def test_only_plain_http_and_https(url: str) -> None:
    with pytest.raises(Forbidden) as caught:
        POLICY.check_url(url)
    assert str(caught.value) == "only plain http and https addresses are called"


@pytest.mark.parametrize(
    "url", ["http://example.org:99999/", "http://example.org:port/", "http://[::1/", "http://[x]/"]
)
def test_addresses_that_cannot_be_read(url: str) -> None:
    with pytest.raises(Forbidden) as caught:
        POLICY.check_url(url)
    assert str(caught.value) == "the address cannot be read"


# -- what a name resolves to ------------------------------------------------------------------------------


def found(host: str) -> ResolveResult:
    return ResolveResult(hostname="name", host=host, port=8000, family=socket.AF_INET, proto=0, flags=0)


class Names:
    """A resolver that knows one name."""

    def __init__(self, *hosts: str) -> None:
        self.hosts = hosts

    async def resolve(self, host: str, port: int = 0, family: Any = 0) -> list[ResolveResult]:
        return [found(one) for one in self.hosts]

    async def close(self) -> None:
        self.hosts = ()


async def resolve(*hosts: str) -> list[str]:
    resolver = PolicyResolver(POLICY)
    await resolver.close()
    resolver._inner = Names(*hosts)  # type: ignore[assignment]
    return [one["host"] for one in await resolver.resolve("name", 8000)]


async def test_a_name_is_called_at_its_allowed_addresses_only() -> None:
    names = ("169.254.169.254", "192.168.1.20", "127.0.0.1", "fe80::1%eth0", "::", "2001:db8::1", "::ffff:127.0.0.1")
    assert await resolve(*names) == ["192.168.1.20", "2001:db8::1"]


@pytest.mark.parametrize("hosts", [(), ("169.254.169.254",), ("127.0.0.1", "::1")])
async def test_a_name_without_an_allowed_address_is_not_called(hosts: tuple[str, ...]) -> None:
    with pytest.raises(OSError, match=r"^name resolves to no address that may be called$"):
        await resolve(*hosts)


# -- as start_match carries it ----------------------------------------------------------------------------


def test_the_policy_travels() -> None:
    assert POLICY.to_params() == {"refused_ports": [8000, 80]}
    assert EndpointPolicy.from_params(POLICY.to_params()) == POLICY
    assert EndpointPolicy.from_params({"refused_ports": [8000, "80", None], "other": 1}).refused_ports == (8000,)


@pytest.mark.parametrize("value", [None, 7, [], "x", {}, {"refused_ports": None}, {"refused_ports": 8000}])
def test_what_is_missing_has_its_default(value: Any) -> None:
    assert EndpointPolicy.from_params(value) == EndpointPolicy()
