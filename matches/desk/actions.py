"""The table of everything an instructor can do. A new action is a verb of ``matches.league`` and a row here.

The rows generate the buttons of the desk with their URLs and permission checks, the actions of the admin lists, the
endpoints of the API, and the instructor's tools of MCP. ``desk.acting`` documents the columns.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from agents_registry.registering import credentials, registration
from agents_registry.rosters import roster
from league_sdk.protocol.states import LeagueState, MatchState
from matches.checks import asking
from matches.desk import forms, options, previews, verbs
from matches.desk.acting import (
    AGENT,
    CORRECTION,
    CROWD,
    FREEZE,
    GATEWAY,
    LEAGUE,
    MATCH,
    NAME,
    NOTICE,
    PLAN,
    ROLE,
    ROSTER,
    SCREEN,
    SITE,
    Click,
    DeskAction,
    Endpoint,
    Listed,
    Subject,
    Tool,
    account,
    name_or,
)
from matches.desk.facts import Facts, closing_warnings, start_warnings
from matches.league import (
    entry,
    freeze,
    lifecycle,
    names,
    notices,
    opening,
    planned,
    play,
    refusing,
    screens,
    seasons,
    series,
    staffing,
)
from matches.league.corrections import applying, plans
from matches.papers import importing
from matches.view.roles import Permission

RERUN, RUN, CORRECT, EDIT = Permission.RERUN, Permission.RUN, Permission.CORRECT, Permission.EDIT

# Endpoints that two actions share

_CORRECT = Endpoint("/leagues/{league_id}/corrections", "correct", by_hand=True)
_AGENT = "/leagues/{league_id}/agents/{agent_id}"
_TRUST = Endpoint(
    "/referees/{referee_id}/trust",
    "trust_referee",
    "Let a registered referee judge, or no longer, by its id, which no other referee of the site has.",
    options.Trust,
    switch="trusted",
)
_MARK = Endpoint(
    "/gateways",
    "mark_gateway",
    "Mark a host as a gateway to many agents, or no longer; matches given out from now on follow it.",
    options.GatewayMark,
    switch="gateway",
    module="gateways",
)

# When a button is offered, and which warnings it has


def _is_frozen(facts: Facts) -> bool:
    return facts.league.frozen_seq is not None


def _may_play_on(facts: Facts) -> bool:
    return not facts.over and (not facts.league.paused or facts.own_pause is not None)


def _can_be_archived(facts: Facts) -> bool:
    return facts.over and not facts.league.demo and facts.league.archived_at is None


def _warnings_of_start(facts: Facts) -> list[str]:
    return start_warnings(facts) if facts.active is None else []


def _warnings_of_stop(facts: Facts) -> list[str]:
    # A stopped league cannot be resumed. The demo league may be stopped without a confirmation.
    if facts.league.demo:
        return []
    sentences = [gettext("Open matches are given up and no round can be played any more.")]
    if not facts.unplayed:
        return sentences
    unplayed = ngettext(
        "%(count)d match that is not finished will never be played (in the present round: %(now)d).",
        "%(count)d matches that are not finished will never be played (in the present round: %(now)d).",
        facts.unplayed,
    ) % {"count": facts.unplayed, "now": len(facts.matches)}
    table_stays = gettext("The table stays as it is after the finished matches, and nobody can resume the league.")
    return [*sentences, unplayed, table_stays]


def _ready_to_correct(given: dict[str, Any]) -> dict[str, Any]:
    return given | {"ready": applying.ready_to_make(**given)}


def _replay_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"wish": plans.Wish(plans.REPLAY, arguments["reason"], match_id=arguments["match_id"])}


def _warnings_of_lifting(_facts: Facts) -> list[str]:
    return [gettext("Everybody sees all results at once, and it cannot be frozen again before another round.")]


# The rows of each subject are in the order of their buttons.
# fmt: off
ROWS: tuple[DeskAction, ...] = (
    DeskAction("open", SITE, None, staffing.open_league, "", signed=account,
        api=Endpoint("/leagues", "create_league", "Open a league for registration.", options.NewLeague, status=201),
        tool=Tool("create_league", "Create a league")),
    DeskAction("import", SITE, None, importing.publish, verbs.import_sentence, signed=account,
        prepare=lambda given: {"staged": importing.stage(**given)},
        api=Endpoint("/import", "import_league", by_hand=True)),

    DeskAction("close", LEAGUE, RUN, opening.close_registration,
        _("Registration is closed, the schedule is made."),
        Click(_("Close registration and make the schedule"),
            lambda facts: facts.league.state == LeagueState.REGISTRATION, closing_warnings, _("Close it all the same")),
        api=Endpoint("/leagues/{league_id}/close", "close_registration",
            "Close registration and make the schedule."),
        tool=Tool("create_schedule", "Make the schedule", repeatable=False),
        shown=("status",)),
    DeskAction("start", LEAGUE, RUN, lifecycle.start_league,
        _("The round is started."),
        Click(_("Start round %(number)d"), _may_play_on, _warnings_of_start, _("Start all the same")),
        Listed("start_next_round", _("Start the next round"), preview=previews.start),
        Endpoint("/leagues/{league_id}/start", "start_league",
            "Close registration, make the schedule, start the next round; with auto_advance play to the end.",
            options.Start),
        shown=("round",)),
    DeskAction("start_round", LEAGUE, RUN, lifecycle.start_round,
        _("The round is started."),
        api=Endpoint("/leagues/{league_id}/rounds/start", "start_round", "Start the next round."),
        tool=Tool("start_round", "Start a round", repeatable=False),
        shown=("round",)),
    DeskAction("run_all", LEAGUE, RUN, lifecycle.run_all,
        _("All rounds are played now, one after the other."),
        Click(_("Run all rounds"),
            lambda facts: _may_play_on(facts) and not (facts.league.runs_all and facts.active is not None),
            _warnings_of_start, _("Start all the same")),
        Listed("play_all_rounds", _("Run all rounds"), preview=previews.run_all),
        Endpoint("/leagues/{league_id}/rounds/run_all", "run_all",
            "Play every round that is left, one after the other."),
        shown=("round",)),
    DeskAction("run_one_by_one", LEAGUE, RUN, partial(lifecycle.run_all, on=False),
        _("The next round waits for your click."),
        Click(_("Start each round by hand"), lambda facts: not facts.over and facts.league.runs_all),
        api=Endpoint("/leagues/{league_id}/rounds/one_by_one", "run_one_by_one",
            "Let no further round follow by itself; a round that is on goes on.")),
    DeskAction("pause", LEAGUE, RUN, lifecycle.pause,
        _("Paused: matches in play finish, no other starts."),
        Click(_("Pause"), lambda facts: not facts.over and not facts.league.paused),
        Listed("pause_leagues", _("Pause")),
        Endpoint("/leagues/{league_id}/pause", "pause",
            "No round and no match starts; matches in play finish and count."),
        tool=Tool("pause", "Pause a league"),
        shown=("paused",)),
    DeskAction("resume", LEAGUE, RUN, lifecycle.resume,
        _("The league goes on."),
        Click(_("Resume"), lambda facts: facts.league.paused),
        Listed("resume_leagues", _("Resume")),
        Endpoint("/leagues/{league_id}/resume", "resume", "Go on after a pause."),
        tool=Tool("resume", "Resume a league"),
        shown=("paused",)),
    DeskAction("check_all", LEAGUE, RERUN, verbs.check_players,
        _("The players are being checked: the results appear on this page."),
        Click(_("Check all players"), lambda facts: not facts.over),
        api=Endpoint("/leagues/{league_id}/agents/check", "check_players", "Have every player checked.")),
    DeskAction("check", LEAGUE, RERUN, verbs.ask_all,
        _("The agents are being asked: their answers appear on this page."),
        Click(_("Ask all agents whether they answer")),
        api=Endpoint("/leagues/{league_id}/agents/ask", "ask_agents",
            "Have every player and referee asked whether it answers; `last_heard` of the agents tells.")),
    DeskAction("stop", LEAGUE, RUN, lifecycle.stop,
        _("The league is stopped for good."),
        Click(_("Stop for good"), lambda facts: not facts.over, _warnings_of_stop, _("Yes, stop this league for good")),
        api=Endpoint("/leagues/{league_id}/stop", "stop", "End a league for good."),
        shown=("status",)),
    DeskAction("archive", LEAGUE, EDIT, seasons.archive,
        _("The league is in the archive: lists leave it out, and its pages stay."),
        Click(_("Archive"), _can_be_archived),
        Listed("archive_leagues", _("Archive")),
        Endpoint("/leagues/{league_id}/archive", "archive",
            "Leave a league that is over out of lists; its pages stay, and nothing in it can be changed.",
            module="seasons")),
    DeskAction("take_back", LEAGUE, EDIT, seasons.take_back,
        _("The league is out of the archive."),
        Click(_("Take out of the archive"), lambda facts: facts.league.archived_at is not None),
        Listed("take_leagues_back", _("Take out of the archive")),
        Endpoint("/leagues/{league_id}/archive/take_back", "take_back", "Take a league out of the archive.",
            module="seasons"),
        in_archive=True),
    DeskAction("clone", LEAGUE, EDIT, seasons.clone, verbs.cloned_sentence, signed=account,
        api=Endpoint("/leagues/{league_id}/clone", "clone",
            "Open a new league like another one: game, and as asked settings and roster. No results are copied.",
            options.Clone, status=201, module="seasons"),
        in_archive=True),
    DeskAction("put_in_series", LEAGUE, EDIT, series.put, verbs.series_sentence, signed=account,
        api=Endpoint("/leagues/{league_id}/series", "put_in_series",
            "Put a league at the end of a series: leagues with a common table, one evening after another.",
            options.InSeries, module="seasons"),
        in_archive=True,
        shown=("series",)),
    DeskAction("leave_series", LEAGUE, EDIT, series.leave, _("The league is in no series any more."),
        api=Endpoint("/leagues/{league_id}/series/leave", "leave_series", "Take a league out of its series.",
            module="seasons"),
        in_archive=True,
        shown=("series",)),
    DeskAction("delete", LEAGUE, EDIT, seasons.delete, _("The league is deleted."),
        api=Endpoint("/leagues/{league_id}/delete", "delete",
            "Delete a league that is not being played, with everything in it.", options.Deletion, module="seasons"),
        in_archive=True,
        shown=("status",)),
    DeskAction("edit", LEAGUE, EDIT, opening.edit_league, "",
        api=Endpoint("/leagues/{league_id}/settings", "change_settings",
            "Change name and settings. They hold at once, points also for matches that are over; "
            "a match in play keeps its time limits and retries.", options.Settings),
        shown=("was",)),
    DeskAction("add_player", LEAGUE, EDIT, entry.add_by_hand, verbs.added_sentence,
        api=Endpoint("/leagues/{league_id}/players", "add_player",
            "Add a player that never registers by itself.", options.NewPlayer, status=201)),

    DeskAction("release", MATCH, RERUN, play.release,
        _("%(match)s is played again."),
        Click(_("Play again"), lambda match: match.state == MatchState.HELD),
        api=Endpoint("/leagues/{league_id}/matches/{match_id}/release", "release", "Play a held match again."),
        shown=("attempt",)),
    DeskAction("cancel", MATCH, CORRECT, verbs.cancel,
        _("%(match)s is cancelled and counts nowhere."),
        Click(_("Cancel"),
            warnings=lambda match: [gettext("It counts nowhere, and it is not played again.")],
            yes=_("Yes, cancel %(match)s")),
        api=Endpoint("/leagues/{league_id}/matches/{match_id}/cancel", "cancel",
            "End an open match, in a round that has begun: it counts nowhere."),
        shown=("play",)),

    DeskAction("check", AGENT, RERUN, asking.ask_for_agents, "",
        listed=Listed("check_whole", _("Check now: every message, with a report"), verbs.checked_sentence),
        api=Endpoint(f"{_AGENT}/check", "check_agent", "Have an agent checked against every message.", status=201)),
    DeskAction("ask", AGENT, RERUN, verbs.ask,
        _("%(agent)s is being asked: its answer appears on this page."),
        Click(""),
        Listed("check_now", _("Ask now whether they answer"), verbs.asked_sentence),
        Endpoint(f"{_AGENT}/ask", "ask_agent", "Have an agent asked whether it answers; `last_heard` tells.")),
    DeskAction("let_judge", AGENT, EDIT, registration.trust,
        _("%(agent)s may judge from now on."),
        Click(_("Let %(id)s judge")),
        Listed("let_judge", _("May judge"), _("These referees may judge from now on.")), _TRUST,
        shown=("registered_at",)),
    DeskAction("do_not_let_judge", AGENT, EDIT, partial(registration.trust, trusted=False),
        _("These referees are given no further match."),
        listed=Listed("do_not_let_judge", _("May not judge")), api=_TRUST),
    DeskAction("let_register_again", AGENT, EDIT, registration.readmit,
        _("Their next registration is taken, wherever it comes from."),
        listed=Listed("let_register_again", _("Let register again without proof, once"),
            preview=previews.always(previews.READMITTED)),
        api=Endpoint(f"{_AGENT}/readmit", "readmit_agent",
            "Take the next registration of an agent wherever it comes from, once."),
        shown=("registered_at",)),
    DeskAction("revoke_tokens", AGENT, EDIT, credentials.revoke_tokens,
        _("%(agent)s has to register again to send anything."),
        Click(_("Revoke the tokens of %(id)s"),
            warnings=lambda _facts: [gettext(previews.REVOKED)],
            yes=_("Yes, revoke the tokens of %(id)s")),
        Listed("revoke_tokens", _("Revoke all tokens"), _("They have to register again to send anything."),
            previews.always(previews.REVOKED)),
        Endpoint(f"{_AGENT}/revoke_tokens", "revoke_tokens",
            "Void every token of an agent: it has to register again."),
        shown=("registered_at",)),
    DeskAction("bring_back", AGENT, EDIT, registration.bring_back,
        _("%(agent)s plays the rounds that are still to come."),
        Click(_("Bring %(id)s back")),
        Listed("bring_back", _("Bring back after a shutdown"), _("They play the rounds that are still to come.")),
        Endpoint(f"{_AGENT}/bring_back", "bring_back", "Have a player that was shut down play the rounds to come.")),
    DeskAction("edit", AGENT, EDIT, names.edit_agent, "",
        api=Endpoint(f"{_AGENT}/edit", "edit_agent", "Change the name or the owner of an agent.", options.AgentEdit)),

    DeskAction("let-in", NAME, EDIT, names.let_in, verbs.admission_sentence,
        Click(_("Let “%(name)s” at %(address)s in beside %(other)s")),
        api=Endpoint("/leagues/{league_id}/names/{number}/let_in", "let_name_in",
            "Let a name in that was refused as it looks like another's.")),
    DeskAction("put-aside", NAME, EDIT, names.put_aside,
        _("It stays out. If it comes again, it is shown here again."),
        Click(_("Keep “%(name)s” at %(address)s out")),
        api=Endpoint("/leagues/{league_id}/names/{number}/put_aside", "put_name_aside",
            "Keep a name out that was refused as it looks like another's; it is listed again if it comes again.")),

    DeskAction("let-in", CROWD, EDIT, refusing.let_crowd_in,
        _("Any number of players may register from there."),
        Click(_("Take more players from there")),
        api=Endpoint("/leagues/{league_id}/crowd/let_in", "let_crowd_in",
            "Take any number of players from an address from which as many came as one may bring.", options.Crowd)),

    DeskAction("mark", GATEWAY, EDIT, verbs.mark,
        _("%(host)s is marked as a gateway: under each path there is a program of its own."),
        Click(""), api=_MARK, signed=account),
    DeskAction("take-back", GATEWAY, EDIT, partial(verbs.mark, gateway=False),
        _("%(host)s is not a gateway any more: at each port there is one program, whatever the path."),
        Click(_("%(host)s is not a gateway")), api=_MARK, signed=account),

    DeskAction("start", PLAN, RUN, verbs.plan_start,
        _("The start is planned. A pause, or a start by hand before it, calls it off."),
        Click("", form=forms.PlanForm),
        api=Endpoint("/leagues/{league_id}/plan", "plan_start",
            "Plan a start for a certain time. A pause, or another start before it, calls it off.", options.Plan),
        shown=("planned_start",)),
    DeskAction("call-off", PLAN, RUN, planned.call_off, _("The planned start is called off."),
        Click(_("Call it off"), lambda facts: facts.league.starts_at is not None),
        api=Endpoint("/leagues/{league_id}/plan/call_off", "call_off_start", "Call a planned start off."),
        shown=("planned_start",)),
    DeskAction("forget", PLAN, RUN, planned.forget_failure, _("Put aside."),
        Click(_("Put this aside")),
        api=Endpoint("/leagues/{league_id}/plan/forget", "forget_failed_start",
            "Have the desk no longer show that a planned start was refused.")),

    DeskAction("plan", FREEZE, RUN, freeze.plan,
        _("The public sees no results of that round and of the ones after it."),
        Click("", form=forms.FreezeForm),
        api=Endpoint("/leagues/{league_id}/freeze", "plan_freeze",
            "Show the public no results of a round and of those after it.", options.Freeze),
        tool=Tool("freeze", "Freeze the board"),
        shown=("freeze_planned",)),
    DeskAction("call-off", FREEZE, RUN, partial(freeze.plan, from_round=None),
        _("The board will not be frozen."),
        Click(_("Do not freeze"), lambda facts: facts.league.freeze_from is not None and not _is_frozen(facts)),
        api=Endpoint("/leagues/{league_id}/freeze/call_off", "call_off_freeze", "Do not freeze the board after all."),
        shown=("freeze_planned",)),
    DeskAction("unveil", FREEZE, RUN, freeze.unveil, _("One more place is shown."),
        Click(_("Unveil place %(place)s"), _is_frozen),
        api=Endpoint("/leagues/{league_id}/freeze/unveil", "unveil_place",
            "Show one more place of the final table, from the last place up; the first place ends the freeze."),
        shown=("places_unveiled", "frozen_after_round")),
    DeskAction("lift", FREEZE, RUN, freeze.lift, _("Everybody sees everything."),
        Click(_("Show everything"), _is_frozen, _warnings_of_lifting, _("Yes, show everything now")),
        api=Endpoint("/leagues/{league_id}/freeze/lift", "lift_freeze", "End the freeze: everybody sees everything."),
        shown=("frozen_after_round",)),

    DeskAction("previous", SCREEN, RUN, partial(screens.turn, scenes=-1), _("Every screen shows the previous scene."),
        Click(_("Previous scene")),
        api=Endpoint("/leagues/{league_id}/screen/previous", "previous_scene",
            "Turn every screen of the league to its previous scene.", module="screens")),
    DeskAction("next", SCREEN, RUN, screens.turn, _("Every screen shows the next scene."),
        Click(_("Next scene")),
        api=Endpoint("/leagues/{league_id}/screen/next", "next_scene",
            "Turn every screen of the league to its next scene.", module="screens")),
    DeskAction("hold", SCREEN, RUN, screens.hold, _("Every screen holds its scene."),
        Click(_("Hold")),
        api=Endpoint("/leagues/{league_id}/screen/hold", "hold_scene", "Keep every screen at its scene.",
            module="screens")),
    DeskAction("release", SCREEN, RUN, partial(screens.hold, held=False), _("The scenes take turns again."),
        Click(_("Let the scenes take turns")),
        api=Endpoint("/leagues/{league_id}/screen/release", "release_scene", "Let the scenes take turns again.",
            module="screens")),
    DeskAction("feature", SCREEN, RUN, screens.feature, _("%(match)s is large on every screen."),
        Click(_("Make large")),
        api=Endpoint("/leagues/{league_id}/matches/{match_id}/feature", "feature_match",
            "Draw a match large on every screen, until its round is over.", module="screens")),
    DeskAction("automatic", SCREEN, RUN, screens.automatic, _("Every screen goes by itself again."),
        Click(_("Automatic")),
        api=Endpoint("/leagues/{league_id}/screen/automatic", "automatic_screen",
            "Let every screen go by itself: the scenes take turns, and the most interesting match is large.",
            module="screens")),

    DeskAction("make", CORRECTION, CORRECT, applying.make, _("Correction #%(number)d is made."), signed=name_or("API"),
        prepare=_ready_to_correct,
        api=_CORRECT),
    DeskAction("replay", CORRECTION, RERUN, applying.make, _("Correction #%(number)d is made."), signed=name_or("API"),
        prepare=_ready_to_correct,
        api=_CORRECT,
        tool=Tool("replay_match", "Play a match again",
            "Play a finished match again: its result counts no longer, and everybody reads the reason.",
            options.Replay, _replay_arguments, repeatable=False, destroys=True)),
    DeskAction("undo", CORRECTION, CORRECT, applying.undo, _("Correction #%(number)d is undone."),
        api=Endpoint("/leagues/{league_id}/corrections/{number}/undo", "undo", by_hand=True),
        prepare=lambda given: given | {"ready": applying.ready_to_undo(**given)},
        signed=name_or("API")),

    DeskAction("say", NOTICE, RUN, notices.say, verbs.notice_sentence, signed=name_or("api"),
        api=Endpoint("/leagues/{league_id}/notices", "say",
            "Say something to the room, or to the owner of one player.",
            options.Words, status=201, module="notices"),
        shown=("notices",)),
    DeskAction("withdraw", NOTICE, RUN, notices.withdraw, _("Withdrawn: nobody is shown it any more."), Click(""),
        api=Endpoint("/leagues/{league_id}/notices/{number}/withdraw", "withdraw",
            "Withdraw a notice: nobody is shown it any more.", module="notices")),

    DeskAction("give", ROLE, EDIT, staffing.give_role, verbs.role_sentence,
        api=Endpoint("/leagues/{league_id}/roles", "give_role",
            "Make a staff user instructor or assistant; an earlier role in the league is replaced.", options.NewRole),
        shown=("roles",)),
    DeskAction("take", ROLE, EDIT, staffing.take_role, _("The role is taken away."), Click(""), signed=account,
        api=Endpoint("/leagues/{league_id}/roles/{number}/take", "take_role", "Take a role in a league away."),
        shown=("roles",)),
    DeskAction("import", ROSTER, EDIT, verbs.import_roster,
        _("Imported: %(added)d added, %(updated)d changed, %(unchanged)d as they were."),
        api=Endpoint("/leagues/{league_id}/roster", "import_roster",
            "Add and change people by a CSV file; who is not in it stays. All of it is taken or none.",
            options.RosterFile),
        shown=("roster",)),
    DeskAction("remove", ROSTER, EDIT, roster.remove, verbs.removed_sentence, Click(""),
        api=Endpoint("/leagues/{league_id}/roster/remove", "remove_people",
            "Take people off the roster; their agents stay in the league without an owner.", options.People)),
)
# fmt: on
ACTIONS: dict[tuple[Subject, str], DeskAction] = {(row.subject, row.name): row for row in ROWS}
"""The rows by subject and name."""


def correcting(kind: str) -> DeskAction:
    """The action for a kind of correction; a replay needs another permission than the others."""
    return ACTIONS[CORRECTION, "replay" if kind == plans.REPLAY else "make"]


def listed(subject: Subject) -> dict[str, DeskAction]:
    """The actions of a subject that its admin list offers, by their names in the list."""
    return {row.listed.name: row for row in ROWS if row.subject == subject and row.listed is not None}
