"""Maps from the columns of other people's tables of jobs to ours, with their units.

Maps of known data sets are recognised by their columns; for any other table the map is the file
``TABLE.map.toml`` beside it, which :mod:`shadowtime.trace.job_map_guess` proposes.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from shadowtime.errors import InputError
from shadowtime.trace._bytes import map_beside

TIMES = ("submit", "start", "end", "eligible")
SPANS = ("run", "request", "wait")
NUMBERS = ("procs", "nodes", "tasks", "cpus_per_task", "gpus", "priority", "nice")
WORDS = ("user", "account", "partition", "qos", "name", "features", "reservation", "node_list")
OURS = ("job_id", *TIMES, *SPANS, *NUMBERS, "memory", "tres", *WORDS, "state")
"""What a map may name."""
SECONDS = {
    "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9,
}  # fmt: skip
SIZES = {"B": "", "KB": "K", "MB": "M", "GB": "G", "TB": "T"}
"""1024-based, as sites mean them."""
STATES = (
    "pending", "running", "suspended", "completed", "cancelled", "failed", "timeout", "node_fail",
    "preempted", "boot_fail", "deadline", "out_of_memory",
)  # fmt: skip
"""Slurm's states by their numbers, as some tables have them: ``[units] state = "slurm"``."""
PER = {"memory": ("job", "node", "cpu"), "gpus": ("job", "node")}


@dataclass(frozen=True, kw_only=True)
class JobMap:
    """Our columns and theirs; units that are not ours; of what an amount is meant."""

    name: str
    columns: Mapping[str, str]
    units: Mapping[str, str] = field(default_factory=dict)
    per: Mapping[str, str] = field(default_factory=dict)
    """memory per job, node (usual) or cpu; gpus per job (usual) or node."""
    source: str = ""

    def fits(self, names: Iterable[str]) -> bool:
        """True if a table has every column of the map."""
        return set(self.columns.values()) <= set(names)


_CINECA = {
    "job_id": "job_id", "user": "user_id", "account": "group_id", "partition": "partition",
    "qos": "qos", "state": "job_state", "submit": "submit_time", "start": "start_time",
    "end": "end_time", "run": "run_time", "request": "time_limit",
}  # fmt: skip
_ALCF = {
    "user": "USERNAME_GENID", "account": "PROJECT_NAME_GENID", "partition": "QUEUE_NAME",
    "submit": "QUEUED_TIMESTAMP", "start": "START_TIMESTAMP", "end": "END_TIMESTAMP",
    "run": "RUNTIME_SECONDS", "request": "WALLTIME_SECONDS", "nodes": "NODES_REQUESTED",
    "procs": "CORES_REQUESTED", "state": "EXIT_STATUS",
}  # fmt: skip
_EAGLE = {
    "job_id": "job_id", "user": "user", "account": "account", "partition": "partition",
    "qos": "qos", "state": "state", "submit": "submit_time", "start": "start_time",
    "end": "end_time", "run": "run_time", "request": "wallclock_req",
    "nodes": "nodes_req", "procs": "processors_req",
}  # fmt: skip
_GPUS = {"gpus": "gpus_req"}
_MIN = {"request": "min"}

