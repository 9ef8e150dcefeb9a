"""Filters of the admin's lists in words, where the model stores the protocol's constants in capitals."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from django.contrib.admin import ModelAdmin, SimpleListFilter
from django.db.models import QuerySet
from django.http import HttpRequest


def by_words(heading: Any, column: str, words: Callable[[], Iterable[tuple[str, str]]]) -> type[SimpleListFilter]:
    """A filter by the values of a column.

    Args:
        heading: the title of the filter, translated when it is shown.
        column: the name of the column, which is also that of the filter's parameter.
        words: returns the values, each with its name in the reader's language.
    """

    class Filter(SimpleListFilter):
        title = heading
        parameter_name = column

        def lookups(self, request: HttpRequest, model_admin: ModelAdmin[Any]) -> list[tuple[str, str]]:
            return list(words())

        def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
            return queryset if self.value() is None else queryset.filter(**{column: self.value()})

    return Filter
