"""Applications by number: what a log's header says of its executables.

SWF has a field for the executable's number and none for its name or its demand. A comment line says
both: ``; Executable: 3 cg.D.16 bandwidth=3000`` (MB/s per process).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shadowtime.types import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadowtime.workload.workload import Workload

_LINE = re.compile(r"^[;\s]*Executable\s*:\s*(\d+)\s+(\S+)(?:\s+bandwidth=(\d+))?\s*$", re.I)


class Known(NamedTuple):
    """An application: its name, and MB/s per process or -1 if unsaid."""

    name: str
    bandwidth: int


def applications(header: Sequence[str]) -> dict[int, Known]:
    """The applications that a header names, by number.

    Examples
    --------
    >>> applications(["; Executable: 3 cg.D.16 bandwidth=3000", "; Executable: 4 awk"])
    {3: Known(name='cg.D.16', bandwidth=3000), 4: Known(name='awk', bandwidth=-1)}
    """
    found = (match for line in header if (match := _LINE.match(line)))
    return {int(m[1]): Known(m[2], UNKNOWN if m[3] is None else int(m[3])) for m in found}


def described(workload: Workload) -> Workload:
    """The same jobs with the bandwidth that the header says for their executables."""
    known = applications(workload.header)
    if "bandwidth" in workload.extra or all(app.bandwidth < 0 for app in known.values()):
        return workload
    column = [
        known[number].bandwidth if number in known else UNKNOWN
        for number in workload.executable.tolist()
    ]
    return workload.replace(extra={**workload.extra, "bandwidth": np.array(column, np.int64)})
