"""The columns of the table of actions (``desk.actions``), and the one function that carries an action out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib.admin.utils import quote
from django.db import transaction
from django.urls import reverse
from pydantic import BaseModel

from matches.desk import busy
from matches.desk.facts import Facts
from matches.desk.shown import Values, carried, refuse_if_changed
from matches.league import audit as audit_log
from matches.league import seasons
from matches.league.errors import HasChanged
from matches.view import audit, roles

MAX_PREPARED = 3
"""How often an action is prepared before the league's row is held for as long as it takes."""


@dataclass(frozen=True)
class Subject:
    """What an action is done to, and where its URLs are.

    Attributes:
        name: the URL name is ``admin:matches_league_NAME``.
        noun: its name in the log of who did what.
        address: the URL path below the league's page; the name of the action follows.
        back: the URL name (without ``admin:matches_league_``) of the page that is shown afterwards.
        in_demo: whether the actions exist in the demo league, which has no instructor.
    """

    name: str
    noun: str
    address: str
    back: str = "change"
    in_demo: bool = True


SITE = Subject("site", "site", "")
LEAGUE = Subject("do", "league", "do/")
MATCH = Subject("match", "match", "match/<slug:match_id>/")
AGENT = Subject("agent", "agent", "agent/<int:number>/")
CROWD = Subject("crowd", "crowd", "crowd/")
NAME = Subject("name", "name", "name/<int:number>/")
GATEWAY = Subject("gateway", "gateway", "gateway/")
PLAN = Subject("plan", "plan", "plan/")
FREEZE = Subject("freeze", "freeze", "freeze/")
SCREEN = Subject("screen", "screen", "screen/", back="remote")
CORRECTION = Subject("correction", "correction", "")
NOTICE = Subject("notice", "notice", "notices/<int:number>/", back="notices", in_demo=False)
ROLE = Subject("person", "role", "people/<int:role_id>/", back="people", in_demo=False)
ROSTER = Subject("roster_entries", "roster", "roster/", back="roster", in_demo=False)


@dataclass(frozen=True)
class Click:
    """How an action is offered as a button of the desk.

    Attributes:
        label: the button's label; may have placeholders such as ``%(match)s``. Empty: the template writes it.
        offered: whether the button is shown, given the facts of the league, or the match for a button of a match.
        warnings: makes sentences, given the same; if there are any, a second click must confirm the first.
        yes: the label of the button for that second click.
        form: validates what is sent with the click.
    """

    label: Any
    offered: Callable[[Any], bool] = lambda _about: True
    warnings: Callable[[Any], Sequence[str]] = lambda _about: ()
    yes: Any = ""
    form: type[forms.Form] | None = None


@dataclass(frozen=True)
class RowPreview:
    """What an action would do to one ticked row.

    Attributes:
        does: sentences that say what it does; they need no confirmation.
        warnings: sentences that the instructor must have read before; they need a second click.
    """

    does: Sequence[str] = ()
    warnings: Sequence[str] = ()


@dataclass(frozen=True)
class Listed:
    """How an action is offered for the ticked rows of an admin list.

    Attributes:
        name: the name of the admin action.
        label: the label in the menu.
        done: the sentence that confirms it, or a function that makes it from the number of rows; empty:
            :attr:`DeskAction.done`.
        preview: makes the :class:`RowPreview` of a ticked row, from the row; of a league, from its :class:`Facts`. If
            that warns of anything for any row, a second click is needed (``desk.ticked``). None: it runs at once.
    """

    name: str
    label: Any
    done: Any = ""
    preview: Callable[[Any], RowPreview] | None = None


