"""Forms for corrections, one for each kind; a valid form makes a :class:`Wish`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents_registry.isolating import isolated
from league_sdk.protocol.states import OPEN, MatchState, ResultStatus
from matches.desk.forms import set_choices
from matches.league.corrections import plans
from matches.league.corrections.plans import Wish
from matches.league.corrections.queries import players_of
from matches.league.errors import ActionRefused, Invalid
from matches.models import League, Match
from matches.view import queries
from matches.words.corrections import result

_FIELDS = {"status": "outcome", "winner": "outcome"}
"""Arguments of a correction that have another name in the form."""


class CorrectionForm(forms.Form):
    """Base of the forms: every correction needs a reason.

    Args:
        league: its matches and players can be chosen.
        kind: the kind of the correction.
    """

    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=plans.MAX_REASON_CHARS,
        min_length=plans.MIN_REASON_CHARS,
        help_text=gettext_lazy("Everybody reads it on the board: say what happened, name nobody."),
        widget=forms.TextInput(attrs={"size": 60, "dir": "auto", "autocomplete": "off"}),
    )
    # The reason is the last field.
    field_order = ("match_id", "player_id", "outcome", "matches_become", "points", "reason")

    def __init__(self, *args: Any, league: League, kind: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.kind = kind

    def wish(self) -> Wish:
        """The correction that is asked for. The form must be valid."""
        return Wish(self.kind, **self.cleaned_data)

    def refuse(self, refusal: ActionRefused) -> None:
        """Show a refusal at the field that it concerns."""
        argument = refusal.field if isinstance(refusal, Invalid) else None
        field = _FIELDS.get(argument or "", argument)
        self.add_error(field if field in self.fields else None, refusal.sentence)


class MatchForm(CorrectionForm):
    """A correction of one match."""

    match_id = forms.ChoiceField(label=gettext_lazy("Match"))

    def __init__(self, *args: Any, league: League, kind: str, **kwargs: Any) -> None:
        super().__init__(*args, league=league, kind=kind, **kwargs)
        # By round and state: a large league has millions of matches to come.
        begun = Match.objects.filter(round__league=league, state__in=[*OPEN, MatchState.FINISHED]).values("pk")
        matches = [one for one in queries.matches_of(league).filter(pk__in=begun) if _is_correctable(one, kind)]
        set_choices(self, "match_id", [("", _("Choose a match")), *_choices(matches)])


def _is_correctable(match: Match, kind: str) -> bool:
    if kind == plans.VOID:
        return match.status not in ("", ResultStatus.CANCELLED)
    if kind == plans.REPLAY:
        return match.state in (MatchState.FINISHED, MatchState.HELD)
    return match.state != MatchState.PENDING


def _choices(matches: Iterable[Match]) -> Iterable[tuple[str, str]]:
    for match in matches:
        winner = match.winner.code if match.winner else None
        outcome = result(match.status, winner, match.faults) if match.status else _("open")
        players = (match.player_a, match.player_b)
        names = " – ".join(f"{player.code} {isolated(player.display_name)}" for player in players)
        yield match.match_id, f"{match.match_id}: {names} ({outcome})"


class ResultForm(MatchForm):
    """The result of a match is set by hand."""

    outcome = forms.ChoiceField(label=gettext_lazy("Result"), widget=forms.RadioSelect)

    def __init__(self, *args: Any, league: League, kind: str, **kwargs: Any) -> None:
        super().__init__(*args, league=league, kind=kind, **kwargs)
        chosen = self["match_id"].value()
        match = queries.matches_of(league).filter(match_id=str(chosen or "").replace("\x00", "\ufffd")).first()
        a, b = (match.player_a.code, match.player_b.code) if match is not None else ("", "")
        first, second = {"player": a or _("the first player")}, {"player": b or _("the second player")}
        # The label, the status and the winner of each.
        self._outcomes = {
            "won_a": (_("%(player)s won") % first, ResultStatus.WIN, a),
            "won_b": (_("%(player)s won") % second, ResultStatus.WIN, b),
            "draw": (_("draw"), ResultStatus.DRAW, None),
            "tech_a": (_("technical loss of %(player)s") % first, ResultStatus.TECHNICAL_LOSS, b),
            "tech_b": (_("technical loss of %(player)s") % second, ResultStatus.TECHNICAL_LOSS, a),
            "absent": (_("both absent"), ResultStatus.TECHNICAL_LOSS, None),
        }
        set_choices(self, "outcome", [(key, label) for key, (label, _status, _winner) in self._outcomes.items()])

    def wish(self) -> Wish:
        """The chosen outcome as a status and a winner. The form must be valid."""
        fields = dict(self.cleaned_data)
        _label, status, winner = self._outcomes[fields.pop("outcome")]
        return Wish(self.kind, **fields, status=str(status), winner=winner)


class PlayerForm(CorrectionForm):
    """A correction about one player."""

    player_id = forms.ChoiceField(label=gettext_lazy("Player"))

    def __init__(self, *args: Any, league: League, kind: str, **kwargs: Any) -> None:
        super().__init__(*args, league=league, kind=kind, **kwargs)
        listed = [(code, f"{code} {isolated(name)}") for code, name in players_of(league).items()]
        set_choices(self, "player_id", [("", _("Choose a player")), *listed])


class OutForm(PlayerForm):
    """A player is withdrawn or disqualified."""

    matches_become = forms.ChoiceField(
        label=gettext_lazy("Its matches"),
        widget=forms.RadioSelect,
        choices=[
            (plans.KEEP, gettext_lazy("Those played stand; open ones and those to come are lost, the opponent wins")),
            (plans.VOID, gettext_lazy("All are void, as if it had never played")),
            (plans.LOSE, gettext_lazy("All are lost, the opponents win")),
        ],
    )


class PointsForm(PlayerForm):
    """Points are awarded or taken."""

    points = forms.IntegerField(
        label=gettext_lazy("Points"),
        min_value=-plans.MAX_POINTS,
        max_value=plans.MAX_POINTS,
        help_text=gettext_lazy("Below 0 they are taken: -3 takes three."),
    )


FORMS: dict[str, type[CorrectionForm]] = {
    plans.VOID: MatchForm,
    plans.REPLAY: MatchForm,
    plans.SET_RESULT: ResultForm,
    plans.WITHDRAW: OutForm,
    plans.DISQUALIFY: OutForm,
    plans.POINTS: PointsForm,
}
"""The form of each kind of correction, in the order of the links to them."""


class UndoForm(forms.Form):
    """The reason for undoing a correction."""

    reason = CorrectionForm.base_fields["reason"]
