"""The evening in figures, in words: for each figure a name, a value that is read from afar, who, and where."""

from __future__ import annotations

from typing import NamedTuple

from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from matches.view.figures import Changes, Figures, Lucky
from matches.view.stories import Gap, Run


class Line(NamedTuple):
    """One figure.

    Attributes:
        name: what it is the figure of; a slug for styles and tests.
        players: whom it is about, by id; with ``against`` the second one is the opponent.
        match_id: the match that it is about; empty for none.
    """

    name: str
    label: str
    value: str
    players: tuple[str, ...] = ()
    note: str = ""
    match_id: str = ""
    against: bool = False


def lines(known: Figures, fastest: tuple[str, str] | None) -> list[Line]:
    """All figures that there are.

    Args:
        fastest: the player with the quickest answers, and its median time in words.
    """
    found = [_upset(known.upset) if known.upset else None, _run(known.runs) if known.runs else None]
    if known.longest is not None and known.longest.moves:
        moves = ngettext("%(count)d move", "%(count)d moves", known.longest.moves) % {"count": known.longest.moves}
        game = known.longest.outcome
        found.append(Line("longest", _("Longest game"), moves, game.players, "", game.match_id, against=True))
    found += [
        _lead(known.lead) if known.lead else None,
        _finish(known.ahead) if known.ahead is not None else None,
        _fastest(*fastest) if fastest is not None else None,
        _lucky(known.luckiest) if known.luckiest else None,
        _matches(known),
    ]
    return [line for line in found if line is not None]


def _run(runs: list[Run]) -> Line:
    wins, first = runs[0].wins, runs[0]
    value = ngettext("%(wins)d win in a row", "%(wins)d wins in a row", wins) % {"wins": wins}
    note = _("rounds %(first)d to %(last)d") % {"first": first.first, "last": first.last} if len(runs) == 1 else ""
    return Line("run", _("Longest run"), value, tuple(run.player_id for run in runs), note)


def _upset(gap: Gap) -> Line:
    one = gap.outcome
    winner = str(one.winner)
    loser = one.players[one.players[0] == winner]
    value = ngettext("%(count)d place apart", "%(count)d places apart", gap.places) % {"count": gap.places}
    note = _("the lower one won, in round %(round)d") % {"round": one.round_number}
    return Line("upset", _("Biggest upset"), value, (winner, loser), note, one.match_id, against=True)


def _lead(known: Changes) -> Line:
    if known.changes:
        value = ngettext("changed %(count)d time", "changed %(count)d times", known.changes) % {"count": known.changes}
    else:
        value = _("never changed")
    note = ngettext("led after %(count)d round", "led after %(count)d rounds", known.rounds) % {"count": known.rounds}
    return Line("lead", _("The lead"), value, (known.leader,), note)


def _finish(ahead: int) -> Line:
    value = ngettext("%(count)d point", "%(count)d points", ahead) % {"count": ahead}
    note = "" if ahead else _("the number of wins decided")
    return Line("finish", _("Between first and second"), value, (), note)


def _fastest(player_id: str, took: str) -> Line:
    return Line("fastest", _("Fastest agent"), took, (player_id,), _("median of its choices and moves"))


def _lucky(known: Lucky) -> Line:
    whole = round(known.points)
    points = str(whole) if known.points == whole else number_format(known.points, decimal_pos=1)
    value = ngettext("+%(points)s point", "+%(points)s points", max(1, whole)) % {"points": points}
    return Line("luckiest", _("Luckiest"), value, (known.player_id,), _("more than a fair coin would give"))


def _matches(known: Figures) -> Line:
    value = ngettext("%(count)d match", "%(count)d matches", known.matches) % {"count": known.matches}
    drawn = ngettext("%(count)d draw", "%(count)d draws", known.draws) % {"count": known.draws}
    if known.unanswered:
        lost = ngettext("%(count)d technical loss", "%(count)d technical losses", known.unanswered)
        drawn = _("%(draws)s, %(losses)s") % {"draws": drawn, "losses": lost % {"count": known.unanswered}}
    return Line("matches", _("Played"), value, (), drawn)
