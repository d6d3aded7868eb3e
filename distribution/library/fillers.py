"""The functions of the catalogue that stand in a policy's slots, as the library carries them.

A policy's functions are called through a generated one (engine/fillers.py, engine/selecting.py).
Those of the catalogue are known when the package is built, so they are compiled then.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from shadowtime.engine import selecting
from shadowtime.engine.fillers import filler_of, source_of
from shadowtime.engine.uses import uses_of
from shadowtime.kernel import choice, record
from shadowtime.kernel.library import filler_name, name_of
from shadowtime.policy import catalogue
from shadowtime.policy.functions import plain

if TYPE_CHECKING:
    from collections.abc import Callable


class Filler(NamedTuple):
    """A generated function: of what files it is made, its type, and how it is made."""

    files: tuple[Path, ...]
    signature: Callable[[], Any]
    make: Callable[[], Any]
    """Generates it for Numba."""


def fillers() -> dict[str, Filler]:
    """Of every policy of the catalogue that has functions, by its name in the library's list."""
    found: dict[str, Filler] = {}
    for policy in catalogue():
        if uses := uses_of(policy):
            functions = [plain(use.function) for use in uses]
            name = filler_name(functions, source_of(uses, "fill"))
            files = (*(name_of(each)[0] for each in functions), Path(record.__file__))
            made = _filler(files, uses)
            found |= {name: made} if name else {}
        if policy.backfill.selects and policy.backfill.compiled:
            use = selecting.use_of(policy.backfill)
            name = filler_name((plain(use.function),), selecting.source_of(use, "select"))
            files = (name_of(plain(use.function))[0], Path(choice.__file__))
            found |= {name: _select(files, use)} if name else {}
    return found


def _filler(files: tuple[Path, ...], uses: Any) -> Filler:
    return Filler(files, record.own_signature, lambda: filler_of(uses, "held"))


def _select(files: tuple[Path, ...], use: Any) -> Filler:
    return Filler(files, choice.select_signature, lambda: selecting.select_of(use, "held"))
