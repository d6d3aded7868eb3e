"""Read jobs, whatever they are in: a log of any format, or the folder of a site."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from shadowtime.trace.formats import read_log

if TYPE_CHECKING:
    from shadowtime.workload import Workload


def read(path: str | os.PathLike[str], **options: Any) -> Workload:
    """Read and clean a job log of any format we know, plain or gzip, or that of a site's folder.

    ``options`` are those of :func:`shadowtime.trace.formats.read_log`.
    """
    if os.path.isdir(path):
        from shadowtime.trace.site_folder import is_site_folder, read_site  # most logs are files

        if is_site_folder(path):
            return read_site(path, **options)[1]
    return read_log(path, **options)
