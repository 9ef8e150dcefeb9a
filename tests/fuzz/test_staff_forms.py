"""The forms on the staff's pages, filled in with any values by a user who is logged in: no failure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from http.cookies import SimpleCookie
from urllib.parse import urljoin, urlsplit

import pytest
from django.contrib.auth.models import Permission, User
from django.contrib.messages import constants
from django.contrib.messages.storage.cookie import CookieStorage
from django.http import HttpRequest
from django.test import Client
from django.urls import resolve
from hypothesis import strategies as st

from matches.league import staffing
from tests.fuzz.profile import long_count
from tests.fuzz.site import Answer, Header, Request, Site, for_each_input
from tests.fuzz.test_any_page import CSRF, quoted, texts
from tests.fuzz.world import World
from tests.fuzz.writes import rolled_back
from tests.sizes import examples

QUICK, LONG = examples(40), 4_000
SHARDS = 2
BOUNDARY = "x-of-the-test"
MAX_PAGES_OF_A_PATTERN = 2
"""How many pages of one URL pattern are visited: two, because leagues are in different states."""
NOT_VISITED = ("logout", "autocomplete")

Pair = tuple[str, str]


@dataclass
class Form:
    """A form as a page shows it.

    Attributes:
        pairs: about what a browser would send; textareas are empty.
        options: what else may be chosen or pressed.
    """

    page: str
    action: str
    post: bool
    multipart: bool
    pairs: list[Pair] = field(default_factory=list)
    options: list[Pair] = field(default_factory=list)


class Forms(HTMLParser):
    """Parses the forms and the links of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.page = page
        self.forms: list[Form] = []
        self.links: list[str] = []
        self._form: Form | None = None
        self._name: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "a" and "href" in attributes:
            self.links.append(urljoin(self.page, attributes["href"]))
        if tag == "form":
            action = urljoin(self.page, attributes.get("action", ""))
            post, multipart = (
                attributes.get("method", "").lower() == "post",
                "multipart" in attributes.get("enctype", ""),
            )
            self._form = Form(self.page, action, post, multipart)
            self.forms.append(self._form)
        form, name = self._form, attributes.get("name", "")
        if form is None or (not name and tag != "option"):
            return
        if tag == "select":
            self._name = name
        elif tag == "option" and self._name:
            (form.pairs if "selected" in attributes else form.options).append((self._name, attributes.get("value", "")))
        elif tag == "button" or attributes.get("type") in ("submit", "checkbox", "radio"):
            (form.pairs if "checked" in attributes else form.options).append((name, attributes.get("value", "on")))
        elif tag in ("input", "textarea"):
            form.pairs.append((name, attributes.get("value", "")))

    def handle_endtag(self, tag: str) -> None:
        if tag == "select":
            self._name = None
        elif tag == "form":
            self._form = None


@dataclass(frozen=True)
class Staff:
    """Users who are logged in (the headers of their browsers), and the forms that are found for a superuser."""

    headers: tuple[tuple[Header, ...], ...]
    forms: tuple[Form, ...]


def logged_in(user: User) -> tuple[Header, ...]:
    browser = Client()
    browser.force_login(user)
    cookie = f"sessionid={browser.cookies['sessionid'].value}; csrftoken={CSRF}"
    return ((b"cookie", cookie.encode()), (b"x-csrftoken", CSRF.encode()))


def forms_found(site: Site, headers: tuple[Header, ...]) -> Iterator[Form]:
    """The forms of the admin's pages that links lead to, at most ``MAX_PAGES_OF_A_PATTERN`` pages of a URL pattern."""
    waiting, seen = ["/admin/"], {"/admin/"}
    visits: dict[str, int] = {}
    while waiting:
        page = waiting.pop(0)
        answer = rolled_back(
            lambda page=page: site.send(Request("GET", page, headers)),  # type: ignore[misc]
            may_not_write=lambda answer, page=page: not is_export(page),
        )  # type: ignore[misc]
        if answer.status != 200 or not answer.headers["content-type"][0].startswith("text/html"):
            continue
        read = Forms(page)
        read.feed(answer.body.decode())
        yield from (one for one in read.forms if one.action.startswith("/admin/") and "logout" not in one.action)
        for link in read.links:
            # Headings and filters of a list lead to the same path with other queries: one visit is enough.
            path = urlsplit(link).path
            if not link.startswith("/admin/") or path in seen:
                continue
            seen.add(path)
            name = resolve(path).view_name
            visits[name] = visits.get(name, 0) + 1
            if visits[name] <= MAX_PAGES_OF_A_PATTERN and not name.endswith(NOT_VISITED):
                waiting.append(path)


