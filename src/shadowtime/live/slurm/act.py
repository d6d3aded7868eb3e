"""Decisions and repairs as scontrol's commands, and their outcomes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from shadowtime.live.port import Continue, Decision, Outcome, Resize, Start, Suspend
from shadowtime.live.slurm.gate import LAST, leased
from shadowtime.live.slurm.state import HOLDS
from shadowtime.slurmtext.hostlist import expand, ranges
from shadowtime.slurmtext.squeue import NONE, QueueRow
from shadowtime.slurmtext.tres import parse_gres
from shadowtime.types import MAX_SPAN


def start_lines(
    decision: Start,
    *,
    row: QueueRow | None = None,
    gres: str = "",
    nodes: Range = (0, 0),
    mark: str = "",
    sized: bool = False,
) -> list[str]:
    """Name the hosts and open the gate, which is one command: done as a whole or not at all.

    What the policy counts and the job in ``row`` does not request is added to it: exclusive nodes,
    and the bandwidth of a task under the name ``gres``. A job that requests a range of ``nodes``
    gets exactly the number of these: Slurm would add others to them. ``mark`` goes into the same
    command.

    Examples
    --------
    >>> start_lines(Start(job="3_1", place=(("n1", 4), ("n2", 4))))
    ['update JobId=3_1 ReqNodeList=n1,n2 StartTime=now']
    """
    hosts = ",".join(host for host, _ in decision.place)
    words = [f"update JobId={decision.job}", f"ReqNodeList={hosts}"]
    if row is not None and decision.partition not in ("", row.partition):
        words.append(f"Partition={decision.partition}")
    if adds_nodes(decision, nodes, sized=sized):
        words.append(f"NumNodes={len(decision.place)}-{len(decision.place)}")
    words.append("StartTime=now")
    if decision.limit > 0:
        words.append(f"TimeLimit={-(-decision.limit // 60)}")
    if row is not None and decision.alone and row.sharing != "NO":
        words.append("OverSubscribe=NO")
    if row is not None and gres and decision.bandwidth > 0 and not asks_for(row, gres):
        asked = f"{row.gres_per_task}," if row.gres_per_task not in NONE else ""
        form = (
            "gres:" if "gres:" in asked or not asked else "gres/"
        )  # since 23.11: cpu=3,gres/gpu=1
        words.append(f"TresPerTask={asked}{form}{gres}:{decision.bandwidth}")
    if row is not None and names_tasks(decision, row):
        most = max(-(-procs // max(1, row.per_task)) for _, procs in decision.place)
        words.append(f"TasksPerNode={most}")
    words += [mark] if mark else []
    return [" ".join(words)]


def shares_nodes(decision: Decision) -> bool:
    """Whether a start takes parts of several nodes.

    Examples
    --------
    >>> shares_nodes(Start(job="7", place=(("n1", 1), ("n2", 3))))
    True
    >>> shares_nodes(Start(job="7", place=(("n1", 4), ("n2", 4)), alone=True))
    False
    """
    return isinstance(decision, Start) and len(decision.place) > 1 and not decision.alone


Range = tuple[int, int]
"""The smallest and largest number of nodes of a job, 0 if unspecified."""


def adds_nodes(decision: Start, nodes: Range, *, sized: bool = False) -> bool:
    """Whether Slurm would use more nodes than a start on a site names.

    Where the policy chooses sizes (``sized``), the number is named for every job with a range, so
    that the range is noted in the job.
    """
    if sized:
        return nodes[1] > nodes[0]
    return bool(decision.held) and nodes[1] > len(decision.place)


def names_tasks(decision: Start, row: QueueRow) -> bool:
    """Whether Slurm must be told how many tasks of a start go to a node.

    Slurm 26.05 does not find nodes for a job with GRES by task on several nodes: it gives each
    further node one processor where GRES run short, and the job waits forever. With a number of
    tasks for each node it starts.
    """
    by_task = decision.bandwidth > 0 or bool(parse_gres(row.gres_per_task))
    return bool(row.exclusive) and by_task and shares_nodes(decision) and not row.per_node


def undo_words(
    decision: Start,
    row: QueueRow | None,
    gres: str = "",
    nodes: Range = (0, 0),
    *,
    sized: bool = False,
) -> str:
    """How the request of a job that does not start is restored, except for its hosts.

    scontrol cannot set the OK of a job without a sharing option: YES is the closest value.
    """
    if row is None:
        return ""
    words = []
    if decision.partition not in ("", row.partition):
        words.append(f"Partition={row.partition}")
    if adds_nodes(decision, nodes, sized=sized):
        words.append(f"NumNodes={nodes[0]}-{nodes[1]}")
    if decision.limit > 0:
        limit = "UNLIMITED" if row.limit >= MAX_SPAN else -(-row.limit // 60)
        words.append(f"TimeLimit={limit}")
    if decision.alone and row.sharing != "NO":
        words.append("OverSubscribe=YES")
    if gres and decision.bandwidth > 0 and not asks_for(row, gres):
        asked = row.gres_per_task if row.gres_per_task not in NONE else ""
        words.append(f"TresPerTask={asked}")
    if names_tasks(decision, row):
        words.append("TasksPerNode=0")
    return " ".join(words)


def stop_lines(job: str, mark: str = "") -> list[str]:
    """Back into the queue, if it still runs; Slurm does not start it again for two minutes.

    ``Incomplete`` makes slurmctld check the state atomically: a job that has just ended is not
    touched, and would be run again without it. Suspending first is not safe: nodes may carry out a
    suspension seconds late, on the next run of the job, which then hangs.

    ``mark`` goes into the job first, for a loop that finds it without its memory.

    Examples
    --------
    >>> stop_lines("7")
    ['requeue Incomplete 7']
    """
    noted = [f"update JobId={job} {mark}"] if mark else []
    return [*noted, f"requeue Incomplete {job}"]


def gate_lines(job: str, begin: str, undo: str = "") -> list[str]:
    """To the gate, as it was before its start: ``begin`` is the end of its lease.

    Examples
    --------
    >>> gate_lines("7", "StartTime=2026-01-01T10:15:37", "ReqNodeList=n[1-2]")
    ['update JobId=7 StartTime=2026-01-01T10:15:37 ReqNodeList=n[1-2]']
    """
    return [" ".join(filter(None, (f"update JobId={job}", begin, undo)))]


def together(jobs: Iterable[str]) -> list[str]:
    """Jobs as scontrol's arguments: the tasks of an array in one, else Slurm would split them off.

    Examples
    --------
    >>> together(["8_4", "7", "8_2", "8_3", "8_7"])
    ['8_[2-4,7]', '7']
    """
    tasks: dict[str, list[int]] = {}
    for job in jobs:
        array, _, task = job.partition("_")
        tasks.setdefault(array, []).extend([int(task)] if task.isdigit() else [])
    return [f"{array}_[{ranges(sorted(own))}]" if own else array for array, own in tasks.items()]


def asks_for(row: QueueRow, gres: str) -> bool:
    """Whether a job requests a generic resource from Slurm."""
    return gres in row.gres_names


def undo_lines(job: str, undo: str) -> list[str]:
    """As it was before its start, if a start has changed it."""
    return [f"update JobId={job} {undo}"] if undo else []


def hand_over_lines(job: str, undo: str = "", *, held: bool = False) -> list[str]:
    """Given to Slurm with its user's own request, behind every job that the loop releases.

    The priority comes first, so that Slurm never sees the job with another one. ``held``: whether
    Slurm holds it, as it does with a job that it could not run; it accepts a priority only without.

    Examples
    --------
    >>> hand_over_lines("7")
    ['update JobId=7 Priority=1', 'update JobId=7 StartTime=now']
    """
    return [
        *([f"release {job}"] if held else []),
        f"update JobId={job} Priority={LAST}",
        *gate_lines(job, "StartTime=now", undo),
    ]


def outcome(
    decision: Decision, row: QueueRow | None, complaints: Sequence[str], *, now: float
) -> Outcome:
    """Whether a decision took effect, by the job's state afterwards."""
    hint = next((line for line in complaints if _about(line, decision.job)), "") or "; ".join(
        complaints[:1]
    )
    if row is None:
        return Outcome(decision, False, hint or "Slurm no longer knows it")
    if isinstance(decision, Start):
        waits = row.state == "PENDING" and row.priority > 0
        done = row.state in HOLDS or (waits and not leased(row.eligible, now))
        ended = row.state not in HOLDS | {"PENDING"} and row.nodes != ""
        if done or ended:
            return Outcome(decision, True)
    elif isinstance(decision, Resize):
        if row.state in HOLDS and set(expand(row.nodes)) == {host for host, _ in decision.place}:
            return Outcome(decision, True)
        if row.state in HOLDS:
            return Outcome(decision, False, hint or f"Slurm left it on {row.nodes}")
    elif isinstance(decision, Suspend | Continue):
        wanted = {"SUSPENDED"} if isinstance(decision, Suspend) else HOLDS - {"SUSPENDED"}
        if row.state in wanted:
            return Outcome(decision, True)
    elif row.state in ("PENDING", "COMPLETING"):
        return Outcome(decision, True)
    return Outcome(decision, False, hint or f"Slurm left it {row.state.lower()} ({row.reason})")