MAPS = (
    JobMap(
        name="eagle",
        source="NREL Eagle job data set",
        columns=_EAGLE | _GPUS | {"memory": "mem_req", "name": "name"},
        units={"memory": "MB"},  # as users of the data set describe it
    ),
    JobMap(
        name="eagle without memory", source="NREL Eagle job data set", columns=_EAGLE | _GPUS
    ),
    JobMap(
        name="pm100",
        source="PM100 (CINECA Marconi100)",
        columns=_CINECA
        | {"nodes": "num_nodes_req", "procs": "num_cores_req", "gpus": "num_gpus_req"},
        units=_MIN,
    ),
    JobMap(
        name="m100",
        source="M100 ExaData job table (CINECA Marconi100)",
        columns=_CINECA | {"nodes": "num_nodes", "procs": "num_cpus"},
        units=_MIN,
    ),
    JobMap(
        name="f-data",
        source="F-DATA (Fugaku)",
        columns={
            # duration differs from edt - sdt by up to minutes: nodes are occupied from sdt to edt
            "job_id": "jid", "user": "usr", "submit": "adt", "start": "sdt", "end": "edt",
            "request": "elpl", "nodes": "nnumr", "procs": "cnumr", "state": "exit state",
        },
    ),
    JobMap(
        name="alcf",
        source="ALCF job composite (Cobalt)",
        columns={"job_id": "COBALT_JOBID"} | _ALCF,
    ),
    JobMap(
        name="alcf-pbs",
        source="ALCF job composite (PBS: Polaris, Aurora)",
        columns={"job_id": "JOB_NAME"} | _ALCF,
    ),
    JobMap(
        name="alibaba-gpu",
        source="Alibaba cluster-trace-gpu-v2023 (openb_pod_list)",
        columns={
            "job_id": "name", "submit": "creation_time", "start": "scheduled_time",
            "end": "deletion_time", "procs": "cpu_milli", "memory": "memory_mib",
            "gpus": "num_gpu", "features": "gpu_spec", "qos": "qos", "state": "pod_phase",
        },
        units={"procs": "milli", "memory": "MB"},
        per={"memory": "job"},
    ),
    JobMap(
        name="drac",
        source="Cedar and Graham, daily snapshots (Digital Research Alliance of Canada)",
        columns={
            "job_id": "job_unique_id", "submit": "submit_time", "start": "start_time",
            "end": "end_time", "request": "time_limit_sec", "procs": "req_cpus",
            "eligible": "eligible_time", "account": "account_id", "partition": "partition_id_x",
            "priority": "priority_x", "state": "state", "tres": "req_tres",
        },
    ),
)  # fmt: skip
"""Maps of data sets whose columns are published."""


def map_for(names: Iterable[str], path: str | None) -> JobMap | None:
    """The map beside a table, else the known one whose columns it has; None for our own columns.

    Examples
    --------
    >>> map_for(["jid", "usr", "adt", "sdt", "edt", "duration", "elpl", "nnumr", "cnumr",
    ...          "exit state", "pri"], None).name
    'f-data'
    """
    given = list(names)
    beside = map_beside(path)
    if beside and os.path.isfile(beside):
        return read_map(beside)
    return next((one for one in MAPS if one.fits(given)), None)


def read_map(path: str) -> JobMap:
    """A map from a TOML file: ``submit = "queued_at"``, and ``[units] request = "min"``."""
    try:
        table = tomllib.loads(Path(path).read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"not a readable TOML file ({error})", path=path) from None
    units, per = table.pop("units", {}), table.pop("per", {})
    for key, value in table.items():
        if key not in OURS or not isinstance(value, str):
            hint = f"Write OURS = 'THEIRS', where OURS is one of {', '.join(OURS)}."
            raise InputError(f"cannot read the entry {key}", path=path, hint=hint)
    if not isinstance(units, dict) or any(
        value not in units_of(key) for key, value in units.items()
    ):
        hint = (
            f"Units of {', '.join((*SPANS, *TIMES))} are {', '.join(SECONDS)}, those of memory "
            f"{', '.join(SIZES)}, of procs and gpus milli, of state slurm (its numbers)."
        )
        raise InputError("cannot read the table units", path=path, hint=hint)
    if not isinstance(per, dict) or any(
        value not in PER.get(key, ()) for key, value in per.items()
    ):
        hint = "memory is per job, node or cpu, gpus are per job or node."
        raise InputError("cannot read the table per", path=path, hint=hint)
    if "submit" not in table or not {"run", "end"} & set(table):
        raise InputError("the map needs submit, and run or start and end", path=path)
    return JobMap(name=Path(path).name, columns=table, units=units, per=per)


def units_of(ours: str) -> tuple[str, ...]:
    """The units that a column may have."""
    if ours in (*TIMES, *SPANS):
        return tuple(SECONDS)
    more = {"procs": ("milli",), "gpus": ("milli",), "state": ("slurm",)}
    return tuple(SIZES) if ours == "memory" else more.get(ours, ())
