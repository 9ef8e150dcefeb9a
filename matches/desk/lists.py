"""Filters and cells of the admin's lists in words, where the model stores the protocol's constants in capitals."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from django.contrib.admin import ModelAdmin, RelatedOnlyFieldListFilter, SimpleListFilter
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from league_sdk.protocol.states import LeagueState, MatchState, ResultStatus
from league_sdk.rules.registry import games
from matches.words import states


class FieldFilter(SimpleListFilter):
    """Filters by the values of a field.

    Attributes:
        words: returns the values with their translated names.
    """

    words: Callable[[], Iterable[tuple[str, str]]]

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin[Any]) -> list[tuple[str, str]]:
        """The values with their words."""
        return list(type(self).words())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """The rows with the value that was chosen; all of them if none was."""
        value = self.value()
        return queryset if value is None else queryset.filter(**{str(self.parameter_name): value})


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


class LeagueStates(FieldFilter):
    """Leagues by state."""

    title = gettext_lazy("state")
    parameter_name = "state"

    @staticmethod
    def words() -> Iterable[tuple[str, str]]:
        return [(state, states.league_state(state)) for state in LeagueState]


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


class Games(FieldFilter):
    """Leagues by game."""

    title = gettext_lazy("game")
    parameter_name = "game_type"

    @staticmethod
    def words() -> Iterable[tuple[str, str]]:
        return [(name, game.display_name) for name, game in sorted(games().items())]


class MatchStates(FieldFilter):
    """Matches by state."""

    title = gettext_lazy("state")
    parameter_name = "state"

    @staticmethod
    def words() -> Iterable[tuple[str, str]]:
        return [(state, states.match_state(state)) for state in MatchState]


class Results(FieldFilter):
    """Matches by how they ended."""

    title = gettext_lazy("Result")
    parameter_name = "status"

    @staticmethod
    def words() -> Iterable[tuple[str, str]]:
        return [(status, result_word(status)) for status in ResultStatus]
