"""Forms of the corrections: one for each kind, with what it needs; each makes a wish."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from league_sdk.protocol.states import MatchState, ResultStatus
from matches.league.corrections import plans
from matches.league.corrections.plans import Wish
from matches.league.corrections.queries import players_of
from matches.league.errors import ActionRefused, Invalid
from matches.models import League, Match
from matches.view import queries
from matches.words.corrections import result

_WON_A, _WON_B, _DRAW, _TECH_A, _TECH_B, _ABSENT = "won_a", "won_b", "draw", "tech_a", "tech_b", "absent"
_FIELDS = {"status": "outcome", "winner": "outcome"}


class CorrectionForm(forms.Form):
    """What every correction needs: a reason.

    Args:
        league: whose matches and players can be chosen.
        kind: of the correction.
    """

    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=plans.MOST_REASON,
        min_length=plans.LEAST_REASON,
        help_text=gettext_lazy("Everybody reads it on the board: say what happened, name nobody."),
        widget=forms.TextInput(attrs={"size": 60, "dir": "auto", "autocomplete": "off"}),
    )
    # The reason comes last, when it is clear what for.
    field_order = ("match_id", "player_id", "outcome", "matches_become", "points", "reason")

    def __init__(self, *args: Any, league: League, kind: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.kind = kind

    def wish(self) -> Wish:
        """What is asked for. The form must be valid."""
        return Wish(self.kind, self.cleaned_data["reason"], **self.details())

    def details(self) -> dict[str, Any]:
        """What the kind needs besides."""
        return {}

    def refuse(self, refusal: ActionRefused) -> None:
        """Show why it cannot be done, at the field that it is about."""
        named = refusal.field if isinstance(refusal, Invalid) else None
        field = _FIELDS.get(named or "", named)
        self.add_error(field if field in self.fields else None, str(refusal))


class MatchForm(CorrectionForm):
    """A correction of one match."""

    match_id = forms.ChoiceField(label=gettext_lazy("Match"))

    def __init__(self, *args: Any, league: League, kind: str, **kwargs: Any) -> None:
        super().__init__(*args, league=league, kind=kind, **kwargs)
        found = [match for match in queries.matches_of(league) if _fits(match, kind)]
        self.fields["match_id"].choices = [("", _("Choose a match")), *_choices(found)]

    def details(self) -> dict[str, Any]:
        """Which match."""
        return {"match_id": self.cleaned_data["match_id"]}


def _fits(match: Match, kind: str) -> bool:
    if kind == plans.VOID:
        return match.status not in ("", ResultStatus.CANCELLED)
    if kind == plans.REPLAY:
        return match.state in (MatchState.FINISHED, MatchState.HELD)
    return match.state != MatchState.PENDING


def _choices(matches: Iterable[Match]) -> Iterable[tuple[str, str]]:
    for match in matches:
        winner = match.winner.code if match.winner else None
        how = result(match.status, winner) if match.status else _("open")
        # The names are isolated: each may run in a direction of its own.
        names = " – ".join(f"{one.code} \u2068{one.display_name}\u2069" for one in (match.player_a, match.player_b))
        yield match.match_id, f"{match.match_id}: {names} ({how})"


class ResultForm(MatchForm):
    """A result by hand."""

    outcome = forms.ChoiceField(label=gettext_lazy("Result"), widget=forms.RadioSelect)

    def __init__(self, *args: Any, league: League, kind: str, **kwargs: Any) -> None:
        super().__init__(*args, league=league, kind=kind, **kwargs)
        chosen = self["match_id"].value()
        match = queries.matches_of(league).filter(match_id=str(chosen or "").replace("\x00", "\ufffd")).first()
        self._players = (match.player_a.code, match.player_b.code) if match is not None else ("", "")
        names = self._players if match is not None else (_("the first player"), _("the second player"))
        a, b = ({"player": name} for name in names)
        self.fields["outcome"].choices = [
            (_WON_A, _("%(player)s won") % a),
            (_WON_B, _("%(player)s won") % b),
            (_DRAW, _("draw")),
            (_TECH_A, _("technical loss of %(player)s") % a),
            (_TECH_B, _("technical loss of %(player)s") % b),
            (_ABSENT, _("both absent")),
        ]

    def details(self) -> dict[str, Any]:
        """Which match, and how it ended."""
        a, b = self._players
        status, winner = {
            _WON_A: (ResultStatus.WIN, a),
            _WON_B: (ResultStatus.WIN, b),
            _DRAW: (ResultStatus.DRAW, None),
            _TECH_A: (ResultStatus.TECHNICAL_LOSS, b),
            _TECH_B: (ResultStatus.TECHNICAL_LOSS, a),
            _ABSENT: (ResultStatus.TECHNICAL_LOSS, None),
        }[self.cleaned_data["outcome"]]
        return super().details() | {"status": str(status), "winner": winner}


class PlayerForm(CorrectionForm):
    """A correction about one player."""

    player_id = forms.ChoiceField(label=gettext_lazy("Player"))

    def __init__(self, *args: Any, league: League, kind: str, **kwargs: Any) -> None:
        super().__init__(*args, league=league, kind=kind, **kwargs)
        listed = [(code, f"{code} \u2068{name}\u2069") for code, name in players_of(league).items()]
        self.fields["player_id"].choices = [("", _("Choose a player")), *listed]

    def details(self) -> dict[str, Any]:
        """Which player."""
        return {"player_id": self.cleaned_data["player_id"]}


class OutForm(PlayerForm):
    """A player is taken out of the league."""

    matches_become = forms.ChoiceField(
        label=gettext_lazy("Its matches"),
        widget=forms.RadioSelect,
        choices=[
            (plans.KEEP, gettext_lazy("Those played stand; open ones and those to come are lost, the opponent wins")),
            (plans.VOID, gettext_lazy("All are void, as if it had never played")),
            (plans.LOSE, gettext_lazy("All are lost, the opponents win")),
        ],
    )

    def details(self) -> dict[str, Any]:
        """Which player, and what becomes of its matches."""
        return super().details() | {"matches_become": self.cleaned_data["matches_become"]}


class PointsForm(PlayerForm):
    """Points are awarded or taken."""

    points = forms.IntegerField(
        label=gettext_lazy("Points"),
        min_value=-plans.MOST_POINTS,
        max_value=plans.MOST_POINTS,
        help_text=gettext_lazy("Below 0 they are taken: -3 takes three."),
    )

    def details(self) -> dict[str, Any]:
        """Which player, and how many."""
        return super().details() | {"points": self.cleaned_data["points"]}


FORMS: dict[str, type[CorrectionForm]] = {
    plans.VOID: MatchForm,
    plans.REPLAY: MatchForm,
    plans.SET_RESULT: ResultForm,
    plans.WITHDRAW: OutForm,
    plans.DISQUALIFY: OutForm,
    plans.POINTS: PointsForm,
}
"""The form of every kind, in the order in which they are offered."""


class UndoForm(forms.Form):
    """Why a correction is undone."""

    reason = CorrectionForm.base_fields["reason"]
