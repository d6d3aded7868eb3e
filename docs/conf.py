"""Sphinx settings: Markdown by MyST, furo, and some pages written from the code."""

from __future__ import annotations

import sys
from pathlib import Path

import shadowtime

sys.path.insert(0, str(Path(__file__).resolve().parent))

from generate import write_pages

project = "Shadowtime"
author = "the Shadowtime authors"
project_copyright = author
release = version = shadowtime.__version__
extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_*", "**/_*.md"]
html_theme = "furo"
html_title = "Shadowtime"

write_pages()
