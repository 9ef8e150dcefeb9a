"""The public ledger verifies after matches, corrections, notices and a freeze, and not after a change by SQL."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from league_sdk.ledger.chain import Broken, digest_of
from league_sdk.ledger.verify import verify
from leaguesite.api import ledger as api_ledger
from matches.league import freeze, lifecycle, notices, opening
from matches.league.corrections import applying
from matches.models import Delivery, Event, League
from matches.view import sight
from tests import factories as make
from tests.matches.correcting import make_correction
from tests.sizes import sampled

pytestmark = pytest.mark.django_db
PATH = "/api/leagues/fall/ledger"


def ledger(client: Client, **query: Any) -> dict[str, Any]:
    """The public ledger, read by a process that remembers nothing of the league."""
    sight._latest.clear()
    sight._pasts.clear()
    answer = client.get(PATH, query)
    assert answer.status_code == 200, answer.content
    document: dict[str, Any] = json.loads(answer.content)
    return document


def whole(client: Client, limit: int) -> dict[str, Any]:
    """Fetch all pages of the ledger and join them."""
    document = ledger(client, limit=limit)
    after = document["next"]
    while after is not None:
        page = ledger(client, limit=limit, after=after, upto=document["last_seq"])
        document["events"] += page["events"]
        after = page["next"]
    return document | {"next": None}


def played() -> make.MadeLeague:
    """A league of three rounds that is over, with one correction."""
    made = make.running_league()
    make.finish_round(made)
    make.next_round(made)
    make.finish_round(made, winner=None)
    make.next_round(made)
    make.finish_round(made)
    make_correction("points", player_id="P02", points=2, reason="tidy desk")
    return made


def test_the_ledger_of_a_league_that_was_played_verifies(client: Client) -> None:
    played()
    document = ledger(client)
    verified = verify(document)
    league = League.objects.get(pk="fall")
    assert (verified.head, verified.last_seq, verified.events) == (
        league.ledger_head,
        league.event_seq,
        league.events.count(),
    )
    assert verified.points_in_chain
    assert verified.counted["results"] == 6
    assert verified.counted["corrections"] == 1


def test_the_public_ledger_has_no_salt_and_no_text_of_people(client: Client) -> None:
    played()
    text = client.get(PATH).content.decode()
    assert not [salt for salt in Event.objects.values_list("salt", flat=True) if salt in text]
    assert "tidy desk" not in text


@pytest.mark.parametrize("limit", sampled([1, 3, 7], every=2))
def test_the_pages_of_a_ledger_put_together_are_the_whole(client: Client, limit: int) -> None:
    played()
    assert whole(client, limit) == ledger(client)


def test_later_pages_do_not_hold_events_after_the_first_page_was_read(client: Client) -> None:
    played()
    first = ledger(client, limit=3)
    notices.say(league_id="fall", text="Well played", by="ada")
    events = first["events"]
    after = first["next"]
    while after is not None:
        page = ledger(client, limit=3, after=after, upto=first["last_seq"])
        events, after = events + page["events"], page["next"]
    assert verify(first | {"events": events, "next": None}).head == first["head"]


def test_the_ledger_verifies_after_each_correction_and_each_undo(client: Client) -> None:
    made = played()
    match = made.match("R1M1")
    a, b = match.player_a.code, match.player_b.code
    steps: list[Callable[[], Any]] = [
        lambda: make_correction("void", match_id="R1M1", reason="power cut"),
        lambda: applying.undo(league_id="fall", number=2, reason="it was not", by="ada"),
        lambda: make_correction("set_result", match_id="R1M1", status="WIN", winner=b, reason="seen by me"),
        lambda: make_correction("disqualify", player_id=a, matches_become="lose", reason="cheated"),
        lambda: applying.undo(league_id="fall", number=4, reason="had not", by="ada"),
        lambda: make_correction("replay", match_id="R2M1", reason="asked for"),
    ]
    heads = []
    for step in steps:
        step()
        heads.append(ledger(client)["head"])
        verify(ledger(client))
    assert [verify(ledger(client), head=head).kept_at for head in heads] == sorted(
        Event.objects.filter(kind__in=("corrected", "correction_undone")).values_list("seq", flat=True)
    )[1:]


def test_the_ledger_verifies_after_settings_were_changed_at_the_desk(client: Client) -> None:
    played()
    opening.edit_league(league_id="fall", display_name="Fall", settings={"win_points": 5})
    document = ledger(client)
    assert document["scoring"]["win"] == 5
    assert verify(document).points_in_chain


def test_the_ledger_verifies_with_numbers_that_databases_write_differently(client: Client) -> None:
    """A referee's numbers are stored unchanged: as text in SQLite, as decimal digits in PostgreSQL."""
    made = make.running_league()
    numbers = [1e23, 1.5e300, -0.0, 1e-7, 0.1, 2**70, 12345678901234567890.0]
    fields = make.result_fields(made.match("R1M1"), made.match("R1M1").player_a.code)
    fields["result"]["details"]["numbers"] = numbers
    make.report(made.match("R1M1"), None, **fields)
    stored = Event.objects.get(kind="match_finished").data["details"]["numbers"]
    assert [float(one) for one in stored] == numbers
    verify(ledger(client))


