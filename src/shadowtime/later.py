"""Names of a package that are loaded when they are first used, so that its import costs nothing.

The package imports them for readers of types alone, each as itself and so for others too::

    if TYPE_CHECKING:
        from shadowtime.workload.scale import to_load as to_load
    else:
        __getattr__, __all__, __dir__ = later(__name__)

These lines are the only list of the names and of the files that they come from.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from shadowtime.errors import similar

IMPORT = re.compile(r"^(?:    )?from (\S+) import (\w+) as \2$", re.MULTILINE)


def later(
    package: str, *own: str
) -> tuple[Callable[[str], Any], list[str], Callable[[], list[str]]]:
    """``__getattr__``, ``__all__`` and ``__dir__`` of a package.

    What it imports as itself at once is in ``__all__`` too, like ``own``: names that it defines, or
    files and folders in it.

    Examples
    --------
    >>> import shadowtime.trace
    >>> find, names, _ = later("shadowtime.trace", "read", "swf")
    >>> names[-1], find("parse_swf").__module__, find("swf").__name__
    ('write_swf', 'shadowtime.trace.swf', 'shadowtime.trace.swf')
    >>> find("parse_sfw")
    Traceback (most recent call last):
    ...
    AttributeError: module 'shadowtime.trace' has no attribute 'parse_sfw'; did you mean ...
    """
    with open(str(sys.modules[package].__file__), encoding="utf-8") as file:
        homes = {name: module for module, name in IMPORT.findall(file.read())}
    names = sorted({*homes, *own})

    def find(name: str) -> Any:
        if name in homes:
            return getattr(import_module(homes[name]), name)
        if name in own:
            return import_module(f"{package}.{name}")
        close = similar(name, names)
        hint = f"; did you mean {' or '.join(close)}?" if close else ""
        raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")

    return find, names, lambda: sorted({*vars(sys.modules[package]), *names})
