"""A folder of a recording: its files and what they contain about each job."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from datetime import UTC
from pathlib import Path

from shadowtime.cluster.site import Site
from shadowtime.cluster.site_folder import read_site_alone, read_text
from shadowtime.errors import ClusterError, InputError, ShadowtimeError
from shadowtime.slurm.from_site import model_notes
from shadowtime.slurm.rules import Rules
from shadowtime.slurmtext.job_id import parse_job_id
from shadowtime.slurmtext.log import Log, job_number, read_log, stamp
from shadowtime.slurmtext.sacct_rows import split_rows
from shadowtime.slurmtext.sbatch import Submitted, parse_options
from shadowtime.slurmtext.show_job import Piece, pieces
from shadowtime.slurmtext.squeue import sharing_of
from shadowtime.slurmtext.times import parse_stamp

NEAR = 2
"""Seconds by which a line of the log and sacct's start of the same run may differ."""
LOGS = ("slurmctld.log.gz", "slurmctld.log")
BY_LOG = ("events", "past_reservations", "shares")
"""Texts of a site that are not read: the log itself shows what happened, and when."""


@dataclass(frozen=True, slots=True)
class Run:
    """One row of sacct: a job's run."""

    raw: int
    array: int
    task: int | None
    columns: dict[str, str]

    def seconds(self, name: str) -> int | None:
        """A time of the row, None where it has none."""
        value = parse_stamp(self.columns.get(name, ""), UTC)
        return value if value >= 0 else None


@dataclass(slots=True)
class Recording:
    """Everything read of one folder. Times are seconds since 1970 on sacct's clock."""

    path: Path
    site: Site
    log: Log
    runs: dict[int, list[Run]] = field(default_factory=dict)
    submitted: dict[int, Submitted] = field(default_factory=dict)
    submit_times: dict[int, float] = field(default_factory=dict)
    pieces: dict[tuple[int, int], list[Piece]] = field(default_factory=dict)
    """(raw id, start second) to what the job held."""
    samples: dict[int, list[tuple[float, int]]] = field(default_factory=dict)
    """Job to (time, priority) as squeue showed it."""
    shift: int = 0
    """Seconds to add to the log's times to be on sacct's clock."""

    @property
    def lacking(self) -> tuple[str, ...]:
        """What the passes depend on that the recording lacks or the model does not follow."""
        notes = model_notes(self.site)
        if Rules.of_config(self.site.config).note:
            notes.append(Rules.of_config(self.site.config).note)
        known = self.samples or any(event.kind == "priority" for event in self.log.events)
        if self.site.setting("PriorityType") == "priority/multifactor" and not known:
            notes.append(
                "priorities change here and are not recorded: set DebugFlags=Backfill,Priority, "
                "or sample squeue into squeue_samples.psv"
            )
        return tuple(notes)


def read_recording(path: Path) -> Recording:
    """Read a recording's folder.

    A log, sacct's table (jobs.psv) and a description of the machine (slurm.conf, or nodes.txt and
    partitions.txt) must be there; the rest is used where it is.
    """
    if not path.is_dir():
        raise InputError(f"{path} is not a folder of a recording")
    log_path = next((path / name for name in LOGS if (path / name).exists()), None)
    if log_path is None:
        raise InputError(f"{path} holds no slurmctld.log.gz or slurmctld.log")
    if not (path / "jobs.psv").exists():
        raise InputError(f"{path} holds no jobs.psv (the output of sacct -P)")
    try:
        site = read_site_alone(path, without=BY_LOG).replace(name=path.name)
    except ClusterError as error:
        raise InputError(str(error)) from None
    log = read_log(log_path)
    if log.version and not site.setting("SLURM_VERSION"):
        site = site.replace(config={**site.config, "SLURM_VERSION": log.version})
    recording = Recording(path, site, log)
    _read_runs(recording)
    try:
        _read_submits(recording)
        for name in ("jobs_scontrol.txt", "detail.txt", "gres_samples.txt"):
            if (path / name).exists():
                _read_details(recording, path / name)
        _read_samples(recording)
        recording.shift = _shift(recording)
        _name_starts(recording)
    except ShadowtimeError:
        raise
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise InputError(f"{path}: a file of the recording is damaged: {error}") from error
    return recording


