"""Students at home: the site on the instructor's laptop behind a tunnel with https (``PUBLIC_URL=https://…``)."""

from __future__ import annotations

import io
import re
import ssl
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import expect
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from leaguesite.login.accounts import INSTRUCTOR
from tests.bots import words
from tests.e2e.browser import chromium, collect_errors, log_in
from tests.e2e.proxying import make_certificate, proxy
from tests.e2e.site import PASSWORD, Instructor, Site
from tests.e2e.test_dial_out_sdk import sdk_players

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
NAME = "league.invalid"
"""A host name that no machine has, so the site takes it for another machine, as a tunnel is; tests call 127.0.0.1."""
PUBLIC = f"https://{NAME}"
LEAGUE = "league_2025_even_odd"
HOME = "203.0.113.7"
"""The address of a student at home, as tunnels tell it to the site."""
FORGED = "198.51.100.66"
"""The address of somebody else, which that student writes into ``X-Forwarded-For``."""


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_certificate(tmp_path_factory.mktemp("tls"), NAME)


@pytest.fixture(scope="module")
def tunnelled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site that is given its public address, and no list of trusted proxies."""
    site = Site(tmp_path_factory.mktemp("tunnelled") / "data", "--no-demo", "--public-url", PUBLIC)
    try:
        yield site
        assert site.stop() == 0
    finally:
        site.close()


def register(at: Instructor, name: str, league: str = LEAGUE, **headers: str) -> dict[str, Any]:
    """Register a player that dials out; returns the result of the call."""
    facts = {"display_name": name, "version": "1", "game_types": ["even_odd"], "delivery": "poll"}
    params = {"player_meta": facts, "sender": f"player:{name}", "protocol": "league.v2", "league_id": league}
    params |= {"timestamp": "2026-01-01T00:00:00Z", "conversation_id": "conv-of-the-test"}
    body = {"jsonrpc": "2.0", "method": "register_player", "params": params, "id": 1}
    answer: dict[str, Any] = at.http.post("/mcp", json=body, headers=headers).json()
    return answer["result"]


def shown_as_own(at: Instructor, **headers: str) -> list[str]:
    """The players that the join page says were registered from the visitor's machine, the newest first."""
    page = at.http.get(f"/leagues/{LEAGUE}/join/", params={"part": "1"}, headers=headers)
    assert page.status_code == 200
    return re.findall(r"<bdi>(Home of \w+)</bdi>", page.text)


class CallsBack(threading.Thread):
    """A player at home that polls, and posts each choice to the address that the referee names.

    Attributes:
        named: the addresses that referees have named.
    """

    def __init__(self, at: Instructor, name: str, league: str) -> None:
        super().__init__(daemon=True)
        self._at = at
        self._who = register(at, name, league)
        self.named: set[str] = set()

    def run(self) -> None:
        """Play until the league is over."""
        token, after = self._who["auth_token"], ""
        head = {"Authorization": f"Bearer {token}"}
        method = ""
        while method != "notify_league_completed":
            news = self._at.http.get("/inbox", params={"wait": 25, "after": after}, headers=head, timeout=40).json()
            after = news["next"]
            for one in news["messages"]:
                request, method = one["request"], one["request"]["method"]
                body = {"jsonrpc": "2.0", "id": request["id"], "result": self._result(method, request["params"])}
                self._at.http.post("/inbox", json={"responses": [body]}, headers=head)

    def _result(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        def answer(kind: str, **fields: Any) -> dict[str, Any]:
            token = self._who["auth_token"]
            return words.answer(kind, params, self._who["player_id"], auth_token=token, **fields)

        if method == "handle_game_invitation":
            return answer("GAME_JOIN_ACK", accept=True)
        if method == "choose_parity":
            self.named.add(params["referee_endpoint"])
            choice = words.rpc("choose_parity", answer("CHOOSE_PARITY_RESPONSE", parity_choice="even"))
            assert "error" not in self._at.http.post(urlsplit(params["referee_endpoint"]).path, json=choice).json()
        return {"status": "received"}


def live_page(url: str, certificate: Path, origin: str) -> int:
    """Open a board's socket as a browser does, and read one message; returns 101, or the status of the refusal."""
    address = f"wss{url.removeprefix('https')}/ws/leagues/{LEAGUE}/"
    context = ssl.create_default_context(cafile=certificate)
    try:
        with connect(address, ssl=context, origin=Origin(origin), open_timeout=20, proxy=None) as socket:
            assert socket.recv(timeout=20)
    except InvalidStatus as refused:
        return refused.response.status_code
    return 101


LONG = [
    pytest.param(kind, marks=pytest.mark.long) for kind in ("codespaces", "caddy", "ngrok", "funnel", "plain", "silent")
]


@pytest.mark.parametrize("kind", ["cloudflared", *LONG])
def test_behind_a_tunnel_links_logins_and_live_pages_are_right(tunnelled: Site, certificate: Path, kind: str) -> None:
    options = ("--as", kind, "--name", NAME, "--caller", HOME)
    with proxy(tunnelled, *options, certificate=certificate) as through:
        page = through.http.get(f"/leagues/{LEAGUE}/join/")
        assert page.status_code == 200
        assert f"{PUBLIC}/leagues/{LEAGUE}/mcp" in page.text
        assert not re.search(r"(localhost|127\.0\.0\.1):" + str(tunnelled.port), page.text)
        with zipfile.ZipFile(io.BytesIO(through.http.get(f"/leagues/{LEAGUE}/join/kit.zip").content)) as kit:
            assert any(f"{PUBLIC}/leagues/{LEAGUE}/mcp".encode() in kit.read(name) for name in kit.namelist())

        # A student who writes another address into this header is registered all the same, but from their own address.
        registered = register(through, f"Home of {kind}", **{"X-Forwarded-For": FORGED})
        assert registered["status"] == "ACCEPTED"
        assert registered["inbox"] == {
            "poll_url": f"{PUBLIC}/inbox",
            "websocket_url": f"wss://{NAME}/ws/inbox",
        }
        # Each visitor is shown the players of their own address; a silent tunnel tells the site no address.
        own = [] if kind == "silent" else [f"Home of {kind}"]
        assert shown_as_own(through)[:1] == shown_as_own(through, **{"X-Forwarded-For": FORGED})[:1] == own
        with proxy(tunnelled, "--as", kind, "--name", NAME, "--caller", FORGED, certificate=certificate) as owner:
            assert shown_as_own(owner) == []

        page = through.http.get("/admin/login/")
        assert "; secure" in page.headers["Set-Cookie"].lower()
        form = {"username": INSTRUCTOR, "password": PASSWORD, "next": "/admin/"}
        form["csrfmiddlewaretoken"] = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)[0]
        answers = [
            through.http.post("/admin/login/", data=form, headers={"Origin": origin, "Referer": f"{origin}/"})
            for origin in ("https://elsewhere.invalid", PUBLIC)
        ]
        assert [answer.status_code for answer in answers] == [403, 302]

        sockets = [live_page(through.url, certificate, origin) for origin in (PUBLIC, "https://elsewhere.invalid")]
        assert sockets == [101, 403]


