"""Which buttons of the desk may need a second click, and what they say before it."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils import timezone

from agents_registry.models import Agent
from matches.desk.actions import ROWS
from matches.league import opening
from tests import factories as make
from tests.matches.desk.clicking import DESK

pytestmark = pytest.mark.django_db
CONFIRMED = {
    *("do close", "do start", "do run_all", "do stop"),
    *("match cancel", "agent revoke_tokens", "freeze lift"),
}


def shown(desk: Client) -> str:
    return desk.get(DESK).content.decode()


def test_the_actions_that_may_need_a_second_click() -> None:
    assert {f"{row.subject.name} {row.name}" for row in ROWS if row.click is not None and row.click.yes} == CONFIRMED


def test_closing_names_the_players_that_it_leaves_out(desk: Client) -> None:
    make.league(players=2)
    assert "Close it all the same" not in shown(desk)
    opening.edit_league(league_id="fall", display_name="Fall", settings={"require_check": True})
    page = shown(desk)
    assert "Close it all the same" in page
    assert "Left out, as their check has not passed: P01 (not checked), P02 (not checked)." in page


def test_revoking_tokens_says_before_the_second_click_what_it_does(desk: Client) -> None:
    made = make.league(players=2)
    Agent.objects.filter(pk=made.players[0].agent.pk).update(contested_at=timezone.now())
    page = shown(desk)
    assert "What it sends with its tokens is refused until it has registered again." in page
    assert "Yes, revoke the tokens of P01" in page
