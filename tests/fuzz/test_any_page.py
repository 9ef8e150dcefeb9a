"""Any path, query, header, cookie and form at the pages: no failure, and refused requests change nothing."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

import pytest
from django.urls import URLPattern, get_resolver
from hypothesis import strategies as st

from tests.fuzz.messages import ODD
from tests.fuzz.profile import long_count
from tests.fuzz.site import Request, Site, for_each_input
from tests.fuzz.world import LEAGUES, World
from tests.fuzz.writes import rolled_back
from tests.sizes import examples

QUICK, LONG = examples(150), 12_000
SHARDS = 2
CSRF = "a" * 32
CHECK = "00000000-0000-4000-8000-000000000000"
KNOWN = {
    "league_id": [*LEAGUES, "nowhere"],
    "match_id": ["R1M1", "R9M9"],
    "player_id": ["P01", "P99"],
    "report_id": [CHECK],
    "language": ["python", "rust", "cobol"],
    "series_id": ["evenings", "nowhere"],
}
OTHER_PATHS = [
    "language/",
    "favicon.ico",
    "admin/",
    "admin/login/",
    "admin/matches/league/",
    "admin/matches/league/fall/change/",
]
OTHER_PATHS += [
    "static/css/board.css",
    "static/../manage.py",
    "api/docs",
    "health",
    "metrics",
    ".well-known/x",
    "%2e%2e/%00",
]
FIELD_NAMES = [
    "at",
    "as",
    "language",
    "theme",
    "since",
    "code",
    "next",
    "key",
    "event",
    "from",
    "packed",
    "token",
    "endpoint",
]
FIELD_NAMES += [
    "role",
    "game_type",
    "limit",
    "show",
    "player",
    "match",
    "wall",
    "size",
    "",
    "csrfmiddlewaretoken",
    "message",
]


def texts() -> st.SearchStrategy[str]:
    """Values of queries, forms and cookies: valid, odd or random."""
    odd = [one if isinstance(one, str) else repr(one)[:300] for one in ODD]
    return (
        st.sampled_from(
            [*odd, "staff", "gzip", "he", "en", "light", "dark", "1", "2", "/leagues/fall/", "//evil.example"]
        )
        | st.text()
    )


def quoted(text: str) -> str:
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


@st.composite
def targets(draw: st.DrawFn) -> str:
    """The path of a page, sometimes with an odd id in it, and any query."""
    routes = [
        str(one.pattern) for one in get_resolver("matches.audience.urls").url_patterns if isinstance(one, URLPattern)
    ]
    path = "/" + draw(st.sampled_from([*routes, *OTHER_PATHS]))
    while "<" in path:
        before, _, rest = path.partition("<")
        name, _, after = rest.partition(">")
        known = st.sampled_from(KNOWN[name.partition(":")[2]])
        value = draw(st.one_of(known, known, known, texts().map(quoted)))
        path = f"{before}{value}{after}"
    pairs = draw(st.lists(st.tuples(st.sampled_from(FIELD_NAMES), texts()), max_size=3))
    query = "&".join(f"{quoted(name)}={quoted(value)}" for name, value in pairs)
    tail = draw(st.sampled_from(["", "", "", "&%ff=%zz&;", "&" * 1200, "#x"]))
    return f"{path}?{query}{tail}" if query or tail else path


def cookies() -> st.SearchStrategy[bytes]:
    value = texts().map(lambda one: one.encode("utf-8", "surrogatepass").replace(b"\r", b"").replace(b"\n", b""))
    name = st.sampled_from([b"sessionid", b"django_language", b"theme", b"messages", b"csrftoken", b""])
    pair = st.builds(lambda left, right: left + b"=" + right, name, value)
    return st.lists(pair, max_size=3).map(b"; ".join)


@st.composite
def page_requests(draw: st.DrawFn) -> Request:
    """Any request at a page."""
    headers = [(b"cookie", draw(cookies()))]
    header = st.sampled_from(
        [b"accept-language", b"accept", b"accept-encoding", b"if-none-match", b"referer", b"origin", b"range"]
    )
    odd = st.sampled_from(
        [b"", b"*", b"he-IL,he;q=0.9", b"gzip;q=0, *;q=1", b"\xff\xfe", b"x" * 4000, b"null", b'W/"x"', b"bytes=9-1"]
    )
    headers += draw(st.lists(st.tuples(header, odd), max_size=2))
    target, method = (
        draw(targets()),
        draw(st.sampled_from(["GET"] * 6 + ["POST"] * 3 + ["HEAD", "PUT", "OPTIONS", "BREW"])),
    )
    if method != "POST":
        return Request(method, target, tuple(headers))
    pairs = draw(st.lists(st.tuples(st.sampled_from(FIELD_NAMES), texts()), max_size=3))
    form = "&".join(f"{quoted(name)}={quoted(value)}" for name, value in pairs).encode()
    if draw(st.booleans()):
        headers = [(b"cookie", f"csrftoken={CSRF}".encode()), (b"x-csrftoken", CSRF.encode())]
    kind = draw(
        st.sampled_from(
            [b"application/x-www-form-urlencoded", b"multipart/form-data; boundary=x", b"application/json", b"a/b"]
        )
    )
    body = draw(
        st.sampled_from(
            [form, form, form, b"--x\r\nContent-Disposition: form-data; name=\xff\r\n\r\n", b"\xff" * 9, b"{"]
        )
    )
    length = (b"content-length", str(len(body)).encode())
    return Request(method, target, (*headers, (b"content-type", kind), length), body)


def run(site: Site, count: int, shard: int = 0) -> int:
    def act(request: Request) -> None:
        rolled_back(lambda: site.send(request), may_not_write=lambda answer: answer.status >= 400)

    return for_each_input(page_requests(), act, count, "pages", shard)


def test_any_request_for_a_page_is_no_failure(site: Site, world: World) -> None:
    assert run(site, QUICK) >= QUICK


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("shard", range(1, SHARDS + 1))
def test_any_request_for_a_page_is_no_failure_at_length(
    site: Site, world: World, shard: int, record_property: Callable[[str, object], None]
) -> None:
    record_property("inputs", run(site, long_count(LONG // SHARDS), shard))