def test_the_ledger_verifies_after_a_notice_was_withdrawn_and_erased(client: Client) -> None:
    make.running_league()
    notice = notices.say(league_id="fall", text="a secret word", by="ada")
    before = ledger(client)
    notices.withdraw(league_id="fall", number=notice.pk)
    event = Event.objects.get(kind="notice_withdrawn")
    assert "a secret word" not in json.dumps(event.data)
    assert ledger(client) == before
    assert verify(before).events == Event.objects.count()


# One row changed by SQL ---------------------------------------------------------------------------


def test_verifying_names_every_event_that_was_changed_in_the_database(client: Client) -> None:
    played()
    events = list(Event.objects.order_by("seq"))
    for event in events:
        for change in (
            {"data": event.data | {"round_id": 77, "sneaked": "in"}},
            {"at": event.at.replace(year=2024)},
            {"kind": "paused" if event.kind != "paused" else "resumed"},
            {"digest": "a" * 64},
            {"salt": "b" * 32},
            {"salt": "no salt"},
        ):
            before = {name: getattr(event, name) for name in change}
            Event.objects.filter(pk=event.pk).update(**change)
            with pytest.raises(Broken) as broken:
                verify(_stored(client))
            assert broken.value.seq == event.seq, (change, str(broken.value))
            Event.objects.filter(pk=event.pk).update(**before)
    verify(ledger(client))


def test_verifying_notices_every_event_that_was_deleted(client: Client) -> None:
    played()
    events = list(Event.objects.order_by("seq"))
    for event, following in zip(events, [*events[1:], None], strict=True):
        event_pk = event.pk
        Event.objects.filter(pk=event_pk).delete()
        with pytest.raises(Broken) as broken:
            verify(_stored(client))
        # Without its last event the chain itself is sound; what is wrong is that no event has the league's head.
        assert broken.value.seq == (following.seq if following is not None else events[-2].seq)
        event.save(force_insert=True)
    verify(ledger(client))


def test_verifying_notices_an_inserted_event_and_two_that_were_swapped(client: Client) -> None:
    played()
    last = Event.objects.order_by("-seq")[0]
    first, second = Event.objects.filter(kind="match_finished").order_by("seq")[:2]
    extra = Event.objects.create(
        league_id="fall", seq=last.seq + 1, kind="paused", data={}, at=last.at, digest="c" * 64, salt="d" * 32
    )
    with pytest.raises(Broken) as broken:
        verify(_stored(client))
    assert broken.value.seq == extra.seq
    extra.delete()
    for one, other in ((first, second), (second, first)):
        Event.objects.filter(pk=one.pk).update(data=other.data)
    with pytest.raises(Broken) as broken:
        verify(_stored(client))
    assert broken.value.seq == first.seq


