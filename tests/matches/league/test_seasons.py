"""A league among others: cloned, archived, deleted."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission, User

from agents_registry.models import Agent, RosterEntry
from matches.desk import acting
from matches.desk.actions import ACTIONS
from matches.league import lifecycle, opening, removing, seasons, staffing
from matches.league.errors import ActionRefused, Invalid, NotFound
from matches.models import AuditEntry, Event, League, Match, Message, Role
from tests import factories as make
from tests import rich

pytestmark = pytest.mark.django_db


def codes(league_id: str) -> dict[str, str]:
    return dict(RosterEntry.objects.filter(league_id=league_id).values_list("email", "code"))


# The archive ------------------------------------------------------------------------------------


def test_only_a_league_that_is_over_goes_into_the_archive() -> None:
    make.league(players=2)
    with pytest.raises(ActionRefused, match="is not over: stop it first, or let it end"):
        seasons.archive(league_id="fall")
    lifecycle.stop(league_id="fall")
    assert League.objects.get(pk=seasons.archive(league_id="fall").pk).archived_at is not None
    assert seasons.take_back(league_id="fall").pk == "fall"
    assert League.objects.get(pk="fall").archived_at is None
    with pytest.raises(NotFound):
        seasons.archive(league_id="nowhere")


def test_nothing_can_be_changed_in_the_archive() -> None:
    made = rich.over()
    seasons.archive(league_id=made.league_id)
    edit, revoke = ACTIONS[acting.LEAGUE, "edit"], ACTIONS[acting.AGENT, "revoke_tokens"]
    with pytest.raises(ActionRefused, match="is in the archive: take it out first to change anything"):
        acting.carry_out(edit, by=None, league_id=made.league_id, display_name="Other", settings={})
    with pytest.raises(ActionRefused, match="is in the archive"):
        acting.carry_out(revoke, by=None, agent_ids=[made.players[0].agent.pk])
    acting.carry_out(ACTIONS[acting.LEAGUE, "take_back"], by=None, league_id=made.league_id)
    acting.carry_out(revoke, by=None, agent_ids=[made.players[0].agent.pk])


# Cloning ----------------------------------------------------------------------------------------


def test_a_clone_has_game_settings_and_people_and_nothing_that_was_played() -> None:
    made = rich.over()
    old = League.objects.get(pk=made.league_id)
    League.objects.filter(pk=old.pk).update(settings={"win_points": 5, "registration_code": "of-the-class"})
    before = codes(old.pk)
    assert before != {}
    clone = seasons.clone(league_id=old.pk, wanted_id="spring", display_name="Spring")
    assert (clone.game_type, clone.settings, clone.state) == (old.game_type, {"win_points": 5}, "REGISTRATION")
    new = codes("spring")
    assert new.keys() == before.keys()
    assert set(new.values()).isdisjoint(before.values())
    assert not Agent.objects.filter(league=clone).exists()
    assert list(clone.events.values_list("kind", flat=True)) == ["league_created"]


def test_a_clone_keeps_auto_advance_that_was_chosen_and_not_that_all_rounds_were_run() -> None:
    make.running_league(players=4)
    lifecycle.run_all(league_id="fall")
    assert League.objects.get(pk="fall").runs_all is True
    clicked = seasons.clone(league_id="fall", wanted_id="spring")
    assert (clicked.runs_all, clicked.settings) == (False, {})
    make.open_league("winter", auto_advance=True)
    chosen = seasons.clone(league_id="winter", wanted_id="summer")
    assert (chosen.runs_all, chosen.settings) == (True, {"auto_advance": True})


def test_a_clone_has_the_same_codes_only_if_asked_for_and_settings_and_roster_can_be_left_out() -> None:
    made = rich.over()
    League.objects.filter(pk=made.league_id).update(settings={"win_points": 5, "registration_code": "of-the-class"})
    same = seasons.clone(league_id=made.league_id, wanted_id="same", with_codes=True)
    assert (codes("same"), same.settings["registration_code"]) == (codes(made.league_id), "of-the-class")
    bare = seasons.clone(league_id=made.league_id, wanted_id="bare", with_settings=False, with_roster=False)
    assert (codes("bare"), bare.settings, bare.display_name) == ({}, {}, "bare")


def test_agents_in_the_lobby_do_not_enter_a_clone_with_a_roster() -> None:
    made = rich.over()
    make.player("Stranger", port=9000)
    seasons.clone(league_id=made.league_id, wanted_id="spring")
    assert not Agent.objects.filter(league_id="spring").exists()


def test_the_user_who_clones_a_league_runs_the_new_one_and_must_be_allowed_to_open_leagues() -> None:
    make.open_league()
    dana = User.objects.create_user("dana", password="x" * 12, is_staff=True)
    staffing.give_role(league_id="fall", username="dana", name="instructor")
    with pytest.raises(ActionRefused, match="You may not open leagues"):
        seasons.clone(league_id="fall", wanted_id="spring", by=dana)
    dana.user_permissions.add(Permission.objects.get(codename="add_league"))
    seasons.clone(league_id="fall", wanted_id="spring", by=User.objects.get(pk=dana.pk))
    assert Role.objects.filter(league_id="spring", user=dana, name="instructor").exists()
    with pytest.raises(ActionRefused, match="exists already"):
        seasons.clone(league_id="fall", wanted_id="spring")
    with pytest.raises(Invalid):
        seasons.clone(league_id="fall", wanted_id="no id")


# Deleting ---------------------------------------------------------------------------------------


def test_a_deleted_league_is_gone_with_everything_and_the_log_of_who_did_what_stays() -> None:
    made = rich.over()
    other = make.league("other", players=2)
    delete = ACTIONS[acting.LEAGUE, "delete"]
    with pytest.raises(Invalid, match=f"Type the id of the league, {made.league_id}, to delete it"):
        acting.carry_out(delete, by=None, league_id=made.league_id, typed="other")
    acting.carry_out(delete, by=None, league_id=made.league_id, typed=f" {made.league_id} ")
    while removing.remove_pieces():
        continue
    assert list(League.objects.values_list("pk", flat=True)) == ["other"]
    assert not Match.objects.exists()
    assert not Message.objects.exists()
    assert not RosterEntry.objects.exists()
    assert not Event.objects.exclude(league_id="other").exists()
    assert set(Agent.objects.filter(kind="player").values_list("league_id", flat=True)) == {"other"}
    entry = AuditEntry.objects.get(action="league.delete")
    assert (entry.league_id, entry.via) == (made.league_id, "api")
    assert entry.changes["players"][1] == 0
    assert other.league.pk == "other"


def test_the_log_counts_the_players_of_a_deleted_league_and_not_its_referees() -> None:
    make.league(players=2)
    make.referee("Student", port=8009, trusted=False, own_league="fall")
    acting.carry_out(ACTIONS[acting.LEAGUE, "delete"], by=None, league_id="fall", typed="fall")
    assert AuditEntry.objects.get(action="league.delete").changes["players"] == [2, 0]


def test_a_league_that_is_played_and_the_demo_are_not_deleted() -> None:
    make.running_league()
    with pytest.raises(ActionRefused, match="is being played: stop it first"):
        seasons.delete(league_id="fall", typed="fall")
    opening.create_league(league_id="demo", display_name="Demo", demo=True)
    for verb in (seasons.archive, seasons.clone, seasons.delete):
        more = {seasons.clone: {"wanted_id": "x"}, seasons.delete: {"typed": "demo"}}.get(verb, {})
        with pytest.raises(ActionRefused, match="The demo league has players of its own"):
            verb(league_id="demo", **more)  # type: ignore[operator]
    assert League.objects.count() == 2
