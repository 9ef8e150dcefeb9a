"""Large files are sent in parts, from a thread of their own."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from matches.desk import papers
from matches.papers import bundle
from tests import factories as make
from tests.leaguesite.serving.asgi import PATIENCE_S, begin
from tests.matches.agent_server import Agents


@pytest.mark.django_db(transaction=True)
async def test_a_large_file_goes_out_in_parts_from_a_thread_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    agents, threads = Agents(), set[str]()
    block = papers.PaperFile.block_size

    def large(league: Any, out: Any, *, people: bool) -> None:
        threads.add(threading.current_thread().name.rpartition("_")[0])
        out.write(b"x" * (3 * block + 1))

    monkeypatch.setattr(bundle, "write", large)
    await agents.in_db(lambda: make.open_league("fall"))
    cookie = await agents.in_db(_session)
    talk = await begin("GET", "/admin/matches/league/fall/papers/league.json", cookie=cookie)
    start = await talk.receive_output(PATIENCE_S)
    sizes, more = [], True
    while more:
        part = await talk.receive_output(PATIENCE_S)
        sizes.append(len(part.get("body", b"")))
        more = part["more_body"]
    await talk.wait(PATIENCE_S)
    headers = dict(start["headers"])
    assert (start["status"], sizes) == (200, [block, block, block, 1, 0])
    assert headers[b"Content-Length"] == str(3 * block + 1).encode()
    assert headers[b"Content-Disposition"] == b'attachment; filename="fall.json"'
    assert threads == {"papers"}


def _session() -> str:
    client = Client()
    client.force_login(get_user_model().objects.create_superuser("root", password="x" * 12))
    return f"sessionid={client.cookies['sessionid'].value}"