@pytest.fixture
def staff(site: Site, world: World) -> Staff:
    """A superuser, and the instructor of two leagues."""
    superuser = User.objects.create_superuser("root", password="x" * 12)
    instructor = User.objects.create_user("ada", password="x" * 12, is_staff=True)
    instructor.user_permissions.add(Permission.objects.get(codename="add_league"))
    for league_id in ("fall", "winter"):
        staffing.give_role(league_id=league_id, username="ada", name="instructor")
    people = (logged_in(superuser), logged_in(instructor))
    return Staff(people, tuple(forms_found(site, people[0])))


@st.composite
def filled_in(draw: st.DrawFn, staff: Staff) -> Request:
    """A form, sent as it was shown or with up to four changes."""
    form = draw(st.sampled_from(staff.forms))
    pairs = list(form.pairs)
    for _ in range(draw(st.integers(0, 4))):
        what = draw(st.sampled_from(["say", "say", "choose", "choose", "drop", "twice"]))
        if what == "choose" and form.options:
            name, value = draw(st.sampled_from(form.options))
            pairs = [one for one in pairs if one[0] != name] + [(name, value)]
        elif what in ("say", "twice") and (form.pairs or form.options):
            name = draw(st.sampled_from([*form.pairs, *form.options]))[0]
            pairs = [one for one in pairs if one[0] != name or what == "twice"] + [(name, draw(texts()))]
        elif what == "drop" and pairs:
            del pairs[draw(st.integers(0, len(pairs) - 1))]
    headers = draw(st.sampled_from([staff.headers[0], *staff.headers]))
    query = "&".join(f"{quoted(name)}={quoted(value)}" for name, value in pairs)
    if not form.post:
        return Request("GET", f"{urlsplit(form.action).path}?{query}", headers)
    files = draw(
        st.sampled_from([b"", b"name,email,code\nA,a@b.c,1\n", b"\xff\xfe", b"PK\x03\x04", b'"', b"a\x00b,,\n" * 9])
    )
    body = parts(pairs, files) if form.multipart else query.encode()
    kind = f"multipart/form-data; boundary={BOUNDARY}" if form.multipart else "application/x-www-form-urlencoded"
    more = ((b"content-type", kind.encode()), (b"content-length", str(len(body)).encode()))
    return Request("POST", form.action, (*headers, *more), body)


def parts(pairs: list[Pair], content: bytes) -> bytes:
    """A multipart body of these fields; each file field gets ``content``."""
    body = b""
    for name, value in pairs:
        is_file = "file" in name
        tail = '; filename="list.csv"' if is_file else ""
        head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"{tail}\r\n\r\n'
        body += head.encode() + (content if is_file else value.encode("utf-8", "surrogatepass")) + b"\r\n"
    return body + f"--{BOUNDARY}--\r\n".encode()


def is_export(target: str) -> bool:
    """Whether a path is a download of a league's files: each download is recorded in the database."""
    return "/papers/" in urlsplit(target).path


def refused(answer: Answer) -> bool:
    """Whether a form was not carried out: the page is a form, a preview or an error, or redirects with errors only."""
    if answer.status != 302:
        return True
    cookies = SimpleCookie()
    for one in answer.headers.get("set-cookie", []):
        cookies.load(one)
    request = HttpRequest()
    request.COOKIES = {name: one.value for name, one in cookies.items()}
    levels = [one.level for one in CookieStorage(request)]
    return bool(levels) and min(levels) >= constants.ERROR


def run(site: Site, staff: Staff, count: int, shard: int = 0) -> int:
    def act(request: Request) -> None:
        rolled_back(
            lambda: site.send(request), may_not_write=lambda answer: refused(answer) and not is_export(request.target)
        )

    return for_each_input(filled_in(staff), act, count, "staff", shard)


@pytest.mark.exhaustive
def test_any_values_in_a_staff_form_are_no_failure(site: Site, staff: Staff) -> None:
    assert len({one.action for one in staff.forms}) > 30
    assert run(site, staff, QUICK) >= QUICK


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("shard", range(1, SHARDS + 1))
def test_any_values_in_a_staff_form_are_no_failure_at_length(
    site: Site, staff: Staff, shard: int, record_property: Callable[[str, object], None]
) -> None:
    record_property("inputs", run(site, staff, long_count(LONG // SHARDS), shard))
