"""Amounts as they are typed: lengths of time, ranges, sizes of files, lists."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    SpanType = click.ParamType[int]
    RangeType = click.ParamType[tuple[int, int | None]]
    CommasType = click.ParamType[tuple[str, ...]]
else:  # only newer versions of click know what a type converts to
    SpanType = RangeType = CommasType = click.ParamType

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


class Span(SpanType):
    """A length of time: 90, 90s, 5m, 36h, 7d, 2w.

    Examples
    --------
    >>> Span().convert("36h", None, None)
    129600
    """

    name = "span"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"(\d{1,12})\s*([smhdw]?)", str(value).strip().lower())
        if match is None:
            self.fail(f"{value!r} is not a length of time: write 90s, 5m, 36h, 7d or 2w")
        return int(match[1]) * UNITS[match[2] or "s"]


class Range(RangeType):
    """Two whole numbers, FROM:TO; either may be left out.

    Examples
    --------
    >>> Range().convert("10:", None, None)
    (10, None)
    """

    name = "range"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int | None]:
        if isinstance(value, tuple):
            return value
        match = re.fullmatch(r"(\d{0,12}):(\d{0,12})", str(value).strip())
        if match is None:
            self.fail(f"{value!r} is not a range: write FROM:TO, as in 0:30")
        return int(match[1] or 0), int(match[2]) if match[2] else None


class Size(SpanType):
    """A size of a file in bytes: 500MB, 8GB, 1000000.

    Examples
    --------
    >>> Size().convert("8GB", None, None)
    8589934592
    """

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"([0-9]{1,15})\s*([kmgt]?)i?b?", str(value).strip().lower())
        if match is None:
            self.fail(f"{value!r} is not a size: write 500MB or 8GB")
        return int(match[1]) << (10 * " kmgt".index(match[2] or " "))


class Commas(CommasType):
    """Several texts, separated by commas.

    Examples
    --------
    >>> Commas().convert("bsld_mean, wait_max_s", None, None)
    ('bsld_mean', 'wait_max_s')
    """

    name = "commas"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        return tuple(part.strip() for part in str(value).split(",") if part.strip())
