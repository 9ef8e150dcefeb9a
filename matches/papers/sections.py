"""Describes the document of a league, list by list; export and import both follow this description."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Model
from pydantic import create_model

from agents_registry.models import Agent, RosterEntry
from matches.models import Check, Correction, Event, League, Match, Notice, Round
from matches.papers import shape
from matches.papers.shape import Object, Part

NAMED_BY = {"person": "email", "player": "code", "referee": "code", "round": "number"}
"""What an item may refer to, and the field of the other item whose value the reference is."""


@dataclass(frozen=True)
class Section:
    """One list of the document; its items are rows of one table.

    Attributes:
        model: the table.
        shape: the fields of an item, with their types and bounds.
        links: fields that refer to something else, each with a key of :data:`NAMED_BY`, or with the name of the field
            that holds such a key.
        key: the fields that together identify an item.
        private: fields that only the instructor may see, with the value that replaces them in a public export.
        renamed: fields that have another name than their column, with the name of the column.
    """

    model: type[Model]
    shape: type[Part]
    links: Mapping[str, str] = field(default_factory=dict)
    key: tuple[str, ...] = ()
    private: Mapping[str, Any] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)

    def item(self, row: Model, people: bool, **instead: Any) -> dict[str, Any]:
        """Make the item of a row.

        Args:
            row: a row of the model.
            people: include what only the instructor may see.
            instead: values of fields that are not read from the row.
        """
        item = instead if people else {**instead, **self.private}
        for name in self.shape.model_fields.keys() - item.keys():
            value = getattr(row, self.renamed.get(name, name))
            item[name] = getattr(value, NAMED_BY[self.links[name]], None) if name in self.links else value
        return item

    def references(self, item: Any) -> Iterator[tuple[str, str, Any]]:
        """Every reference of an item: the field, a key of :data:`NAMED_BY`, and the value (None: no reference)."""
        for name, target in self.links.items():
            yield name, target if target in NAMED_BY else getattr(item, target), getattr(item, name)

    def columns(self, item: Any, rows: Mapping[str, Mapping[Any, Any]]) -> dict[str, Any]:
        """Make the columns of an item's row.

        Args:
            item: an item of the shape.
            rows: the rows to which items refer, by the keys of :data:`NAMED_BY`, then by the value of the reference.
        """
        values = item.model_dump(exclude=self.links.keys())
        values |= {name: rows[target].get(value) for name, target, value in self.references(item)}
        return {self.renamed.get(name, name): value for name, value in values.items()}


LEAGUE = Section(League, shape.LeaguePart)
SECTIONS: Mapping[str, Section] = {
    "roster": Section(RosterEntry, shape.PersonPart),
    "agents": Section(
        Agent,
        shape.AgentPart,
        links={"owner": "person"},
        key=("kind", "code"),
        # The notes of the registration may quote the agent's address.
        private={"endpoint": "", "notes": [], "sender_name": "", "owner": None},
    ),
    "rounds": Section(Round, shape.RoundPart, links={"bye": "player"}, key=("number",)),
    "events": Section(Event, shape.EventPart, key=("seq",)),
    "corrections": Section(
        Correction,
        shape.CorrectionPart,
        links={"player": "player"},
        key=("number",),
        private={"made_by": "", "undone_by": ""},
    ),
    "notices": Section(
        Notice,
        shape.NoticePart,
        links={"player": "player"},
        private={"made_by": ""},
        renamed={"player": "agent"},
    ),
    "checks": Section(
        Check,
        shape.CheckPart,
        links={"agent": "kind"},
        key=("check_id",),
        renamed={"kind": "role"},
    ),
    "matches": Section(
        Match,
        shape.MatchPart,
        links={
            "round": "round",
            "player_a": "player",
            "player_b": "player",
            "referee": "referee",
            "winner": "player",
        },
        key=("match_id",),
        private={"said": {}},
    ),
}
"""The lists of the document, in order."""

_LISTS: dict[str, Any] = dict.fromkeys(SECTIONS, (list[Object], ...))
Document: type[Part] = create_model(
    "Document",
    __base__=Part,
    format=(str, ...),
    written_by=(str, ""),
    people=(bool, ...),
    league=(Object, ...),
    **_LISTS,
)
"""The outer object of the document; items are validated one by one, so that an error can name its place."""
