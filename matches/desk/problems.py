"""READS: the problems of a league, each with its causes and remedies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from urllib.parse import urlencode

from django.contrib.admin.utils import quote
from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents_registry.isolating import isolated
from agents_registry.models import Agent, Kind
from league_sdk.ledger.kinds import EventKind
from league_sdk.protocol.states import AgentState, LeagueState, MatchState, RoundState
from matches.desk import names, own_side, shared
from matches.desk.acting import AGENT, CROWD, LEAGUE, PLAN, Button, Problem, button
from matches.desk.actions import ACTIONS
from matches.desk.facts import Facts
from matches.league import outbox, refusing
from matches.league.corrections import plans
from matches.models import Event, Match
from matches.view import reach
from matches.view.roles import Permission
from matches.words import refusals
from matches.words.match import reason_lost
from matches.words.notes import sentence_of
from storage import clock

CONTEST_SHOWN = timedelta(minutes=5)
"""How long the desk shows that two programs took an agent's messages from each other, after they last did."""
MAX_REPLAY_LINKS = 3
"""How many links to the replay form stand beside a problem; the form offers the other matches, too."""


def problems(facts: Facts) -> list[Problem]:
    """The problems of a league now, the worst first; none when it is over."""
    current = [
        *own_side.problems(facts),
        *_failed_start(facts),
        *_paused_itself(facts),
        *_no_referee(facts),
        *_held(facts),
        *_not_excused(facts),
        *_too_few(facts),
        *_crowded(facts),
        *_silent(facts),
        *_not_ready(facts),
        *_lost_referees(facts),
        *_cut_off(facts),
        *_contested(facts),
        *_shut_down(facts),
        *names.problems(facts),
        *shared.problems(facts),
    ]
    return [] if facts.over else current


def _problem(text: str, *remedies: Button | None, causes: Sequence[str] = ()) -> Problem:
    return Problem(text, [remedy for remedy in remedies if remedy is not None], causes)


def _link(facts: Facts, needs: Permission, label: str, name: str, *args: object) -> Button | None:
    return Button(label, reverse(name, args=args)) if needs in facts.allowed else None


def _ask_all(facts: Facts) -> Button | None:
    return button(facts, ACTIONS[LEAGUE, "check"])


def _failed_start(facts: Facts) -> list[Problem]:
    kinds = (EventKind.START_FAILED, EventKind.START_PLANNED, EventKind.START_CALLED_OFF, EventKind.ROUND_STARTED)
    last = Event.objects.filter(league=facts.league, kind__in=kinds).order_by("-seq").first()
    if last is None or last.kind != EventKind.START_FAILED:
        return []
    at = datetime.fromisoformat(last.data["at"])
    text = _("The start that was planned for %(time)s UTC was refused: %(why)s") % {
        "time": f"{at:%Y-%m-%d %H:%M}",
        "why": refusals.translated(last.data["why"]),
    }
    now = button(facts, ACTIONS[LEAGUE, "start"], label=_("Start now"), warnings=())
    return [_problem(text, now, button(facts, ACTIONS[PLAN, "forget"]))]


def _paused_itself(facts: Facts) -> list[Problem]:
    """Many players have gone in one round, and the league waits (the setting pause_if_absent)."""
    if facts.own_pause is None:
        return []
    text = _(
        "%(absent)s of %(called)s players did not answer in round %(round_id)s, so the league has paused itself; its "
        "results stand. Ask whether they answer, then go on with “Start round %(next)d”, with or without them."
    )
    coming = facts.coming.number if facts.coming is not None else 0
    return [_problem(text % {**facts.own_pause.data, "next": coming}, _ask_all(facts))]


def _no_referee(facts: Facts) -> list[Problem]:
    if facts.available_referees:
        return []
    text = _("No referee may judge %(game)s now: start one (manage.py referee), or tick “may judge” at one below.")
    untrusted = [agent for agent in facts.agents if agent.kind == Kind.REFEREE and not agent.trusted]
    own = [agent for agent in untrusted if agent.league_id == facts.league.pk]
    trusting = [_to_agent(facts, "let_judge", agent) for agent in own]
    trusted = [agent for agent in facts.agents if agent.kind == Kind.REFEREE and agent.trusted]
    if any(agent.problem for agent in trusted):
        text = _("Referees are registered and may judge %(game)s, but none of them can be given a match now.")
    elif trusted:
        text = _(
            "Referees are registered and may judge %(game)s, but none was heard of lately. They may have ended, or "
            "something between them and this site is away: a proxy, a web process or the network."
        )
    text %= {"game": isolated(facts.league.game_type)}
    return [_problem(text, _ask_all(facts), *trusting, causes=_problems_of_referees(facts, trusted))]