@pytest.mark.long
def test_the_site_sends_browsers_to_https_except_those_on_its_own_machine(tunnelled: Site) -> None:
    assert httpx.get(f"{tunnelled.url}/", trust_env=False).status_code == 200
    with proxy(tunnelled, "--as", "caddy", "--name", NAME) as plain:
        answer = plain.http.get("/")
        assert (answer.status_code, answer.headers["Location"]) == (302, f"{PUBLIC}/")
        assert register(plain, "By http")["status"] == "ACCEPTED"


@pytest.mark.long
def test_players_at_home_play_a_league_through_a_tunnel(
    tunnelled: Site, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The players use a WebSocket, the long poll and callbacks, all through the one port that the tunnel leads to."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    tunnelled.create("home")
    options = ("--as", "cloudflared", "--name", NAME, "--caller", HOME)
    with (
        proxy(tunnelled, *options, certificate=certificate) as through,
        sdk_players(through, Socket=("--dial-out", "--league-id", "home")) as players,
    ):
        players["Socket"].read_until("messages are fetched from the league now (by websocket)")
        caller = CallsBack(through, "Calls back", "home")
        caller.start()
        tunnelled.play_to_the_end("home")
        caller.join(timeout=30)
        assert not caller.is_alive()
        assert caller.named == {f"{PUBLIC}/mcp"}
        [match] = tunnelled.get("/leagues/home/matches")
        whole = tunnelled.get(f"/leagues/home/matches/{match['match_id']}")
        assert (match["attempt"], match["state"], whole["result"]["faults"]) == (1, "FINISHED", [])


@pytest.mark.long
def test_a_browser_at_home_logs_in_and_sees_the_board_live(tunnelled: Site, certificate: Path) -> None:
    errors: list[str] = []
    options = ("--as", "cloudflared", "--name", NAME, "--caller", HOME)
    with (
        proxy(tunnelled, *options, certificate=certificate) as through,
        chromium(f"--host-resolver-rules=MAP {NAME}:443 {urlsplit(through.url).netloc}") as browser,
    ):
        page = browser.new_context(ignore_https_errors=True, locale="en").new_page()
        collect_errors(page, errors)
        home = Instructor(PUBLIC)
        log_in(page, home)
        home.http.close()
        page.goto(f"{PUBLIC}/leagues/{LEAGUE}/")
        expect(page.get_by_text("Zebra of home")).to_have_count(0)
        register(through, "Zebra of home")
        expect(page.get_by_text("Zebra of home").first).to_be_visible()
    assert errors == []
