"""The one table of what an instructor can do. A new action is a verb of ``matches.league`` and a row here.

From the rows are made: the buttons of the desk, their addresses and the check of who may, the actions of the admin's
lists, and the endpoints of the API. What the columns mean is said in ``desk.acting``.
"""

from __future__ import annotations

from functools import partial

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from agents_registry import credentials, registration, roster
from league_sdk.protocol.states import LeagueState, MatchState
from matches.checks import asking
from matches.desk import forms, options, verbs
from matches.desk.acting import (
    AGENT,
    CORRECTION,
    FREEZE,
    GATEWAY,
    LEAGUE,
    MATCH,
    NAME,
    NOTICE,
    PERSON,
    PLAN,
    ROSTER,
    SITE,
    Click,
    DeskAction,
    Endpoint,
    Listed,
    Subject,
    account,
    name_or,
)
from matches.desk.facts import Facts, losses
from matches.league import curtain, entry, lifecycle, names, notices, opening, planned, play, staffing
from matches.league.corrections import applying
from matches.papers import importing
from matches.view.roles import Action

RERUN, RUN, CORRECT, EDIT = Action.RERUN, Action.RUN, Action.CORRECT, Action.EDIT

# When a button is offered, and what is to be known before


def _is_frozen(facts: Facts) -> bool:
    return facts.league.frozen_seq is not None


def _goes_on(facts: Facts) -> bool:
    return not facts.over and not facts.league.paused


def _risks(facts: Facts) -> list[str]:
    return losses(facts) if facts.active is None else []


def _ends(facts: Facts) -> list[str]:
    # Nothing brings a stopped league back; only the demo goes by one click.
    return [] if facts.league.demo else [gettext("Open matches are given up and no round can be played any more.")]


def _reveals(_facts: Facts) -> list[str]:
    return [gettext("Everybody sees all results at once, and it cannot be frozen again before another round.")]


