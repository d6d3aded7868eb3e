"""Every error the package raises on purpose.

    ShadowtimeError
    ├── InputError      a file, line or job that cannot be read
    ├── ClusterError    an invalid machine description
    ├── PolicyError     an unknown policy, part or parameter, or incompatible parts
    ├── UsageError      a request that cannot be fulfilled
    │   └── UnknownName     a name that a mapping of ours does not have
    ├── StoreError      a performance store that is down, locked, read-only or foreign
    └── MissingExtra    an optional dependency that is not installed

A message is one sentence or two: what is wrong, where, and what to do.
The command line prints it without a traceback and exits with code 2.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class ShadowtimeError(Exception):
    """Root of the hierarchy: catch this to catch everything raised on purpose."""


class InputError(ShadowtimeError, ValueError):
    """Invalid input data; includes the place where it was found.

    Examples
    --------
    >>> print(InputError("expected 18 columns, found 3", path="a.swf", line=7, hint="Fix it."))
    a.swf, line 7: expected 18 columns, found 3. Fix it.
    """

    def __init__(
        self, what: str, *, path: str | None = None, line: int | None = None, hint: str = ""
    ) -> None:
        self.path, self.line = path, line
        where = ", ".join(
            part for part in (path, f"line {line}" if line is not None else None) if part
        )
        text = f"{where}: {what}" if where else what
        if hint:
            text = f"{text.rstrip('.')}. {hint}"
        super().__init__(text)


class ClusterError(ShadowtimeError, ValueError):
    """An invalid machine description."""


class PolicyError(ShadowtimeError, ValueError):
    """An unknown policy, part or parameter, or incompatible parts."""


class UsageError(ShadowtimeError, ValueError):
    """A request that cannot be fulfilled."""


class UnknownName(UsageError, KeyError):
    """A name that a mapping of ours does not have."""

    def __str__(self) -> str:  # a KeyError prints its message in quotes
        return str(self.args[0])


class StoreError(ShadowtimeError, RuntimeError):
    """A performance store that cannot be used: down, locked, read-only or foreign."""


class StoreWarning(UserWarning):
    """A performance store could not be read; the message states what is done without it."""


class MissingExtra(ShadowtimeError, ImportError):
    """An optional dependency that is not installed.

    Examples
    --------
    >>> print(MissingExtra("pyarrow", extra="parquet", purpose="write Parquet files"))
    pyarrow is needed to write Parquet files: pip install 'shadowtime[parquet]'
    """

    def __init__(self, module: str, *, extra: str, purpose: str) -> None:
        super().__init__(f"{module} is needed to {purpose}: pip install 'shadowtime[{extra}]'")


def optional(library: str, *parts: str, extra: str, purpose: str) -> Any:
    """A library that an extra installs, loaded with some of its modules.

    Examples
    --------
    >>> optional("nothing_like_it", extra="more", purpose="do more")
    Traceback (most recent call last):
    shadowtime.errors.MissingExtra: nothing_like_it is needed to do more: pip install ...
    """
    try:
        for one in (library, *(f"{library}.{part}" for part in parts)):
            found = __import__(one)  # of a module too it gives the library
        return found
    except ImportError:
        raise MissingExtra(library, extra=extra, purpose=purpose) from None


def similar(word: str, known: Iterable[str], *, most: int = 2, cutoff: float = 0.6) -> list[str]:
    """The names that a word was probably meant to be: those that it begins, then those like it.

    Examples
    --------
    >>> similar("bsld", ["ppbsld", "bsld_mean", "wait"]), similar("esay", ["easy"])
    (['bsld_mean', 'ppbsld'], ['easy'])
    """
    from difflib import get_close_matches  # only for a message

    low = {name.lower(): name for name in known}
    begun = [one for one in low if len(word) > 2 and one.startswith(word.lower())]
    like = get_close_matches(word.lower(), low, n=most, cutoff=cutoff)
    return [low[one] for one in dict.fromkeys([*begun, *like])][:most]


def near(word: str, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown name: what was meant, or what there is.

    Examples
    --------
    >>> near("esay", ["easy", "fcfs"]), near("x", ["easy", "fcfs"]), near("x", [])
    (': did you mean easy?', ': there are easy, fcfs', ': there is none')
    """
    names = list(known)
    found = similar(word, names)
    if found:
        return f": did you mean {' or '.join(found)}?"
    if not names:
        return ": there is none"
    shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    return f": there are {shown}"


def suggested(name: str, known: Iterable[str]) -> str:
    """Whole sentences about an unknown name: the nearest ones, then all that there are.

    Examples
    --------
    >>> suggested("esay", ["easy", "fcfs"])
    'Did you mean easy? Known: easy, fcfs.'
    """
    names = list(known)
    close = similar(name, names, most=3, cutoff=0.5)
    guess = f"Did you mean {' or '.join(close)}? " if close else ""
    return f"{guess}Known: {', '.join(names)}."


class PortError(ShadowtimeError):
    """The scheduler cannot be queried or gave an invalid answer; the loop retries later."""
