"""Values of a parameter (a range, a list, a logarithmic scale) and policy texts with such."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass

from shadowtime.errors import UsageError
from shadowtime.printable import shown

NUMBER = r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
_RANGE = re.compile(rf"({NUMBER})\.\.({NUMBER})(?:\s+(step|log|in)\s+({NUMBER}))?")
_BRACES = re.compile(r"\{([^{}]*)\}")
_BARE = re.compile(rf"(?<==)\s*{NUMBER}\.\.{NUMBER}")
_KEY = re.compile(r"([A-Za-z_][\w-]*)\s*=\s*\Z")
MOST = 100_000
"""The largest number of values of one parameter: more is a mistake."""


def values(text: str) -> list[str]:
    """The values that a text represents, as they are written in a policy.

    Rules
    -----
    ``1..20`` every whole number; ``0..1 step 0.25``; ``0..1 in 5`` five evenly spaced values;
    ``0.01..10 log 4`` four values with equal ratios; ``1, 2, 4`` a list, whose members may be
    ranges. Computed values are rounded to six significant digits, so that the text is the value.

    Examples
    --------
    >>> values("1..4"), values("0..1 step 0.25"), values("0.01..10 log 4")
    (['1', '2', '3', '4'], ['0', '0.25', '0.5', '0.75', '1'], ['0.01', '0.1', '1', '10'])
    >>> values("1, 2, 10..12")
    ['1', '2', '10', '11', '12']
    """
    found: list[str] = []
    for word in (part.strip() for part in text.split(",")):
        if not word:
            raise UsageError(f"a value is missing in {shown(text)}: write 1..20 or 1, 2, 4")
        found += _one(word) if ".." in word else [word]
    repeated = [one for one in found if found.count(one) > 1] if len(found) <= 1000 else []
    if repeated:
        raise UsageError(f"the value {repeated[0]} appears twice in {shown(text)}")
    return found


def _one(word: str) -> list[str]:
    match = _RANGE.fullmatch(word)
    if match is None:
        raise UsageError(
            f"cannot read the range {shown(word)}: write 1..20, 0..1 step 0.1, 0..1 in 5 or "
            "0.01..10 log 4"
        )
    low, high = float(match[1]), float(match[2])
    how, amount = match[3] or "step", float(match[4] or 1)
    if not (math.isfinite(low) and math.isfinite(high)) or low > high:
        raise UsageError(f"the range {shown(word)} runs backwards: write the smaller value first")
    if match[3] is None and not (low.is_integer() and high.is_integer()):
        raise UsageError(f"the range {word} needs a step: {word} step 0.1, or {word} in 5")
    if how == "step":
        if amount <= 0:
            raise UsageError(f"the step of {shown(word)} must be above 0")
        count = math.floor((high - low) / amount + 1e-9) + 1
        points = [low + k * amount for k in range(_checked(count, word))]
    else:
        count = int(amount) if amount.is_integer() else 0
        if count < 2:
            raise UsageError(f"the range {shown(word)} needs a whole number of values from 2")
        if how == "log" and low <= 0:
            raise UsageError(f"the range {shown(word)} is logarithmic and must begin above 0")
        share = [k / (count - 1) for k in range(_checked(count, word))]
        if how == "log":
            points = [low * (high / low) ** one for one in share]
        else:
            points = [low + (high - low) * one for one in share]
    return list(dict.fromkeys(number(one) for one in points))


def _checked(count: int, word: str) -> int:
    if count > MOST:
        raise UsageError(f"the range {shown(word)} has {count:,} values; at most {MOST:,}")
    return count


def number(value: float) -> str:
    """A value as a policy text has it.

    Examples
    --------
    >>> number(4.0), number(0.30000000000000004), number(1e-7), number(123456789.0)
    ('4', '0.3', '1e-07', '123456789')
    """
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.6g}"


@dataclass(frozen=True)
class Expanded:
    """A policy text without ranges, the text it comes from, and the inserted values."""

    text: str
    template: str
    settings: tuple[tuple[str, str], ...] = ()


def expand(template: str) -> list[Expanded]:
    """Every policy that a text with ranges represents, the last range running fastest.

    Examples
    --------
    >>> [one.text for one in expand("easy(reserve=1..3)")]
    ['easy(reserve=1)', 'easy(reserve=2)', 'easy(reserve=3)']
    >>> [one.text for one in expand("easy(order={lxfw, sjf})")]
    ['easy(order=lxfw)', 'easy(order=sjf)']
    >>> expand("easy(order=weighted(wait={0.01..1 log 3}))")[1].settings
    (('wait', '0.1'),)
    """
    places = [(m.start(), m.end(), m[1]) for m in _BRACES.finditer(template)]
    inside = [(begin, end) for begin, end, _ in places]
    places += [
        (m.start(), m.end(), m[0])
        for m in _BARE.finditer(template)
        if not any(begin <= m.start() < end for begin, end in inside)
    ]
    places.sort()
    if not places:
        return [Expanded(template, template)]
    keys, choices = [], []
    for begin, _, content in places:
        match = _KEY.search(template[:begin])
        if match is None:
            raise UsageError(
                f"the values in {shown(template)} belong to no parameter: write name=1..20"
            )
        keys.append(match[1].replace("-", "_"))
        choices.append(values(content))
    twice = [key for key in keys if keys.count(key) > 1]
    if twice:
        raise UsageError(f"the parameter {twice[0]} has two ranges in {shown(template)}")
    if math.prod(map(len, choices)) > MOST * 10:
        raise UsageError(f"{shown(template)} represents more than {MOST * 10:,} policies")
    found = []
    for chosen in itertools.product(*choices):
        text, at = "", 0
        for (begin, end, _), value in zip(places, chosen, strict=True):
            text += template[at:begin] + value
            at = end
        text += template[at:]
        found.append(Expanded(text, template, tuple(zip(keys, chosen, strict=True))))
    return found
