"""Every address of the URL configuration, with odd parts and odd parameters, for every role: no failure, no traceback.

Addresses are found in the configuration, and names of parameters in the code and in the API's document: what is added
there is tried without being named here. A traceback that anybody can cause would fill the log.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django.test import Client
from django.urls import URLResolver, get_resolver
from django.utils.regex_helper import normalize

from leaguesite.api.routes import api
from matches.league import series
from matches.models import Check, Role
from tests import rich
from tests.factories import MadeLeague
from tests.paths import ROOT
from tests.sizes import CI

pytestmark = pytest.mark.django_db

HUGE, LONGER = "9" * 19, "9" * 5000
"""A number beyond the largest key of a database, and one with more digits than Python converts."""
PARTS = ["17", "0", "-1", HUGE, LONGER, "\x00", "é", "\ud800", "..", "fall_5F", "a_00b", "%", "x" * 3000, "fall/R1M1/1"]
PARTS += ["staff", "1.5", "\u0663", "00000000-0000-4000-8000-000000000000", "' or 1=1--"]
VALUES = [
    "staff",
    "",
    "-1",
    "0",
    HUGE,
    LONGER,
    "1.5",
    "\u0663",
    "\x00",
    "xx",
    "//evil",
    "abc",
    "\ud800",
    "a\nb",
    "[",
    "_00",
]
ADMIN_NAMES = {
    "p",
    "o",
    "q",
    "all",
    "e",
    "_to_field",
    "_popup",
    "next",
    "_changelist_filters",
    "app_label",
    "model_name",
}
ADMIN_NAMES |= {"field_name", "term", "s", "extended"}
WHO = ["nobody", "assistant", "instructor", "superuser"]
EVERY = 30 if CI else 300
"""One of this many requests is sent."""


def _parameters() -> tuple[list[str], list[str]]:
    """The names of the parameters that the code reads or the API documents; and those that Django's admin has."""
    sources = [path for app in ("leaguesite", "matches", "agents_registry") for path in (ROOT / app).rglob("*.py")]
    named = re.compile(r'(?:GET\.get(?:list)?\(|GET\[|parameter_name = )"(\w+)"|"(\w+)" in request\.GET')
    own = {name for path in sources for found in named.findall(path.read_text("utf-8")) for name in found if name}
    operations = [one for path in api.get_openapi_schema()["paths"].values() for one in path.values()]
    own |= {one["name"] for operation in operations for one in operation.get("parameters", []) if one["in"] == "query"}
    fields = {field.name for model in admin.site._registry for field in model._meta.get_fields()}
    lookups = {f"{field}{lookup}" for field in fields for lookup in ("", "__exact", "__isnull", "__pk__in")}
    return sorted(own), sorted(lookups | ADMIN_NAMES)


def _addresses(patterns: list[Any], before: str = "") -> Iterator[str]:
    """The address of every route as a template with ``%(part)s``."""
    for one in patterns:
        address = before + normalize(one.pattern.regex.pattern)[0][0]
        if isinstance(one, URLResolver):
            yield from _addresses(one.url_patterns, address)
        else:
            yield address


ADDRESSES = sorted({address for address in _addresses(get_resolver().url_patterns) if "logout" not in address})


def _known(made: MadeLeague) -> dict[str, str]:
    """A right value for each part of an address."""
    return {
        "league_id": "fall",
        "object_id": "fall",
        "match_id": "R1M1",
        "player_id": "P01",
        "agent_id": "P01",
        "referee_id": "REF01",
        "series_id": "evenings",
        **dict.fromkeys(("check_id", "report_id"), str(Check.objects.all()[0].pk)),
        "language": "python",
        "name": "league.json",
        "message_type": "GAME_OVER",
        "number": str(made.players[0].agent.pk),
        "id": "1",
        "action_name": "pause",
        "app_label": "matches",
        "content_type_id": "1",
        "path": "operations",
    }


def _row_of(address: str) -> str:
    """The key of a row of the model whose pages these are."""
    models = {f"admin/{model._meta.app_label}/{model._meta.model_name}/": model for model in admin.site._registry}
    rows = [model._default_manager.first() for start, model in models.items() if address.startswith(start)]
    return str(rows[0].pk) if rows and rows[0] is not None else "1"


def _targets(known: dict[str, str]) -> Iterator[str]:
    """Each address with each odd part in each place, and with each parameter."""
    kinds = [str(pk) for pk in ContentType.objects.order_by("pk").values_list("pk", flat=True)]
    own, of_admin = _parameters()
    for number, address in enumerate(ADDRESSES):
        parts = re.findall(r"%\((\w+)\)s", address)
        plain = known | {part: "x" for part in parts if part not in known}
        if "/%(object_id)s/" in address and not address.startswith("admin/matches/league/"):
            plain["object_id"] = _row_of(address)
        for part in parts:
            for odd in kinds if part == "content_type_id" else PARTS:
                yield _filled(address, plain | {part: odd})
        # Each of the values meets each parameter, but not at every address.
        for at, name in enumerate([*own, *(of_admin if address.startswith("admin/") else [])]):
            yield f"{_filled(address, plain)}?{name}={_quoted(VALUES[(number + at) % len(VALUES)])}"


def _quoted(text: str) -> str:
    return quote(text.encode("utf-8", "surrogatepass"), safe="/")


def _filled(address: str, parts: dict[str, str]) -> str:
    return "/" + address % {name: _quoted(value) for name, value in parts.items()}


def _client(who: str) -> Client:
    client = Client(raise_request_exception=False)
    if who != "nobody":
        user = User.objects.create_user(who, password="x", is_staff=True, is_superuser=who == "superuser")
        if who != "superuser":
            Role.objects.create(league_id="fall", user=user, name=who)
        client.force_login(user)
    return client


@pytest.mark.parametrize("who", WHO)
def test_no_address_fails(who: str, caplog: pytest.LogCaptureFixture) -> None:
    made = rich.begun()
    series.put(league_id="fall", series_id="evenings")
    client = _client(who)
    examples = ["/admin/r/17/1/", "/leagues/fall/?as=staff", "/admin/matches/match/?as=staff"]
    for target in [*examples, *islice(_targets(_known(made)), WHO.index(who), None, EVERY)]:
        caplog.clear()
        with transaction.atomic():
            answer = client.get(target)
            if answer.streaming:
                b"".join(answer.streaming_content)  # which closes the file
            transaction.set_rollback(True)
        tracebacks = [record.getMessage() for record in caplog.records if record.exc_info]
        assert (answer.status_code < 500, tracebacks) == (True, []), target