def test_verifying_notices_points_that_were_changed_in_the_database(client: Client) -> None:
    played()
    League.objects.filter(pk="fall").update(settings={"win_points": 1})
    with pytest.raises(Broken, match="the points of the league"):
        verify(ledger(client))


def test_verifying_with_a_kept_head_notices_a_chain_that_was_written_anew(client: Client) -> None:
    played()
    head = ledger(client)["head"]
    forged = copy.deepcopy(_forged(client))
    verify(forged)
    with pytest.raises(Broken, match="the head that you kept"):
        verify(forged, head=head)


def _stored(client: Client) -> dict[str, Any]:
    """The stored events as a ledger with an empty table: verifying fails at the chain, even if no page can be made."""
    league = League.objects.get(pk="fall")
    events, _next = api_ledger._events(league, 0, 10**6, 10**6)
    return {
        "format": "leaguesite.ledger/1",
        "league_id": "fall",
        "display_name": "x",
        "game_type": "even_odd",
        "head": league.ledger_head,
        "last_seq": 1,
        "events": events,
        "next": None,
        "scoring": sight.scoring(league)._asdict(),
        "table": [],
    }


def _forged(client: Client) -> dict[str, Any]:
    """A forged ledger: one event is changed, and every digest after it is computed again."""
    document = ledger(client)
    event = next(one for one in document["events"] if one["public"]["kind"] == "match_finished")
    event["public"]["data"]["choices"] = {}
    before = ""
    for one in document["events"]:
        before = one["digest"] = digest_of(before, one["public"], one["private_sha256"])
    return document | {"head": before}


# Freeze, messages ---------------------------------------------------------------------------------


def test_the_ledger_of_a_frozen_league_ends_with_the_freeze(client: Client) -> None:
    made = make.league_before_freeze()
    lifecycle.start_league(league_id="fall")
    frozen = ledger(client)
    make.open_round("fall")
    make.finish_round(made)
    make_correction("points", player_id="P02", points=2, reason="tidy desk")
    assert ledger(client) == frozen
    assert ledger(client, upto=10**6) == frozen
    assert ledger(client, after=frozen["last_seq"])["events"] == []
    assert verify(frozen).frozen_after_round == 1
    assert frozen["events"][-1]["public"]["kind"] == "frozen"
    delivery = Delivery.objects.filter(broadcast__message_type="LEAGUE_STANDINGS_UPDATE").order_by("-pk")[0]
    assert delivery.broadcast.payload["ledger_head"] == frozen["head"]
    freeze.lift(league_id="fall")
    verify(ledger(client), head=frozen["head"])


def test_the_standings_update_tells_agents_the_head(client: Client) -> None:
    made = make.running_league()
    make.finish_round(made)
    delivery = Delivery.objects.filter(broadcast__message_type="LEAGUE_STANDINGS_UPDATE").order_by("-pk")[0]
    closing = Event.objects.get(kind="round_completed")
    assert delivery.broadcast.payload["ledger_head"] == closing.digest
    assert verify(ledger(client), head=closing.digest).kept_at == closing.seq


def test_the_board_shows_the_hash_to_keep_and_how_to_check_with_it(client: Client, settings: Any) -> None:
    settings.LEAGUE_PUBLIC_URL = "http://class.example:8000"
    make.running_league(players=2)
    head = League.objects.get(pk="fall").ledger_head
    page = client.get("/leagues/fall/").content.decode()
    # Whole in the page, although the display shortens it: selecting it by hand also copies the whole hash.
    assert f"data-copy-text>{head}</code>" in page
    assert f"python -m league_sdk verify http://class.example:8000/leagues/fall/ --head {head}</pre>" in page
    assert "If you keep this hash, you can show later whether anything before it was changed." in page
    assert f'<a href="{PATH}">' in page
    assert "draw_seed" not in page
