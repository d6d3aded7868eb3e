"""Return the queue to Slurm: release every job at the gate with its user's own request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shadowtime.live.ineligible import Case, Ineligible
from shadowtime.live.slurm.act import gate_lines
from shadowtime.live.slurm.gate import FAR, LAST, begin_words, leased
from shadowtime.live.slurm.sending import session
from shadowtime.live.slurm.state import HOLDS
from shadowtime.live.slurm.touched import CLEAR, Touched
from shadowtime.slurmtext.reasons import WaitReason
from shadowtime.slurmtext.squeue import QueueRow

if TYPE_CHECKING:
    from shadowtime.live.slurm.port import SlurmPort

BATCH = 400
"""Lines of one scontrol session: a longer session might exceed its time limit."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The scontrol lines for each job, and the jobs that stay as they are, with the reason."""

    lines: Mapping[str, list[str]] = field(default_factory=dict)
    stay: Mapping[str, str] = field(default_factory=dict)
    unmark: tuple[str, ...] = ()
    """Running jobs from whose comments what a start has written is removed."""
    resume: tuple[str, ...] = ()
    """Those among them that the loop has suspended."""

    def words(self) -> list[str]:
        """What carrying it out would do, for a rehearsal: scontrol's lines, with remarks."""
        lines = [line for own in self.lines.values() for line in own]
        lines += [f"resume {job}" for job in self.resume]
        lines += [f"update JobId={job} {CLEAR}" for job in self.unmark]
        lines += [f"# {job} stays held: {why}" for job, why in self.stay.items()]
        count = f"{len(self.lines)} jobs returned, {len(self.unmark)} running ones unmarked"
        return [*lines, f"# {count}, {len(self.stay)} stay held; nothing was changed"]


def plan_release(
    rows: Mapping[str, QueueRow],
    touched: Mapping[str, Touched],
    partition: str,
    *,
    now: float,
    begins: Mapping[str, int] | None = None,
) -> Plan:
    """How to return a queue.

    Rules
    -----
    The lease of a job is ended, or replaced by the begin time that it had before (``begins``), and
    what a start has overwritten of its own request is restored. A job that was handed to Slurm at
    the lowest priority gets its ordinary one: it is held and released. Holds of users and of
    operators stay, with what gates before 0.3 had written beside them taken away. Jobs that Slurm
    schedules already are not touched, except that marks of ours leave the comments of running ones,
    and that those which the loop has suspended continue.

    Examples
    --------
    >>> from shadowtime.slurmtext.squeue import COLUMNS, _queue_row, BETWEEN
    >>> columns = dict.fromkeys(COLUMNS, "") | {"JobArrayID": "7", "PriorityLong": "9"}
    >>> columns |= {"State": "PENDING", "Partition": "batch", "TimeLimit": "1:00"}
    >>> row = _queue_row(BETWEEN.join(columns.values()))._replace(eligible=1537)
    >>> held = row._replace(priority=0, eligible=0, reason="JobHeldUser")
    >>> print(*plan_release({"7": row, "8": held}, {}, "batch", now=600).words(), sep="\\n")
    update JobId=7 StartTime=now
    # 8 stays held: it is held (JobHeldUser)
    # 1 jobs returned, 0 running ones unmarked, 1 stay held; nothing was changed
    """
    lines: dict[str, list[str]] = {}
    stay: dict[str, str] = {}
    unmark: list[str] = []
    resume: list[str] = []
    for job, row in rows.items():
        mark = touched.get(job)
        if row.state in HOLDS and mark is not None and mark.words.endswith(CLEAR):
            unmark.append(job)
        if row.state == "SUSPENDED" and mark is not None and mark.suspended:
            resume.append(job)
        if row.state != "PENDING" or set(partition.split(",")).isdisjoint(row.partition.split(",")):
            continue
        undo = ""
        if mark is not None:
            undo = mark.undo if mark.ours(row) else mark.words
        begin = (begins or {}).get(job, 0)
        words = ""
        if leased(row.eligible, now) or row.eligible >= FAR:
            words = begin_words(begin) if begin > now else "StartTime=now"
        held = row.priority == 0 and not (undo and row.waits_for is WaitReason.BAD_CONSTRAINTS)
        own = gate_lines(job, words, undo) if words or undo else []
        if row.priority == LAST:
            own += [f"hold {job}", f"release {job}"]
        elif row.priority == 0 and not held:
            own += [f"release {job}"]
        if own:
            lines[job] = own
        if held:
            stay[job] = str(Ineligible(Case.HELD, (row.reason,)))
    return Plan(lines=lines, stay=stay, unmark=tuple(unmark), resume=tuple(resume))


@dataclass(frozen=True, kw_only=True)
class Released:
    """The result: jobs that Slurm schedules now, and those still held, with the reason."""

    done: tuple[str, ...] = ()
    held: Mapping[str, str] = field(default_factory=dict)


def _in_batches(port: SlurmPort, each: Sequence[Sequence[str]]) -> None:
    """Send the lines of each job, in sessions that end in time."""
    batch: list[str] = []
    for lines in each:
        if len(batch) + len(lines) > BATCH:
            session(port.run, batch)
            batch = []
        batch += lines
    if batch:
        session(port.run, batch)


def give_back(port: SlurmPort, plan: Plan) -> Released:
    """Carry out a plan and read the result from Slurm.

    A suspended job that Slurm does not resume keeps its mark, for the next release or a loop.
    """
    _in_batches(port, [*plan.lines.values(), *([f"resume {job}"] for job in plan.resume)])
    after = port.look()
    done, held = [], dict(plan.stay)
    for job in plan.resume:
        if job in after and after[job].state == "SUSPENDED":
            held[job] = "Slurm did not resume it, as its nodes are in use: run this again"
        else:
            done.append(job)
    _in_batches(port, [[f"update JobId={job} {CLEAR}"] for job in plan.unmark if job not in held])
    for job in plan.lines:
        row = after.get(job)
        if row is None or row.state != "PENDING":
            done.append(job)
        elif row.priority == 0:
            held.setdefault(job, f"Slurm left it held ({row.reason})")
        elif leased(row.eligible, port.clock.now()):
            held.setdefault(job, "Slurm did not accept the change: run this again")
        else:
            done.append(job)
    return Released(done=tuple(done), held=held)