def _read_samples(recording: Recording) -> None:
    """squeue_samples.psv: priorities as whole numbers, where the log rounds them."""
    path = recording.path / "squeue_samples.psv"
    if not path.exists() or "multifactor" not in str(recording.site.config.get("PriorityType")):
        return
    for line in read_text(path).split("\n")[1:]:
        words = line.split("|")
        if len(words) > 3 and words[1].isdigit() and words[3].isdigit():
            when = float(words[0]) if re.fullmatch(r"[\d.]+", words[0]) else 0.0
            recording.samples.setdefault(int(words[1]), []).append((when, int(words[3])))


def _read_runs(recording: Recording) -> None:
    path = recording.path / "jobs.psv"
    rows = split_rows(read_text(path), path=str(path))
    if "jobidraw" not in rows.columns:
        raise InputError(f"{path}, line 1: no column JobIDRaw; export with sacct -P --format=...")
    for number, values in rows.each():
        if isinstance(values, str):
            raise InputError(f"{path}, line {number}: {values}")
        columns = dict(zip(rows.columns, values, strict=True))
        if not columns["jobidraw"].isdigit():  # a step
            continue
        raw, shown = int(columns["jobidraw"]), parse_job_id(columns.get("jobid") or "0")
        array = shown.number if shown.task >= 0 or shown.tasks else 0
        task = shown.task if shown.task >= 0 else None
        recording.runs.setdefault(raw, []).append(Run(raw, array, task, columns))


def _read_submits(recording: Recording) -> None:
    """submits.psv, or workload.json where jobs are named after their place in it."""
    path = recording.path / "submits.psv"
    if path.exists():
        for line in read_text(path).split("\n")[1:]:
            _, job, before, _, options = line.split("|", 4) if line else ("",) * 5
            if job.isdigit():
                recording.submitted[int(job)] = parse_options(options)
                recording.submit_times[int(job)] = float(before)
        return
    path = recording.path / "workload.json"
    if not path.exists():
        return
    try:
        jobs = json.loads(read_text(path))
    except ValueError as error:
        raise InputError(f"{path}: {error}") from error
    if isinstance(jobs, dict):
        jobs = jobs.get("jobs", [])
    for raw, runs in recording.runs.items():
        match = re.fullmatch(r"w(\d{1,9})", runs[0].columns.get("jobname", ""))
        if not match or not 0 < int(match[1]) <= len(jobs):
            continue
        one = jobs[int(match[1]) - 1]
        if "nodes" in one:
            words = f"-N {one['nodes']} --exclusive"
        elif "cores" in one:
            words = f"-n {one['cores']}" + (" -N 1" if one.get("one") else "")
        else:
            continue
        words += f" -t {one['limit']} --uid={one.get('user', '')} -J w{match[1]}"
        for name in ("partition", "qos", "account"):
            if one.get(name):
                words += f" --{name}={one[name]}"
        recording.submitted[raw] = parse_options(words)


def _read_details(recording: Recording, path: Path) -> None:
    """Cores and GPUs per node of ``scontrol show jobs -d -o``, and requests known nowhere else."""
    for line in read_text(path).split("\n"):
        head = re.match(r"(?:[\d.]+\|)?JobId=(\d+)", line.strip())
        if not head:
            continue
        raw = int(head[1])
        begun = re.search(r" StartTime=(\d{4}-\S+)", line)
        if begun:
            held = pieces(line)
            key = raw, stamp(begun[1])
            old = recording.pieces.get(key)
            if held and (old is None or any(one.gpus is not None for one in held)):
                recording.pieces[key] = held
        if raw not in recording.submitted:
            found = _from_scontrol(line)
            if found is not None:
                recording.submitted[raw] = found


