"""Serves the documentation that ``make docs`` has built; its Content-Security-Policy allows the pages' own scripts."""

from __future__ import annotations

import base64
import hashlib
import mimetypes
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.cache import get_conditional_response

from leaguesite.docs import sources

MAX_AGE_S = 60
_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)
"""An inline script of a page. Scripts with a ``src`` are files; those with a ``type`` are data and are not run."""


@lru_cache(maxsize=8)
def files(built: Path, root: Path) -> dict[str, Path]:
    """Every file of the built documentation by its path, looked up once; empty if these sources were not built.

    Only these files are served, so a path cannot lead out of the folder.

    Args:
        built: the folder that the documentation was built into.
        root: where the Markdown files are. If they have changed since the build, what was built is not served.
    """
    mark = built / sources.DIGEST
    if not mark.is_file():
        return {}
    if (root / "docs" / sources.INDEX).is_file() and mark.read_text(encoding="ascii") != sources.digest(root):
        return {}
    return {path.relative_to(built).as_posix(): path for path in built.rglob("*") if path.is_file() and path != mark}


class Built(HttpResponse):
    """A file of the built documentation. django-csp adds the hashes of its inline scripts to the policy."""

    def __init__(self, content: bytes, name: str) -> None:
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        text = kind.startswith("text/") or kind in ("application/javascript", "application/json")
        super().__init__(content, content_type=f"{kind}; charset=utf-8" if text else kind)
        self["Cache-Control"] = f"max-age={MAX_AGE_S}"
        self["ETag"] = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
        self._csp_update: dict[str, Any] = {}
        if kind == "text/html" and (allowed := hashes(content)):
            self._csp_update = {"script-src": allowed}


def hashes(page: bytes) -> list[str]:
    """The hashes of a page's inline scripts, as sources of a Content-Security-Policy."""
    digests = (base64.b64encode(hashlib.sha256(script).digest()).decode() for script in _SCRIPT.findall(page))
    return list(dict.fromkeys(f"'sha256-{digest}'" for digest in digests))


def answer(request: HttpRequest, file: Path) -> HttpResponseBase:
    """A file, or 304 if the browser has it already."""
    response = Built(file.read_bytes(), file.name)
    return get_conditional_response(request, etag=response["ETag"], response=response) or response
