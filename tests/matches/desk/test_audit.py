"""The log of who did what: every action of a person is in it, no secret is, and nobody reads more than is theirs."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agents_registry.models import RosterEntry
from agents_registry.registering import registration
from agents_registry.rosters import roster
from matches.desk import acting
from matches.desk.actions import ACTIONS, ROWS
from matches.league import lifecycle
from matches.league.errors import ActionRefused
from matches.models import AuditEntry, Correction, Event, League, Match
from matches.view import audit
from tests import factories as make
from tests import rich
from tests.leaguesite.script import Script
from tests.matches.desk.clicking import LEAGUES, count_queries, person, post
from tests.matches.papers.exporting import empty_site, exported_json

pytestmark = pytest.mark.django_db
LOG = "/admin/matches/auditentry/"


def logged(**filters: Any) -> list[tuple[str, str, str, str]]:
    entries = AuditEntry.objects.filter(**filters).order_by("pk")
    return [(entry.account, entry.via, entry.action, entry.target) for entry in entries]


def last() -> AuditEntry:
    return AuditEntry.objects.latest("pk")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.code)
def test_every_row_of_the_table_of_actions_is_logged(row: acting.DeskAction) -> None:
    stub = replace(row, verb=lambda **arguments: None, prepare=None)
    acting.carry_out(stub, by=User(username="dana"))
    acting.carry_out(stub, by=None)
    assert logged() == [("dana", "desk", row.code, ""), ("", "api", row.code, "")]


def test_an_action_has_a_code_of_its_own() -> None:
    assert len({row.code for row in ROWS}) == len(ROWS)


def test_a_click_is_logged_with_the_values_before_and_after_it(desk: Client) -> None:
    make.league(players=2, league_id="fall")
    lifecycle.start_league(league_id="fall")
    post(desk, "do/pause")
    assert logged() == [("instructor", "desk", "league.pause", "")]
    assert (last().league_id, last().changes) == ("fall", {"paused": [False, True]})
    post(desk, "match/R1M1/cancel")
    assert (last().action, last().target) == ("match.cancel", "R1M1")
    assert last().changes["R1M1 status"] == ["", "CANCELLED"]


def test_a_wanted_ping_has_the_name_that_earlier_entries_of_the_log_have() -> None:
    agent = make.league(players=1, league_id="fall").players[0].agent
    registration.want_ping(agent_ids=[agent.pk])
    assert audit.snapshot({"agent_ids": [agent.pk]})["P01 check_wanted"] is True


def test_a_refused_action_leaves_no_entry() -> None:
    make.open_league("fall")
    with pytest.raises(ActionRefused):
        acting.carry_out(ACTIONS[acting.LEAGUE, "resume"], by=User(username="dana"), league_id="fall")
    assert logged() == []


def test_an_action_that_fails_changes_nothing_and_leaves_no_entry() -> None:
    make.open_league("fall")

    def verb(*, league_id: str) -> None:
        lifecycle.pause(league_id=league_id)
        raise RuntimeError("the disk is full")

    with pytest.raises(RuntimeError):
        acting.carry_out(replace(ACTIONS[acting.LEAGUE, "pause"], verb=verb), by=None, league_id="fall")
    assert (logged(), League.objects.get().paused) == ([], False)


def test_settings_are_logged_by_name_and_codes_are_hidden(desk: Client) -> None:
    make.open_league("fall")
    page = desk.get(f"{LEAGUES}fall/settings/")
    form = page.context["adminform"].form
    data = {name: value for name, value in form.initial.items() if value is not None}
    data |= {"display_name": "Autumn", "move_timeout_s": 12, "registration_code": "SECRET-CODE"}
    assert desk.post(f"{LEAGUES}fall/settings/", data).status_code == 302
    assert last().action == "league.edit"
    assert last().changes == {
        "display_name": ["Fall", "Autumn"],
        "settings.move_timeout_s": [30.0, 12.0],
        "settings.registration_code": ["(hidden)", "(hidden)"],
    }
    assert "SECRET-CODE" not in whole_log()


def whole_log() -> str:
    return json.dumps(list(AuditEntry.objects.values()), default=str)


def test_no_code_of_a_roster_is_in_the_log(desk: Client) -> None:
    make.open_league("fall")
    text = "name,email,code\nDana,dana@example.org,PERSONAL-CODE\n"
    assert desk.post(f"{LEAGUES}fall/roster/", {"text": text}).status_code == 302
    assert RosterEntry.objects.get().code == "PERSONAL-CODE"
    assert (last().action, last().changes) == ("roster.import", {"people on the roster": [0, 1]})
    assert not any(secret in whole_log() for secret in ("PERSONAL-CODE", "dana@example.org"))


def test_roles_trust_and_exports_are_logged(desk: Client) -> None:
    make.open_league("fall")
    referee = make.referee().agent
    User.objects.create_user("assistant", password="x" * 12, is_staff=True)
    desk.post(f"{LEAGUES}fall/people/", {"username": "assistant", "name": "assistant"})
    assert last().changes == {"roles": ["", "assistant: assistant"]}
    acting.carry_out(ACTIONS[acting.AGENT, "do_not_let_judge"], by=None, agent_ids=[referee.pk])
    assert (last().target, last().changes) == (referee.code, {f"{referee.code} trusted": [True, False]})
    list(desk.get(f"{LEAGUES}fall/papers/league.json?people=1"))
    assert logged(action="league.export") == [("instructor", "desk", "league.export", "league.json")]
    assert last().asked == {"people": True}
    assert desk.get(f"{LEAGUES}fall/papers/no-such.csv").status_code == 404
    assert AuditEntry.objects.filter(action="league.export").count() == 1


def test_a_login_and_a_changed_account_are_logged_without_the_password() -> None:
    User.objects.create_superuser("dana", password="first-password")
    other = User.objects.create_user("noam", password="first-password")
    browser = Client()
    assert browser.post("/admin/login/", {"username": "dana", "password": "wrong-password"}).status_code == 200
    assert logged() == []
    browser.post("/admin/login/", {"username": "dana", "password": "first-password"})
    assert logged() == [("dana", "desk", "login", "127.0.0.1")]
    browser.post(
        f"/admin/auth/user/{other.pk}/password/",
        {"usable_password": "true", "password1": "second-password-7", "password2": "second-password-7"},
    )
    assert (last().action, last().target, last().changes) == (
        "user.change", "noam", {"password": ["(hidden)", "(hidden)"]},
    )  # fmt: skip
    other.refresh_from_db()
    assert other.check_password("second-password-7")
    passwords = ("first-password", "wrong-password", "second-password-7", other.password)
    assert not any(secret in whole_log() for secret in passwords)


def test_what_a_script_does_with_the_api_key_is_logged_and_what_it_reads_is_not(script: Script) -> None:
    make.open_league("fall")
    script.get("/leagues/fall")
    script.post("/leagues/fall/pause")
    assert Script("wrong").post("/leagues/fall/resume")[0] == 401
    assert logged() == [("", "api", "league.pause", "")]


def test_the_log_is_read_by_script_with_filters_and_in_parts(script: Script) -> None:
    make.open_league("fall")
    make.open_league("spring")
    for league_id in ("fall", "spring", "fall"):
        script.post(f"/leagues/{league_id}/notices", {"text": "Ten minutes to go."})
    status, first = script.get("/audit?league_id=fall&limit=1")
    assert (status, [entry["action"] for entry in first["entries"]]) == (200, ["notice.say"])
    _, second = script.get(f"/audit?league_id=fall&limit=1&before={first['next']}")
    assert ([entry["league_id"] for entry in second["entries"]], second["next"]) == (["fall"], None)
    assert script.get("/audit?action=no.such")[1]["entries"] == []
    assert Script("wrong").get("/audit")[0] == 401


def test_an_instructor_reads_the_log_of_their_own_leagues_and_assistants_read_none() -> None:
    for league_id in ("fall", "spring"):
        make.open_league(league_id)
        acting.carry_out(ACTIONS[acting.LEAGUE, "pause"], by=User(username=f"of-{league_id}"), league_id=league_id)
    page = person("instructor", "fall").get(LOG)
    assert [entry.account for entry in page.context["cl"].result_list if entry.action == "league.pause"] == ["of-fall"]
    assert "of-spring" not in page.content.decode()
    assert [person("assistant", "fall").get(LOG).status_code, Client().get(LOG).status_code] == [403, 302]
    assert person("assistant", "spring").get(f"{LOG}?csv=1").status_code == 403


def test_the_log_is_a_file_with_the_filters_of_the_page(desk: Client) -> None:
    make.open_league("fall")
    make.open_league("spring")
    for league_id, name in (("fall", "=1+1"), ("spring", "x")):
        acting.carry_out(ACTIONS[acting.LEAGUE, "pause"], by=User(username=name), league_id=league_id)
    assert "csv=1" in desk.get(f"{LOG}?league_id=fall").content.decode()
    answer = desk.get(f"{LOG}?league_id=fall&csv=1")
    [head, row] = csv.reader(io.StringIO(answer.content.decode("utf-8-sig")))
    assert dict(zip(head, row, strict=True)) | {"at": ""} == {
        "at": "", "account": "'=1+1", "via": "desk", "action": "league.pause", "league_id": "fall", "target": "",
        "asked": "", "changes": "paused: False -> True",
    }  # fmt: skip


def test_the_log_is_not_in_the_public_feed(desk: Client) -> None:
    make.open_league("fall")
    before = Event.objects.count()
    roster.import_csv(league_id="fall", text="name,email,code\nDana,dana@example.org,\n")
    acting.carry_out(ACTIONS[acting.AGENT, "ask"], by=User(username="dana"), agent_ids=[])
    assert Event.objects.count() == before
    assert "dana" not in Client().get("/api/leagues/fall/events").content.decode()


def test_the_page_has_the_same_number_of_queries_with_3_entries_and_with_93(desk: Client) -> None:
    counts = []
    for number in (3, 90):
        AuditEntry.objects.bulk_create(
            [
                AuditEntry(at="2026-11-24T10:00:00Z", via="desk", action="login", account=f"a{one}")
                for one in range(number)
            ]
        )
        counts.append(count_queries(desk, LOG))
    assert counts[0] == counts[1]


def test_opening_a_league_is_logged_with_what_differs_from_the_defaults(script: Script) -> None:
    script.post("/leagues", {"league_id": "fall", "display_name": "Fall", "settings": {"move_timeout_s": 12}})
    assert (last().action, last().changes) == (
        "site.open", {"display_name": ["", "Fall"], "settings.move_timeout_s": [30.0, 12.0]},
    )  # fmt: skip


def test_a_correction_is_logged_with_the_result_before_and_after_and_its_undoing_too(script: Script) -> None:
    rich.over()
    correction = {"kind": "void", "match_id": "R1M1", "reason": "a test of the log"}
    before = Match.objects.get(league_id="fall", match_id="R1M1").status
    assert script.post("/leagues/fall/corrections", correction)[0] == 201
    assert (last().action, last().target, last().asked) == ("correction.make", "R1M1", correction | {"points": 0})
    assert last().changes["R1M1 status"] == [before, "CANCELLED"]
    number = Correction.objects.get(match_id="R1M1", undone_at=None, kind="void").number
    assert script.post(f"/leagues/fall/corrections/{number}/undo", {"reason": "a test again"})[0] == 200
    assert (last().action, last().target) == ("correction.undo", "R1M1")
    assert last().changes["R1M1 status"] == ["CANCELLED", before]


def test_an_import_is_logged_with_the_imported_league(desk: Client) -> None:
    rich.over()
    document = exported_json()
    empty_site()
    desk.post(f"{LEAGUES}import/", {"file": io.BytesIO(document)})
    assert (last().action, last().league_id) == ("site.import", "fall")


@pytest.mark.parametrize("query", ["at__gte=garbage", "no_such=1", "league_id=%00", "q=%00", "p=99999", "csv=2"])
def test_a_file_with_unknown_filters_is_not_a_server_error(desk: Client, query: str) -> None:
    assert desk.get(f"{LOG}?csv=1&{query}").status_code in (200, 302)
