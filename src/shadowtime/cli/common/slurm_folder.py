"""The folder of Slurm's configuration that a command is to work in."""

from __future__ import annotations

import os
from pathlib import Path

from shadowtime.errors import UsageError


def slurm_folder(given: str = "", *, conf_lost: bool = False) -> Path:
    """The folder that was named, else that of $SLURM_CONF or /etc/slurm; it holds slurm.conf.

    With ``conf_lost`` the file may be missing: undoing a change brings it back.
    """
    conf = os.environ.get("SLURM_CONF", "/etc/slurm/slurm.conf")
    folder = Path(given) if given else Path(conf).parent
    if (folder / "slurm.conf").is_file() or (conf_lost and folder.is_dir()):
        return folder
    if not given:
        raise UsageError(f"{folder} has no slurm.conf: name its folder with --slurm-conf-dir")
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder: --slurm-conf-dir is where slurm.conf is")
    raise UsageError(f"{folder} has no slurm.conf: is this Slurm's folder?")
