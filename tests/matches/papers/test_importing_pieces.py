"""A league is imported in pieces that nobody sees; one whose import is killed is deleted."""

from __future__ import annotations

import io
import json
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from leaguesite.hosting import place
from matches.conducting import due
from matches.league.errors import ActionRefused
from matches.models import Event, League, Match, Message
from matches.papers import checking, importing
from matches.papers.files import NotALeague
from tests import factories as make
from tests import rich
from tests.matches.papers.exporting import empty_site, exported_json

pytestmark = pytest.mark.django_db
PIECE = 2


@pytest.fixture
def document(monkeypatch: pytest.MonkeyPatch) -> bytes:
    """An export of a league that is not here any more."""
    rich.over()
    written = exported_json(people=True)
    empty_site()
    monkeypatch.setattr(importing, "ROWS_PER_PIECE", PIECE)
    monkeypatch.setattr(importing, "PAUSE_S", 0.0)
    return written if isinstance(written, bytes) else written.encode()


def test_each_transaction_writes_a_piece_and_nobody_sees_the_league_before_the_last(
    document: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, bool]] = []
    renew = importing._renew

    def noting(league_id: str, **columns: Any) -> None:
        renew(league_id, **columns)
        seen.append((Match.objects.filter(league_id=league_id).count(), League.objects.filter(pk=league_id).exists()))

    monkeypatch.setattr(importing, "_renew", noting)
    rows: list[int] = []

    def note(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        result = execute(sql, params, many, context)
        if sql.startswith("INSERT"):
            rows.append(context["cursor"].rowcount)
        return result

    with connection.execute_wrapper(note):
        done = importing.import_league(file=io.BytesIO(document))
    matches = [count for count, _shown in seen]
    assert all(later - earlier <= PIECE for earlier, later in pairwise(matches))
    assert [shown for _count, shown in seen] == [False] * (len(seen) - 1) + [True]
    # An agent's names have up to four looks each.
    assert max(rows) <= 4 * PIECE
    assert done.matches == max(matches) > PIECE


def test_an_import_that_is_killed_leaves_a_hidden_league_that_the_conductor_deletes(
    document: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    importing.stage(file=io.BytesIO(document))
    assert not League.objects.filter(pk="fall").exists()
    with pytest.raises(ActionRefused, match="is being deleted or imported"):
        make.open_league("fall")
    with pytest.raises(ActionRefused, match="is being deleted or imported"):
        importing.import_league(file=io.BytesIO(document))
    assert due.look(busy_agents=[], draining=False).pieces is False
    League.with_hidden.update(remove_at=timezone.now() - timedelta(seconds=1))
    while due.look(busy_agents=[], draining=False).pieces:
        continue
    assert not League.with_hidden.exists()
    assert not Match.objects.exists()
    assert importing.import_league(file=io.BytesIO(document)).league.pk == "fall"


def test_an_import_that_stood_still_for_too_long_is_given_up(document: bytes) -> None:
    staged = importing.stage(file=io.BytesIO(document))
    League.with_hidden.update(remove_at=timezone.now() - timedelta(seconds=1))
    with pytest.raises(ActionRefused, match="stood still for too long"):
        importing.publish(staged=staged)
    assert not League.objects.filter(pk="fall").exists()


def test_a_league_that_cannot_be_shown_leaves_the_untouched_one_as_it_was(
    document: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = make.open_league("fall")
    events = list(Event.objects.filter(league=before).values())
    monkeypatch.setattr(checking.pages, "fragments", lambda *_args, **_more: 1 / 0)
    with pytest.raises(NotALeague, match="it cannot be shown"):
        importing.import_league(file=io.BytesIO(document))
    assert list(League.with_hidden.values_list("pk", "created_at")) == [("fall", before.created_at)]
    assert list(Event.objects.values()) == events
    assert not Match.objects.exists()


def test_a_site_whose_import_over_its_only_league_was_killed_opens_another_one(document: bytes, settings: Any) -> None:
    settings.LEAGUE_DEFAULT_ID = "fall"
    make.open_league("fall")
    importing.stage(file=io.BytesIO(document))
    place.ensure_league()
    assert [league.pk for league in League.objects.all()] == ["fall_2"]
    League.with_hidden.filter(pk="fall").update(remove_at=timezone.now())
    while due.look(busy_agents=[], draining=False).pieces:
        continue
    assert [league.pk for league in League.with_hidden.all()] == ["fall_2"]


def test_numbers_of_any_size_that_an_agent_has_said_come_back(document: bytes) -> None:
    said = {"lucky": 10**26, "large": 1e22}
    changed = json.loads(document)
    changed["matches"][0]["messages"][0]["entry"]["body"] = said
    importing.import_league(file=io.BytesIO(json.dumps(changed).encode()))
    body = Message.objects.get(match__match_id=changed["matches"][0]["match_id"], n=0, attempt=1).entry["body"]
    assert body == said
