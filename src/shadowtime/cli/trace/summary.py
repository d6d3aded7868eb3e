"""What the trace commands print about a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.cli.common.tables import count
from shadowtime.cluster import Cluster
from shadowtime.report.numbers import number, span
from shadowtime.workload.scale import offered_load

if TYPE_CHECKING:
    from shadowtime.workload import Workload


def summary(workload: Workload) -> str:
    """A log in one line.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> summary(Workload.build(submit=[0, 86400], run=[9, 9], procs=[1, 1], machine={"procs": 4}))
    '2 jobs over 1 d, offered load 0.00 on 4 procs'
    """
    length = int(workload.submit[-1] - workload.submit[0]) if len(workload) else 0
    text = f"{count(len(workload), 'job')} over {span(length)}"
    procs = workload.machine.get("procs")
    if procs and length:
        load = offered_load(workload, Cluster.pool(procs))["procs"]
        text += f", offered load {load:.2f} on {number(procs)} procs"
    return text


def load_warning(workload: Workload) -> str:
    """A warning for a load at or above 1; empty below."""
    procs = workload.machine.get("procs")
    if not procs or len(workload) < 2 or workload.submit[0] == workload.submit[-1]:
        return ""
    load = offered_load(workload, Cluster.pool(procs))["procs"]
    if load < 1:
        return ""
    return f"warning: at an offered load of {load:.2f} the queue grows as long as jobs arrive"