def _about(line: str, job: str) -> bool:
    words = line.replace(":", " ").replace(",", " ").split()
    return job in words


@dataclass(frozen=True, kw_only=True)
class Repairs:
    """Jobs by what is wrong with them."""

    beyond: Mapping[str, str]
    """To be handed to Slurm, and why."""
    taken: list[str]
    """Released and did not start."""
    delayed: list[str]
    """Requeued by Slurm with a delay, or about to reach the begin time that their users chose."""
    slipped: list[str]
    """Eligible although the loop has not released them: past the gate, or past a lease."""
    stopped: list[str]
    """Stopped by the loop, and not at the gate yet."""
    mislabelled: list[str]
    """At the gate, and held by Slurm, which took them for impossible."""
    halted: list[str]
    """Suspended by a loop, and to go on."""

    def lines(
        self, undo: Callable[[str], str], begin: str, *, held: Callable[[str], bool]
    ) -> list[list[str]]:
        """The lines of each job.

        ``undo`` restores its own request, ``begin`` is a new lease, ``held`` whether Slurm holds
        it.
        """
        lines = [hand_over_lines(job, undo(job), held=held(job)) for job in self.beyond]
        lines += [gate_lines(job, begin, undo(job)) for job in (*self.taken, *self.delayed)]
        lines += [[f"release {job}"] for job in self.mislabelled]
        lines += [[f"resume {job}"] for job in self.halted]
        return lines + [gate_lines(job, begin) for job in together((*self.slipped, *self.stopped))]

    def only(self, changeable: Callable[[Iterable[str]], list[str]]) -> Repairs:
        """Those that slurmctld has not refused."""
        return replace(
            self,
            beyond={job: self.beyond[job] for job in changeable(self.beyond)},
            taken=changeable(self.taken),
            delayed=changeable(self.delayed),
            slipped=changeable(self.slipped),
            stopped=changeable(self.stopped),
            halted=changeable(self.halted),
        )

    def words(
        self,
        handed: Mapping[str, str],
        released: Mapping[str, str],
        requeued: Callable[[str], bool],
    ) -> list[str]:
        """What was done; ``handed`` are the jobs that Slurm had before, and why."""
        done = [
            f"handed {job} to Slurm: {why}"
            for job, why in self.beyond.items()
            if handed.get(job) != why
        ]
        done += [f"took back {job}, which did not start ({released[job]})" for job in self.taken]
        done += [
            f"brought {job} back to the gate, which Slurm has requeued"
            for job in self.delayed
            if requeued(job)
        ]
        done += [f"let {job} go on, which a loop had suspended" for job in self.halted]
        return done + [f"brought {job} to the gate, which it had come past" for job in self.slipped]
