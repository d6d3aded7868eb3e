"""Text into markup, safely: all text from a trace or a policy is escaped here."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from html import escape
from typing import Any

SAFE_IN_SCRIPT = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
"""No data can end the element it lies in or open a comment."""

POLICY_COLOURS = 12
"""Policies with a colour of their own; the style sheet and the script have as many."""

MOST_TABS = 8
"""As many as the style sheet can switch between."""


def text(value: object) -> str:
    """A value as text of an element or an attribute in double quotes.

    Examples
    --------
    >>> text('<script>"x"</script>')
    '&lt;script&gt;&quot;x&quot;&lt;/script&gt;'
    """
    return escape(str(value), quote=True)


def json_block(name: str, value: Any) -> str:
    """Data for the page's script, in an element that no data can close.

    Examples
    --------
    >>> json_block("x", {"a": "</script>"})
    '<script type="application/json" id="x">{"a":"\\\\u003c/script\\\\u003e"}</script>'
    """
    body = json.dumps(plain(value), separators=(",", ":"), allow_nan=False).translate(
        SAFE_IN_SCRIPT
    )
    return f'<script type="application/json" id="{text(name)}">{body}</script>'


def plain(value: Any) -> Any:
    """The same value in types that JSON knows; NaN and infinity become null."""
    if isinstance(value, dict) or hasattr(value, "items"):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return str(value)


def section(name: str, title: str, body: str, *, lead: str = "") -> str:
    """A section with its heading, which the page's contents link to."""
    intro = f'<p class="lead">{text(lead)}</p>' if lead else ""
    return f'<section id="{name}"><h2>{text(title)}</h2>{intro}{body}</section>'


def table(head: list[str], rows: list[list[str]], *, kind: str = "") -> str:
    """A table from markup cells; the first column names the row."""
    top = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row">{row[0]}</th>'
        + "".join(f"<td>{cell}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll"><table class="{kind}"><thead><tr>{top}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def mark(index: int) -> str:
    """The class that colours the run at this place: twelve colours, then the same ones hollow.

    Examples
    --------
    >>> mark(0), mark(11), mark(12)
    ('p0', 'p11', 'p0 again')
    """
    return f"p{index % POLICY_COLOURS}{' again' if index >= POLICY_COLOURS else ''}"


def swatch(index: int) -> str:
    """The coloured mark of the run at this place."""
    return f'<i class="swatch {mark(index)}"></i>'


def named(index: int, name: str) -> str:
    """A run's mark and its name."""
    return f'{swatch(index)}<span class="name" title="{text(name)}">{text(name)}</span>'


def tabs(group: str, panels: Sequence[tuple[int, str, str]]) -> str:
    """Panels behind each other, chosen by name: (place of the run, its name, markup) of each.

    The first is open. More than the style sheet knows are folded away one by one.
    """
    if len(panels) > MOST_TABS:
        return "".join(
            f"<details><summary>{named(index, name)}</summary>{body}</details>"
            for index, name, body in panels
        )
    heads, bodies = [], []
    for place, (index, name, body) in enumerate(panels):
        key, chosen = f"{group}-{place}", "" if place else " checked"
        heads.append(
            f'<input type="radio" name="{group}" id="{key}"{chosen}>'
            f'<label for="{key}" title="{text(name)}">{named(index, name)}</label>'
        )
        bodies.append(f'<div class="panel">{body}</div>')
    return f'<div class="tabs">{"".join(heads)}{"".join(bodies)}</div>'
