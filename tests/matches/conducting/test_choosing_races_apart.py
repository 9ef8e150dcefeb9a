"""Referees are chosen while another process writes to the same agents, on two database connections."""

from __future__ import annotations

import pytest
from django.utils import timezone

from agents_registry.addresses import programs
from agents_registry.models import Agent
from agents_registry.registering import registration
from matches.league import lifecycle
from matches.models import Match
from tests import factories as make
from tests.matches.races import Other, call_after

pytestmark = pytest.mark.django_db(transaction=True)


def test_matches_are_given_out_while_a_web_process_notes_who_has_a_line(
    monkeypatch: pytest.MonkeyPatch, other: Other
) -> None:
    """Both lock the rows of several players: there is no deadlock, in whatever order the matches are."""
    make.league(players=6, referees=2)
    lifecycle.start_league(league_id="fall")
    make.open_round("fall")
    players = list(Agent.objects.filter(kind="player").order_by("pk"))
    Match.objects.filter(match_id="R1M1").update(state="HELD", held_at=timezone.now())
    for match_id, seats in {"R1M2": players[4:], "R1M3": players[2:4]}.items():
        Match.objects.filter(match_id=match_id).update(player_a=seats[0], player_b=seats[1])
    opened = {player.pk: "poll" for player in players}
    call_after(
        monkeypatch,
        programs,
        "note",
        lambda: other.run(lambda: registration.note_lines(opened=opened, closed=[], contested=[])),
    )
    assert len(make.look().starts) == 2
    assert not isinstance(other.wait(), Exception), other.answers
    assert set(Agent.objects.filter(kind="player").values_list("line", flat=True)) == {"poll"}
    noted = Agent.objects.exclude(program="").order_by("pk").values_list("pk", flat=True)
    assert list(noted) == [player.pk for player in players[2:]]