def _problems_of_referees(facts: Facts, referees: Iterable[Agent]) -> list[str]:
    return [f"{_whereabouts(facts, one.code)}: {sentence_of(one.problem)}" for one in referees if one.problem]


def _whereabouts(facts: Facts, referee_id: str) -> str:
    """A referee by its id, with its address if it is still registered."""
    agents = (one for one in facts.agents if one.kind == Kind.REFEREE and one.code == referee_id)
    return next((f"{one.code} ({isolated(one.endpoint)})" for one in agents), referee_id)


def _to_agent(facts: Facts, name: str, agent: Agent) -> Button | None:
    return button(facts, ACTIONS[AGENT, name], agent.pk, key=f"{name}-{agent.pk}", named={"id": agent.code})


def _held(facts: Facts) -> list[Problem]:
    held = [match for match in facts.matches if match.state == MatchState.HELD]
    if not held:
        return []
    text = ngettext(
        "%(count)d match is held after three lost attempts. It is tried again by itself, or decide now.",
        "%(count)d matches are held after three lost attempts. They are tried again by themselves, or decide now.",
        len(held),
    ) % {"count": len(held)}
    why = _why_lost(facts, [match.match_id for match in held])
    to_matches = Button(_("Decide"), "#desk-held")
    return [_problem(text, to_matches, causes=[f"{match.match_id}: {why.get(match.match_id, '')}" for match in held])]


def _not_excused(facts: Facts) -> list[Problem]:
    """Matches of the last two rounds in which the referee's own machine failed more often than is excused.

    Ruling, section 12.
    """
    begun = [round_.pk for round_ in facts.rounds if round_.state != RoundState.PENDING][-2:]
    rows = Match.objects.filter(league=facts.league, round__in=begun).exclude(excused=[]).order_by("pk")
    evidence: dict[str, list[str]] = {}
    finished = []
    for match_id, state, excused in rows.values_list("match_id", "state", "excused"):
        counted = [
            f"{match_id}: {one.get('player_id', '')}, {one.get('message_type', '')}: {one.get('evidence', '')}"
            for one in excused
            if one.get("counted") == "yes"
        ]
        if counted:
            evidence[match_id] = counted
            finished += [match_id] if state == MatchState.FINISHED else []
    if not evidence:
        return []
    text = ngettext(
        "In %(count)d match the referee's own machine failed once more than is excused, and that try counted. "
        "Look at the evidence: you may have it played again.",
        "In %(count)d matches the referee's own machine failed once more than is excused, and those tries counted. "
        "Look at the evidence: you may have them played again.",
        len(evidence),
    ) % {"count": len(evidence)}
    again = [_play_again(facts, match_id) for match_id in finished[:MAX_REPLAY_LINKS]]
    return [_problem(text, *again, causes=[cause for causes in evidence.values() for cause in causes])]


def _play_again(facts: Facts, match_id: str) -> Button | None:
    """A link to the form that previews what a replay of the match would change."""
    label = _("Play %(match)s again…") % {"match": match_id}
    link = _link(facts, Permission.RERUN, label, "admin:matches_league_correct", quote(facts.league.pk))
    query = urlencode({"kind": plans.REPLAY, "match": match_id})
    return link and replace(link, url=f"{link.url}?{query}")


def _why_lost(facts: Facts, match_ids: list[str]) -> dict[str, str]:
    """Which referee lost each match last, where it is called, and why, by match id."""
    condition = Q(data__match_id__in=match_ids, kind=EventKind.MATCH_HELD)
    events = Event.objects.filter(condition, league=facts.league).order_by("seq")
    lost = [(one.data["match_id"], one.data["referee_id"], reason_lost(one.data)) for one in events]
    return {match_id: f"{_whereabouts(facts, referee_id)}: {reason}" for match_id, referee_id, reason in lost}


def _too_few(facts: Facts) -> list[Problem]:
    min_players, registered = facts.league.rules.min_players, len(facts.players)
    if facts.league.state != LeagueState.REGISTRATION or registered >= min_players or facts.league.demo:
        return []
    text = _("Registered: %(count)d; needed: at least %(min)d. Give your students the address of this league.")
    add = _link(facts, Permission.EDIT, _("Add an agent by hand"), "admin:matches_league_add_player")
    if add is not None:
        add = replace(add, url=f"{add.url}?league={facts.league.pk}")
    join_link = _link(facts, Permission.WATCH, _("Join page for students"), "join", facts.league.pk)
    return [_problem(text % {"count": registered, "min": min_players}, join_link, add)]


