"""Which addresses are called: nothing that only the server itself should reach (ruling, section 9; decision 10).

The tricks with which an address is dressed up stand in ``test_ssrf_tricks``, the calls in ``test_ssrf_calls``.
"""

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from aiohttp.abc import ResolveResult
from aiohttp.resolver import ThreadedResolver

from league_sdk.transport import machine
from league_sdk.transport.policy import NEVER, EndpointPolicy, Forbidden, NotCalled, PolicyResolver

POLICY = EndpointPolicy(refused_ports=(8000, 80), own_hosts=("the-site.example.org",), loopback_by_name=False)
OWN = {"192.168.7.7", "2001:db8::77"}


@pytest.fixture(autouse=True)
def _own(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine with these addresses, whatever machine the tests run on."""
    monkeypatch.setattr(machine, "is_own", lambda address: str(address) in OWN or address.is_loopback)
    monkeypatch.setattr(socket, "gethostname", lambda: "the-site")
    yield


def refused(policy: EndpointPolicy, url: str) -> str:
    with pytest.raises(Forbidden) as caught:
        policy.check_url(url)
    return str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:8101/mcp",
        "http://127.0.0.1:8101/mcp",
        "http://192.168.1.20:8000/mcp",
        "http://192.168.7.7:8101/mcp",
        "http://10.0.0.7:8000",
        "https://agent.example.org/mcp",
        "http://[::1]:8101/mcp",
        "http://[2001:db8::1]:8000/mcp",
        "https://127.0.0.1/mcp",
        "HTTP://LOCALHOST:8101/",
        # As machines and containers are called in a room.
        "http://alice-laptop:8101/mcp",
        "http://alice-laptop.local:8101/mcp",
        "http://player_one:8000/mcp",
        "http://xn--maana-pta.example/mcp",
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
        ("http://100.100.100.200/", "100.100.100.200/32"),
        ("http://168.63.129.16/machine", "168.63.129.16/32"),
        ("http://192.0.0.192/opc/v2/", "192.0.0.192/32"),
        ("http://[fd00:ec2::254]/latest/", "fd00:ec2::254/128"),
        ("http://[fd20:ce::254]/", "fd20:ce::254/128"),
        ("http://[fe80::1]:8101/", "fe80::/10"),
        ("http://[febf:ffff::1]/", "fe80::/10"),
        ("http://[fec0::1]:8101/", "fec0::/10"),
        ("http://224.0.0.1/", "224.0.0.0/4"),
        ("http://239.255.255.250:1900/", "224.0.0.0/4"),
        ("http://[ff02::1]/", "ff00::/8"),
        ("http://0.0.0.0:8000/mcp", "0.0.0.0/8"),
        ("http://0.1.2.3:8000/mcp", "0.0.0.0/8"),
        ("http://[::ffff:0.0.0.0]:8000/mcp", "0.0.0.0/8"),
        ("http://[::]:8000/mcp", "::/96"),
        ("http://[::192.168.1.20]:8101/mcp", "::/96"),
        ("http://[::7f00:1]:8101/mcp", "::/96"),
        ("http://240.1.2.3/", "240.0.0.0/4"),
        ("http://255.255.255.255/", "240.0.0.0/4"),
        ("http://[64:ff9b::7f00:1]:8101/", "64:ff9b::/96"),
        ("http://[64:ff9b::c0a8:114]:8101/", "64:ff9b::/96"),
        ("http://[64:ff9b:1::7f00:1]:8101/", "64:ff9b:1::/48"),
        ("http://[::ffff:0:7f00:1]:8101/", "::ffff:0:0:0/96"),
        ("http://[2002:7f00:1::]:8101/", "2002::/16"),
        ("http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]:8101/", "2001::/32"),
        ("http://[100::1]:8101/", "100::/64"),
    ],
)
def test_networks_that_are_never_called(url: str, network: str) -> None:
    everything = EndpointPolicy(networks=("0.0.0.0/0", "::/0"))
    for policy in (POLICY, everything):
        assert refused(policy, url) == f"addresses in {network} are not called"


def test_every_network_on_the_list_is_tried_above() -> None:
    tried = {case[1] for mark in test_networks_that_are_never_called.pytestmark for case in mark.args[1]}
    assert tried - {"::/96"} == set(NEVER)


@pytest.mark.parametrize(
    ("url", "port"),
    [
        ("http://127.0.0.1:8000/mcp", 8000),
        ("http://127.8.9.10:8000/mcp", 8000),
        ("http://[::1]:8000/mcp", 8000),
        ("http://[::ffff:127.0.0.1]:8000/mcp", 8000),
        ("http://[::ffff:7f00:1]:8000/mcp", 8000),
        ("http://127.0.0.1/mcp", 80),
        # Every own address, not the loopback alone; and names that mean this machine.
        ("http://192.168.7.7:8000/mcp", 8000),
        ("http://[2001:db8::77]:8000/mcp", 8000),
        ("http://[::ffff:192.168.7.7]:8000/mcp", 8000),
        ("http://localhost:8000/mcp", 8000),
        ("http://any.localhost/mcp", 80),
        ("http://the-site:8000/mcp", 8000),
        ("http://The-Site.local.:8000/mcp", 8000),
    ],
)
def test_the_sites_own_ports_on_this_machine(url: str, port: int) -> None:
    assert refused(POLICY, url) == f"port {port} belongs to the league site itself"


@pytest.mark.parametrize("host", ["league.example.org", "198.51.100.9", "[2001:db8::9]", "172.30.57.4"])
def test_a_referee_elsewhere_knows_the_sites_addresses(host: str) -> None:
    policy = EndpointPolicy(
        refused_ports=(8000,), own_hosts=("league.example.org", "198.51.100.9", "2001:db8::9", "172.30.57.0/24")
    )
    assert refused(policy, f"http://{host}:8000/mcp") == "port 8000 belongs to the league site itself"
    policy.check_url(f"http://{host}:8101/mcp")


def test_closed_ports_are_closed_at_every_address() -> None:
    policy = EndpointPolicy(closed_ports=(5432, 6379))
    for url in ("http://db.internal:5432/", "http://10.1.2.3:6379/", "http://127.0.0.1:5432/"):
        assert refused(policy, url).endswith("belongs to the league site itself")
    assert refused(policy, "http://10.1.2.3:22/") == "port 22 is not called"
    assert refused(EndpointPolicy(ports=((22, 22),)), "http://10.1.2.3:22/") == "port 22 is not called"


def test_a_site_may_say_which_networks_ports_and_schemes_are_called() -> None:
    policy = EndpointPolicy(
        networks=("10.0.0.0/8", "127.0.0.0/8"),
        refused_networks=("10.9.0.0/16",),
        ports=((443, 443), (8100, 8199)),
        schemes=("https",),
    )
    for url in ("https://10.1.2.3/", "https://127.0.0.1:8101/", "https://name.example:8199/"):
        policy.check_url(url)
    assert refused(policy, "https://192.168.1.20/") == "only addresses in 10.0.0.0/8, 127.0.0.0/8 are called"
    assert refused(policy, "https://[2001:db8::1]/") == "only addresses in 10.0.0.0/8, 127.0.0.0/8 are called"
    assert refused(policy, "https://10.9.1.1/") == "addresses in 10.9.0.0/16 are not called"
    assert refused(policy, "https://10.1.2.3:8200/") == "port 8200 is not called"
    assert refused(policy, "https://name.example:444/") == "port 444 is not called"
    assert refused(policy, "http://10.1.2.3:8101/") == "only https addresses are called"


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
    assert refused(POLICY, url) == "only plain http and https addresses are called"


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


async def resolve(*hosts: str, name: str = "name", port: int = 8000) -> list[str]:
    resolver = PolicyResolver(POLICY)
    await resolver.close()
    resolver._inner = Names(*hosts)  # type: ignore[assignment]
    return [one["host"] for one in await resolver.resolve(name, port)]


async def test_a_name_is_called_at_all_its_addresses() -> None:
    assert await resolve("192.168.1.20", "2001:db8::1") == ["192.168.1.20", "2001:db8::1"]
    # As machines in a room are found, by themselves and by each other.
    assert await resolve("fe80::1%eth0", "192.168.1.20", name="alice.local") == ["192.168.1.20"]
    assert await resolve("127.0.1.1", name="the-site", port=8101) == ["127.0.1.1"]
    assert await resolve("::1", "127.0.0.1", name="localhost", port=8101) == ["::1", "127.0.0.1"]
    assert await resolve("127.0.1.1", name="the-site.example.org", port=8101) == ["127.0.1.1"]


@pytest.mark.parametrize(
    "hosts",
    [
        (),
        ("169.254.169.254",),
        ("127.0.0.1", "::1"),
        ("fe80::1%eth0",),
        # One that is refused, wherever it stands: none of them is called.
        ("192.168.1.20", "169.254.169.254"),
        ("169.254.169.254", "192.168.1.20"),
        ("192.168.1.20", "::"),
        ("192.168.1.20", "64:ff9b::7f00:1"),
        ("192.168.1.20", "::ffff:169.254.169.254"),
        ("192.168.1.20", "192.168.7.7"),
    ],
)
async def test_a_name_with_an_address_that_is_refused_is_not_called(hosts: tuple[str, ...]) -> None:
    with pytest.raises(NotCalled, match=r"^name resolves to no address that may be called$"):
        await resolve(*hosts)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.1.1", "::1", "::ffff:127.0.0.1"])
async def test_a_name_of_the_network_does_not_lead_to_the_loopback(host: str) -> None:
    with pytest.raises(NotCalled):
        await resolve(host, name="127-0-0-1.rebind.example", port=9200)


def test_a_name_that_was_configured_may() -> None:
    """The league manager of a referee, or the address that a student has checked at home."""
    assert EndpointPolicy().check_found("league.example.org", ["127.0.1.1"], 8101) == ["127.0.1.1"]


# -- as start_match carries it ----------------------------------------------------------------------------

WHOLE = EndpointPolicy(
    refused_ports=(8000, 80),
    own_hosts=("league.example.org", "192.168.7.7"),
    closed_ports=(5432,),
    networks=("10.0.0.0/8",),
    refused_networks=("10.9.0.0/16",),
    ports=((443, 443), (1024, 65535)),
    schemes=("https",),
    loopback_by_name=False,
)


@pytest.mark.parametrize("policy", [WHOLE, POLICY, EndpointPolicy(), EndpointPolicy(networks=(), ports=(), schemes=())])
def test_the_policy_travels_whole(policy: EndpointPolicy) -> None:
    assert EndpointPolicy.from_params(policy.to_params()) == policy


def test_an_older_league_manager_names_ports_only() -> None:
    assert EndpointPolicy.from_params({"refused_ports": [8000, "80", None, True], "other": 1}) == EndpointPolicy(
        refused_ports=(8000,)
    )


@pytest.mark.parametrize("value", [None, 7, [], "x", {}, {"refused_ports": None}, {"refused_ports": 8000}])
def test_what_is_missing_has_its_default(value: Any) -> None:
    assert EndpointPolicy.from_params(value) == EndpointPolicy()


@pytest.mark.parametrize("junk", [7, "10.0.0.0/8", ["10.0.0/8"], [None], {}])
@pytest.mark.parametrize("name", ["networks", "ports", "schemes"])
def test_a_list_of_what_is_allowed_that_cannot_be_read_allows_nothing(name: str, junk: Any) -> None:
    refused(EndpointPolicy.from_params({name: junk}), "http://10.1.2.3:8101/mcp")


async def test_a_pinned_name_is_called_where_it_was_found_and_not_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*_: object) -> list[object]:
        raise AssertionError("looked up")

    monkeypatch.setattr(ThreadedResolver, "resolve", never)
    sent = EndpointPolicy(pinned=(("a.example", ("192.0.2.7", "2001:db8::7")), ("b.example", ()))).to_params()
    resolver = PolicyResolver(EndpointPolicy.from_params(sent))
    found = await resolver.resolve("a.example", 8101)
    assert [(one["host"], one["port"]) for one in found] == [("192.0.2.7", 8101), ("2001:db8::7", 8101)]
    with pytest.raises(OSError, match="not found"):
        await resolver.resolve("b.example", 8101)
    # What is refused stays refused, whoever pinned it.
    with pytest.raises(NotCalled):
        await PolicyResolver(EndpointPolicy(pinned=(("a.example", ("224.0.0.1",)),))).resolve("a.example", 8101)


@pytest.mark.parametrize("ip", ["127.255.255.255", "127.0.0.0"])
def test_the_address_of_a_whole_network_is_no_machine(ip: str) -> None:
    with pytest.raises(Forbidden, match="whole network"):
        EndpointPolicy().check_ip(ip, 8101)
