"""Applications by number: SWF has a field for the executable's number and none for its name.

A comment line of the header names it: ``; Executable: 3 cg.D.16``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_LINE = re.compile(r"^[;\s]*Executable\s*:\s*(\d+)\s+(\S+)\s*$", re.I)


def application_names(header: Sequence[str]) -> dict[int, str]:
    """The applications that a header names, by number.

    Examples
    --------
    >>> application_names(["; Executable: 3 cg.D.16", "; MaxJobs: 4"])
    {3: 'cg.D.16'}
    """
    found = (match for line in header if (match := _LINE.match(line)))
    return {int(match[1]): match[2] for match in found}
