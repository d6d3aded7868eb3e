"""Numbers for people: thousands separators, sensible digits, spans of time."""

from __future__ import annotations

import math

MINUS = "\N{MINUS SIGN}"
DASH = "\N{EN DASH}"
"""The dash between the ends of a range, and the one for a missing number."""
THIN = "\N{NARROW NO-BREAK SPACE}"

_SPANS = ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min"), (60, "min", 1, "s"))


def number(value: float | None) -> str:
    """A number with separators and about four digits.

    Examples
    --------
    >>> [number(x) for x in (1234567.8, 87.654, 3.14159, 0.01234, 12)]
    ['1,234,568', '87.7', '3.14', '0.0123', '12']
    """
    if value is None or not math.isfinite(value):
        return DASH
    size = abs(value)
    if value == int(value) and size < 1e15:
        text = f"{int(value):,}"
    elif size >= 1000:
        text = f"{value:,.0f}"
    elif size >= 10:
        text = f"{value:.1f}"
    elif size >= 1:
        text = f"{value:.2f}"
    else:
        text = f"{value:.3g}" if size >= 1e-4 else f"{value:.1e}"
    return text.replace("-", MINUS)


def percent(share: float | None, *, signed: bool = False) -> str:
    """A share of one as per cent.

    Examples
    --------
    >>> [percent(x, signed=True).replace(THIN, " ") for x in (0.0512, 2.5)]
    ['+5.1 %', '+250 %']
    """
    if share is None or not math.isfinite(share):
        return DASH
    points = 100 * share
    digits = 0 if abs(points) >= 100 else 1
    text = f"{points:{'+' if signed else ''},.{digits}f}"
    if float(text.replace(",", "")) == 0:
        text = text.lstrip("+-")
    return text.replace("-", MINUS) + THIN + "%"


def span(seconds: float | None) -> str:
    """A length of time in its two largest units.

    Examples
    --------
    >>> span(11123), span(59), span(2 * 86400 + 7200), span(0.25)
    ('3 h 5 min', '59 s', '2 d 2 h', '0.25 s')
    """
    if seconds is None or not math.isfinite(seconds):
        return DASH
    sign, left = (MINUS if seconds < 0 else ""), abs(seconds)
    if left < 60:
        return f"{sign}{number(left if left < 10 else round(left))} s"
    left = round(left)
    for size, unit, small, small_unit in _SPANS:
        if left >= size:
            # round to the small unit first, so that 59.9 min never reads "60 min"
            whole, rest = divmod(round(left / small) * small, size)
            tail = f" {rest // small} {small_unit}" if rest else ""
            return f"{sign}{number(whole)} {unit}{tail}"
    return f"{sign}{left} s"


def with_unit(value: float | None, unit: str) -> str:
    """A metric's value as running text.

    Examples
    --------
    >>> with_unit(11123, "s"), with_unit(0.5, "share"), with_unit(3, "jobs"), with_unit(1.5, "")
    ('3 h 5 min', '50.0\u202f%', '3 jobs', '1.50')
    """
    if unit == "s":
        return span(value)
    if unit == "share":
        return percent(value)
    return f"{number(value)} {unit}" if unit and value is not None else number(value)


def short(name: str, most: int = 36) -> str:
    """A name that fits a sentence.

    Examples
    --------
    >>> short("easy"), short("x" * 50, 6)
    ('easy', 'xxxxx…')
    """
    return name if len(name) <= most else f"{name[: most - 1]}…"


def cell(value: float | None, unit: str) -> str:
    """A metric's value in a table whose row names the unit."""
    return percent(value) if unit == "share" else number(value)


def amount(value: float | None, unit: str) -> str:
    """A metric's value in a table of the page: times in days and hours, shares in per cent.

    Examples
    --------
    >>> amount(20_291, "s"), amount(0.25, "share").replace(THIN, " "), amount(3.0, "jobs")
    ('5 h 38 min', '25.0 %', '3')
    """
    return span(value) if unit == "s" else cell(value, unit)


def count(amount: int, noun: str) -> str:
    """An amount and its noun.

    Examples
    --------
    >>> count(1, "job"), count(28476, "job")
    ('1 job', '28,476 jobs')
    """
    return f"{number(amount)} {noun}{'' if amount == 1 else 's'}"
