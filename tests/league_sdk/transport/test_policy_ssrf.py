"""Disguised addresses, which a check may read differently than a connection; each with its refusal.

The last test makes addresses up: in each that the policy allows, every library must read the host that was checked.
"""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit

import httpx
import pytest
import yarl
from aiohttp.helpers import is_ip_address
from hypothesis import example, given
from hypothesis import strategies as st

from league_sdk.transport.policy import EndpointPolicy, Forbidden
from league_sdk.transport.targets import PLAIN_ONLY, UNREADABLE, read_target

POLICY = EndpointPolicy(refused_ports=(8000,))
OWN_PORT = "port 8000 belongs to the league site itself"
METADATA = "addresses in 169.254.0.0/16 are not called"

REFUSED = [
    # An IPv4 address as a number, in other bases, with fewer parts.
    ("decimal", "http://2130706433:8000/mcp", OWN_PORT),
    ("decimal of metadata", "http://2852039166/", METADATA),
    ("decimal too large", "http://4294967296/", UNREADABLE),
    ("octal", "http://0177.0.0.1:8000/mcp", OWN_PORT),
    ("octal with zeros", "http://00000177.0.0.01:8000/mcp", OWN_PORT),
    ("octal as one number", "http://017700000001:8000/mcp", OWN_PORT),
    ("octal of metadata", "http://0251.0376.0251.0376/", METADATA),
    ("invalid octal number", "http://0189.0.0.1/", UNREADABLE),
    ("hex", "http://0x7f.1:8000/mcp", OWN_PORT),
    ("hex, whole", "http://0x7F000001:8000/mcp", OWN_PORT),
    ("hex of metadata", "http://0xa9.0xfe.0xa9.0xfe/", METADATA),
    ("short form", "http://127.1:8000/mcp", OWN_PORT),
    ("shorter form", "http://127.0.1:8000/mcp", OWN_PORT),
    ("zero", "http://0/", "addresses in 0.0.0.0/8 are not called"),
    ("zero in hex", "http://0x0:8000/", "addresses in 0.0.0.0/8 are not called"),
    ("too many parts", "http://127.0.0.1.1/", UNREADABLE),
    ("part too large", "http://127.0.0.256/", UNREADABLE),
    ("a name that ends in a number", "http://agent.5/", UNREADABLE),
    ("dot behind", "http://127.0.0.1.:8000/mcp", OWN_PORT),
    ("dot behind a number", "http://2130706433.:8000/mcp", OWN_PORT),
    ("dot behind metadata", "http://169.254.169.254./latest", METADATA),
    ("two dots behind", "http://127.0.0.1..:8000/mcp", UNREADABLE),
    ("dot before", "http://.127.0.0.1:8000/mcp", UNREADABLE),
    ("dots within", "http://agent..example/", UNREADABLE),
    ("only a dot", "http://./", UNREADABLE),
    # IPv6 in all its spellings.
    ("loopback", "http://[::1]:8000/", OWN_PORT),
    ("loopback in full", "http://[0000:0000:0000:0000:0000:0000:0000:0001]:8000/", OWN_PORT),
    ("loopback with an IPv4 end", "http://[::0.0.0.1]:8000/", OWN_PORT),
    ("mapped", "http://[::ffff:127.0.0.1]:8000/", OWN_PORT),
    ("mapped in hex", "http://[::FFFF:7F00:1]:8000/", OWN_PORT),
    ("mapped in full", "http://[0:0:0:0:0:ffff:127.0.0.1]:8000/", OWN_PORT),
    ("mapped metadata", "http://[::ffff:169.254.169.254]/", METADATA),
    ("mapped with octal", "http://[::ffff:0251.254.169.254]/", UNREADABLE),
    ("compatible", "http://[::127.0.0.1]:8101/", "addresses in ::/96 are not called"),
    ("NAT64", "http://[64:ff9b::a9fe:a9fe]/", "addresses in 64:ff9b::/96 are not called"),
    ("6to4", "http://[2002:a9fe:a9fe::1]/", "addresses in 2002::/16 are not called"),
    ("Teredo", "http://[2001:0000:1:2:3:4:5:6]/", "addresses in 2001::/32 are not called"),
    ("zone id", "http://[fe80::1%eth0]:8101/", UNREADABLE),
    ("zone id, encoded", "http://[fe80::1%25eth0]:8101/", UNREADABLE),
    ("zone id on the loopback", "http://[::1%25lo]:8101/", UNREADABLE),
    ("brackets around IPv4", "http://[127.0.0.1]:8000/", UNREADABLE),
    ("brackets around a name", "http://[localhost]:8101/", UNREADABLE),
    ("IPv6 without brackets", "http://::1:8000/", UNREADABLE),
    ("a bracket open", "http://[::1:8000/", UNREADABLE),
    ("a future address", "http://[v1.a:b]/", UNREADABLE),
    # Users, and what libraries take for one.
    ("password", "http://user:password@example.org/", PLAIN_ONLY),
    ("user", "http://user@example.org/", PLAIN_ONLY),
    ("empty user", "http://@example.org/", PLAIN_ONLY),
    ("a host for a user", "http://example.org@169.254.169.254/", PLAIN_ONLY),
    ("two users", "http://a@b@169.254.169.254/", PLAIN_ONLY),
    ("a port in the user", "http://example.org:80@127.0.0.1:8000/", PLAIN_ONLY),
    ("backslash", "http://example.org\\@169.254.169.254/", UNREADABLE),
    ("backslashes for slashes", "http:\\\\169.254.169.254\\", UNREADABLE),
    ("backslash behind the host", "http://169.254.169.254\\.example.org/", UNREADABLE),
    ("sharp before a user", "http://example.org#@169.254.169.254/", UNREADABLE),
    ("question before a user", "http://169.254.169.254?@example.org/", METADATA),
    # Characters that one library drops and another keeps.
    ("tab in the host", "http://169.254.\t169.254/", UNREADABLE),
    ("tab in the scheme", "ht\ttp://169.254.169.254/", UNREADABLE),
    ("newline in the host", "http://127.0.0.1\n:8000/", UNREADABLE),
    ("a header behind the path", "http://127.0.0.1:8101/ HTTP/1.1\r\nHost: x", UNREADABLE),
    ("NUL", "http://127.0.0.1\x00.example.org:8000/", UNREADABLE),
    ("space before", " http://127.0.0.1:8101/", UNREADABLE),
    ("space behind", "http://127.0.0.1:8101/ ", UNREADABLE),
    ("space in the host", "http://127.0.0.1 .example.org/", UNREADABLE),
    ("encoded host", "http://%31%32%37.0.0.1:8000/", UNREADABLE),
    ("encoded dot", "http://169%2e254.169.254/", UNREADABLE),
    ("encoded slash", "http://127.0.0.1%2f.example.org/", UNREADABLE),
    ("plus", "http://127.0.0.1+x/", UNREADABLE),
    ("star", "http://*/", UNREADABLE),
    ("comma", "http://127.0.0.1,example.org/", UNREADABLE),
    # Unicode that becomes ASCII on its way.
    ("full-width digits", "http://\uff11\uff12\uff17.0.0.1:8000/", UNREADABLE),
    ("circled digits", "http://①②⑦.⓪.⓪.①:8000/", UNREADABLE),
    ("ideographic full stop", "http://127。0。0。1:8000/", UNREADABLE),
    ("half-width full stop", "http://127\uff610\uff610\uff611:8000/", UNREADABLE),
    ("full-width solidus", "http://example.org\uff0f@127.0.0.1/", UNREADABLE),
    ("full-width at sign", "http://example.org\uff20127.0.0.1:8000/", UNREADABLE),
    ("care of", "http://169.254.169.254\u2100.example.org/", UNREADABLE),
    ("soft hyphen", "http://local\xadhost:8000/", UNREADABLE),
    ("long s", "http://localho\u017ft:8000/", UNREADABLE),
    ("a name in its own script", "http://mañana.example/mcp", UNREADABLE),
    ("digits of another script in the port", "http://127.0.0.1:٨٠٠٠/", UNREADABLE),
    ("full-width digits in the port", "http://127.0.0.1:\uff18000/", UNREADABLE),
    # Ports.
    ("port 0", "http://10.1.2.3:0/", UNREADABLE),
    ("port 65536", "http://10.1.2.3:65536/", UNREADABLE),
    ("a port that overflows", "http://127.0.0.1:73536/", UNREADABLE),
    ("a negative port", "http://10.1.2.3:-80/", UNREADABLE),
    ("a port with a sign", "http://10.1.2.3:+80/", UNREADABLE),
    ("a port in hex", "http://10.1.2.3:0x50/", UNREADABLE),
    ("a port with an underscore", "http://10.1.2.3:8_0/", UNREADABLE),
    ("a port with zeros", "http://127.0.0.1:08000/", OWN_PORT),
    ("a port with more zeros", "http://127.0.0.1:008000/", UNREADABLE),
    ("two ports", "http://127.0.0.1:8101:8000/", UNREADABLE),
    ("a port of mail", "http://10.1.2.3:25/", "port 25 is not called"),
    # Hosts.
    ("host too long", f"http://{'a.' * 126}aa/", UNREADABLE),
    ("label too long", f"http://{'a' * 64}.example/", UNREADABLE),
    ("no host", "http:///mcp", PLAIN_ONLY),
    ("no host but a port", "http://:8101/mcp", UNREADABLE),
    ("no host but a query", "http://?x", PLAIN_ONLY),
    ("one slash", "http:/127.0.0.1:8000/", PLAIN_ONLY),
    ("no slash", "http:127.0.0.1:8000", PLAIN_ONLY),
    ("three slashes", "http:///127.0.0.1:8000/", PLAIN_ONLY),
    ("localhost with a dot", "http://localhost.:8000/", OWN_PORT),
    ("localhost in capitals", "http://LOCALHOST:8000/", OWN_PORT),
    ("a fragment", "http://10.1.2.3:8101/mcp#here", UNREADABLE),
    # Schemes.
    ("file", "file:///etc/passwd", PLAIN_ONLY),
    ("file with a host", "file://localhost/etc/passwd", PLAIN_ONLY),
    ("gopher", "gopher://127.0.0.1:6379/_INFO", PLAIN_ONLY),
    ("dict", "dict://127.0.0.1:11211/stats", PLAIN_ONLY),
    ("ftp", "ftp://example.org/", PLAIN_ONLY),
    ("ws", "ws://example.org/", PLAIN_ONLY),
    ("unix", "unix:///var/run/docker.sock", PLAIN_ONLY),
    ("http over unix", "http+unix://%2Fvar%2Frun%2Fdocker.sock/", UNREADABLE),
    ("http over unix, plain", "http+unix://docker.sock/", PLAIN_ONLY),
    ("data", "data:text/html,x", PLAIN_ONLY),
    ("javascript", "javascript:alert(1)", PLAIN_ONLY),
    ("nothing", "", PLAIN_ONLY),
    ("a URL in a URL", "url:http://127.0.0.1:8000/", PLAIN_ONLY),
    ("no scheme", "127.0.0.1:8000/mcp", PLAIN_ONLY),
    ("the scheme of the reader", "//127.0.0.1:8000/mcp", PLAIN_ONLY),
]

