"""Which addresses may be called: none that only the server itself should reach (ruling, section 9; decision 10).

Disguised addresses are in ``test_policy_ssrf``, calls in ``test_client_ssrf``.
"""

import socket
from typing import Any

import pytest

from league_sdk.transport.policy import NEVER_CALLED, EndpointPolicy, Forbidden, NotCalled, PolicyResolver
from tests.league_sdk.transport.conftest import FakeLookups

POLICY = EndpointPolicy(refused_ports=(8000, 80), own_hosts=("the-site.example.org",), loopback_by_name=False)
OWN = {"192.168.7.7", "2001:db8::77"}


@pytest.fixture(autouse=True)
def _own(own_addresses: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that this machine has these addresses and this name."""
    own_addresses |= OWN
    monkeypatch.setattr(socket, "gethostname", lambda: "the-site")


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
        # Names of machines and containers in a local network.
        "http://alice-laptop:8101/mcp",
        "http://alice-laptop.local:8101/mcp",
        "http://player_one:8000/mcp",
        "http://xn--maana-pta.example/mcp",
    ],
)
def test_check_url_allows_addresses_of_agents(url: str) -> None:
    POLICY.check_url(url)


@pytest.mark.parametrize(
    ("url", "network"),
    [
        ("http://169.254.169.254/latest/meta-data/", "169.254.0.0/16"),
        ("http://100.100.100.200/", "100.100.100.200/32"),
        ("http://168.63.129.16/machine", "168.63.129.16/32"),
        ("http://192.0.0.192/opc/v2/", "192.0.0.192/32"),
        ("http://[fd00:ec2::254]/latest/", "fd00:ec2::254/128"),
        ("http://[fd20:ce::254]/", "fd20:ce::254/128"),
        ("http://[fe80::1]:8101/", "fe80::/10"),
        ("http://[febf:ffff::1]/", "fe80::/10"),
        ("http://[fec0::1]:8101/", "fec0::/10"),
        ("http://224.0.0.1/", "224.0.0.0/4"),
        ("http://[ff02::1]/", "ff00::/8"),
        ("http://0.0.0.0:8000/mcp", "0.0.0.0/8"),
        ("http://[::]:8000/mcp", "::/96"),
        ("http://240.1.2.3/", "240.0.0.0/4"),
        ("http://[64:ff9b::7f00:1]:8101/", "64:ff9b::/96"),
        ("http://[64:ff9b:1::7f00:1]:8101/", "64:ff9b:1::/48"),
        ("http://[::ffff:0:7f00:1]:8101/", "::ffff:0:0:0/96"),
        ("http://[2002:7f00:1::]:8101/", "2002::/16"),
        ("http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]:8101/", "2001::/32"),
        ("http://[100::1]:8101/", "100::/64"),
    ],
)
def test_check_url_refuses_networks_that_are_never_called(url: str, network: str) -> None:
    everything = EndpointPolicy(networks=("0.0.0.0/0", "::/0"))
    for policy in (POLICY, everything):
        assert refused(policy, url) == f"addresses in {network} are not called"


def test_every_network_on_the_list_is_tried_above() -> None:
    tried = {
        case[1] for mark in test_check_url_refuses_networks_that_are_never_called.pytestmark for case in mark.args[1]
    }
    assert tried - {"::/96"} == set(NEVER_CALLED)


@pytest.mark.parametrize(
    ("url", "port"),
    [
        ("http://127.0.0.1:8000/mcp", 8000),
        ("http://127.8.9.10:8000/mcp", 8000),
        ("http://[::1]:8000/mcp", 8000),
        ("http://127.0.0.1/mcp", 80),
        # Other addresses of this machine, and names that mean it.
        ("http://192.168.7.7:8000/mcp", 8000),
        ("http://[2001:db8::77]:8000/mcp", 8000),
        ("http://[::ffff:192.168.7.7]:8000/mcp", 8000),
        ("http://localhost:8000/mcp", 8000),
        ("http://any.localhost/mcp", 80),
        ("http://the-site:8000/mcp", 8000),
        ("http://The-Site.local.:8000/mcp", 8000),
    ],
)
def test_check_url_refuses_the_sites_own_ports_on_this_machine(url: str, port: int) -> None:
    assert refused(POLICY, url) == f"port {port} belongs to the league site itself"


@pytest.mark.parametrize("host", ["league.example.org", "198.51.100.9", "[2001:db8::9]", "172.30.57.4"])
def test_a_referee_on_another_machine_refuses_the_sites_addresses(host: str) -> None:
    policy = EndpointPolicy(
        refused_ports=(8000,), own_hosts=("league.example.org", "198.51.100.9", "2001:db8::9", "172.30.57.0/24")
    )
    assert refused(policy, f"http://{host}:8000/mcp") == "port 8000 belongs to the league site itself"
    policy.check_url(f"http://{host}:8101/mcp")


def test_closed_ports_are_closed_at_every_address() -> None:
    policy = EndpointPolicy(closed_ports=(5432, 6379))
    for url in ("http://db.internal:5432/", "http://10.1.2.3:6379/", "http://127.0.0.1:5432/"):
        assert refused(policy, url).endswith("belongs to the league site itself")


@pytest.mark.parametrize("policy", [EndpointPolicy(), EndpointPolicy(ports=((22, 22),))])
def test_a_port_of_shells_is_not_called_even_if_the_site_lists_it(policy: EndpointPolicy) -> None:
    assert refused(policy, "http://10.1.2.3:22/") == "port 22 is not called"


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


# -- what a name resolves to ------------------------------------------------------------------------------


async def resolve(*addresses: str, name: str = "name", port: int = 8000) -> list[str]:
    resolver = PolicyResolver(POLICY, FakeLookups(addresses))
    return [result["host"] for result in await resolver.resolve(name, port)]


async def test_a_name_is_called_at_all_its_addresses_but_link_local_ipv6_ones() -> None:
    assert await resolve("192.168.1.20", "2001:db8::1") == ["192.168.1.20", "2001:db8::1"]
    # Machines in a local network: their names also lead to link-local IPv6 addresses and to the loopback.
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
        # If one address is forbidden, wherever it is in the list, none is called. Only link-local IPv6 is left out.
        ("192.168.1.20", "169.254.169.254"),
        ("169.254.169.254", "192.168.1.20"),
        ("192.168.1.20", "::"),
        ("192.168.1.20", "64:ff9b::7f00:1"),
        ("192.168.1.20", "::ffff:169.254.169.254"),
        ("192.168.1.20", "192.168.7.7"),
    ],
)
async def test_a_name_without_an_address_or_with_a_refused_one_is_not_called(hosts: tuple[str, ...]) -> None:
    with pytest.raises(NotCalled, match=r"^name resolves to no address that may be called$"):
        await resolve(*hosts)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.1.1", "::1", "::ffff:127.0.0.1"])
async def test_a_name_of_the_network_does_not_lead_to_the_loopback(host: str) -> None:
    with pytest.raises(NotCalled):
        await resolve(host, name="127-0-0-1.rebind.example", port=9200)


def test_any_name_may_lead_to_the_loopback_by_default() -> None:
    """Only a site forbids it, as strangers choose the names there; a referee may be on its league manager's machine."""
    assert EndpointPolicy().check_found("league.example.org", ["127.0.1.1"], 8101) == ["127.0.1.1"]


# -- as start_match carries it ----------------------------------------------------------------------------

WITH_EVERY_FIELD = EndpointPolicy(
    refused_ports=(8000, 80),
    own_hosts=("league.example.org", "192.168.7.7"),
    closed_ports=(5432,),
    networks=("10.0.0.0/8",),
    refused_networks=("10.9.0.0/16",),
    ports=((443, 443), (1024, 65535)),
    schemes=("https",),
    loopback_by_name=False,
    pinned={"a.example": ("192.0.2.7",), "b.example": ()},
)


@pytest.mark.parametrize(
    "policy", [WITH_EVERY_FIELD, POLICY, EndpointPolicy(), EndpointPolicy(networks=(), ports=(), schemes=())]
)
def test_from_params_reads_what_to_params_wrote(policy: EndpointPolicy) -> None:
    assert EndpointPolicy.from_params(policy.to_params()) == policy


def test_from_params_leaves_out_items_and_fields_that_it_cannot_read() -> None:
    assert EndpointPolicy.from_params({"refused_ports": [8000, "80", None, True], "other": 1}) == EndpointPolicy(
        refused_ports=(8000,)
    )


@pytest.mark.parametrize("value", [None, 7, [], "x", {}, {"refused_ports": None}, {"refused_ports": 8000}])
def test_from_params_uses_defaults_for_what_is_missing_or_unreadable(value: Any) -> None:
    assert EndpointPolicy.from_params(value) == EndpointPolicy()


@pytest.mark.parametrize("junk", [7, "10.0.0.0/8", ["10.0.0/8"], [None], {}])
@pytest.mark.parametrize("name", ["networks", "ports", "schemes"])
def test_a_list_of_what_is_allowed_that_cannot_be_read_allows_nothing(name: str, junk: Any) -> None:
    refused(EndpointPolicy.from_params({name: junk}), "http://10.1.2.3:8101/mcp")


async def test_a_pinned_name_is_called_where_it_was_found_and_not_looked_up() -> None:
    sent = EndpointPolicy(pinned={"a.example": ("192.0.2.7", "2001:db8::7"), "b.example": ()}).to_params()
    resolver = PolicyResolver(EndpointPolicy.from_params(sent), FakeLookups(AssertionError("looked up")))
    addresses = await resolver.resolve("a.example", 8101)
    assert [(one["host"], one["port"]) for one in addresses] == [("192.0.2.7", 8101), ("2001:db8::7", 8101)]
    with pytest.raises(OSError, match="not found"):
        await resolver.resolve("b.example", 8101)
    # A forbidden address stays forbidden when it is pinned.
    with pytest.raises(NotCalled):
        await PolicyResolver(EndpointPolicy(pinned={"a.example": ("224.0.0.1",)})).resolve("a.example", 8101)


@pytest.mark.parametrize("ip", ["127.255.255.255", "127.0.0.0"])
def test_check_ip_refuses_addresses_of_whole_networks(ip: str) -> None:
    with pytest.raises(Forbidden, match="whole network"):
        EndpointPolicy().check_ip(ip, 8101)