def _from_scontrol(line: str) -> Submitted | None:
    """What scontrol still knows about a submission, if nothing else does."""
    shown = dict(re.findall(r"(\S+?)=(\S*)", line))
    if "NumTasks" not in shown or "TimeLimit" not in shown:
        return None
    words = f"-n {shown['NumTasks']} -t {shown['TimeLimit']}"
    nodes = shown.get("NumNodes", "1").split("-")
    sharing = sharing_of(shown.get("OverSubscribe", ""), shown.get("Exclusive", ""))
    if sharing == "NO":
        words = f"-N {nodes[0]} --exclusive -t {shown['TimeLimit']}"
    elif len(nodes) == 2 and not ("Exclusive" in shown and nodes[1] == shown["NumTasks"]):
        words += f" -N {shown['NumNodes']}"
    if sharing == "USER":
        words += " --exclusive=user"
    if shown.get("CPUs/Task", "1") not in ("1", "N/A"):
        words += f" -c {shown['CPUs/Task']}"
    for key, option in (
        ("Partition", "-p"),
        ("QOS", "-q"),
        ("Account", "-A"),
        ("ReqNodeList", "-w"),
        ("ExcNodeList", "-x"),
        ("Features", "-C"),
        ("Licenses", "-L"),
        ("JobName", "-J"),
    ):
        if shown.get(key, "(null)") not in ("(null)", ""):
            words += f" {option} '{shown[key]}'"
    per_node = shown.get("NtasksPerN:B:S:C", "0").split(":")[0]
    if per_node not in ("0", "*"):
        words += f" --ntasks-per-node={per_node}"
    for key, option in (("MinMemoryNode", "--mem"), ("MinMemoryCPU", "--mem-per-cpu")):
        if shown.get(key, "0") != "0":
            words += f" {option}={shown[key]}"
    for key, option in (
        ("TresPerNode", "--gres"),
        ("TresPerJob", "--gpus"),
        ("TresPerTask", "--gpus-per-task"),
    ):
        if shown.get(key):
            words += f" {option}={shown[key].removeprefix('gres:').removeprefix('gres/')}"
    user = shown.get("UserId", "").partition("(")[0]
    return parse_options(f"{words} --uid={user}")


def _name_starts(recording: Recording) -> None:
    """Starts of backfill that the log does not name: of an array the task, and the nodes."""
    if not any(event.kind == "unnamed" for event in recording.log.events):
        return
    used: set[tuple[int, int]] = set()
    """Runs, by job and start, whose start the log names."""
    for event in recording.log.events:
        if event.kind in ("main", "backfill"):
            raw, _, _ = job_number(event.fields[0])
            used.add((raw, start_second(recording, raw, event.time + recording.shift)))
    tasks: dict[int, list[Run]] = {}
    for runs in recording.runs.values():
        for run in runs:
            tasks.setdefault(run.array or run.raw, []).append(run)
    for at, event in enumerate(recording.log.events):
        if event.kind != "unnamed":
            continue
        label, partition = event.fields
        raw, array, _ = job_number(label)
        now = event.time + recording.shift
        found = None
        for run in sorted(tasks.get(array or raw, ()), key=lambda one: one.task or 0):
            begun = run.seconds("start")
            key = (run.raw, begun or 0)
            if begun is not None and -NEAR <= begun - now <= 1 and key not in used:
                found = run
                used.add(key)
                break
        if found is None:
            raise InputError(
                f"{recording.path}: the log's line {event.line} starts job {label}, and jobs.psv "
                "has no row of it with that start"
            )
        if found.array:
            label = f"{found.array}_{found.task}({found.raw})"
        nodes = found.columns.get("nodelist", "")
        recording.log.events[at] = replace(event, kind="backfill", fields=(label, partition, nodes))


def start_second(recording: Recording, raw: int, time: float) -> int:
    """The start as slurmctld has it: sacct's, as the line may be of the next second."""
    starts = [one.seconds("start") for one in recording.runs.get(raw, ())]
    near = [one for one in starts if one is not None and abs(one - time) <= NEAR]
    return min(near, key=lambda one: abs(one - time)) if near else int(time)


def _shift(recording: Recording) -> int:
    """The log's zone against sacct's clock, in quarters of an hour."""
    for event in recording.log.events:
        if event.kind == "submit" and event.fields[0].isdigit():
            runs = recording.runs.get(int(event.fields[0]))
            submit = runs[0].seconds("submit") if runs else None
            if submit is not None:
                return round((submit - event.time) / 900) * 900
    return 0
