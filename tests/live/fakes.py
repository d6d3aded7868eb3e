"""Stand-ins for unit tests: a manual clock, a runner that answers from a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shadowtime.live.runner import Done
from shadowtime.live.slurm.touched import MARKS
from shadowtime.slurmtext.squeue import BETWEEN, COLUMNS


class FakeClock:
    """Time passes only during sleeps."""

    def __init__(self, now: float = 1000.0) -> None:
        self.time = now
        self.slept: list[float] = []

    def now(self) -> float:
        return self.time

    def steady(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds


class FakeSlurm:
    """Answers squeue and sinfo from texts, and records what is sent to scontrol.

    Comments that starts write to jobs are kept separately, in ``marks``.
    """

    def __init__(self, queue: str = "", nodes: str = "") -> None:
        self.queue, self.nodes = queue, nodes
        self.sent: list[str] = []
        self.marks: dict[str, str] = {}
        self.calls: list[str] = []
        self.before: Callable[[str], Done | None] = lambda name: None
        self.on_tell: Callable[[str], None] = lambda line: None

    def __call__(self, argv: Sequence[str], *, text: str = "") -> Done:
        self.calls.append(argv[0])
        early = self.before(argv[0])
        if early is not None:
            return early
        if tuple(argv) == MARKS:
            jobs = [line.partition(BETWEEN)[0] for line in self.queue.splitlines()]
            lines = [BETWEEN.join((job, self.marks.get(job, ""), "")) for job in jobs]
            return Done(0, "\n".join(lines), "")
        if argv[0] == "squeue":
            return Done(0, self.queue, "")
        if argv[0] == "sinfo":
            return Done(0, self.nodes, "")
        if "config" in argv:
            return Done(0, "ClusterName = test\nSlurmUser = slurm(64030)\n", "")
        if "partition" in argv:
            return Done(0, "PartitionName=batch X=1 Default=YES Nodes=n1\n", "")
        if "--details" not in argv:
            for line in text.splitlines():
                line, marked, comment = line.partition(" AdminComment=")
                if marked:
                    self.marks[line.split()[1].removeprefix("JobId=")] = comment
                self.sent.append(line)
                self.on_tell(line)
        return Done(0, "", "")


LEASED = 3637
"""The end of a lease: at the gate's second of a minute."""


def queue_line(job: str, **given: object) -> str:
    """A line of squeue: a job at the gate by default."""
    values = {
        "JobArrayID": job, "State": "PENDING", "Reason": "BeginTime", "PriorityLong": 5,
        "tres-alloc": "cpu=1", "TimeLimit": "1:00:00", "SubmitTime": 900, "EligibleTime": LEASED,
        "StartTime": "N/A", "EndTime": "N/A", "UserName": "ann", "Partition": "batch",
        "NodeList": "", "ReqNodes": "", "Dependency": "(null)", "OverSubscribe": "OK",
        "NumNodes": 1, "NumCPUs": 4, "Reservation": "(null)", "cpus-per-task": 1, "NTPerNode": 0,
        "NumTasks": 4, "RestartCnt": 0, "Requeue": 1, "tres-per-task": "N/A",
        "tres-per-node": "N/A", "Feature": "(null)", "Licenses": "(null)", "tres-per-job": "N/A",
        "tres-per-socket": "N/A", "Account": "acc", "QOS": "normal", "Contiguous": 0,
        "MinCpus": 1, "cpus-per-tres": "N/A", "mem-per-tres": "N/A", "SCT": "*:*:*",
        "Exclusive": "",
    }  # fmt: skip
    assert given.keys() <= values.keys(), given
    values.update(given)
    assert list(values) == list(COLUMNS)
    return BETWEEN.join(map(str, values.values())) + BETWEEN + "\n"


def running_line(job: str, nodes: str, cpus: int, **given: object) -> str:
    """A line of squeue: a job that has run since 950."""
    known = {"State": "RUNNING", "Reason": "None", "PriorityLong": 9, "NodeList": nodes}
    more = {"NumCPUs": cpus, "StartTime": 950, "EndTime": 4550, "EligibleTime": 950}
    return queue_line(job, **(known | more | given))


def node_line(name: str, state: str = "idle", partition: str = "batch*") -> str:
    """A line of sinfo: a node of 16 processors."""
    parts = (name, state, "0/16/0/16", "32000", "membw:34000", partition, "(null)")
    return BETWEEN.join(parts) + BETWEEN + "\n"


NODES = "".join(node_line(f"n{k}") for k in range(1, 5))
