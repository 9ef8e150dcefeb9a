"""Every role at every address of the admin, GET and POST. An address that is missing here fails the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.contrib.auth.models import Permission as AuthPermission
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, reverse

from agents_registry.models import Agent
from matches.desk.acting import AGENT, Subject
from matches.desk.actions import ROWS
from matches.desk.targets import FINDERS
from matches.league import staffing
from matches.models import AuditEntry, Check, League, Match, Role
from matches.view import roles
from matches.view.roles import Permission
from tests import factories as make
from tests.matches.desk.clicking import asks, confirm

pytestmark = pytest.mark.django_db

SUPERUSER = "superuser"
WHO = {
    SUPERUSER: frozenset(Permission),
    "instructor": frozenset(Permission),
    "assistant": frozenset({Permission.WATCH, Permission.RERUN}),
    "instructor of another league": frozenset(),
    "staff without a role": frozenset(),
    "not of the staff": frozenset(),
    "not logged in": frozenset(),
}
"""Everybody who may come, and their permissions in the league ``fall``."""


@dataclass(frozen=True)
class Line:
    """The users that may open an address, and the status that they get; all others are refused.

    Attributes:
        needs: a permission in the league, or a name of ``_BESIDES_THE_LEAGUE``.
        get, post: the status for who may.
        args: the arguments of the address; the id of the league where none are given.
        data: what is posted.
        post_needs: when it differs from ``needs``.
    """

    needs: Permission | str
    get: int
    post: int
    args: Callable[[make.MadeLeague], tuple[object, ...]] = lambda made: (made.league_id,)
    data: dict[str, Any] | None = None
    post_needs: Permission | str | None = None


def _nothing(made: make.MadeLeague) -> tuple[object, ...]:
    return ()


def _player(made: make.MadeLeague) -> tuple[object, ...]:
    return (made.players[0].agent.pk,)


def _with(*more: object) -> Callable[[make.MadeLeague], tuple[object, ...]]:
    return lambda made: (made.league_id, *more)


def _match(made: make.MadeLeague) -> tuple[object, ...]:
    return (Match.objects.filter(league_id="fall").values_list("pk", flat=True)[0],)


def _entry(made: make.MadeLeague) -> tuple[object, ...]:
    at = made.league.created_at
    return (
        AuditEntry.objects.get_or_create(action="league.pause", league_id="fall", via="desk", defaults={"at": at})[
            0
        ].pk,
    )


def _user(made: make.MadeLeague) -> tuple[object, ...]:
    return (User.objects.get(username="staff without a role").pk,)


def _group(made: make.MadeLeague) -> tuple[object, ...]:
    return (Group.objects.get_or_create(name="teachers")[0].pk,)


TARGETS: dict[str, Callable[[make.MadeLeague], tuple[object, ...]]] = {
    "match": lambda made: ("R1M1",),
    "agent": lambda made: (made.players[0].agent.pk,),
    "name": lambda made: (10**9,),
    "notice": lambda made: (1,),
    "person": lambda made: (Role.objects.get(name="assistant").pk,),
}
"""What the address of an action names besides the league, by its subject."""


def _lines(subject: Subject) -> list[Line]:
    """What the table of actions says of the addresses of a subject; and one that is in none of its rows."""

    def args(name: str) -> Callable[[make.MadeLeague], tuple[object, ...]]:
        return lambda made: (made.league_id, *TARGETS.get(subject.name, lambda _made: ())(made), name)

    rows = [one for one in ROWS if one.subject == subject and one.click is not None]
    return [
        *(Line(one.needs or "nobody", 405, 302, args(one.name)) for one in rows),
        Line(Permission.WATCH, 404, 404, args("dance")),
    ]


_CORRECTION = {"kind": "void", "match_id": "R1M1", "reason": "a test"}

LINES: dict[str, list[Line]] = {
    # Buttons: a line for each row of the table of actions
    **{f"matches_league_{subject.name}": _lines(subject) for subject in FINDERS},
    "matches_league_agent": [*_lines(AGENT), Line(Permission.RERUN, 404, 404, _with(10**9, "ask"))],
    # The desk
    "matches_league_change": [Line(Permission.WATCH, 200, 200, post_needs=Permission.EDIT)],
    "matches_league_now": [Line(Permission.WATCH, 200, 200)],
    "matches_league_settings": [Line(Permission.EDIT, 200, 200)],
    "matches_league_roster": [Line(Permission.EDIT, 200, 200)],
    "matches_league_roster_file": [Line(Permission.EDIT, 200, 200)],
    "matches_league_people": [Line(Permission.EDIT, 200, 200)],
    "matches_league_compatibility": [Line("watches", 200, 200, _nothing)],
    "matches_league_compatibility_file": [Line("watches", 200, 200, _nothing)],
    "matches_league_add_player": [Line("edits", 200, 200, _nothing)],
    # Corrections
    "matches_league_corrections": [Line(Permission.WATCH, 200, 200)],
    "matches_league_correct": [Line(Permission.RERUN, 200, 200, post_needs=Permission.CORRECT, data=_CORRECTION)],
    "matches_league_correction_undo": [Line(Permission.CORRECT, 404, 404, _with(1))],
    # Announcements and papers
    "matches_league_notices": [Line(Permission.RUN, 200, 200)],
    "matches_league_remote": [Line(Permission.RUN, 200, 200)],
    "matches_league_papers": [Line(Permission.EDIT, 200, 200)],
    "matches_league_evidence": [Line(Permission.EDIT, 200, 200)],
    "matches_league_paper": [
        Line(Permission.EDIT, 200, 200, _with("standings.csv")),
        Line(Permission.EDIT, 404, 404, _with("passwords.csv")),
    ],
    "matches_league_season": [Line(Permission.EDIT, 200, 200)],
    "matches_league_import": [Line("adds", 200, 200, _nothing)],
    "matches_league_next_id": [Line("adds", 200, 200, _nothing)],
    # What the admin brings along
    "matches_league_changelist": [Line("opens", 200, 200, _nothing)],
    "matches_league_add": [Line("adds", 200, 200, _nothing)],
    "matches_league_history": [Line(Permission.WATCH, 200, 200)],
    "matches_league_delete": [Line("nobody", 0, 0)],
    "matches_match_changelist": [Line("watches", 200, 200, _nothing)],
    "matches_match_add": [Line("nobody", 0, 0, _nothing)],
    "matches_match_history": [Line(Permission.WATCH, 200, 200, _match)],
    "matches_match_delete": [Line("nobody", 0, 0, _match)],
    "matches_match_change": [Line(Permission.WATCH, 200, 0, _match, post_needs="nobody")],
    "matches_auditentry_changelist": [Line("edits", 200, 200, _nothing)],
    "matches_auditentry_add": [Line("nobody", 0, 0, _nothing)],
    "matches_auditentry_history": [Line(Permission.EDIT, 200, 200, _entry)],
    "matches_auditentry_delete": [Line("nobody", 0, 0, _entry)],
    "matches_auditentry_change": [Line(Permission.EDIT, 200, 0, _entry, post_needs="nobody")],
    "matches_agent_check": [Line(Permission.RERUN, 405, 302, _player)],
    "agents_registry_agent_changelist": [Line("watches", 200, 200, _nothing)],
    "agents_registry_agent_add": [Line("edits", 302, 302, _nothing)],
    "agents_registry_agent_history": [Line(Permission.WATCH, 200, 200, _player)],
    "agents_registry_agent_delete": [Line("nobody", 0, 0, _player)],
    "agents_registry_agent_change": [Line(Permission.WATCH, 200, 200, _player, post_needs=Permission.EDIT)],
    # Users
    "auth_user_changelist": [Line("superuser", 200, 200, _nothing)],
    "auth_user_add": [Line("superuser", 200, 200, _nothing)],
    "auth_user_history": [Line("superuser", 200, 200, _user)],
    "auth_user_delete": [Line("superuser", 200, 302, _user, {"post": "yes"})],
    "auth_user_change": [Line("superuser", 200, 200, _user)],
    "auth_user_password_change": [Line("superuser", 200, 200, _user)],
    "auth_group_changelist": [Line("superuser", 200, 200, _nothing)],
    "auth_group_add": [Line("superuser", 200, 200, _nothing)],
    "auth_group_history": [Line("superuser", 200, 200, _group)],
    "auth_group_delete": [Line("superuser", 200, 302, _group, {"post": "yes"})],
    "auth_group_change": [Line("superuser", 200, 200, _group)],
}

_BESIDES_THE_LEAGUE = {
    "nobody": frozenset(),
    "superuser": frozenset({SUPERUSER}),
    "adds": frozenset({SUPERUSER, "instructor", "instructor of another league"}),
    "edits": frozenset({SUPERUSER, "instructor", "instructor of another league"}),
    "watches": frozenset({SUPERUSER, "instructor", "assistant", "instructor of another league"}),
    "opens": frozenset({SUPERUSER, "instructor", "assistant", "instructor of another league"}),
}
"""Needs that are no action in the league, and who meets them."""

EVERYBODY = {"index", "login", "logout", "password_change", "password_change_done", "jsi18n", "app_list", "search"}
"""Nothing of a league is behind these, or only what their lists above show."""
SHOWS_NOTHING = {"autocomplete", "view_on_site"}
"""No field of ours completes itself, and no row has an address of its own on the site."""


@pytest.fixture
def made() -> make.MadeLeague:
    """A league in its first round, and another one, with everybody in their roles."""
    made = make.running_league("fall", players=4)
    make.open_league("winter")
    adding = AuthPermission.objects.get(codename="add_league")
    for who in WHO:
        if who == SUPERUSER:
            User.objects.create_superuser(who, password="x" * 12)
        elif who != "not logged in":
            user = User.objects.create_user(who, password="x" * 12, is_staff=who != "not of the staff")
            if who.startswith("instructor"):
                user.user_permissions.add(adding)
    for league_id, who, name in (
        ("fall", "instructor", "instructor"),
        ("fall", "assistant", "assistant"),
        ("winter", "instructor of another league", "instructor"),
    ):
        staffing.give_role(league_id=league_id, username=who, name=name)
    return made


def browser_of(who: str) -> Client:
    client = Client()
    if who != "not logged in":
        client.force_login(User.objects.get(username=who))
    return client


def expected(who: str, needs: Permission | str, status: int) -> int:
    if who in ("not logged in", "not of the staff"):
        return 302  # to the login
    may = needs in WHO[who] if isinstance(needs, Permission) else who in _BESIDES_THE_LEAGUE[needs]
    return status if may else 403


def addresses(patterns: Any) -> Iterator[URLPattern]:
    """Every pattern with a name, however deep."""
    for one in patterns:
        if isinstance(one, URLResolver):
            yield from addresses(one.url_patterns)
        elif one.name:
            yield one


def test_every_address_of_the_admin_is_covered_here() -> None:
    names = {one.name for one in addresses(admin.site.get_urls())}
    assert names - EVERYBODY - SHOWS_NOTHING == set(LINES)


def test_each_action_needs_the_expected_permission() -> None:
    """The table of actions once more, by what one must be allowed: a slip in a row shows here."""
    verbs_by_permission: dict[str, set[str]] = {}
    for one in ROWS:
        if one.click is not None:
            verbs_by_permission.setdefault(str(one.needs), set()).add(f"{one.subject.name} {one.name}")
    assert verbs_by_permission == {
        "rerun": {"do check_all", "do check", "match release", "agent ask"},
        "run": {f"do {name}" for name in ("close", "start", "run_all", "run_one_by_one", "pause", "resume", "stop")}
        | {f"plan {name}" for name in ("start", "call-off", "forget")}
        | {f"freeze {name}" for name in ("plan", "call-off", "unveil", "lift")}
        | {f"screen {name}" for name in ("previous", "next", "hold", "release", "feature", "automatic")}
        | {"notice withdraw"},
        "correct": {"match cancel"},
        "edit": {
            "do archive",
            "do take_back",
            "agent let_judge",
            "agent bring_back",
            "agent revoke_tokens",
            "name let-in",
            "name put-aside",
            "crowd let-in",
            "gateway mark",
        }
        | {"gateway take-back", "person take", "roster_entries remove"},
    }


# `make test` tries these two; of the others each may do everything in the league, or nothing anywhere.
SOME_RIGHTS = ("assistant", "instructor of another league")


@pytest.mark.parametrize(
    "who", [pytest.param(who, marks=() if who in SOME_RIGHTS else pytest.mark.exhaustive) for who in WHO]
)
@pytest.mark.parametrize("method", ["GET", pytest.param("POST", marks=pytest.mark.long)])
def test_every_role_at_every_address(made: make.MadeLeague, who: str, method: str) -> None:
    wrong, client = [], browser_of(who)
    for name, lines in LINES.items():
        for line in lines:
            url = reverse(f"admin:{name}", args=line.args(made))
            if method == "GET":
                needs, status, seen = line.needs, line.get, _status(client.get(url))
            else:
                needs, status = line.post_needs or line.needs, line.post
                seen = _posted(client, url, line)
            if seen != expected(who, needs, status):
                wrong.append((name, url, seen, expected(who, needs, status)))
    assert wrong == []


def _status(answer: Any) -> int:
    if answer.streaming:
        b"".join(answer.streaming_content)  # which closes the file
    return int(answer.status_code)


def _posted(client: Client, url: str, line: Line) -> int:
    """The status of a POST that leaves everything as it was."""
    point = transaction.savepoint()
    try:
        return _status(client.post(url, line.data or {}))
    finally:
        transaction.savepoint_rollback(point)


# Rows and their lists -----------------------------------------------------------------------------


def rows(client: Client, page: str) -> list[str]:
    """The objects that a list of the admin shows."""
    return sorted(str(one) for one in client.get(f"/admin/{page}/").context["cl"].result_list)


@pytest.mark.parametrize(
    ("who", "leagues", "agents"),
    [
        (SUPERUSER, ["Fall", "Winter"], ["P01", "P02", "P03", "P04", "REF01", "W01"]),
        ("instructor", ["Fall"], ["P01", "P02", "P03", "P04", "REF01"]),
        ("assistant", ["Fall"], ["P01", "P02", "P03", "P04", "REF01"]),
        ("instructor of another league", ["Winter"], ["REF01", "W01"]),
    ],
)
def test_lists_of_the_admin_show_only_ones_own_leagues(
    made: make.MadeLeague, who: str, leagues: list[str], agents: list[str]
) -> None:
    other = make.player("Other", "winter", port=8199).agent
    Agent.objects.filter(pk=other.pk).update(code="W01")
    client = browser_of(who)
    assert rows(client, "matches/league") == leagues
    assert [line.split(" ")[0] for line in rows(client, "agents_registry/agent")] == agents
    count = 6 if "Fall" in leagues else 0
    assert len(rows(client, "matches/match")) == count
    # Nor is the page of another league's agent opened.
    status = client.get(f"/admin/agents_registry/agent/{other.pk}/change/").status_code
    assert status == (200 if "W01" in agents else 403)


def act(client: Client, action: str, *agents: Agent, **more: Any) -> int:
    data = {"action": action, "_selected_action": [agent.pk for agent in agents], **more}
    answer = client.post("/admin/agents_registry/agent/", data)
    # A page that asks first is confirmed: the permission must also be checked at the second click.
    return (confirm(client, answer) if asks(answer) else answer).status_code


def test_actions_of_the_list_of_agents_reach_no_further_than_the_role(made: make.MadeLeague) -> None:
    own, site = made.players[0].agent, made.referees[0].agent
    other = make.player("Other", "winter", port=8199).agent
    instructor, assistant = browser_of("instructor"), browser_of("assistant")
    assert [act(one, "check_now", own, site) for one in (instructor, assistant)] == [302, 302]
    assert act(instructor, "let_register_again", own) == 302
    assert Agent.objects.get(pk=own.pk).readmit is True
    assert act(instructor, "do_not_let_judge", site) == 403
    act(instructor, "revoke_tokens", other)
    act(instructor, "revoke_tokens", own, select_across="true")
    left = {agent.pk: agent.tokens.exists() for agent in Agent.objects.all()}
    assert (left[other.pk], left[site.pk], Agent.objects.get(pk=site.pk).trusted) == (True, True, True)


def test_an_assistant_takes_no_token_away(made: make.MadeLeague) -> None:
    own = made.players[0].agent
    assistant = browser_of("assistant")
    act(assistant, "revoke_tokens", own)
    act(assistant, "revoke_tokens", own, index=0)
    # The list does not offer the action to an assistant; here it is sent beside one that is offered.
    both = {"action": ["revoke_tokens", "check_now"], "_selected_action": [own.pk], "index": 0}
    assistant.post("/admin/agents_registry/agent/", both)
    assert own.tokens.exists()


def test_actions_of_the_list_of_leagues_need_the_role_in_each(made: make.MadeLeague) -> None:
    def pause(who: str, *ids: str) -> int:
        data = {"action": "pause_leagues", "_selected_action": list(ids)}
        return browser_of(who).post("/admin/matches/league/", data).status_code

    staffing.give_role(league_id="winter", username="instructor", name="assistant")
    assert pause("instructor", "fall", "winter") == 403
    pause("assistant", "fall")
    pause("instructor of another league", "fall")
    assert list(League.objects.filter(paused=True)) == []
    assert pause("instructor", "fall") == 302
    assert [league.pk for league in League.objects.filter(paused=True)] == ["fall"]


def test_only_a_superuser_changes_a_referee_of_the_site(made: make.MadeLeague) -> None:
    site = made.referees[0].agent
    url = reverse("admin:matches_league_agent", args=["fall", site.pk, "let_judge"])
    assert [browser_of(who).post(url).status_code for who in ("instructor", SUPERUSER)] == [403, 302]
    change = f"/admin/agents_registry/agent/{site.pk}/change/"
    assert [browser_of(who).get(change).status_code for who in ("assistant", "instructor")] == [200, 200]
    assert browser_of("instructor").post(change, {"display_name": "Mine"}).status_code == 403


def test_assistants_do_not_see_who_owns_an_agent(made: make.MadeLeague) -> None:
    change = f"/admin/agents_registry/agent/{made.players[0].agent.pk}/change/"
    shown = {who: "owner" in browser_of(who).get(change).context["adminform"].form.fields
             or "field-owner" in browser_of(who).get(change).content.decode()
             for who in ("instructor", "assistant")}  # fmt: skip
    assert shown == {"instructor": True, "assistant": False}


def test_checks_are_asked_for_within_the_role(made: make.MadeLeague) -> None:
    other = make.player("Other", "winter", port=8199).agent
    client = browser_of("assistant")
    assert act(client, "check_whole", made.players[0].agent) == 302
    assert client.post(f"/admin/agents_registry/agent/{other.pk}/check/").status_code == 403
    assert [check.agent_id for check in Check.objects.all()] == [made.players[0].agent.pk]


def test_a_role_without_staff_status_allows_nothing(made: make.MadeLeague) -> None:
    User.objects.filter(username="instructor").update(is_staff=False)
    left = User.objects.get(username="instructor")
    assert (roles.allowed(left, "fall"), roles.leagues(left, Permission.WATCH).count()) == (frozenset(), 0)