CALLED = [
    ("a scheme in mixed case", "hTTp://10.1.2.3:8101/mcp", "http://10.1.2.3:8101/mcp"),
    ("a short form", "http://10.1:8101/mcp", "http://10.0.0.1:8101/mcp"),
    ("IPv6 in full", "http://[2001:0DB8:0:0::7]:8101/mcp", "http://[2001:db8::7]:8101/mcp"),
    ("mapped", "http://[::ffff:10.1.2.3]:8101/mcp", "http://10.1.2.3:8101/mcp"),
    ("a dot behind a name", "http://Agent.Example.:8101/mcp", "http://agent.example:8101/mcp"),
    ("a port with a zero", "http://10.1.2.3:08101/mcp", "http://10.1.2.3:8101/mcp"),
    ("an empty port", "http://10.1.2.3:/mcp", "http://10.1.2.3/mcp"),
    ("an underscore", "http://player_one:8101/mcp", "http://player_one:8101/mcp"),
    ("one label", "http://alice-laptop:8101", "http://alice-laptop:8101"),
    ("of the room", "http://alice-laptop.local:8101/a/b?c=d", "http://alice-laptop.local:8101/a/b?c=d"),
    ("punycode", "https://xn--maana-pta.example/mcp", "https://xn--maana-pta.example/mcp"),
    ("a number before the end", "http://1.2.3.4.example:8101/", "http://1.2.3.4.example:8101/"),
    ("the longest label", f"http://{'a' * 63}.example/", f"http://{'a' * 63}.example/"),
    ("an at sign in the path", "http://10.1.2.3:8101/@169.254.169.254/", "http://10.1.2.3:8101/@169.254.169.254/"),
    ("a URL in the query", "http://10.1.2.3/?u=http://x@y/", "http://10.1.2.3/?u=http://x@y/"),
    # An ordinary name: no resolver takes it for an IP address.
    ("hex without digits", "http://1.2.3.0xg/", "http://1.2.3.0xg/"),
    ("an encoded path", "http://10.1.2.3/%2e%2e/%0d%0a", "http://10.1.2.3/%2e%2e/%0d%0a"),
]


