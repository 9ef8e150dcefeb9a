"""The figures of an evening in words: for each a label, a value to be read from afar, its players and its match."""

from __future__ import annotations

from typing import NamedTuple

from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from matches.view.figures import Changes, Figures, Lucky
from matches.view.stories import Ahead, Gap, Run


class Line(NamedTuple):
    """One figure.

    Attributes:
        name: which figure it is, as a slug for styles and tests.
        label: which figure it is, for people.
        value: the figure itself, with its unit.
        players: whom it is about, by id; with ``against`` the second one is the opponent.
        note: more about the figure, such as when it happened.
        match_id: the match that it is about; empty for none.
    """

    name: str
    label: str
    value: str
    players: tuple[str, ...] = ()
    note: str = ""
    match_id: str = ""
    against: bool = False


def lines(figures: Figures, fastest: tuple[str, str] | None) -> list[Line]:
    """A line for each figure that the league has.

    Args:
        fastest: the player with the quickest answers, and its median time in words.
    """
    found = [_upset(figures.upset) if figures.upset else None, _run(figures.runs) if figures.runs else None]
    if figures.longest is not None and figures.longest.moves:
        moves = ngettext("%(count)d move", "%(count)d moves", figures.longest.moves) % {"count": figures.longest.moves}
        game = figures.longest.outcome
        found.append(Line("longest", _("Longest game"), moves, game.players, "", game.match_id, against=True))
    found += [
        _lead(figures.lead) if figures.lead else None,
        _finish(figures.ahead) if figures.ahead is not None else None,
        _fastest(*fastest) if fastest is not None else None,
        _lucky(figures.luckiest) if figures.luckiest else None,
        _matches(figures),
    ]
    return [line for line in found if line is not None]


def _run(runs: list[Run]) -> Line:
    wins, first = runs[0].wins, runs[0]
    value = ngettext("%(wins)d win in a row", "%(wins)d wins in a row", wins) % {"wins": wins}
    note = _("rounds %(first)d to %(last)d") % {"first": first.first, "last": first.last} if len(runs) == 1 else ""
    return Line("run", _("Longest run"), value, tuple(run.player_id for run in runs), note)


def _upset(gap: Gap) -> Line:
    outcome = gap.outcome
    winner = str(outcome.winner)
    loser = outcome.players[outcome.players[0] == winner]
    value = ngettext("%(count)d place apart", "%(count)d places apart", gap.places) % {"count": gap.places}
    note = _("the lower one won, in round %(round)d") % {"round": outcome.round_number}
    return Line("upset", _("Biggest upset"), value, (winner, loser), note, outcome.match_id, against=True)


def _lead(lead: Changes) -> Line:
    if lead.changes:
        value = ngettext("changed %(count)d time", "changed %(count)d times", lead.changes) % {"count": lead.changes}
    else:
        value = _("never changed")
    note = ngettext("led after %(count)d round", "led after %(count)d rounds", lead.rounds) % {"count": lead.rounds}
    return Line("lead", _("The lead"), value, (lead.leader,), note)


def _finish(ahead: Ahead) -> Line:
    value = ngettext("%(count)d point", "%(count)d points", ahead.points) % {"count": ahead.points}
    decided = _("the number of wins decided") if ahead.wins else _("the number of draws decided")
    note = "" if ahead.points else decided
    return Line("finish", _("Between first and second"), value, (), note)


def _fastest(player_id: str, took: str) -> Line:
    return Line("fastest", _("Fastest agent"), took, (player_id,), _("median of its choices and moves"))


def _lucky(lucky: Lucky) -> Line:
    whole = round(lucky.points)
    points = str(whole) if lucky.points == whole else number_format(lucky.points, decimal_pos=1)
    value = ngettext("+%(points)s point", "+%(points)s points", max(1, whole)) % {"points": points}
    return Line("luckiest", _("Luckiest"), value, (lucky.player_id,), _("more than a fair coin would give"))


def _matches(figures: Figures) -> Line:
    value = ngettext("%(count)d match", "%(count)d matches", figures.matches) % {"count": figures.matches}
    note = ngettext("%(count)d draw", "%(count)d draws", figures.draws) % {"count": figures.draws}
    if figures.technical_losses:
        losses = ngettext("%(count)d technical loss", "%(count)d technical losses", figures.technical_losses)
        note = _("%(draws)s, %(losses)s") % {"draws": note, "losses": losses % {"count": figures.technical_losses}}
    return Line("matches", _("Played"), value, (), note)
