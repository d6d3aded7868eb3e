"""Job logs: one format per file, a pure parser and a thin opener each."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from shadowtime.later import later
from shadowtime.trace.formats import read_log
from shadowtime.trace.formats import read_raw as read_raw
from shadowtime.workload import Workload

if TYPE_CHECKING:
    from shadowtime.trace.sacct import RECOMMENDED_COMMAND as RECOMMENDED_COMMAND
    from shadowtime.trace.sacct import parse_sacct as parse_sacct
    from shadowtime.trace.sacct import read_sacct as read_sacct
    from shadowtime.trace.swf import parse_swf as parse_swf
    from shadowtime.trace.swf import read_swf as read_swf
    from shadowtime.trace.swf import to_swf as to_swf
    from shadowtime.trace.swf import write_swf as write_swf
else:
    __getattr__, __all__, __dir__ = later(__name__, "read")


def read(path: str | os.PathLike[str], **options: Any) -> Workload:
    """Read and clean a job log of any format we know, plain or gzip, or that of a site's folder.

    ``options`` are those of :func:`shadowtime.trace.formats.read_log`.
    """
    if os.path.isdir(path):
        from shadowtime.trace.site_folder import is_site_folder, read_site  # most logs are files

        if is_site_folder(path):
            return read_site(path, **options)[1]
    return read_log(path, **options)