@pytest.fixture(autouse=True)
def _loopback_only(own_addresses: set[str]) -> None:
    """Pretend that this machine has no address but its loopback's."""


@pytest.mark.parametrize(("url", "sentence"), [pytest.param(*more, id=name) for name, *more in REFUSED])
def test_check_url_refuses_disguised_addresses(url: str, sentence: str) -> None:
    with pytest.raises(Forbidden) as caught:
        POLICY.check_url(url)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(("url", "called"), [pytest.param(*more, id=name) for name, *more in CALLED])
def test_check_url_returns_the_normal_form_of_an_address(url: str, called: str) -> None:
    assert POLICY.check_url(url).url == called


# -- one parser for all ---------------------------------------------------------------------------------------

HOSTS = [
    *("127.0.0.1", "0x7f.1", "0177.1", "2130706433", "169.254.169.254", "[::1]", "[::ffff:a9fe:a9fe]", "[fe80::1%25e]"),
    *("localhost", "a_b", "xn--a", "xn--maana-pta", "-a-", "1.2.3.4.5", "0x", "0x.0x", "1e3", "①", "127。0。0。1"),
]
PIECES = st.one_of(
    st.sampled_from(
        [*HOSTS, ".", "..", "@", ":", "\\", "/", "?", "#", "%", "%2e", "%00", "[", "]", "\t", " ", "_", "-"]
    ),
    st.text(alphabet="0123456789abcdefx.-_:@%", max_size=12),
    st.text(max_size=3),
)
AUTHORITIES = st.lists(PIECES, min_size=1, max_size=5).map("".join)
TAILS = st.one_of(st.sampled_from(["", "/", "/mcp", "/?x", "?x=@y", "/@z:1/", "/\\x"]), st.text(max_size=8))
URLS = st.builds(
    lambda scheme, authority, port, tail: f"{scheme}://{authority}{port}{tail}",
    st.sampled_from(["http", "https", "HTTP", "hTtPs"]),
    AUTHORITIES,
    st.one_of(st.just(""), st.just(":"), st.integers(-1, 70000).map(lambda port: f":{port}")),
    TAILS,
)


