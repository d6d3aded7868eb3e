"""The board's pages: the board itself, the scores, one to embed, and a snapshot in one file."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from typing import TYPE_CHECKING

import shadowtime
from shadowtime.report.page.html import FIGURE, USED, script_digest, whole_page
from shadowtime.report.page.markup import json_block
from shadowtime.report.page.templates import fill

if TYPE_CHECKING:
    from shadowtime.board.keeper import Keeper

SCRIPTS = (
    "format.js",
    *FIGURE,
    "tip.js",
    *USED,
    "board_data.js",
    "board_queue.js",
    "board_scores.js",
    "board_page.js",
    "board_main.js",
)
"""The figure is the report's own."""
VERSIONS = {"shadowtime": shadowtime.__version__}


@dataclass(frozen=True)
class Page:
    """A page as it is sent: compressed, with the digest of its script."""

    raw: bytes
    digest: str
    framed: bool = False


def pages() -> dict[str, Page]:
    """The pages of a server, by path."""
    kinds = {"/": "board", "/scores": "scores", "/embed": "embed"}
    digest = script_digest(SCRIPTS)
    return {
        path: Page(gzip.compress(_page(kind).encode(), mtime=0), digest, kind == "embed")
        for path, kind in kinds.items()
    }


def snapshot(keeper: Keeper) -> str:
    """The board as one file that needs no server: as of now."""
    blocks = [
        json_block("state", keeper.state()),
        json_block("history", keeper.history()),
        json_block("scores-data", keeper.scores()),
    ]
    return _page("snapshot", blocks)


def _page(kind: str, blocks: list[str] | None = None) -> str:
    served = blocks is None
    return whole_page(
        "Shadowtime board",
        [fill("board.html", kind=kind)],
        blocks or [],
        versions=VERSIONS,
        scripts=SCRIPTS,
        styles=("board.css",),
        shareable=kind != "embed",
        served=served,
        footer="Read-only: nothing here changes the cluster." if served else "This is a snapshot.",
        kind=kind,
    )
