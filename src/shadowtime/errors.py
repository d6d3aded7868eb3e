"""Every error the package raises on purpose.

    ShadowtimeError
    ├── InputError      a file, line or job that cannot be read
    ├── ClusterError    an invalid machine description
    ├── PolicyError     an unknown policy, part or parameter, or incompatible parts
    ├── UsageError      a request that cannot be fulfilled
    ├── StoreError      a performance store that is down, locked, read-only or foreign
    └── MissingExtra    an optional dependency that is not installed

A message is one sentence or two: what is wrong, where, and what to do.
The command line prints it without a traceback and exits with code 2.
"""

from __future__ import annotations


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
