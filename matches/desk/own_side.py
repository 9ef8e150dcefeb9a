"""READS: what of the site's own is away, so that nobody blames a player or a referee for it."""

from __future__ import annotations

import time

from django.utils.translation import gettext as _

from agents_registry.models import Agent
from league_sdk.protocol.notes import Code, Note
from league_sdk.protocol.states import LeagueState
from matches.desk.acting import Problem
from matches.desk.facts import Facts
from matches.inbox.hub import hub
from matches.league import conductors
from matches.words.notes import sentence_of

SHOWN_S = 10.0
"""How long the desk shows that something of the site was away, after it last was."""


def problems(facts: Facts) -> list[Problem]:
    """What is away, or was a moment ago, and whose checks could not be made because of it."""
    sentences = [*_away(), *_no_conductor(facts), *_hindered(facts)]
    return [Problem(sentence, []) for sentence in sentences]


def _away() -> list[str]:
    """Redis or a web process, as this process sees it. While the database is away there is no desk."""
    what = hub.stalled(time.monotonic() - SHOWN_S)
    if not isinstance(what, Note) or what.code is Code.PROCESS_NEW:
        return []
    text = _("Something of this site is away, or was a moment ago: %(what)s. That is no player's fault.")
    return [text % {"what": sentence_of(what)}]


def _no_conductor(facts: Facts) -> list[str]:
    if facts.league.state != LeagueState.RUNNING or conductors.are_there():
        return []
    return [
        _(
            "No conductor of this site runs, so no match is started and no message is sent: start one "
            "(manage.py conductor)."
        )
    ]


def _hindered(facts: Facts) -> list[str]:
    """Players whose checks could not be made."""
    players: dict[str, list[Agent]] = {}
    for player in facts.players:
        if what := facts.readiness[player.pk].hindered:
            players.setdefault(what, []).append(player)
    text = _(
        "These players could not be checked, because of the site itself: %(players)s. The reason: %(what)s. What was "
        "known of them before stands, and they are checked again by themselves."
    )
    return [
        text % {"players": ", ".join(agent.code for agent in agents), "what": sentence_of(what)}
        for what, agents in players.items()
    ]
