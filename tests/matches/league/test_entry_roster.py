"""Rosters: who may enter a league, and what the instructor sees of it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from agents_registry.models import Agent, Kind, RosterEntry
from agents_registry.requests.reading import read_request
from agents_registry.rosters import files as roster_files
from agents_registry.rosters import roster
from matches.league import entry, opening
from matches.models import League
from tests import factories as make
from tests import wire

pytestmark = pytest.mark.django_db
PAGE = "/admin/matches/league/fall/roster/"
ADD = "/admin/matches/league/add-player/"
FILE = "name,email,code\nDana Levi,dana@example.org,dana-7\nNoa Cohen,noa@example.org,\n"


@pytest.fixture(autouse=True)
def fall() -> None:
    make.open_league("fall")


def enter(
    name: str = "Alpha", *, port: int = 8101, caller: str = "127.0.0.1", code_in_address: str = "", **how: Any
) -> entry.Entry:
    """Register a player for the league."""
    params = wire.player_request(name, port=port, **how)
    request = read_request(params, kind=Kind.PLAYER, caller=caller, code_in_address=code_in_address)
    return entry.register_player(request=request, named="fall")


def people() -> list[tuple[str, str]]:
    return list(RosterEntry.objects.order_by("pk").values_list("name", "email"))


def code_of(email: str) -> str:
    return RosterEntry.objects.get(league_id="fall", email=email).code


# The file -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        FILE,
        "\ufeff" + FILE,
        FILE.replace(",", ";"),
        FILE.replace(",", "\t"),
        FILE.replace("\n", "\r\n"),
        "\n\n" + FILE.replace("\n", "\n\n"),
        "E-Mail; NAME\ndana@example.org; Dana Levi\nNOA@Example.org;  Noa   Cohen \n",
        'Code,"Full name",Email address,Group\nx123,"Dana Levi",dana@example.org,1\n,"Noa Cohen",noa@example.org,2\n',
    ],
)
def test_a_file_is_read_in_every_usual_form(text: str) -> None:
    assert roster.import_csv(league_id="fall", text=text) == roster.Counts(added=2, updated=0, unchanged=0)
    assert people() == [("Dana Levi", "dana@example.org"), ("Noa Cohen", "noa@example.org")]


def test_hebrew_names_quotes_and_line_breaks_in_quotes_are_read() -> None:
    text = 'שם,דוא"ל,קוד\nדנה לוי,dana@example.org,\n"Cohen, ""Noa""\nJr",noa@example.org,\n'
    roster.import_csv(league_id="fall", text=text.replace('דוא"ל', '"דוא""ל"'))
    assert people() == [("דנה לוי", "dana@example.org"), ('Cohen, "Noa" Jr', "noa@example.org")]


@pytest.mark.parametrize(
    "data",
    [
        FILE.encode(),
        b"\xef\xbb\xbf" + FILE.encode(),
        FILE.encode("utf-16"),
        FILE.replace("Dana Levi", "דנה לוי").encode("cp1255"),
    ],
)
def test_a_file_is_read_as_spreadsheets_save_it(data: bytes) -> None:
    roster.import_csv(league_id="fall", text=roster_files.decode(data))
    assert people()[1] == ("Noa Cohen", "noa@example.org")
    assert people()[0][0] in ("Dana Levi", "דנה לוי")


def test_bytes_that_are_not_text_are_refused() -> None:
    with pytest.raises(roster_files.RosterRefused) as caught:
        roster_files.decode(b"\x89PNG\xff\xfe\xfb\xff\xd9")
    assert caught.value.problems == ["The file is not a text file: save it as “CSV UTF-8”."]


def test_missing_codes_are_made_and_kept() -> None:
    roster.import_csv(league_id="fall", text=FILE)
    made_code = code_of("noa@example.org")
    assert (code_of("dana@example.org"), bool(re.fullmatch("[a-hjkmnp-z2-9]{10}", made_code))) == ("dana-7", True)
    later = "name,email,code\nDana L.,DANA@example.org,\nNoa Cohen,noa@example.org,\nAvi,avi@example.org,\n"
    assert roster.import_csv(league_id="fall", text=later) == roster.Counts(added=1, updated=1, unchanged=1)
    assert [code_of("dana@example.org"), code_of("noa@example.org")] == ["dana-7", made_code]
    assert people()[0] == ("Dana L.", "dana@example.org")
    changed = "name,email,code\nNoa Cohen,noa@example.org,noa-99\n"
    assert roster.import_csv(league_id="fall", text=changed) == roster.Counts(added=0, updated=1, unchanged=0)
    assert code_of("noa@example.org") == "noa-99"


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("", ["The file is empty. Expected a first line with the columns name, email, code."]),
        (
            "who,what\nDana,dana@example.org\n",
            ["Line 1: these columns are missing: name, email. Seen: who, what. Expected: name, email, code."],
        ),
        (
            "name,email,code\n ,dana@example.org,\nNoa,noa.example.org,\nAvi,avi@example.org,a b c d\n"
            "Gal,gal@example.org,abc\n",
            [
                "Line 2: the name was “”; expected a name.",
                "Line 3: the e-mail was “noa.example.org”; expected an address such as dana@example.org.",
                "Line 4: the code was “a b c d”; expected 4 to 32 letters, digits, “.”, “-” or “_”.",
                "Line 5: the code was “abc”; expected 4 to 32 letters, digits, “.”, “-” or “_”.",
            ],
        ),
        (
            "name,email,code\nDana,d@example.org,abcd\nNoa,D@example.org,\nAvi,a@example.org,ABCD\nshort\n",
            [
                "Line 3: the e-mail d@example.org stands on line 2 already; expected each once.",
                "Line 4: the code stands on line 2 already; expected one for each person.",
                "Line 5: the e-mail was “”; expected an address such as dana@example.org.",
            ],
        ),
        (
            "name,email,code\nNew,new@example.org,OLD-CODE\n",
            ["Line 2: the code belongs to old@example.org already; expected another, or none."],
        ),
        ('name,email\n"Dana,dana@example.org\n', ["Line 2: this is not CSV (unexpected end of data)."]),
        (
            "name,email\n" + "a" * roster_files.MAX_CSV_CHARS,
            ["The file has 500011 characters; at most 500000 are taken."],
        ),
        (
            "name,email\n" + "".join(f"N,n{n}@example.org\n" for n in range(roster_files.MAX_CSV_LINES + 1)),
            ["The file has more than 2000 people."],
        ),
    ],
)
def test_a_file_that_is_refused_changes_nothing(text: str, problems: list[str]) -> None:
    roster.import_csv(league_id="fall", text="name,email,code\nOld,old@example.org,old-code\n")
    with pytest.raises(roster_files.RosterRefused) as caught:
        roster.import_csv(league_id="fall", text=text)
    assert caught.value.problems == problems
    assert people() == [("Old", "old@example.org")]


def test_a_roster_export_can_be_imported_and_holds_no_formulas() -> None:
    roster.import_csv(league_id="fall", text='name,email,code\n"=1+1",+x@example.org,dana-7\n')
    text = roster.export_csv("fall")
    assert text == "\ufeffname,email,code\r\n'=1+1,'+x@example.org,dana-7\r\n"
    assert roster.import_csv(league_id="fall", text=text) == roster.Counts(added=0, updated=0, unchanged=1)
    assert people() == [("=1+1", "+x@example.org")]


# Who may enter --------------------------------------------------------------------------------------

WHERE_CODES_GO = "player_meta.registration_code, in the message itself, or in the address (/leagues/fall/mcp?code=...)."


@pytest.mark.parametrize(
    ("how", "seen"),
    [
        ({}, "no personal code came"),
        ({"code": "guess"}, "the code that came is nobody's"),
        ({"code": "win-7"}, "the code that came is nobody's"),
        ({"code": "\x00"}, "the code that came is nobody's"),
    ],
)
def test_without_a_personal_code_nobody_enters(how: dict[str, Any], seen: str) -> None:
    make.open_league("winter")
    roster.import_csv(league_id="winter", text="name,email,code\nDana,dana@example.org,win-7\n")
    roster.import_csv(league_id="fall", text=FILE)
    entered = enter(**how)
    assert (entered.agent, entered.legacy_code) == (None, "L001")
    assert entered.reason == f"Not on the roster of this league: {seen}. Put your personal code in {WHERE_CODES_GO}"
    assert Agent.objects.count() == 0


@pytest.mark.parametrize(
    "how",
    [
        {"code": "dana-7"},
        {"code": "DANA-7"},
        {"registration_code": "dana-7"},
        {"code_in_address": "dana-7"},
        {"code": "wrong", "registration_code": "wrong too", "code_in_address": "dana-7"},
        {"personal_code": "dana-7"},
    ],
)
def test_the_personal_code_makes_its_person_the_owner(how: dict[str, Any]) -> None:
    roster.import_csv(league_id="fall", text=FILE)
    entered = enter(**how)
    assert entered.agent is not None, entered.reason
    assert entered.agent.owner == RosterEntry.objects.get(email="dana@example.org")


def test_one_person_may_bring_several_agents() -> None:
    roster.import_csv(league_id="fall", text=FILE)
    for port in range(8101, 8105):
        assert enter(f"Copy {port}", port=port, code="dana-7").agent is not None
    assert RosterEntry.objects.get(code="dana-7").agents.count() == 4


@pytest.mark.parametrize(("code", "owned"), [("sesame", False), ("dana-7", True), ("other", None)])
def test_a_league_with_a_roster_and_a_code_takes_either(code: str, owned: bool | None) -> None:
    opening.edit_league(league_id="fall", display_name="Fall", settings={"registration_code": "sesame"})
    roster.import_csv(league_id="fall", text=FILE)
    agent = enter(code=code).agent
    assert (agent and agent.owner_id is not None) == owned


@pytest.mark.parametrize(
    ("how", "seen"),
    [({}, "None came."), ({"code": "guess"}, "The code that came is not it.")],
)
def test_a_league_with_a_class_code_says_where_to_put_it(how: dict[str, Any], seen: str) -> None:
    opening.edit_league(league_id="fall", display_name="Fall", settings={"registration_code": "sesame"})
    entered = enter(**how)
    assert entered.reason == f"This league asks for its registration code. {seen} Put it in {WHERE_CODES_GO}"
    assert (entered.legacy_code, Agent.objects.count()) == ("L001", 0)
    for fields in ({"code": "sesame"}, {"registration_code": "sesame"}, {"code_in_address": "sesame"}):
        assert enter(**fields).agent is not None


def test_the_owners_code_proves_who_an_agent_is() -> None:
    roster.import_csv(league_id="fall", text="name,email,code\nDana,d@x.org,dana-7\nNoa,n@x.org,noa-99\n")
    far = {"endpoint": "http://192.0.2.7:8101/mcp"}
    first = enter(caller="192.0.2.7", code="dana-7", **far).agent
    assert first is not None
    stranger = enter(caller="192.0.2.8", **far)
    assert (stranger.agent, stranger.legacy_code) == (None, "L003")
    assert stranger.reason == (
        "P01 is registered under this name and address. To register it again, send its auth_token, or its owner's "
        "personal code, or register from its own machine, or ask the instructor to let it in."
    )
    # The personal code of another person proves that it is another agent, even on the same machine.
    assert enter(caller="192.0.2.7", code="noa-99", **far).legacy_code == "L003"
    owner = enter(caller="192.0.2.8", code="dana-7", **far).agent
    machine = enter(caller="192.0.2.7", **far).agent
    assert owner == machine == first
    assert (first.owner and first.owner.name) == "Dana"


def test_an_agent_without_owner_gets_one_when_it_registers_again_with_a_code() -> None:
    early = make.player("Alpha", "fall", port=8101)
    roster.import_csv(league_id="fall", text=FILE)
    assert [agent.pk for agent in roster.without_owner("fall")] == [early.agent.pk]
    assert enter("Alpha").agent == early.agent
    assert early.fresh().owner is None
    assert enter("Alpha", code="dana-7").agent == early.agent
    assert early.fresh().owner == RosterEntry.objects.get(code="dana-7")
    assert roster.remove(league_id="fall", entry_ids=[early.fresh().owner_id]) == 1
    assert early.fresh().owner is None


def test_no_public_answer_shows_people_of_the_roster(client: Client) -> None:
    roster.import_csv(league_id="fall", text="name,email,code\nDana Levi,dana@example.org,dana-7\n")
    answers = [wire.post(client, wire.request("register_player", wire.player_request(code="dana-7", league_id="fall")))]
    paths = ["", "/standings", "/rounds", "/matches", "/agents"]
    answers += [client.get(f"/api/leagues/fall{path}") for path in paths]
    answers += [client.get("/leagues/fall/")]
    assert [answer.status_code for answer in answers] == [200] * len(answers)
    for answer in answers:
        assert re.findall("Dana Levi|dana@example|dana-7", answer.content.decode()) == []


# The page -------------------------------------------------------------------------------------------


def test_import_list_remove_and_download_in_the_admin(desk: Client) -> None:
    empty = desk.get(PAGE)
    assert (empty.status_code, empty.context["people"]) == (200, [])
    upload = SimpleUploadedFile("class.csv", ("\ufeff" + FILE).encode(), content_type="text/csv")
    assert desk.post(PAGE, {"file": upload})["Location"] == PAGE
    enter("Alpha", code="dana-7")
    page = desk.get(PAGE)
    assert [(person.name, len(person.agents.all())) for person in page.context["people"]] == [
        ("Dana Levi", 1),
        ("Noa Cohen", 0),
    ]
    assert page.context["people_with_agent"] == 1
    html = page.content.decode()
    assert (html.count("<code>dana-7</code>"), html.count("P01 <bdi>Alpha</bdi>")) == (1, 1)
    download = desk.get("/admin/matches/league/fall/roster.csv")
    assert download.content.decode() == roster.export_csv("fall")
    assert download["Content-Disposition"] == 'attachment; filename="roster-fall.csv"'
    chosen = [RosterEntry.objects.get(code="dana-7").pk, "junk", "9" * 30]
    assert desk.post(f"{PAGE}remove/", {"person": chosen})["Location"] == PAGE
    assert people() == [("Noa Cohen", "noa@example.org")]


def test_invalid_ids_remove_nobody_from_the_roster(desk: Client) -> None:
    roster.import_csv(league_id="fall", text=FILE)
    answer = desk.post("/admin/matches/league/fall/roster/remove/", {"person": ["9" * 5000, "-1", "x", "9" * 19]})
    assert (answer.status_code, answer["Location"]) == (302, "/admin/matches/league/fall/roster/")
    assert len(people()) == 2


def test_the_page_makes_as_many_queries_with_many_people_as_with_few(desk: Client) -> None:
    counts = []
    for first, last in ((0, 3), (3, 60)):
        lines = "".join(f"Person {n},p{n}@example.org,code-{n}\n" for n in range(first, last))
        roster.import_csv(league_id="fall", text=f"name,email,code\n{lines}")
        for number in range(first, last, 2):
            enter(f"Agent {number}", port=8101 + number, code=f"code-{number}")
        with CaptureQueriesContext(connection) as queries:
            assert len(desk.get(PAGE).context["people"]) == last
        counts.append(len(queries))
    assert counts[0] == counts[1]


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        ({}, "Choose a file, or paste the lines of one."),
        ({"text": "name,email\nDana,nowhere\n"}, "Line 2: the e-mail was “nowhere”; expected an address"),
        ({"text": "<script>"}, "Line 1: these columns are missing: name, email. Seen: &lt;script&gt;."),
    ],
)
def test_a_wrong_import_says_why_on_the_page(desk: Client, form: dict[str, str], sentence: str) -> None:
    page = desk.post(PAGE, form)
    assert (page.status_code, page.content.decode().count(sentence)) == (200, 1)
    assert people() == []


def test_people_are_shown_to_nobody_without_the_permission(client: Client) -> None:
    roster.import_csv(league_id="fall", text=FILE)
    paths = [PAGE, "/admin/matches/league/fall/roster.csv", ADD, f"{PAGE}remove/"]
    assert [client.get(path).status_code for path in paths] == [302] * 4
    viewer = User.objects.create_user("viewer", password="x" * 12, is_staff=True)
    viewer.user_permissions.add(Permission.objects.get(codename="view_league"))
    client.force_login(viewer)
    assert [client.get(path).status_code for path in paths] == [403] * 4
    assert client.post(f"{PAGE}remove/", {"person": [one.pk for one in RosterEntry.objects.all()]}).status_code == 403
    assert len(people()) == 2


@pytest.mark.parametrize("league_id", ["nowhere", "demo", "%00"])
def test_an_unknown_league_has_no_roster_page(desk: Client, league_id: str) -> None:
    assert desk.get(f"/admin/matches/league/{league_id}/roster/").status_code == 404


def test_the_agents_page_shows_how_it_speaks_and_whose_it_is(desk: Client) -> None:
    roster.import_csv(league_id="fall", text=FILE)
    agent = enter("Alpha", code="dana-7", timestamp=None).agent
    assert agent is not None
    Agent.objects.update(spoken={"GAME_OVER": "flat", "GAME_INVITATION": "flat", "CHOOSE_PARITY_CALL": "tools"})
    path = f"/admin/agents_registry/agent/{agent.pk}/change/"
    html = desk.get(path).content.decode()
    for text in (
        "registered by itself",
        "flat: GAME_INVITATION, GAME_OVER; tools: CHOOSE_PARITY_CALL",
        ">timestamp was missing</div>",
        f'<option value="{agent.owner_id}" selected>Dana Levi &lt;dana@example.org&gt;</option>',
    ):
        assert html.count(text) == 1, text
    noa = RosterEntry.objects.get(email="noa@example.org")
    assert desk.post(path, {"display_name": "Alpha", "owner": noa.pk}).status_code == 302
    agent.refresh_from_db()
    assert agent.owner == noa


def test_the_form_of_a_new_roster_offers_one_agent_for_each_person(desk: Client) -> None:
    assert desk.get(PAGE).context["form"]["agents_per_person"].value() == 1
    desk.post(PAGE, {"text": FILE, "agents_per_person": "1"})
    assert League.objects.get(pk="fall").rules.agents_per_person == 1
    # A league that has a roster keeps what it has.
    make.open_league("winter")
    roster.import_csv(league_id="winter", text=FILE)
    winter = PAGE.replace("fall", "winter")
    assert desk.get(winter).context["form"]["agents_per_person"].value() is None
    desk.post(winter, {"text": FILE, "agents_per_person": ""})
    assert League.objects.get(pk="winter").rules.agents_per_person is None
