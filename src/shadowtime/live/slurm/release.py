"""Return the queue to Slurm: release every job at the gate with its user's own request."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shadowtime.live.slurm.act import undo_lines
from shadowtime.live.slurm.gate import FAR, HELD
from shadowtime.live.slurm.holding import LAST
from shadowtime.live.slurm.relabelled import BAD
from shadowtime.live.slurm.requeued import REQUEUED
from shadowtime.live.slurm.sending import session

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from shadowtime.live.slurm.port import SlurmPort
    from shadowtime.live.slurm.touched import Touched
    from shadowtime.slurmtext.squeue import QueueRow

BATCH = 400
"""Lines of one scontrol session: a longer session might exceed its time limit."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The scontrol lines for each job, and the jobs that stay as they are, with the reason."""

    lines: Mapping[str, list[str]] = field(default_factory=dict)
    stay: Mapping[str, str] = field(default_factory=dict)


def plan_release(
    rows: Mapping[str, QueueRow],
    touched: Mapping[str, Touched],
    partition: str,
    *,
    relabelled: Callable[[QueueRow], bool] = lambda row: False,
) -> Plan:
    """How to return a queue.

    Rules
    -----
    The original request of a job at the gate is restored and the job is released; so is one that
    the loop has stopped. A job that was handed to Slurm at the lowest priority gets its ordinary
    one: it is held and released. A released job that has not started loses the nodes that the loop
    named. A job that its user holds stays held, in Slurm's own way: the gate had set its begin time
    far ahead. Jobs that an operator holds, and those that Slurm schedules already, are not touched;
    a job at the gate that Slurm has ``relabelled`` as such is released.

    Examples
    --------
    >>> from shadowtime.slurmtext.squeue import COLUMNS, _queue_row, BETWEEN
    >>> columns = dict.fromkeys(COLUMNS, "") | {"PriorityLong": "0", "TimeLimit": "1:00"}
    >>> columns |= {"State": "PENDING", "Partition": "batch", "Reason": "JobHeldUser"}
    >>> row = _queue_row(BETWEEN.join(columns.values()) + BETWEEN)
    >>> plan_release({"7": row, "8": row._replace(reason="JobHeldAdmin")}, {}, "batch")
    Plan(lines={'7': ['release 7']}, stay={'8': 'it is held (JobHeldAdmin)'})
    """
    lines: dict[str, list[str]] = {}
    stay: dict[str, str] = {}
    for job, row in rows.items():
        if row.state != "PENDING" or set(partition.split(",")).isdisjoint(row.partition.split(",")):
            continue
        mark = touched.get(job)
        named = mark is not None and mark.ours(row)
        undo = undo_lines(job, mark.undo) if mark is not None and named else []
        if row.priority == LAST:
            lines[job] = [f"hold {job}", f"release {job}"]
        elif row.priority > 0:
            if undo:
                lines[job] = undo
        elif row.eligible >= FAR:
            lines[job] = [f"update JobId={job} StartTime=now"]
            stay[job] = "its user holds it"
        elif row.reason.startswith(HELD) or REQUEUED in row.reason or relabelled(row):
            # A requeued job has a delay of two minutes: Slurm need not wait for it.
            begin = [f"update JobId={job} StartTime=now"] if REQUEUED in row.reason else []
            lines[job] = [*undo, *begin, f"release {job}"]
        elif row.reason.startswith(BAD) and named:
            lines[job] = [*undo, f"release {job}"]
        else:
            stay[job] = f"it is held ({row.reason})"
    return Plan(lines=lines, stay=stay)


@dataclass(frozen=True, kw_only=True)
class Released:
    """The result: jobs that Slurm schedules now, and those still held, with the reason."""

    done: tuple[str, ...] = ()
    held: Mapping[str, str] = field(default_factory=dict)


def give_back(port: SlurmPort, plan: Plan) -> Released:
    """Carry out a plan and read the result from Slurm."""
    batch: list[str] = []
    for lines in plan.lines.values():
        if len(batch) + len(lines) > BATCH:
            session(port.run, batch)
            batch = []
        batch += lines
    if batch:
        session(port.run, batch)
    after = port.look()
    done, held = [], dict(plan.stay)
    for job in plan.lines:
        row = after.get(job)
        if row is not None and row.state == "PENDING" and row.priority == 0:
            held.setdefault(job, f"Slurm left it held ({row.reason})")
        else:
            done.append(job)
    return Released(done=tuple(done), held=held)
