"""No public text contains a student's name, e-mail, code or address, or a notice to one student.

Every page, every answer of the API and every live fragment is searched. Their addresses come from the routes
(``public_addresses``), so that a new page is searched as well.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from agents_registry.models import AgentToken
from leaguesite.asgi import PAGES
from matches.audience import pages
from matches.audience.pages import PageKey
from matches.league import series
from tests import factories as make
from tests import rich, wire
from tests.leaguesite import public_addresses

pytestmark = pytest.mark.django_db

ITEMS = {"match": ["R1M1", "R1M2"], "player": ["P01", "P02", "P04"], "replay": [None, "5"]}
QUERIES = ("GET_STANDINGS", "GET_SCHEDULE", "GET_NEXT_MATCH", "GET_PLAYER_STATS")


def secrets(made: make.MadeLeague) -> list[str]:
    tokens = [member.token for member in made.players if member.token]
    return [*rich.secrets(), *tokens, *AgentToken.objects.values_list("sha256", flat=True)]


def texts(client: Client, made: make.MadeLeague) -> Iterator[tuple[str, str]]:
    """Every public text of a league, each with the address or frame where it stands."""
    series.put(league_id="fall", series_id=public_addresses.EXAMPLES["series_id"])
    message_addresses = [
        f"/leagues/fall/matches/R1M1/messages?message={made.match('R1M1').attempt}-{n}" for n in (0, 1)
    ]
    for path in [*public_addresses.pages("fall"), *public_addresses.api_addresses("fall"), *message_addresses]:
        answer = client.get(path)
        # The page to share is there after the end only.
        expected = (200, 404) if "/story/" in path else (200, 302)
        assert answer.status_code in expected, (path, answer.status_code)
        yield path, body_of(answer) + str(dict(answer.items()))
    for language in ("en", "he"):
        for kind in pages.KINDS:
            for item in ITEMS.get(kind, [None]):
                fragments = pages.fragments(PageKey(kind, "fall", item), language)
                assert fragments is not None, (kind, item)
                yield f"frame of {kind} {item}", json.dumps(fragments, ensure_ascii=False)
        yield "frame of the list", json.dumps(pages.fragments(PageKey(), language), ensure_ascii=False)
    for query in QUERIES:
        yield query, json.dumps(answer_to(client, made, query), ensure_ascii=False)


def body_of(answer: Any) -> str:
    """The text of an answer; for a ZIP file, of the files in it."""
    body = b"".join(answer.streaming_content) if answer.streaming else answer.content
    if body.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(body)) as zip_file:
            body = b"".join(zip_file.read(name) for name in zip_file.namelist())
    return str(body.decode("utf-8", "replace"))


def answer_to(client: Client, made: make.MadeLeague, query: str) -> dict[str, Any]:
    """The answer to a query of the first player's agent; where a query names a player, it names P01."""
    params = make.message_from(made.players[0], "LEAGUE_QUERY", league_id="fall", query_type=query)
    return wire.ask(client, "league_query", params | {"query_params": {"player_id": "P01"}})


@pytest.mark.parametrize(
    "history",
    [
        pytest.param(rich.begun, marks=pytest.mark.exhaustive, id="begun"),
        pytest.param(rich.over, marks=pytest.mark.exhaustive, id="over"),
        pytest.param(lambda: rich.over(frozen=True), id="frozen"),
    ],
)
def test_no_public_page_answer_or_push_contains_a_secret(
    client: Client, history: Callable[[], make.MadeLeague]
) -> None:
    made = history()
    hidden = secrets(made)
    assert len(hidden) > 15
    leaks = [(where, secret) for where, text in texts(client, made) for secret in hidden if secret in text]
    assert leaks == []


def test_no_public_page_contains_a_secret_before_the_start(client: Client) -> None:
    make.referee("Referee 1", port=8001)
    make.open_league("fall", registration_code=rich.REGISTRATION_CODE)
    rich.roster.import_csv(league_id="fall", text="name,email,code\n" + "\n".join(_lines()))
    members = [rich.enter(f"Player {n}", code, n) for n, code in enumerate(rich.CODES, start=1)]
    for member in members:
        rich.check(member.agent, passed=False)
    hidden = secrets(make.MadeLeague("fall", members, []))
    paths = [path for path in public_addresses.pages("fall") if "/matches/" not in path]
    texts_by_path = {path: body_of(client.get(path)) for path in paths}
    leaks = [(path, secret) for path, text in texts_by_path.items() for secret in hidden if secret in text]
    assert leaks == []


def _lines() -> list[str]:
    return [f'"{name}",{email},{code}' for (name, email), code in zip(rich.PEOPLE.items(), rich.CODES, strict=True)]


def test_only_the_staffs_projector_names_students() -> None:
    """The staff's wall contains the names in the very words that the searches above look for."""
    make.open_league("fall")
    rich.roster.import_csv(league_id="fall", text="name,email,code\n" + "\n".join(_lines()))
    rich.enter("Player 1", rich.CODES[0], 1)
    staff = pages.fragments(PageKey("screen", "fall", staff=True), "en")
    public = pages.fragments(PageKey("screen", "fall"), "en")
    assert ("Dana Geheimnis" in str(staff), "Dana Geheimnis" in str(public)) == (True, False)


def test_every_socket_serves_a_kind_of_page_that_these_tests_cover() -> None:
    served = {page._kind for page in PAGES.values()}
    # Whoever has the link of a check or practice match may see it, so the tests above do not search it.
    assert served <= {*pages.KINDS, "index", "check", "practice"}
