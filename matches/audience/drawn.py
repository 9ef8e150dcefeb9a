"""Renders the drawings of matches by the templates of games: the tag ``{% draw %}``, and where a package's are found.

A drawing that was rendered before is not rendered again: a move changes only one board of sixty.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from django import template
from django.template import Origin
from django.template.loader import get_template
from django.template.loaders.filesystem import Loader as FilesystemLoader
from django.utils.safestring import SafeString
from django.utils.translation import get_language

from league_sdk.rules.registry import games
from matches.view.drawings import PLAIN, Drawing

logger = logging.getLogger(__name__)
register = template.Library()

MAX_KEPT_DRAWINGS = 512
FOLDER = "games/"


class GameTemplates(FilesystemLoader):
    """Finds ``games/NAME/…`` in the folder ``templates`` beside the module of each game.

    The templates of our own games are in the site's folder ``templates``, where other loaders find them before.
    """

    def get_dirs(self) -> list[str | Path]:
        """These folders, whether they exist or not."""
        modules = {type(game).__module__ for game in games().values()}
        files = [getattr(sys.modules.get(name), "__file__", None) for name in sorted(modules)]
        return [Path(file).parent / "templates" for file in files if file]

    def get_template_sources(self, template_name: str) -> Iterator[Origin]:
        """The places where a template may be; none if it is not a template of a game."""
        return super().get_template_sources(template_name) if template_name.startswith(FOLDER) else iter(())


@register.simple_tag
def draw(drawing: Drawing | None, size: str) -> SafeString:
    """Render a drawing, ``small`` for screens and lists or ``large`` for the page of a match; nothing without one."""
    return SafeString("") if drawing is None else _rendered(drawing, size, get_language() or "")


@lru_cache(maxsize=MAX_KEPT_DRAWINGS)
def _rendered(drawing: Drawing, size: str, _language: str) -> SafeString:
    for name in (f"{drawing.kind}/{size}", f"{drawing.kind}/small"):
        try:
            return SafeString(get_template(f"{FOLDER}{name}.html").render({"drawing": drawing, "grid": drawing.grid}))
        except template.TemplateDoesNotExist:
            continue
        except Exception:
            # The template of a package may fail in any way; the match is then shown in words.
            logger.exception("the drawing %s of a game cannot be rendered", name)
            break
    else:
        logger.error("no template draws games/%s/small.html", drawing.kind)
    return SafeString(get_template(f"{FOLDER}{PLAIN}/small.html").render({"drawing": drawing}))
