"""One loop at a time over one part of one cluster, whatever state file each is given."""

from __future__ import annotations

import contextlib
import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

from shadowtime import private
from shadowtime.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDERS = (Path("/run/lock"), Path("/var/lock"), Path("/tmp"))
"""Folders for locks: the first that exists, so that loops of different users find the same one."""


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
    where = folder or next((one for one in FOLDERS if one.is_dir()), FOLDERS[-1])
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
                "runs"
            ) from None
        yield path
