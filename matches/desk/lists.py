"""Filters and cells of the admin's lists in words, where the model stores the protocol's constants in capitals."""

from __future__ import annotations

from typing import Any

from django.contrib.admin import ModelAdmin, RelatedOnlyFieldListFilter, SimpleListFilter
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents_registry.filters import by_words
from league_sdk.protocol.states import LeagueState, MatchState, ResultStatus
from league_sdk.rules.registry import games
from matches.words import states


def result_word(status: str) -> str:
    """How a match ended; a dash while it has not."""
    return (
        {
            ResultStatus.WIN: _("Win"),
            ResultStatus.DRAW: _("Draw"),
            ResultStatus.TECHNICAL_LOSS: _("Technical loss"),
            ResultStatus.CANCELLED: _("cancelled"),
        }[ResultStatus(status)]
        if status
        else "–"
    )


class OneLeague(RelatedOnlyFieldListFilter):
    """Rows by league; only leagues with rows are offered."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.title = _("league")


class Archive(SimpleListFilter):
    """Leagues that are not in the archive, those that are, or both."""

    title = gettext_lazy("archive")
    parameter_name = "archive"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin[Any]) -> list[tuple[str, str]]:
        """The further choices of the filter."""
        return [("only", _("in the archive")), ("too", _("both"))]

    def choices(self, changelist: Any) -> Any:
        """The choices of the filter; leagues outside the archive are shown first."""
        first, *others = super().choices(changelist)
        return [{**first, "display": _("not in the archive")}, *others]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """The rows that were chosen."""
        if self.value() == "too":
            return queryset
        return queryset.filter(archived_at__isnull=self.value() != "only")


LeagueStates = by_words(
    gettext_lazy("state"), "state", lambda: [(one, states.league_state(one)) for one in LeagueState]
)
Games = by_words(
    gettext_lazy("game"), "game_type", lambda: [(name, game.display_name) for name, game in sorted(games().items())]
)
MatchStates = by_words(gettext_lazy("state"), "state", lambda: [(one, states.match_state(one)) for one in MatchState])
Results = by_words(gettext_lazy("Result"), "status", lambda: [(one, result_word(one)) for one in ResultStatus])
