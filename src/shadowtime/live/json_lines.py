"""Files of JSON lines that a loop appends to and that are read back line by line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from shadowtime import plain, private
from shadowtime.errors import ClusterError, InputError

Value = TypeVar("Value")


class JsonLines:
    """A file of a loop; a failure to write is reported once, and the loop continues without it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = JsonLines(Path(folder) / "no" / "log.jsonl", called="the recording", tell=print)
    ...     file.append([{"job": "7"}]), file.append([{"job": "8"}])  # doctest: +ELLIPSIS
    the recording ...log.jsonl cannot be written (No such file or directory): continuing without
    (False, False)
    """

    def __init__(self, path: Path, *, called: str, tell: Callable[[str], None]) -> None:
        self.path, self.called, self.tell = path, called, tell
        self.trouble = ""
        """Why the last lines could not be written; empty if they were."""

    def append(self, lines: Iterable[Mapping[str, Any]]) -> bool:
        """Write some lines at once; False if that failed."""
        raw = "".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in lines)
        try:
            private.append_whole(self.path, raw.encode())
        except OSError as error:
            why = error.strerror or str(error)
            if why != self.trouble:
                self.tell(
                    f"{self.called} {self.path} cannot be written ({why}): continuing without"
                )
            self.trouble = why
            return False
        self.trouble = ""
        return True


def read_lines(
    path: Path, parse: Callable[[Mapping[str, Any]], Value], *, wrong: str, hint: str
) -> Iterator[Value]:
    """The values of a file's lines, in order; InputError names an invalid line."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=str(path)) from None
    with file:
        for number, line in enumerate(file, 1):
            try:
                found = parse(plain.load(line))
            except (InputError, ClusterError) as error:
                raise InputError(
                    f"{wrong}: {error}", path=str(path), line=number, hint=hint
                ) from None
            yield found