@dataclass(frozen=True)
class Endpoint:
    """The API endpoint of an action: a POST with the API key.

    Attributes:
        path: below ``/api``.
        name: the name of the operation.
        text: its description in the OpenAPI document.
        options: the body; it may be omitted if all of its fields have defaults.
        status: the status of the response.
        by_hand: whether the view is written in ``leaguesite.api`` (it offers a preview, or takes a file) instead of
            generated.
        switch: the boolean field of the body that chooses between the two rows that share this endpoint: the first for
            true. Empty: no other row has this endpoint, or its view is written by hand.
        module: the part of the operation id before the name; kept stable, as clients are generated from it.
    """

    path: str
    name: str
    text: str = ""
    options: type[BaseModel] | None = None
    status: int = 200
    by_hand: bool = False
    switch: str = ""
    module: str = "routes"


@dataclass(frozen=True)
class Tool:
    """How an action is offered as a tool of MCP to callers that have the API key (our choice).

    Attributes:
        name: the name of the tool.
        title: for people.
        text: what it does, for people and language models; empty: as the endpoint says.
        options: its arguments besides ``league_id``; None: the body of the endpoint.
        given: makes the arguments of the verb, besides ``league_id``, from those of the tool.
        repeatable: whether calling it twice does no more than calling it once.
        destroys: whether something that counted no longer counts afterwards.
    """

    name: str
    title: str
    text: str = ""
    options: type[BaseModel] | None = None
    given: Callable[[dict[str, Any]], dict[str, Any]] = dict
    repeatable: bool = True
    destroys: bool = False


@dataclass(frozen=True)
class DeskAction:
    """One action of an instructor.

    Attributes:
        name: the last part of its URL; unique for each subject.
        subject: what it is done to.
        needs: the permission that a person needs in the league (``view.roles.ALLOWED``); None if the action makes the
            league, so that nobody can have a permission in it yet.
        verb: the function that does it: keyword arguments, one transaction.
        done: the sentence that confirms it, or a function of the verb's result and the placeholders' values.
        click: its button on the desk, if it has one.
        listed: its entry in an admin list, if it has one.
        api: its API endpoint, if it has one.
        signed: makes the verb's argument ``by`` from the user, or from None for a script with the API key.
        tool: its tool of MCP, if it has one.
        in_archive: whether it can also be done to an archived league; all other actions are refused there.
        shown: the facts (``desk.shown``) that it depends on: where one is no longer as it was shown, it is refused.
        prepare: does the part that takes too long for one transaction, before it; takes what was given, and returns the
            verb's arguments. If the verb raises :class:`HasChanged`, what was prepared does not fit any more: it is
            prepared anew, and the last time the verb does all of it with what was given.
    """

    name: str
    subject: Subject
    needs: roles.Permission | None
    verb: Callable[..., Any]
    done: Any
    click: Click | None = None
    listed: Listed | None = None
    api: Endpoint | None = None
    signed: Callable[[Any], Any] | None = None
    tool: Tool | None = None
    in_archive: bool = False
    shown: tuple[str, ...] = ()
    prepare: Callable[[dict[str, Any]], dict[str, Any]] | None = None

    @property
    def code(self) -> str:
        """The action's name in the log of who did what, such as ``league.start``."""
        return f"{self.subject.noun}.{self.name}"

    def sentence(self, result: Any, named: Mapping[str, Any]) -> str:
        """The sentence that confirms the action.

        Args:
            result: what the verb returned; placeholders may name its attributes.
            named: values of other placeholders.
        """
        if callable(self.done):
            return str(self.done(result, named))
        return str(self.done) % {**getattr(result, "__dict__", {}), **named}


def account(user: Any) -> Any:
    """For :attr:`DeskAction.signed`: ``by`` is the user, or None for a script."""
    return user


def name_or(script: str) -> Callable[[Any], str]:
    """For :attr:`DeskAction.signed`: ``by`` is the user's name, or the given name for a script."""
    return lambda user: script if user is None else str(user.get_username())


