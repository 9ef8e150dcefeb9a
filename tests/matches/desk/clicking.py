"""An instructor at the desk of a league: what the desk shows, what a click is answered, browsers with a role."""

from __future__ import annotations

import re
from typing import Any

from django.contrib.auth.models import User
from django.contrib.messages import get_messages
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext

from matches.league import staffing

LEAGUES = "/admin/matches/league/"
DESK = f"{LEAGUES}fall/change/"
NOW = f"{LEAGUES}fall/now/"


def shown(desk: Client, league_id: str = "fall") -> dict[str, Any]:
    """What the desk of a league shows: the context of its page."""
    desk_context: dict[str, Any] = desk.get(f"{LEAGUES}{league_id}/change/").context["desk"]
    return desk_context


def sentences_of(answer: Any) -> list[str]:
    """The sentences that answer a click."""
    return [str(message) for message in get_messages(answer.wsgi_request)]


def post(desk: Client, path: str, league_id: str = "fall", **data: Any) -> str:
    """POST to the desk; the last sentence that answers."""
    answer = desk.post(f"{LEAGUES}{league_id}/{path}/", data)
    assert (answer.status_code, answer["Location"]) == (302, f"{LEAGUES}{league_id}/change/")
    return sentences_of(answer)[-1]


def asks(answer: Any) -> bool:
    """Whether an action on ticked rows was answered with the page that asks first."""
    return answer.status_code == 200 and b'id="ticked"' in answer.content


def confirm(desk: Client, question: HttpResponse) -> Any:
    """Click the button of the page that asks (``desk.ticked``): its form is sent as it stands there."""
    form = re.search(r'<form method="post"[^>]*id="ticked".*?</form>', question.content.decode(), flags=re.S)
    assert form is not None
    sent: dict[str, list[str]] = {}
    for name, value in re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', form[0]):
        sent.setdefault(name, []).append(value.replace("&quot;", '"'))
    address = re.search(r'action="([^"]*)"', form[0])
    assert address is not None
    return desk.post(address[1].replace("&amp;", "&"), sent)


def person(role: str, *leagues: str) -> Client:
    """The browser of someone of the staff who has a role in some leagues."""
    name = "-".join([role, *leagues])
    user = User.objects.create_user(name, password="x" * 12, is_staff=True)
    for league_id in leagues:
        staffing.give_role(league_id=league_id, username=name, name=role)
    client = Client()
    client.force_login(user)
    return client


def count_queries(desk: Client, address: str) -> int:
    with CaptureQueriesContext(connection) as seen:
        assert desk.get(address).status_code == 200
    return len(seen)