# Each subject's rows stand in the order in which they are offered.
# fmt: off
ROWS: tuple[DeskAction, ...] = (
    DeskAction("open", SITE, None, staffing.open_league, "", signed=account,
        api=Endpoint("/leagues", "create_league", "Open a league for registration.", options.NewLeague, status=201)),
    DeskAction("import", SITE, None, importing.import_league, verbs.is_taken_in, signed=account),

    DeskAction("close", LEAGUE, RUN, opening.close_registration,
        _("Registration is closed, the schedule is made."),
        Click(_("Close registration and make the schedule"),
            lambda facts: facts.league.state == LeagueState.REGISTRATION),
        api=Endpoint("/leagues/{league_id}/close", "close_registration",
            "Close registration and make the schedule.")),
    DeskAction("start", LEAGUE, RUN, lifecycle.start_league,
        _("The round is started."),
        Click(_("Start round %(number)d"), _goes_on, _risks, _("Start all the same")),
        Listed("start_next_round", _("Start the next round")),
        Endpoint("/leagues/{league_id}/start", "start_league",
            "Close registration, make the schedule, start the next round; with auto_advance play to the end.",
            options.Start)),
    DeskAction("start_round", LEAGUE, RUN, lifecycle.start_round,
        _("The round is started."),
        api=Endpoint("/leagues/{league_id}/rounds/start", "start_round", "Start the next round.")),
    DeskAction("run_all", LEAGUE, RUN, lifecycle.run_all,
        _("All rounds are played now, one after the other."),
        Click(_("Run all rounds"), _goes_on, _risks, _("Start all the same")),
        Listed("play_all_rounds", _("Run all rounds"))),
    DeskAction("pause", LEAGUE, RUN, lifecycle.pause,
        _("Paused: matches in play finish, no other starts."),
        Click(_("Pause"), _goes_on),
        Listed("pause_leagues", _("Pause")),
        Endpoint("/leagues/{league_id}/pause", "pause",
            "No round and no match starts; matches in play finish and count.")),
    DeskAction("resume", LEAGUE, RUN, lifecycle.resume,
        _("The league goes on."),
        Click(_("Resume"), lambda facts: facts.league.paused),
        Listed("resume_leagues", _("Resume")),
        Endpoint("/leagues/{league_id}/resume", "resume", "Go on after a pause.")),
    DeskAction("check_all", LEAGUE, RERUN, verbs.check_players,
        _("The players are being checked: the results appear on this page."),
        Click(_("Check all players"), lambda facts: not facts.over)),
    DeskAction("check", LEAGUE, RERUN, verbs.ask_all,
        _("The agents are being asked: their answers appear on this page."),
        Click(_("Ask all agents whether they answer"))),
    DeskAction("stop", LEAGUE, RUN, lifecycle.stop,
        _("The league is stopped for good."),
        Click(_("Stop for good"), lambda facts: not facts.over, _ends, _("Yes, stop this league for good")),
        api=Endpoint("/leagues/{league_id}/stop", "stop", "End a league for good.")),
    DeskAction("edit", LEAGUE, EDIT, opening.edit_league, ""),
    DeskAction("add_player", LEAGUE, EDIT, entry.add_by_hand, verbs.is_added),

    DeskAction("release", MATCH, RERUN, play.release,
        _("%(match)s is played again."),
        Click(_("Play again"), lambda match: match.state == MatchState.HELD),
        api=Endpoint("/leagues/{league_id}/matches/{match_id}/release", "release", "Play a held match again.")),
    DeskAction("cancel", MATCH, CORRECT, verbs.cancel,
        _("%(match)s is cancelled and counts nowhere."),
        Click(_("Cancel"),
            warnings=lambda match: [gettext("It counts nowhere, and it is not played again.")],
            yes=_("Yes, cancel %(match)s")),
        api=Endpoint("/leagues/{league_id}/matches/{match_id}/cancel", "cancel",
            "End an open match of the current round so that it counts nowhere.")),

    DeskAction("check", AGENT, RERUN, asking.ask_for_agents, "",
        listed=Listed("check_whole", _("Check now: every message, with a report"), verbs.are_checked)),
    DeskAction("ask", AGENT, RERUN, verbs.ask,
        _("%(agent)s is being asked: its answer appears on this page."),
        Click(""),
        Listed("check_now", _("Ask now whether they answer"), verbs.are_asked)),
    DeskAction("let_judge", AGENT, EDIT, registration.trust,
        _("%(agent)s may judge from now on."),
        Click(_("Let %(id)s judge")),
        Listed("let_judge", _("May judge"), _("These referees may judge from now on.")),
        Endpoint("/referees/{referee_id}/trust", "trust_referee",
            "Let a registered referee judge, or no longer; one of the site, or of the league named.",
            options.Trust)),
    DeskAction("do_not_let_judge", AGENT, EDIT, partial(registration.trust, trusted=False),
        _("These referees are given no further match."),
        listed=Listed("do_not_let_judge", _("May not judge"))),
    DeskAction("let_register_again", AGENT, EDIT, registration.readmit,
        _("Their next registration is taken, wherever it comes from."),
        listed=Listed("let_register_again", _("Let register again without proof, once"))),
    DeskAction("revoke_tokens", AGENT, EDIT, credentials.revoke_tokens,
        _("They have to register again to send anything."),
        listed=Listed("revoke_tokens", _("Revoke all tokens"))),
    DeskAction("bring_back", AGENT, EDIT, registration.bring_back,
        _("%(agent)s plays the rounds that are still to come."),
        Click(_("Bring %(id)s back")),
        Listed("bring_back", _("Bring back after a shutdown"), _("They play the rounds that are still to come."))),
    DeskAction("edit", AGENT, EDIT, registration.save_from_admin, ""),

    DeskAction("let-in", NAME, EDIT, names.let_in, verbs.came_in,
        Click(_("Let “%(name)s” at %(address)s in beside %(other)s"))),
    DeskAction("put-aside", NAME, EDIT, names.put_aside,
        _("It stays out. If it comes again, it is shown here again."),
        Click(_("Keep “%(name)s” at %(address)s out"))),

    DeskAction("mark", GATEWAY, EDIT, verbs.mark,
        _("%(host)s is marked as a gateway: under each path there is a program of its own."),
        Click(""),
        api=Endpoint("/gateways", "mark_gateway",
            "Mark a host as a gateway to many agents, or no longer; matches given out from now on follow it.",
            options.GatewayMark, module="gateways"),
        signed=account),
    DeskAction("take-back", GATEWAY, EDIT, partial(verbs.mark, gateway=False),
        _("%(host)s is no gateway any more: at each port there is one program, whatever the path."),
        Click(_("%(host)s is no gateway")),
        signed=account),

    DeskAction("start", PLAN, RUN, verbs.plan_start,
        _("The start is planned. A pause, or a start by hand before it, calls it off."),
        Click("", form=forms.PlanForm)),
    DeskAction("call-off", PLAN, RUN, planned.call_off, _("The planned start is called off."),
        Click(_("Call it off"), lambda facts: facts.league.starts_at is not None)),
    DeskAction("forget", PLAN, RUN, planned.forget_failure, _("Put aside."),
        Click(_("Put this aside"))),

    DeskAction("plan", FREEZE, RUN, curtain.plan,
        _("The public sees no results of that round and of the ones after it."),
        Click("", form=forms.FreezeForm)),
    DeskAction("call-off", FREEZE, RUN, partial(curtain.plan, from_round=None),
        _("The board will not be frozen."),
        Click(_("Do not freeze"), lambda facts: facts.league.freeze_from is not None and not _is_frozen(facts))),
    DeskAction("unveil", FREEZE, RUN, curtain.unveil, _("One more place is shown."),
        Click(_("Unveil place %(place)s"), _is_frozen)),
    DeskAction("lift", FREEZE, RUN, curtain.lift, _("Everybody sees everything."),
        Click(_("Show everything"), _is_frozen, _reveals, _("Yes, show everything now"))),

    DeskAction("make", CORRECTION, CORRECT, applying.make, _("Correction #%(number)d is made."), signed=name_or("API"),
        api=Endpoint("/leagues/{league_id}/corrections", "correct", by_hand=True)),
    DeskAction("replay", CORRECTION, RERUN, applying.make, _("Correction #%(number)d is made."), signed=name_or("API")),
    DeskAction("undo", CORRECTION, CORRECT, applying.undo, _("Correction #%(number)d is undone."),
        api=Endpoint("/leagues/{league_id}/corrections/{number}/undo", "undo", by_hand=True),
        signed=name_or("API")),

    DeskAction("say", NOTICE, RUN, notices.say, verbs.is_said, signed=name_or("api"),
        api=Endpoint("/leagues/{league_id}/notices", "say",
            "Say something to the room, or to the owner of one player.",
            options.Words, status=201, module="notices")),
    DeskAction("withdraw", NOTICE, RUN, notices.withdraw, _("Withdrawn: nobody is shown it any more."), Click("")),

    DeskAction("give", PERSON, EDIT, staffing.give_role, verbs.is_given),
    DeskAction("take", PERSON, EDIT, staffing.take_role, _("The role is taken away."), Click(""), signed=account),
    DeskAction("import", ROSTER, EDIT, roster.import_csv,
        _("Imported: %(added)d added, %(updated)d changed, %(unchanged)d as they were.")),
    DeskAction("remove", ROSTER, EDIT, roster.remove, verbs.are_removed, Click("")),
)
# fmt: on
ACTIONS: dict[tuple[Subject, str], DeskAction] = {(one.subject, one.name): one for one in ROWS}
"""The same by what it is done to, and name."""


def listed(subject: Subject) -> dict[str, DeskAction]:
    """The actions of a list of the admin, by the name that the list has for each."""
    return {one.listed.name: one for one in ROWS if one.subject == subject and one.listed is not None}