def _crowded(facts: Facts) -> list[Problem]:
    """Addresses from which so many players came that no more are taken: one school, or one laptop."""
    addresses = refusing.crowded(facts.league) if facts.league.state == LeagueState.REGISTRATION else ()
    text = _("%(max)d players of this league came from %(address)s; more are refused until you allow it.")
    return [
        _problem(
            text
            % {"max": refusing.MAX_FROM_ONE_ADDRESS, "address": isolated(address or _("addresses that nobody knows"))},
            button(facts, ACTIONS[CROWD, "let-in"], field="address", value=address),
        )
        for address in addresses
    ]


def _silent(facts: Facts) -> list[Problem]:
    if not facts.silent:
        return []
    text = _("These players did not answer the last time: %(players)s. They would lose by starting now.")
    if facts.active is not None:
        text = _("These players did not answer the last time: %(players)s. They lose what they do not answer in time.")
    return [_problem(text % {"players": _codes(facts.silent)}, _ask_all(facts), causes=_last_problems(facts.silent))]


def _codes(agents: Iterable[Agent]) -> str:
    return ", ".join(agent.code for agent in agents)


def _last_problems(agents: Iterable[Agent]) -> list[str]:
    # A problem is stored as a code with arguments, so that each reader gets the sentence in their own language.
    return [f"{one.code} {isolated(one.display_name)}: {sentence_of(one.problem)}" for one in agents if one.problem]


def _not_ready(facts: Facts) -> list[Problem]:
    text = _("These players have not passed the check and would be left out by closing now: %(players)s.")
    players = facts.waiting_for_check
    if not facts.league.rules.require_check:
        text = _("According to their checks, these players would lose every match: %(players)s.")
        players = facts.failing
    if not players:
        return []
    again = button(facts, ACTIONS[LEAGUE, "check_all"])
    causes = [f"{one.code}: {facts.readiness[one.pk].why}" for one in facts.players if facts.readiness[one.pk].why]
    return [_problem(text % {"players": ", ".join(players)}, again, causes=causes)]


def _lost_referees(facts: Facts) -> list[Problem]:
    """Trusted referees that are suspended or passed over, while others are available."""
    trusted = [agent for agent in facts.agents if agent.kind == Kind.REFEREE and agent.trusted]
    passed_over = [agent for agent in trusted if agent.silences >= outbox.MAX_LOST_MATCHES]
    lost = [agent for agent in trusted if agent.state == AgentState.SUSPENDED and agent not in passed_over]
    if not facts.available_referees:
        return []
    found = []
    if lost:
        text = _("These referees are given no match until they are heard of again: %(referees)s.")
        causes = _problems_of_referees(facts, lost)
        found.append(_problem(text % {"referees": _codes(lost)}, _ask_all(facts), causes=causes))
    if passed_over:
        text = _(
            "These students' referees lost or handed back several matches, and are given none while there is "
            "another referee: %(referees)s."
        )
        again = [_to_agent(facts, "let_judge", agent) for agent in passed_over]
        found.append(_problem(text % {"referees": _codes(passed_over)}, *again))
    return found


def _cut_off(facts: Facts) -> list[Problem]:
    """Referees that do not reach players whom others reached: the way from their machine is broken (decision 41)."""
    text = _(
        "%(referee)s could not reach %(players)s, who answered another referee: nobody lost by it. It is given no "
        "match with them for two minutes. Look at the network of its machine."
    )
    codes = {player.pk: player.code for player in facts.players}
    found = []
    for referee_pk, players in reach.not_reached().items():
        named = sorted(codes[pk] for pk in players if pk in codes)
        referee = next((one for one in facts.agents if one.pk == referee_pk), None)
        if named and referee is not None:
            whereabouts = _whereabouts(facts, referee.code)
            found.append(_problem(text % {"referee": whereabouts, "players": ", ".join(named)}, _ask_all(facts)))
    return found


def _contested(facts: Facts) -> list[Problem]:
    """Agents whose messages two programs take from each other: one of them may be somebody else's."""
    since = clock.now() - CONTEST_SHOWN
    contested = [agent for agent in facts.agents if agent.contested_at is not None and agent.contested_at > since]
    if not contested:
        return []
    text = _(
        "Several programs fetch the messages of these agents, each with the agent's auth_token: %(agents)s. Only one "
        "may run. If the owner started only one, revoke its tokens and tick “let it register again” for the agent."
    )
    revoke = [_to_agent(facts, "revoke_tokens", agent) for agent in contested]
    return [_problem(text % {"agents": _codes(contested)}, *revoke)]


def _shut_down(facts: Facts) -> list[Problem]:
    not_playing = {*facts.league.left_out, *facts.league.out}
    shut_down = [
        player for player in facts.players if player.state == AgentState.SHUTDOWN and player.code not in not_playing
    ]
    if not shut_down:
        return []
    text = _("These players are shut down after too many silences and are not called any more: %(players)s.")
    back = [_to_agent(facts, "bring_back", player) for player in shut_down]
    return [_problem(text % {"players": _codes(shut_down)}, *back)]
