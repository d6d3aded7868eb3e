"""Waiting jobs as parsed at the last poll: of ten thousand lines few are new."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shadowtime.live.port import WaitingJob
    from shadowtime.slurmtext.show_job import Detail
    from shadowtime.slurmtext.squeue import QueueRow
    from shadowtime.workload.request import Request

    Known = tuple[QueueRow, Detail | None, bool, WaitingJob]

MOST_REQUESTS = 20000
"""Distinct requests that are shared; beyond that the collection begins anew."""


class Remembered:
    """The parsed job of a line of squeue, as long as line, details and machine stay the same.

    Rules
    -----
    Rows are compared by identity: the reader returns the same row for the same line. Jobs that
    depend on the time of day must not be stored: jobs beside reservations, or with a future begin
    time.

    Examples
    --------
    >>> from shadowtime.live.port import WaitingJob
    >>> known, row = Remembered(), object()
    >>> known.put(row, None, False, WaitingJob(id="7", submit=0, need=(1,), request=9))
    >>> known.begin(["n1", "n2"])  # another machine
    >>> known.get(row, None, False)
    >>> known.put(row, None, False, WaitingJob(id="7", submit=0, need=(1,), request=9))
    >>> known.begin(["n1", "n2"])
    >>> known.get(row, None, False).id
    '7'
    """

    def __init__(self) -> None:
        self._machine: object = None
        self._before: dict[int, Known] = {}
        self._now: dict[int, Known] = {}
        self._requests: dict[Request, Request] = {}

    def shared(self, request: Request) -> Request:
        """One object for all equal requests, so that passes compare them by identity.

        Examples
        --------
        >>> from shadowtime.workload.request import Request
        >>> known = Remembered()
        >>> known.shared(Request(tasks=2)) is known.shared(Request(tasks=2))
        True
        """
        if len(self._requests) >= MOST_REQUESTS:
            self._requests.clear()
        return self._requests.setdefault(request, request)

    def begin(self, machine: object) -> None:
        """A new poll: forget jobs that the last one did not see, or all on another machine."""
        self._before = self._now if machine == self._machine else {}
        self._machine, self._now = machine, {}

    def get(self, row: QueueRow, detail: Detail | None, named: bool) -> WaitingJob | None:
        """The job of a row, if it is known; ``named``: whether we named its hosts."""
        found = self._before.get(id(row))
        if found is None or found[0] is not row or found[1] is not detail or found[2] != named:
            return None
        self._now[id(row)] = found
        return found[3]

    def put(self, row: QueueRow, detail: Detail | None, named: bool, job: WaitingJob) -> None:
        """Store the parsed job of a row."""
        self._now[id(row)] = (row, detail, named, job)
