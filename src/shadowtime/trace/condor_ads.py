"""HTCondor's attribute lists (ClassAds) as text: from a file to names and values.

Three spellings of the same: ``condor_history -json`` (one array), ``-jsonl`` (an object a line)
and ``-long``, which is also how the schedd keeps its history files, with a line of stars between
the jobs. Names are case-insensitive and come out in lower case.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    Ad = dict[str, Any]
    LogLine = tuple[int, Ad | str]

_BETWEEN = re.compile(r"[\s\[\],]*")
_NEXT = re.compile(r"\n\{")
_LINE = re.compile(r"([A-Za-z_][A-Za-z0-9_.]*)\s*=\s*(.*)")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_WORDS: dict[str, Any] = {"true": True, "false": False, "undefined": None, "error": None}


class Expression(str):
    """A value that HTCondor evaluates when needed; here it stays unknown."""

    __slots__ = ()


def split_ads(text: str) -> Iterator[LogLine]:
    """Every job's attributes with the line on which they begin; a message if they are invalid.

    Examples
    --------
    >>> list(split_ads('[{"ClusterId": 7, "RequestMemory": "/Expr(ImageSize / 1024)/"}]'))
    [(1, {'clusterid': 7, 'requestmemory': 'ImageSize / 1024'})]
    >>> list(split_ads('ClusterId = 7\\nOwner = "ann"\\n*** Offset = 0 ClusterId = 7\\n'))
    [(1, {'clusterid': 7, 'owner': 'ann'})]
    """
    return _json_ads(text) if text.lstrip()[:1] in ("[", "{") else _long_ads(text)


def _json_ads(text: str) -> Iterator[LogLine]:
    decoder = json.JSONDecoder()
    at, line = 0, 1
    while True:
        between = _BETWEEN.match(text, at)
        assert between is not None  # it matches nothing, too
        line += text.count("\n", at, between.end())
        at = between.end()
        if at == len(text):
            return
        try:
            found, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:  # also numbers of thousands of digits
            where = getattr(error, "lineno", line)
            deep = isinstance(error, RecursionError)
            why = "nested too deep" if deep else getattr(error, "msg", error)
            yield where, f"this is not JSON: {why}"
            again = _NEXT.search(text, at + 1)
            end = again.start() if again else len(text)
        else:
            if isinstance(found, dict):
                yield line, {name.lower(): _json_value(value) for name, value in found.items()}
            else:
                yield line, f"expected the attributes of a job, found {str(found)[:30]!r}"
        line += text.count("\n", at, end)
        at = end


def _json_value(value: Any) -> Any:
    if isinstance(value, str) and value.startswith("/Expr(") and value.endswith(")/"):
        return Expression(value[6:-2])
    return value


def _long_ads(text: str) -> Iterator[LogLine]:
    ad: Ad = {}
    first = 0
    wrong = ""
    for number, line in enumerate(text.splitlines(), 1):
        banner = line.startswith("***")
        if banner or not line.strip():
            if wrong or ad:
                yield first, wrong or ad
            ad, first, wrong = {}, 0, ""
            continue
        first = first or number
        match = _LINE.fullmatch(line.strip())
        if match:
            ad[match[1].lower()] = long_value(match[2])
        elif not wrong:
            first, wrong = number, f"expected Name = value, found {line.strip()[:40]!r}"
    if wrong or ad:
        yield first, wrong or ad


def long_value(text: str) -> Any:
    """A value as -long writes it.

    Examples
    --------
    >>> [long_value(text) for text in ("7", "2.5", '"ann"', "true", "undefined", "Cpus * 2")]
    [7, 2.5, 'ann', True, None, 'Cpus * 2']
    """
    word = text.strip()
    if word.lower() in _WORDS:
        return _WORDS[word.lower()]
    quoted = _STRING.fullmatch(word)
    if quoted:
        return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), quoted[1])
    try:
        return int(word) if re.fullmatch(r"[-+]?\d+", word) else float(word)
    except ValueError:
        return Expression(word)