def carry_out(action: DeskAction, *, by: Any, shown: Values | None = None, **arguments: Any) -> Any:
    """Carry out an action; every button, form, admin list, API endpoint and tool calls this.

    Who did it, and what it changed, is written to the log of who did what in the same transaction: an action that is
    refused leaves no entry, and one that was carried out leaves one. One that the database rolled back in favour of
    another transaction is tried once more.

    Args:
        action: the action, a row of ``desk.actions``.
        by: the user; None for a script with the API key.
        shown: the facts that it was shown for, by name (``desk.shown``).
        arguments: the arguments of the verb.

    Returns:
        What the verb returns.

    Raises:
        ActionRefused: it was shown for another state, or the verb refused it; the text is a sentence that says why.
    """
    about = audit.named(arguments)
    attempt = partial(_carry_out, action, by, shown, about)
    for prepare in [action.prepare] * MAX_PREPARED if action.prepare is not None else ():
        prepared = prepare(arguments)
        with suppress(HasChanged):
            return busy.retry_once(partial(attempt, prepared))
    return busy.retry_once(partial(attempt, arguments))


def _carry_out(action: DeskAction, by: Any, shown: Values | None, about: Values, arguments: dict[str, Any]) -> Any:
    with transaction.atomic():
        if not action.in_archive:
            seasons.refuse_archived(audit.league_of(about, None), audit.agent_ids_of(about))
        refuse_if_changed(action.shown, about, shown or {})
        target, before = audit.target_of(about), audit.snapshot(about)
        if action.signed is not None:
            arguments["by"] = action.signed(by)
        result = action.verb(**arguments)
        audit_log.note(
            by=by,
            action=action.code,
            league_id=audit.league_of(about, result),
            target=target,
            asked=audit.asked_of(about),
            changes=audit.changes(before, audit.snapshot(about)),
        )
    return result


@dataclass(frozen=True)
class Button:
    """A button or a link on the desk.

    Attributes:
        name: the name of the action; empty for a link.
        key: part of the id of the HTML element; empty: no id.
        warnings: if there are any, the button opens these sentences and a second button labelled ``yes``.
        is_next: whether it is highlighted as the next step.
        field, value: sent with the click.
    """

    label: str
    url: str
    name: str = ""
    key: str = ""
    warnings: Sequence[str] = ()
    yes: str = ""
    is_next: bool = False
    field: str = ""
    value: str = ""


@dataclass(frozen=True)
class Problem:
    """A problem of a league that the instructor should solve.

    Attributes:
        text: what is wrong.
        remedies: buttons and links that help.
        causes: details.
        key: the id of the HTML element, if other parts of the page link to it.
    """

    text: str
    remedies: Sequence[Button] = ()
    causes: Sequence[str] = ()
    key: str = ""


def button(facts: Facts, action: DeskAction, *place: object, about: Any = None, **shown: Any) -> Button | None:
    """Make the button of an action; None if it makes no sense now, or the person lacks the permission.

    Args:
        facts: the facts of the league.
        action: with a ``click``.
        place: what the URL needs besides the league, such as the id of a match.
        about: the argument of ``Click.offered`` and ``Click.warnings``; the facts if None.
        shown: attributes of the :class:`Button`; ``named`` has the values of placeholders in its labels.
    """
    click, about = action.click, facts if about is None else about
    if click is None or action.needs not in facts.allowed or not click.offered(about):
        return None
    if facts.league.archived_at is not None and not action.in_archive:
        return None
    named = shown.pop("named", {})
    label = shown.pop("label", None) or str(click.label) % named
    details = {"name": action.name, "warnings": click.warnings(about), "yes": str(click.yes) % named}
    where = reverse(f"admin:matches_league_{action.subject.name}", args=[quote(facts.league.pk), *place, action.name])
    if action.shown:
        row = about if action.subject == MATCH else facts.league
        if action.subject == AGENT:
            row = next(agent for agent in facts.agents if agent.pk == place[0])
        where += f"?{urlencode(carried(action.shown, row))}"
    return Button(label, where, **{**details, **shown})
