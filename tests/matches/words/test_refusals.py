"""Why a planned start was refused, in the reader's language."""

from __future__ import annotations

from django.utils import translation
from django.utils.translation import gettext

from agents_registry.isolating import isolated
from matches.words import refusals

TOO_FEW = (
    "%(league)s has %(count)s of at least %(min)s players that passed the check; not ready: %(names)s. "
    "Wait until more have passed, or turn require_check off."
)


def test_a_refusal_that_names_a_whole_school_is_told_in_the_language_of_its_reader() -> None:
    values = {"league": "Fall", "count": "1", "min": "2", "names": ", ".join(f"P{n:03}" for n in range(2, 900))}
    with translation.override("he"):
        expected = gettext(TOO_FEW) % {name: isolated(value) for name, value in values.items()}
        assert expected != TOO_FEW % values
        assert refusals.translated(TOO_FEW % values) == expected
