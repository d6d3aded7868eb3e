"""Holds of the gate that Slurm relabels: in arrays, and behind a job of several partitions.

Slurm keeps one reason for a pending job and writes it for other causes as well; its next pass then
treats a held job without a hold's reason as held by an operator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.live.slurm.gate import HELD

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from shadowtime.slurmtext.squeue import QueueRow

ADMIN = "JobHeldAdmin"
"""The reason of jobs that an operator holds, and Slurm's default for a held job without one."""
RUNS = ("RUNNING", "SUSPENDED", "COMPLETING")
OTHERS = ("JobHoldMaxRequeue", "requeue", "launch failed")
"""Parts of the reasons of holds that are Slurm's own."""

BAD = "BadConstraints"
"""The reason of jobs that Slurm has held because it could not run them where they were sent."""
NEXT = 3
"""The number of held jobs behind a leader that are watched: the first ones may be let through
meanwhile.
"""


class ArrayRests:
    """Tracks arrays of which Slurm may have relabelled the tasks that are still at the gate.

    Rules
    -----
    If a released task does not start at once, Slurm writes its reason (Resources) into the record
    of the whole array as well, held or not, and in its next pass treats that as a hold without a
    reason, which it reports as an operator's (JobHeldAdmin). So an array counts as relabelled from
    the release of one of its tasks until none of them waits for its start and the rest is held by
    the gate again; only then does JobHeldAdmin mean an operator. If an operator holds the whole
    array in between, that is respected: it also marks the running and the released tasks.

    Examples
    --------
    >>> from shadowtime.slurmtext.squeue import COLUMNS, _queue_row, BETWEEN
    >>> columns = dict.fromkeys(COLUMNS, "") | {"PriorityLong": "0", "TimeLimit": "1:00"}
    >>> columns |= {"State": "PENDING", "Partition": "batch", "Reason": "JobHeldAdmin"}
    >>> row = _queue_row(BETWEEN.join(columns.values()) + BETWEEN)
    >>> rest = [row._replace(id="8_2"), row._replace(id="8_3")]
    >>> arrays = ArrayRests()
    >>> arrays.look(rest)
    >>> arrays.relabelled(rest[0])
    False
    >>> arrays.let_through("8_1")
    >>> arrays.look([row._replace(id="8_1", state="RUNNING", priority=9), *rest])
    >>> arrays.relabelled(rest[0]), arrays.hold_lines()
    (True, ['uhold 8_[2-3]'])
    """

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._open = dict.fromkeys(known)
        self._sent: set[str] = set()
        self._settled: dict[str, list[QueueRow]] = {}
        self._held: set[str] = set()

    @property
    def known(self) -> list[str]:
        """The arrays in question, for a later loop."""
        return list(self._open)

    def let_through(self, job: str) -> None:
        """Record that a job is about to be released."""
        array, _, task = job.partition("_")
        if task:
            self._open[array] = None
            self._sent.add(job)

    def recover(self, marked: Iterable[str]) -> None:
        """Learn after a restart which jobs a loop has released, from their own marks."""
        for job in marked:
            array, _, task = job.partition("_")
            if task:
                self._open[array] = None

    def taken_back(self, job: str) -> None:
        """Record that we returned a job to the gate."""
        self._sent.discard(job)

    def look(self, rows: Sequence[QueueRow]) -> None:
        """Learn from Slurm's rows which arrays are still in question."""
        rests: dict[str, list[QueueRow]] = {}
        waits: set[str] = set()
        held: set[str] = set()
        for row in rows:
            array, _, task = row.id.partition("_")
            if not task:
                continue
            if row.state == "PENDING" and row.priority > 0:
                waits.add(array)
            elif row.state == "PENDING":
                rests.setdefault(array, []).append(row)
            sent = row.id in self._sent if row.state == "PENDING" else row.state in RUNS
            if sent and row.priority == 0 and row.reason.startswith(ADMIN):
                held.add(array)
        candidates = [array for array in rests if array in self._open or array in waits]
        self._open, self._settled = {}, {}
        for array in candidates:
            rest = [] if array in held else [row for row in rests[array] if changed(row)]
            if array in waits or rest:
                self._open[array] = None
            if array not in waits and rest:
                self._settled[array] = rest
        self._held = held
        self._sent &= {row.id for row in rows if row.state == "PENDING"}

    def relabelled(self, row: QueueRow) -> bool:
        """Whether a task's hold is that of the gate, whatever Slurm reports."""
        array, _, task = row.id.partition("_")
        return bool(task) and array in self._open and array not in self._held and changed(row)

    def hold_lines(self) -> list[str]:
        """The scontrol lines that restore the reason of the remaining tasks, once no task waits.

        All tasks in one argument: otherwise Slurm would create a record for each.
        """
        return [
            f"uhold {array}_[{_ranges(row.id for row in rest)}]"
            for array, rest in self._settled.items()
        ]


