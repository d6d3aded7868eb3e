"""One loop at a time over one part of one cluster, whatever state file each is given."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from shadowtime import private
from shadowtime.errors import UsageError
from shadowtime.private import state_path

RUN = Path("/run/shadowtime")
"""Where locks are. Only root can make it, or systemd for the user of the unit; in a folder that
everybody can write to, such as /run/lock, any user could take a lock and so keep the loop from
starting."""


def lock_folder() -> Path:
    """A folder that only the loop's user and root can write to.

    Rules
    -----
    :data:`RUN`, which root makes if it is missing, else the folder of the user's state files. One
    that others can write to is refused.
    """
    if os.geteuid() == 0:
        with contextlib.suppress(OSError):
            RUN.mkdir(mode=0o700, exist_ok=True)
    folder = RUN if os.access(RUN, os.W_OK | os.X_OK) else state_path("lock").parent
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        about = os.stat(folder)
    except OSError as error:
        raise UsageError(
            f"{folder}, the folder for locks, cannot be made ({error.strerror}): make it for the "
            "user who runs the loop"
        ) from None
    if about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise UsageError(
            f"{folder}, the folder for locks, can be written by others, who could keep the loop "
            f"from starting: chmod go-w {folder}"
        )
    return folder


@contextlib.contextmanager
def one_loop(what: str, *, identity: str = "", folder: Path | None = None) -> Iterator[Path]:
    """Reject a second loop over the same target on this machine.

    Rules
    -----
    ``what`` is for messages, ``identity`` distinguishes two clusters of the same name. The file is
    readable by its owner only and no link is followed; it remains, unlocked, once its loop has
    ended.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, one_loop("x", folder=Path(folder)) as path:
    ...     oct(path.stat().st_mode & 0o777)
    '0o600'
    """
    where = folder or lock_folder()
    digest = hashlib.sha256(f"{what}\0{identity}".encode()).hexdigest()[:12]
    name = re.sub(r"[^\w.-]+", "-", what)[:80]
    path = where / f"shadowtime-{name}-{digest}.lock"
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(private.locked(path))
        except BlockingIOError:
            raise UsageError(
                f"another loop already drives {what}: stop it first (it holds {path})"
            ) from None
        except OSError as error:
            raise UsageError(
                f"the lock {path} cannot be opened ({error.strerror}): remove it if no other loop "
                "runs, also none of another user"
            ) from None
        yield path
