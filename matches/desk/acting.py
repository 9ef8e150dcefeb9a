"""What a row of the table of actions is (``desk.actions``), and how it is carried out, whoever asks for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib.admin.utils import quote
from django.urls import reverse
from pydantic import BaseModel

from matches.desk.facts import Facts
from matches.view import roles


@dataclass(frozen=True)
class Subject:
    """What an action is done to.

    Attributes:
        name: the end of the name of its address, ``admin:matches_league_NAME``.
        address: where below a league's page its actions are; the name of the action follows.
        back: the end of the name of the page that is shown afterwards.
        in_demo: whether the demo league, which is nobody's, has any.
    """

    name: str
    address: str
    back: str = "change"
    in_demo: bool = True


SITE = Subject("site", "")
LEAGUE = Subject("do", "do/")
MATCH = Subject("match", "match/<slug:match_id>/")
AGENT = Subject("agent", "agent/<int:number>/")
NAME = Subject("name", "name/<int:number>/")
GATEWAY = Subject("gateway", "gateway/")
PLAN = Subject("plan", "plan/")
FREEZE = Subject("freeze", "freeze/")
CORRECTION = Subject("correction", "")
NOTICE = Subject("notice", "notices/<int:number>/", back="notices", in_demo=False)
PERSON = Subject("person", "people/<int:number>/", back="people", in_demo=False)
ROSTER = Subject("roster_entries", "roster/", back="roster", in_demo=False)


@dataclass(frozen=True)
class Click:
    """How an action is offered as a button of the desk.

    Attributes:
        label: what stands on it; may name what it is done to: ``%(match)s``. Empty: the page has its own words.
        offered: whether it makes sense now, by the facts of the league, or by the match that it is for.
        warnings: what to know before, by the same; with any, a second click is asked for.
        yes: the label of that second click.
        form: what is sent with it.
    """

    label: Any
    offered: Callable[[Any], bool] = lambda _about: True
    warnings: Callable[[Any], Sequence[str]] = lambda _about: ()
    yes: Any = ""
    form: type[forms.Form] | None = None


@dataclass(frozen=True)
class Listed:
    """How an action is offered for many rows of a list of the admin at once.

    Attributes:
        name: that of the list's action.
        label: as it stands in the menu.
        done: the sentence that confirms it, or what makes it of the number of rows; the row's own one if empty.
    """

    name: str
    label: Any
    done: Any = ""


@dataclass(frozen=True)
class Endpoint:
    """How a script asks for an action: a POST with the API key.

    Attributes:
        path: below ``/api``.
        name: of the operation.
        text: what the API's document says of it.
        options: the body, which may be left out if it has a default for everything.
        status: of the answer.
        by_hand: whether its view is written out in ``leaguesite.api``, as it shows beforehand what it would do.
        module: of ``leaguesite.api`` where it was first written, in the operation's id: clients are made from that.
    """

    path: str
    name: str
    text: str = ""
    options: type[BaseModel] | None = None
    status: int = 200
    by_hand: bool = False
    module: str = "routes"


@dataclass(frozen=True)
class DeskAction:
    """One thing that an instructor can do.

    Attributes:
        name: the last part of its address; once for each subject.
        subject: what it is done to.
        needs: what a person must be allowed in the league; ``view.roles.ALLOWED`` says which roles are. None where
            there is no league yet: whoever may open one.
        verb: what does it: keyword arguments, one transaction.
        done: the sentence that says it is done, or what makes it of the verb's result and of what it may name.
        click: its button on the desk, if there is one.
        listed: its place in a list of the admin, if it has one.
        api: its endpoint, if it has one.
        signed: makes of the user, or of None for a script with the API key, what the verb is told as ``by``.
    """

    name: str
    subject: Subject
    needs: roles.Action | None
    verb: Callable[..., Any]
    done: Any
    click: Click | None = None
    listed: Listed | None = None
    api: Endpoint | None = None
    signed: Callable[[Any], Any] | None = None

    def sentence(self, result: Any, named: Mapping[str, Any]) -> str:
        """What a person is told afterwards.

        Args:
            result: of the verb; the sentence may name its attributes.
            named: what else it may name.
        """
        return str(self.done(result, named)) if callable(self.done) else str(self.done) % _Named(result, named)


class _Named(dict[str, Any]):
    def __init__(self, result: Any, named: Mapping[str, Any]) -> None:
        super().__init__(named)
        self._result = result

    def __missing__(self, key: str) -> Any:
        return getattr(self._result, key)


def account(user: Any) -> Any:
    """``by`` is the user; None for a script."""
    return user


def name_or(script: str) -> Callable[[Any], str]:
    """``by`` is the name of the user; that of a script is given."""
    return lambda user: script if user is None else str(user.get_username())


def carry_out(action: DeskAction, *, by: Any, **given: Any) -> Any:
    """Do what a row of the table says: every button, form, list and endpoint comes through here.

    Args:
        action: the row.
        by: the user who does it; None for a script with the API key.
        given: what the verb is called with.

    Returns:
        What the verb returns.

    Raises:
        ActionRefused: it cannot be done; a sentence says why.
    """
    if action.signed is not None:
        given["by"] = action.signed(by)
    return action.verb(**given)


@dataclass(frozen=True)
class Button:
    """A button or a link as the desk shows it.

    Attributes:
        name: of the action; empty for a link.
        key: part of its id in the page; empty for one without an id.
        is_next: whether it is what comes next.
        field, value: what is sent with it.
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


def button(facts: Facts, action: DeskAction, *place: object, about: Any = None, **shown: Any) -> Button | None:
    """The button of an action; None where it is not offered, or this person may not.

    Args:
        facts: of the league.
        action: a row with a ``click``.
        place: what its address has besides the league, such as the id of a match.
        about: what ``Click.offered`` is asked about; the facts if None.
        shown: more of the :class:`Button`; ``named`` is what its labels may name.
    """
    click, about = action.click, facts if about is None else about
    if click is None or action.needs not in facts.allowed or not click.offered(about):
        return None
    named = shown.pop("named", {})
    label = shown.pop("label", None) or str(click.label) % named
    found = {"name": action.name, "warnings": click.warnings(about), "yes": str(click.yes) % named}
    where = reverse(f"admin:matches_league_{action.subject.name}", args=[quote(facts.league.pk), *place, action.name])
    return Button(label, where, **{**found, **shown})