class Followers:
    """Tracks jobs that Slurm looks at because it has just started the job before them.

    Rules
    -----
    Slurm's first-come scheduler (sched/builtin) takes its jobs in the order of submission and tries
    each in all of its partitions. When it has started a job of several partitions, the *leader*, it
    goes on to try the next pending job, held or not, in the partitions that are left, and writes
    down why that does not start. Its next pass treats that as a hold without a reason, which it
    reports as an operator's (JobHeldAdmin). So if a job was held by the gate while a leader before
    it waited, and no longer is when the leader has left the queue, the hold is still the gate's.
    Where a task of an array has been let through, Slurm keeps the others in a new record behind all
    jobs that there are then: they may follow any leader, and what happens to one happens to all.

    Examples
    --------
    >>> from shadowtime.slurmtext.squeue import COLUMNS, _queue_row, BETWEEN
    >>> columns = dict.fromkeys(COLUMNS, "") | {"PriorityLong": "0", "TimeLimit": "1:00"}
    >>> columns |= {"State": "PENDING", "Partition": "batch", "Reason": "JobHeldUser"}
    >>> row = _queue_row(BETWEEN.join(columns.values()) + BETWEEN)._replace(id="8")
    >>> leader = row._replace(id="7", partition="batch,debug", priority=9, reason="Resources")
    >>> followers = Followers()
    >>> followers.look([leader, row])
    >>> after = row._replace(reason="JobHeldAdmin")
    >>> followers.look([leader._replace(state="RUNNING", partition="debug"), after])
    >>> followers.relabelled(after)
    True
    """

    def __init__(self, known: Mapping[str, Iterable[str]] | None = None) -> None:
        self._behind = {leader: list(jobs) for leader, jobs in (known or {}).items()}
        self._relabelled: set[str] = set()

    @property
    def known(self) -> dict[str, list[str]]:
        """Leaders that wait, each with the jobs behind it, for a later loop."""
        return {leader: list(jobs) for leader, jobs in self._behind.items()}

    def look(self, rows: Sequence[QueueRow]) -> None:
        """Learn from Slurm's rows which leaders have left the queue, and what is behind others."""
        pending = {row.id: row for row in rows if row.state == "PENDING"}
        suspects = set(self._relabelled)
        for leader, jobs in self._behind.items():
            if leader not in pending:
                suspects.update(jobs)
        self._relabelled = {job for job in suspects if job in pending and changed(pending[job])}
        leaders = {job for job, row in pending.items() if "," in row.partition and row.priority > 0}
        self._behind = {}
        if leaders:
            order = sorted(pending, key=_submission)
            gated = [job for job in order if pending[job].reason.startswith(HELD)]
            tasks = [job for job in gated if "_" in job]
            for leader in leaders:
                behind = [job for job in gated if _submission(job) > _submission(leader)]
                self._behind[leader] = list(dict.fromkeys((*behind[:NEXT], *tasks)))

    def relabelled(self, row: QueueRow) -> bool:
        """Whether a job's hold is that of the gate, whatever Slurm reports."""
        return row.id in self._relabelled or mislabelled(row)


def mislabelled(row: QueueRow) -> bool:
    """Whether Slurm has taken a job that was never let through for one that cannot run.

    The scheduler sched/builtin looks at the job behind one of several partitions whether it is held
    or not. It writes that down as BadConstraints; the hold is still the gate's, as the job has
    never been eligible.
    """
    return row.priority == 0 and row.reason.startswith(BAD) and row.eligible <= 0


def changed(row: QueueRow) -> bool:
    """Whether a held job has another reason than the gate's, and not one of Slurm's own holds."""
    return (
        row.state == "PENDING"
        and row.priority == 0
        and not row.reason.startswith(HELD)
        and not any(part in row.reason for part in OTHERS)
    )


def _ranges(tasks: Iterable[str]) -> str:
    """Task numbers as Slurm writes them.

    Examples
    --------
    >>> _ranges(["8_4", "8_2", "8_3", "8_7"])
    '2-4,7'
    """
    numbers = sorted(int(task.partition("_")[2]) for task in tasks)
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(f"{low}-{high}" if high > low else str(low) for low, high in runs)


def _submission(job: str) -> tuple[int, int]:
    """The place of a job in the order of submission: its number, and that of its task."""
    number, _, task = job.partition("_")
    return (int(number) if number.isdigit() else 0, int(task) if task.isdigit() else 0)