@given(url=URLS)
@example(url="http://0x7f.1:8101/mcp")
@example(url="http://xn--a.example/mcp")
@example(url="http://[::ffff:10.1.2.3]:8101/mcp")
@example(url="http://-a-:8101/mcp")
def test_every_library_reads_the_host_that_was_checked(url: str) -> None:
    try:
        target = EndpointPolicy().check_url(url)
    except Forbidden:
        return
    assert read_target(target.url) == target
    # How aiohttp's session reads it.
    called = yarl.URL(target.url)
    # The connector takes the host as it is, or what the resolver returns for it.
    assert (called.raw_host, called.port, called.scheme) == (target.host, target.called_port, target.scheme)
    assert (called.raw_user, called.raw_password) == (None, None)
    # How httpx reads it, and what it passes on.
    passed = httpx.URL(target.url)
    assert (passed.raw_host.decode(), passed.port, passed.scheme, passed.userinfo) == (
        target.host,
        called.explicit_port,
        target.scheme,
        b"",
    )
    assert yarl.URL(str(passed)) == called
    assert urlsplit(target.url).hostname == target.host
    if target.ip is not None:
        assert ipaddress.ip_address(called.raw_host or "") == target.ip
        return
    # A name: nothing in the system takes it for an IP address without asking our resolver.
    assert not is_ip_address(called.raw_host)
    with pytest.raises(OSError):
        socket.inet_aton(target.host)
