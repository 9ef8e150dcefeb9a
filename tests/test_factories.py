"""Players that a factory makes in a few statements are in the database as if each had registered."""

from __future__ import annotations

from typing import Any

import pytest
from django.db.models import Model

from agents_registry.models import Agent, AgentToken, NameLook
from league_sdk.ledger.kinds import EventKind
from league_sdk.protocol import tokens
from matches.models import Event
from tests import factories as make

pytestmark = pytest.mark.django_db

OF_THE_ROW = {"id", "token_epoch", "agent_id", "league_id", "sha256", "salt", "digest"}
TIMES = {"registered_at", "heard_at", "created_at", "at", "shown_at"}


def rows(model: type[Model], **of: Any) -> list[dict[str, Any]]:
    """Rows in their order, without what differs between any two rows; of times only whether there is one."""
    return [
        {name: value is not None if name in TIMES else value for name, value in row.items() if name not in OF_THE_ROW}
        for row in model._default_manager.filter(**of).order_by("pk").values()
    ]


def everything(league_id: str) -> list[list[dict[str, Any]]]:
    return [
        rows(Agent, league_id=league_id),
        rows(AgentToken, agent__league_id=league_id),
        rows(NameLook, agent__league_id=league_id),
        rows(Event, league_id=league_id, kind=EventKind.PLAYER_REGISTERED),
    ]


def test_players_of_a_made_league_are_as_if_each_had_registered() -> None:
    quick = make.league("quick", players=3, referees=0)
    make.open_league("real")
    real = [make.player(f"Player {number}", "real", port=8100 + number) for number in (1, 2, 3)]
    assert everything("quick") == everything("real")
    assert [len(kind) for kind in everything("real")] == [3] * 4
    assert quick.league.event_seq == make.MadeLeague("real", real, []).league.event_seq
    assert [member.agent.code for member in quick.players] == ["P01", "P02", "P03"]
    for member in quick.players:
        assert member.agent.tokens.get().sha256 == tokens.digest(member.token)


def test_players_of_the_lobby_keep_their_ids_when_a_league_is_made() -> None:
    waiting = make.player("Waiting", port=8200)
    made = make.league(players=2, referees=0)
    assert waiting.fresh().code == "P01"
    assert [member.agent.code for member in made.players] == ["P02", "P03"]
