"""Sphinx settings: MyST Markdown, furo."""

from __future__ import annotations

import shadowtime

project = "Shadowtime"
author = "the Shadowtime authors"
release = version = shadowtime.__version__
extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "Shadowtime"
suppress_warnings = ["misc.highlighting_failure"]
