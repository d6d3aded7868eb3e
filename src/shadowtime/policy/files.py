"""Python files in policy texts: where they are named, and what they define.

``mine.py:f1(weight=2)`` is a whole policy, ``easy(order=mine.py:f1, estimate=other.py:guess)`` one
with parts from two files.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from shadowtime.errors import PolicyError, suggested
from shadowtime.policy.written import faults_kept

MARK = ".py:"
"""What a file in a policy text ends with; the name in it follows."""
NESTED = re.compile(r"=\s*([^\s(),=]+\.py):")
"""A file that is the value of a slot or a parameter."""
ORIGIN = "origin"
"""The attribute of a policy from files that tells its origin."""


def is_in_file(text: str) -> bool:
    """True if a policy text is ``file.py:name`` as a whole; the path may contain anything.

    Examples
    --------
    >>> is_in_file("my ideas/mine.py:f1(weight=2)"), is_in_file("easy(order=mine.py:f1)")
    (True, False)
    """
    path, mark, _ = text.partition(MARK)
    return bool(mark) and ("=" not in path or os.path.exists(f"{path}.py"))


def _places(text: str) -> Iterator[tuple[int, int]]:
    """Where the paths of files stand in a policy text."""
    first = 0
    if is_in_file(text):
        first = text.index(MARK) + len(MARK) - 1
        yield 0, first
    for found in NESTED.finditer(text, first):
        yield found.span(1)


def files_in(text: str) -> list[str]:
    """The files that a policy text names, in its order.

    Examples
    --------
    >>> files_in("easy(order=a/mine.py:f1(weight=2), estimate=guess.py:g)"), files_in("easy")
    (['a/mine.py', 'guess.py'], [])
    """
    return [text[begin:end] for begin, end in _places(text)]


def with_files(text: str, change: Callable[[str], str]) -> str:
    """A policy text with the path of every file changed.

    Examples
    --------
    >>> with_files("easy(order=a/mine.py:f1, reserve=2)", os.path.basename)
    'easy(order=mine.py:f1, reserve=2)'
    """
    made, last = "", 0
    for begin, end in _places(text):
        made += text[last:begin] + change(text[begin:end])
        last = end
    return made + text[last:]


def name_of_text(text: str) -> str:
    """What a policy text is called in results: names without their files, single blanks.

    Examples
    --------
    >>> name_of_text("a/mine.py:f1(weight=2)"), name_of_text("easy(order=mine.py:f1,  reserve=2)")
    ('f1(weight=2)', 'easy(order=f1, reserve=2)')
    """
    named, last = "", 0
    for begin, end in _places(text):
        named += text[last:begin]
        last = end + 1  # the colon
    return " ".join((named + text[last:]).split())


@dataclass(frozen=True)
class Origin:
    """Where a policy of a user comes from: its text, and the source of its files at that time."""

    text: str
    files: dict[str, str]

    @staticmethod
    def of(text: str) -> Origin:
        """The files as they are now."""
        return Origin(text, {one: Path(one).read_text("utf-8") for one in files_in(text)})


def load(file: str, name: str) -> Any:
    """What a Python file defines under a name; the file is executed."""
    module = load_module(Path(file))
    if not hasattr(module, name):
        names = [n for n in vars(module) if not n.startswith("_")]
        raise PolicyError(f"{file} has no {name!r}. {suggested(name, names)}")
    return getattr(module, name)


def load_module(path: Path) -> ModuleType:
    """The module in a Python file, which is run.

    A faulty definition in it is an error when that part is used, not for the others.
    """
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if not os.path.exists(path) or spec is None or spec.loader is None:
        raise PolicyError(f"{path}: no such Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        with faults_kept():
            spec.loader.exec_module(module)
    except Exception as error:
        raise PolicyError(f"{path} cannot be imported: {type(error).__name__}: {error}") from error
    return module
