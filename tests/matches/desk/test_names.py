"""Names that look like another's: refused to a stranger, marked on the desk, let in by one click (decision 16)."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.test import Client
from django.test.utils import CaptureQueriesContext

from agents_registry.models import Agent, Kind, NameLook, NameRefused
from agents_registry.names import lookalikes
from agents_registry.registering import registration
from agents_registry.rosters import roster
from matches.league import entry, names, opening, staffing
from matches.league.errors import NotFound
from tests import factories as make
from tests import wire
from tests.matches.desk.clicking import DESK, LEAGUES, count_queries, person, post, sentences_of, shown

pytestmark = pytest.mark.django_db
VICTIM, STRANGER = "192.0.2.7", "192.0.2.66"
CYRILLIC = "\u0410da"


def register(client: Client, name: str, *, port: int = 8101, caller: str = STRANGER, **more: Any) -> dict[str, Any]:
    more.setdefault("league_id", "fall")
    return wire.ask(client, "register_player", wire.player_request(name, port=port, **more), caller=caller)


def register_ada(client: Client, **more: Any) -> dict[str, Any]:
    """P01, the player whom others want to be taken for."""
    make.open_league("fall")
    return register(client, "Ada", port=8100, caller=VICTIM, **more)


def shown_names() -> list[str]:
    return list(Agent.objects.filter(league_id="fall").order_by("pk").values_list("display_name", flat=True))


def problem(desk: Client) -> dict[str, Any]:
    """What the desk says of refused names."""
    problems = [one for one in shown(desk)["problems"] if "refused" in one.text]
    return problems[0] if problems else {}


def click(desk: Client, label: str) -> str:
    """Click the button whose label begins like this; returns what the desk answers."""
    [url] = [one.url for one in problem(desk).remedies if one.label.startswith(label)]
    return post(desk, url.removeprefix(f"{LEAGUES}fall/").rstrip("/"))


# A stranger --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [CYRILLIC, "ADA", "Ad\u0430", "\uff21da", "A\u034fda", "Ada\ufe0f", "Ada\u3164", "\U0001d400da"]
)
def test_a_stranger_whose_name_looks_like_anothers_is_refused(client: Client, name: str) -> None:
    register_ada(client)
    answer = register(client, name)
    assert (answer["status"], answer["player_id"], answer["legacy_code"]) == ("REJECTED", None, "L003")
    reason = (
        f'The name "{name}" looks like "Ada" (P01), who has registered already. Choose a name that nobody takes for '
        "that one. If this is P01 itself, send its auth_token. If both are yours, send your personal code where the "
        "league has a roster. Otherwise ask the instructor: one click on the desk lets this name in."
    )
    assert (answer["reason"], answer["rejection_reason"]) == (reason, reason)
    assert shown_names() == ["Ada"]


@pytest.mark.parametrize(
    ("first", "second"),
    [("Alice", "AIice"), ("modern", "rnodern"), ("Player 1", "Player l"), ("\u05d3\u05d5\u05df", "\u05d3\u05d5\u05d5")],
)
def test_the_second_of_two_similar_names_is_refused(client: Client, first: str, second: str) -> None:
    make.open_league("fall")
    assert register(client, first, caller=VICTIM)["status"] == "ACCEPTED"
    assert register(client, second, port=8102)["status"] == "REJECTED"
    assert shown_names() == [first]


def test_a_name_that_looks_like_the_display_name_of_another_is_refused(client: Client) -> None:
    register_ada(client)
    register(client, "Ada", port=8102)
    renamed = make.player("Carol", "fall", port=8103).agent
    renamed.display_name = "Team Rocket"
    registration.save_from_admin(renamed)
    assert shown_names() == ["Ada", "Ada (2)", "Team Rocket"]
    assert register(client, f"{CYRILLIC} (2)", port=8104)["status"] == "REJECTED"
    assert register(client, "Team R0cket", port=8105)["status"] == "REJECTED"


def test_agents_with_the_same_name_at_other_addresses_are_numbered_copies(client: Client) -> None:
    """Invisible characters are removed from a name first (004 6.4.2)."""
    make.open_league("fall")
    for port, name in enumerate(("Alpha", "Alpha", " Alpha ", "Al\u200bpha"), start=8101):
        assert register(client, name, port=port)["status"] == "ACCEPTED"
    assert shown_names() == ["Alpha", "Alpha (2)", "Alpha (3)", "Alpha (4)"]


def test_a_similar_name_is_accepted_in_another_league(client: Client) -> None:
    register_ada(client)
    make.open_league("winter")
    assert register(client, CYRILLIC, league_id="winter")["status"] == "ACCEPTED"


def test_a_similar_name_from_the_same_ip_address_is_refused(client: Client) -> None:
    """An IP address shows who continues an agent (ruling, section 8), but a classmate may share it."""
    register_ada(client)
    assert register(client, CYRILLIC, caller=VICTIM)["status"] == "REJECTED"


@pytest.mark.parametrize("token", ["", "tok_" + "0" * 32, "league_token"])
def test_a_similar_name_with_a_wrong_token_is_refused(client: Client, token: str) -> None:
    ada_reply = register_ada(client)
    auth_token = {"league_token": ada_reply["league_token"]}.get(token, token)
    assert register(client, CYRILLIC, auth_token=auth_token)["status"] == "REJECTED"


def test_a_similar_name_with_the_registration_code_is_refused(client: Client) -> None:
    make.open_league("fall", registration_code="cs101-2025")
    assert register(client, "Ada", port=8100, code="cs101-2025")["status"] == "ACCEPTED"
    assert register(client, CYRILLIC, code="cs101-2025")["legacy_code"] == "L003"


# Proofs of identity --------------------------------------------------------------------------------


def test_whoever_has_the_token_of_an_agent_is_that_agent_whatever_name_it_sends(client: Client) -> None:
    token = register_ada(client)["auth_token"]
    assert register(client, CYRILLIC, auth_token=token)["player_id"] == "P01"
    assert shown_names() == ["Ada"]
    # Without it the name is refused as before.
    assert register(client, CYRILLIC)["status"] == "REJECTED"


def test_a_similar_name_with_a_personal_code_is_accepted_and_marked(client: Client, desk: Client) -> None:
    make.open_league("fall")
    roster.import_csv(league_id="fall", text="name,email,code\nDana,d@example.org,dana-7\nNoa,n@example.org,noa-99\n")
    assert register(client, "Ada", port=8100, code="dana-7")["player_id"] == "P01"
    assert register(client, CYRILLIC, code="noa-99")["player_id"] == "P02"
    assert Agent.objects.get(code="P02").owner.name == "Noa"
    page = desk.get("/admin/matches/league/fall/roster/").content.decode()
    assert page.count("the name looks like P02 “\u0410da”") == page.count("the name looks like P01 “Ada”") == 1


# The desk --------------------------------------------------------------------------------------


def test_the_desk_shows_a_refused_name_and_a_button_lets_it_in(client: Client, desk: Client) -> None:
    register_ada(client)
    for _twice in range(2):
        assert register(client, CYRILLIC)["status"] == "REJECTED"
    refused = problem(desk)
    assert refused.text == (
        "1 registration was refused, as its name looks like another's. Let it in if you know whose it is."
    )
    assert refused.causes == [f"“{CYRILLIC}” at http://{STRANGER}:8101/mcp, from {STRANGER}, looks like “Ada” (P01)"]
    assert click(desk, "Let “") == f"“{CYRILLIC}” is let in when it registers again from the same address."
    assert problem(desk) == {}
    # A program of the same name at another address does not use the permission up.
    assert register(client, CYRILLIC, port=8109, caller="192.0.2.99")["status"] == "REJECTED"
    assert register(client, CYRILLIC)["player_id"] == "P02"
    assert NameRefused.objects.filter(caller=STRANGER).count() == 0


def test_the_desk_marks_both_similar_names(client: Client, desk: Client) -> None:
    register_ada(client)
    register(client, CYRILLIC)
    click(desk, "Let “")
    register(client, CYRILLIC)
    register(client, "Bob", port=8103)
    marks = {line["agent"].code: line["resembles"] for line in shown(desk)["players"]["rows"]}
    assert marks == {"P01": f"P02 “{CYRILLIC}”", "P02": "P01 “Ada”", "P03": ""}
    assert "the name looks like P01 “Ada”" in desk.get(DESK).content.decode()


def test_a_name_that_was_kept_out_is_shown_again_when_it_registers_again(client: Client, desk: Client) -> None:
    register_ada(client)
    register(client, CYRILLIC)
    assert click(desk, "Keep “") == "It stays out. If it comes again, it is shown here again."
    assert problem(desk) == {}
    assert register(client, CYRILLIC)["status"] == "REJECTED"
    assert len(problem(desk).causes) == 1


def test_the_desk_shows_no_refused_players_after_registration(client: Client, desk: Client) -> None:
    register_ada(client)
    register(client, "Bob", port=8103)
    register(client, CYRILLIC)
    assert problem(desk) != {}
    opening.close_registration(league_id="fall")
    assert problem(desk) == {}


def test_letting_in_a_name_that_has_registered_is_refused_with_a_sentence(client: Client, desk: Client) -> None:
    register_ada(client)
    register(client, CYRILLIC)
    [row] = NameRefused.objects.all()
    click(desk, "Let “")
    register(client, CYRILLIC)
    late = "This name is not waiting any more: it has come in, or somebody else has decided."
    assert post(desk, f"name/{row.pk}/let-in") == late


def test_an_instructor_of_another_league_cannot_let_a_name_in(client: Client) -> None:
    register_ada(client)
    make.open_league("winter")
    register(client, CYRILLIC)
    [row] = NameRefused.objects.all()
    browser = person("instructor", "winter")
    assert browser.post(f"/admin/matches/league/fall/name/{row.pk}/let-in/").status_code == 403
    browser.post(f"/admin/matches/league/winter/name/{row.pk}/let-in/")
    assert NameRefused.objects.get().let_in is False
    staffing.give_role(league_id="fall", username="instructor-winter", name="assistant")
    assert browser.post(f"/admin/matches/league/fall/name/{row.pk}/let-in/").status_code == 403
    assert shown(browser)["problems"][-1].remedies == []


def test_many_refusals_of_one_caller_do_not_displace_those_of_others(client: Client) -> None:
    register_ada(client)
    register(client, CYRILLIC, caller="192.0.2.8")
    for port in range(9000, 9000 + lookalikes.MAX_REFUSED_PER_ADDRESS + 5):
        register(client, "ADA", port=port)
    callers = list(NameRefused.objects.order_by("pk").values_list("caller", flat=True))
    assert callers == ["192.0.2.8", *[STRANGER] * lookalikes.MAX_REFUSED_PER_ADDRESS]


def test_only_the_latest_refusals_are_kept(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookalikes, "MAX_REFUSED_PER_LEAGUE", 10)
    register_ada(client)
    for number in range(lookalikes.MAX_REFUSED_PER_LEAGUE + 5):
        register(client, "ADA", port=9000 + number, caller=f"198.51.100.{number}")
    assert NameRefused.objects.count() == lookalikes.MAX_REFUSED_PER_LEAGUE
    assert not NameRefused.objects.filter(caller="198.51.100.4").exists()


# The lobby, by hand, referees ---------------------------------------------------------------------


def test_an_agent_in_the_lobby_enters_no_league_under_a_similar_name(client: Client, desk: Client) -> None:
    register(client, "Ada", port=8100, league_id=None)
    register(client, CYRILLIC, league_id=None)
    register(client, "Bob", port=8102, league_id=None)
    make.open_league("fall")
    assert shown_names() == ["Ada", "Bob"]
    left = Agent.objects.get(league=None)
    assert (left.name, left.notes[-1].split(",")[0]) == (CYRILLIC, "stayed in the lobby: in fall")
    # It may register in the league itself; the refusal has a code.
    assert register(client, CYRILLIC)["legacy_code"] == "L003"
    assert click(desk, "Let “") == f"“{CYRILLIC}” is in."
    assert sorted(shown_names()) == ["Ada", "Bob", CYRILLIC]
    assert NameRefused.objects.count() == 0


def test_the_instructor_may_add_a_similar_name_by_hand_and_it_is_marked(client: Client, desk: Client) -> None:
    register_ada(client)
    entry.add_by_hand(league_id="fall", name=CYRILLIC, endpoint="http://192.0.2.9:8101/mcp")
    marks = {line["agent"].code: line["resembles"] for line in shown(desk)["players"]["rows"]}
    assert marks == {"P01": f"P02 “{CYRILLIC}”", "P02": "P01 “Ada”"}
    assert register(client, "\u0410d\u0430", port=8104)["status"] == "REJECTED"


def referee(client: Client, name: str, port: int, caller: str = STRANGER, **more: Any) -> dict[str, Any]:
    return wire.ask(client, "register_referee", wire.referee_request(name, port=port, **more), caller=caller)


def test_a_referee_whose_name_looks_like_that_of_a_referee_of_the_site_is_refused(client: Client, desk: Client) -> None:
    make.open_league("fall")
    make.referee("Referee 1")
    answer = referee(client, "Referee l", 8001)
    assert (answer["status"], answer["legacy_code"]) == ("REJECTED", "L003")
    assert 'looks like "Referee 1" (REF01)' in answer["reason"]
    # A referee with the site's key is let in, and so are one of the very same name and one that the instructor lets in.
    assert referee(client, "Referee I", 8002, code=settings.LEAGUE_REFEREE_KEY)["referee_id"] == "REF02"
    assert referee(client, "Referee 1", 8003)["referee_id"] == "REF03"
    click(desk, "Let the referee “Referee l”")
    assert referee(client, "Referee l", 8001)["referee_id"] == "REF04"
    marks = {line["agent"].code: line["resembles"] for line in shown(desk)["referees"]["rows"]}
    assert marks["REF04"] == "REF01 “Referee 1”, REF02 “Referee I”"


def test_an_instructor_cannot_let_in_a_referee_for_all_leagues(client: Client) -> None:
    make.open_league("fall")
    make.referee("Referee 1")
    referee(client, "Referee l", 8001)
    [row] = NameRefused.objects.all()
    assert person("instructor", "fall").post(f"/admin/matches/league/fall/name/{row.pk}/let-in/").status_code == 403
    assert NameRefused.objects.get().let_in is False


# People and leagues --------------------------------------------------------------------------------


def test_people_of_a_roster_whose_names_look_alike_are_marked(desk: Client) -> None:
    make.open_league("fall")
    page = "/admin/matches/league/fall/roster/"
    text = f"name,email,code\nAda,a@example.org,\n{CYRILLIC},b@example.org,\nBob,c@example.org,\n"
    roster_page = desk.post(page, {"text": text}, follow=True).content.decode()
    assert [roster_page.count(f"the name looks like “{name}”") for name in ("Ada", CYRILLIC, "Bob")] == [1, 1, 0]


def test_a_league_with_a_name_similar_to_another_gets_a_warning(desk: Client) -> None:
    make.open_league("fall")
    add = "/admin/matches/league/add/"
    form = {"game_type": "even_odd", "no_show": "technical_loss", "error_style": "error"}
    answer = desk.post(add, form | {"league_id": "fa11", "display_name": "FaIl"})
    assert sentences_of(answer)[0] == "People will take this league for another, as the names look alike: Fall (fall)."


# Queries ------------------------------------------------------------------------------------------


def test_the_query_for_similar_names_uses_an_index_and_is_constant(client: Client) -> None:
    make.open_league("fall")

    def queries(name: str, port: int) -> list[str]:
        with CaptureQueriesContext(connection) as seen:
            assert register(client, name, port=port)["status"] == "ACCEPTED"
        return [one["sql"] for one in seen if "namelook" in one["sql"]]

    few = queries("First", 8101)
    lookalikes.remember(make.insert_players("fall", 300, letter="Q"), new=True)
    many = queries("Second", 8102)
    assert len(few) == len(many) == 2
    select = next(sql for sql in many if sql.startswith("SELECT"))
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {select}" if connection.vendor == "sqlite" else f"EXPLAIN {select}")
        plan = " ".join(str(row) for row in cursor.fetchall())
    if connection.vendor == "sqlite":
        assert "look=?" in plan, plan


def test_the_desk_needs_no_more_queries_for_many_names(client: Client, desk: Client) -> None:
    make.open_league("fall")
    counts = []
    for letter, number in (("A", 3), ("B", 100)):
        make.insert_players("fall", number, letter=letter)
        desk.get(DESK)
        counts.append(count_queries(desk, DESK))
    assert counts[0] == counts[1]


# Upgrading ----------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_the_migration_indexes_the_names_that_exist_already(client: Client, migrations_restored: None) -> None:
    register_ada(client)
    register(client, "Ada", port=8102)
    before = list(NameLook.objects.order_by("agent", "look").values_list("agent", "look"))
    MigrationExecutor(connection).migrate([("agents_registry", "0004_programs")])
    MigrationExecutor(connection).migrate([("agents_registry", "0005_looks")])
    assert list(NameLook.objects.order_by("agent", "look").values_list("agent", "look")) == before
    newest = MigrationExecutor(connection)
    newest.migrate(newest.loader.graph.leaf_nodes())
    assert register(client, CYRILLIC, port=8103)["status"] == "REJECTED"
    assert Agent.objects.filter(kind=Kind.PLAYER).count() == 2


def test_renaming_an_agent_that_was_deleted_meanwhile_is_refused_with_a_sentence() -> None:
    agent = make.league(players=2).players[0].agent
    stale = Agent.objects.get(pk=agent.pk)
    Agent.objects.filter(pk=agent.pk).delete()
    with pytest.raises(NotFound, match="This agent is gone already"):
        names.edit_agent(agent=stale, changed=["display_name"])
