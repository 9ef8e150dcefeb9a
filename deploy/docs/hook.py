"""What mkdocs is told of our pages: files outside docs/, the order of docs/README.md, anchors as GitHub has them."""

from __future__ import annotations

import posixpath
import re
import shutil
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from leaguesite.docs import sources

ROOT = Path(__file__).resolve().parents[2]


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The order of pages, from the list on the top page; the decisions have a group of their own."""
    index = (ROOT / "docs" / sources.INDEX).read_text(encoding="utf-8")
    decisions = [page for page in sources.pages(ROOT) if page.startswith("decisions/")]
    nav: list[Any] = [{"Documentation": sources.INDEX}]
    nav += [{name: [page for page in pages if page not in decisions]} for name, pages in sources.groups(index)]
    config.nav = [*nav, {"Decisions": sorted(decisions, key=lambda page: (not page.endswith(sources.INDEX), page))}]
    config.mdx_configs["toc"]["slugify"] = sources.slug
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The pages that stand outside docs/."""
    for file, page in sources.ELSEWHERE.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / file)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links between pages in and outside docs/; a file that is not a page is named without a link."""
    source = page.file.src_uri
    folder = posixpath.dirname(source)

    def link(target: str) -> str:
        return posixpath.relpath(target, folder or ".") if target in files.src_uris else ""

    # Our tests read words behind ```json that the highlighter does not understand: they are removed.
    plain = re.sub(r"^( *```\w+) .*$", r"\1", markdown, flags=re.MULTILINE)
    return sources.relinked(plain, source, link, sources.titles(ROOT))


def on_post_build(config: MkDocsConfig) -> None:
    """Take away what no reader gets (source maps, other languages' search), and note what the site was built from."""
    site = Path(config.site_dir)
    for path in (*site.rglob("*.map"), site / "404.html", site / "sitemap.xml", site / "sitemap.xml.gz"):
        path.unlink()
    shutil.rmtree(site / "assets" / "javascripts" / "lunr")
    (site / sources.DIGEST).write_text(sources.digest(ROOT), encoding="ascii")
