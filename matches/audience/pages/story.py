"""The page to share after the end: podium, the champion's path, the evening in figures and the table, for everybody.

There is none before the league is completed, none of a stopped league, and none while anything is hidden.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib.staticfiles import finders
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents_registry.isolating import isolated, plain
from matches.audience import picture
from matches.audience.pages import evening, parts
from matches.audience.pages.evening import Evening
from matches.view.sight import View
from matches.words.states import no_champion

STYLES = ("css/tokens.css", "css/site.css", "css/evening.css")
"""The style sheets of the page, which its file contains."""


class Preview(NamedTuple):
    """What other sites show of a link to the page; addresses are those of the site's public URL."""

    title: str
    description: str
    url: str
    image: str
    width: int
    height: int


def context(view: View) -> dict[str, Any] | None:
    """The page; None until the league is completed and nothing is hidden any more, for the staff as for everybody."""
    if view.league.frozen_seq is not None:
        return None
    known = evening.of_view(view)
    if known is None:
        return None
    return {
        "league": parts.league_of(view),
        "evening": known,
        "standings": view.listed,
        "preview": preview(view, known),
        "version": version(view),
    }


def file(view: View) -> str | None:
    """The page as one file that needs nothing else, in the active language; None where there is no page."""
    known = context(view)
    if known is None:
        return None
    styles = "\n".join(Path(str(finders.find(name))).read_text("utf-8") for name in STYLES)
    return render_to_string("leagues/story_file.html", known | {"styles": styles})


def version(view: View) -> str:
    """A hash of what the page and the picture depend on."""
    made_of = (view.league.pk, view.league.created_at, view.moment.seq, view.moment.head, view.league.display_name)
    return hashlib.sha256(repr((made_of, sorted(view.names.items()))).encode()).hexdigest()[:16]


def preview(view: View, known: Evening) -> Preview:
    """The texts and addresses for previews of the link."""
    base = settings.LEAGUE_PUBLIC_URL.rstrip("/")
    image = f"{base}{reverse('story_picture', args=[view.league.pk])}?v={version(view)}"
    return Preview(
        # isolated() also takes paragraph breaks and controls of the direction out of the name.
        plain(isolated(view.league.display_name)),
        _result(view, known),
        base + reverse("story", args=[view.league.pk]),
        image,
        *picture.SIZE,
    )


def _result(view: View, known: Evening) -> str:
    """A sentence that says who won, of how many players."""
    names = ", ".join(isolated(row.display_name) for row in known.champions[: evening.MAX_STEPS])
    if not names:
        return f"{no_champion()} {_count(view)}"
    sentence = ngettext("Champion: %(names)s.", "Champions: %(names)s.", len(known.champions)) % {"names": names}
    return f"{sentence} {_count(view)}"


def _count(view: View) -> str:
    matches = len(view.moment.outcomes)
    players = ngettext("%(count)d player", "%(count)d players", len(view.names)) % {"count": len(view.names)}
    return _("%(players)s, %(matches)s.") % {
        "players": players,
        "matches": ngettext("%(count)d match", "%(count)d matches", matches) % {"count": matches},
    }


def png(view: View, known: Evening) -> bytes:
    """The picture for previews."""
    word, foot = _words(view, known)
    # For a font that lacks the letters of the page's language.
    with translation.override("en"):
        word_else, foot_else = _words(view, known)
    places = [
        picture.Place(
            step.height,
            step.row.place,
            picture.Text(step.row.display_name, step.row.player_id),
            picture.Text(_points(step.row.points), str(step.row.points)),
        )
        for step in known.steps
    ]
    title = picture.Text(view.league.display_name, view.league.pk)
    return picture.png(picture.Shown(title, picture.Text(word, word_else), places, picture.Text(foot, foot_else)))


def _points(points: int) -> str:
    return ngettext("%(count)d point", "%(count)d points", points) % {"count": points}


def _words(view: View, known: Evening) -> tuple[str, str]:
    word = ngettext("Champion", "Champions", len(known.champions)) if known.champions else _("The league is over")
    return word, plain(_count(view))
