"""The page's markup as templates: whatever is put into one is escaped unless it is markup."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from shadowtime.report import metadata, numbers
from shadowtime.report.page.markup import mark


def fill(template: str, /, **values: Any) -> Markup:
    """A template with its values, as markup that is not escaped again.

    Examples
    --------
    >>> print(fill("name.html", index=13, name="<b>"))
    <i class="swatch p1 again"></i><span class="name" title="&lt;b&gt;">&lt;b&gt;</span>
    """
    return Markup(_environment().get_template(template).render(values))  # escaped there


@cache
def _environment() -> Environment:
    found = Environment(
        loader=PackageLoader("shadowtime.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,  # a misspelt name fails instead of printing nothing
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )
    found.globals |= {
        "amount": numbers.amount,
        "describe": metadata.describe,
        "mark": mark,
        "number": numbers.number,
        "percent": numbers.percent,
        "span": numbers.span,
        "with_unit": numbers.with_unit,
    }
    return found
