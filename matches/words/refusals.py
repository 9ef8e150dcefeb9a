"""Why a planned start was refused, in the reader's language; it is stored in English, as it has no reader yet then."""

from __future__ import annotations

import math

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from agents_registry.isolating import isolated
from agents_registry.words import in_other_words
from league_sdk.rules import wording

_FILLING = ".+?"
"""A regular expression for what fills a place of a sentence: unlike ``wording.WORD`` with spaces, which a league's name
may have, and of any length, as all players who are not ready are named. No stranger writes these texts, so none can
make them slow to match."""


def translated(text: str) -> str:
    """A stored refusal of a start, in the reader's language; a text that is none of these refusals is quoted."""
    found = wording.translated(text, [_at_start()], isolated, filling=_FILLING, max_chars=math.inf)
    return found or in_other_words(text)


def _at_start() -> dict[str, str]:
    """The refusals of ``matches.league.planned`` and ``lifecycle``: by the text that is stored, the translation."""
    running = (
        "Round %(number)s is still running (%(left)s match open): wait until it has ended.",
        "Round %(number)s is still running (%(left)s matches open): wait until it has ended.",
    )
    sentences = (
        # Events of earlier versions have the shorter one.
        gettext_noop("the site was not running at that time"),
        "the site was not running at that time, or no referee was there in the ten minutes after it",
        "%(league)s has %(count)s of at least %(min)s players that passed the check; not ready: %(names)s. "
        "Wait until more have passed, or turn require_check off.",
        "%(league)s has %(count)s of at least %(min)s players: wait until more have registered.",
        "No referee may judge %(game)s now: start one (manage.py referee), or tick “may judge” at a registered one.",
        "%(league)s is over: create a new league to play again.",
        "%(league)s is paused: resume it first.",
        "%(league)s has just changed: look again.",
        "The schedule of %(league)s is being made: wait a moment.",
        "Every round of %(league)s has been played.",
        "Round %(number)s has just been started.",
    )
    return {sentence: _(sentence) for sentence in sentences} | {
        sentence: ngettext(*running, count) for count, sentence in zip((1, 5), running, strict=True)
    }
