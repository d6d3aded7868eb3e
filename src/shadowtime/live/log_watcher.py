"""Watches a file that the scheduler writes to when something happens, to avoid polling."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shadowtime.live.clock import Clock

LISTEN_EVERY = 0.04
"""Seconds between two checks of the file; a check is one system call and no command."""


MISSING = (0, 0, 0)


class LogWatcher:
    """Has news when the scheduler's log grows: a job arrived, ended, or was started.

    Rules
    -----
    News may be irrelevant, and the log may be missing; both cost time, never correctness: the loop
    polls after its own pause in any case.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = Path(folder) / "slurmctld.log"
    ...     watcher = LogWatcher(log)
    ...     watcher.mark_read()
    ...     before = watcher.has_news()
    ...     _ = log.write_text("sched: JobId=7 done")
    ...     before, watcher.has_news()
    (False, True)
    """

    def __init__(self, log: Path) -> None:
        self.log = log
        self._read = self._sign()

    @property
    def there(self) -> bool:
        """Whether the log can be seen: without it there is never news."""
        return self._sign() != MISSING

    def mark_read(self) -> None:
        """From now on only what is written later is news."""
        self._read = self._sign()

    def has_news(self) -> bool:
        """True if something was written since."""
        return self._sign() != self._read

    def rest(self, clock: Clock, pause: float, *, at_least: float) -> None:
        """Wait for news, with a minimum and a maximum time."""
        until = clock.steady() + pause
        clock.sleep(min(at_least, pause))
        while (left := until - clock.steady()) > 0 and not self.has_news():
            clock.sleep(min(LISTEN_EVERY, left))

    def _sign(self) -> tuple[int, int, int]:
        try:
            found = self.log.stat()
        except OSError:
            return MISSING
        return (found.st_ino, found.st_size, found.st_mtime_ns)
