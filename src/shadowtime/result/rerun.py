"""Make the runs of a result folder again, changed or to compare its tables byte by byte."""

from __future__ import annotations

import json
import platform
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.engine.semantics import SEMANTICS
from shadowtime.errors import PolicyError, UsageError
from shadowtime.metrics.where import Where
from shadowtime.policy import parse_policy
from shadowtime.report import PolicyRun
from shadowtime.result import comparison, read, recipe, write
from shadowtime.study import compare, replicas
from shadowtime.study.compare import Engine
from shadowtime.study.counterfactual.otherwise import Absence, Otherwise, absence, otherwise
from shadowtime.types import Reason

if TYPE_CHECKING:
    from shadowtime.study.counterfactual.variation import Variation


TABLE = ("parameters", "metrics", "copies")
"""What of a policy's entry is computed."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """One table of a folder: a schedule, or the metrics of a policy."""

    name: str
    equal: bool
    difference: str = ""


@dataclass(frozen=True, kw_only=True)
class Rerun:
    """A folder's tables compared with new ones, and what else is not as it was."""

    folder: str
    tables: tuple[Table, ...]
    changes: tuple[str, ...]
    """Versions, data and code that differ from those of the folder."""
    skipped: tuple[str, ...] = ()
    """What was not compared, and why."""

    @property
    def equal(self) -> bool:
        """Every byte of every table is equal."""
        return all(one.equal for one in self.tables)

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "folder": self.folder,
            "equal": self.equal,
            "tables": [
                {"name": one.name, "equal": one.equal, "difference": one.difference or None}
                for one in self.tables
            ],
            "changes": list(self.changes),
            "skipped": list(self.skipped),
        }


def rerun(folder: str, *, run_code: bool = False, output: str | None = None) -> list[Rerun]:
    """Run every policy of a result folder again on the folder's own inputs.

    Rules
    -----
    A folder of several loads gives an answer for each. ``output`` keeps the new folder. The code of
    a folder is run only with ``run_code``.
    """
    if read.is_result_folder(folder):
        return [_rerun(Path(folder), run_code, None if output is None else Path(output))]
    found = read.inner_folders(folder)
    if not found:
        read.read_content(folder)  # says why it is no result folder
        raise UsageError(f"{folder} contains no inputs: only a result folder can be run again")
    return [
        _rerun(one, run_code, None if output is None else Path(output) / one.name) for one in found
    ]


def _rerun(root: Path, run_code: bool, output: Path | None) -> Rerun:
    content = read.read_content(str(root))
    policies = [
        recipe.policy_of(entry.get("recipe", {}), root, run_code=run_code, name=str(entry["name"]))
        for entry in content["policies"]
    ]
    jobs, machine = read.read_inputs(str(root))
    copies = content.get("replicas", {"kind": "none", "count": 0, "seed": 1})
    # Users are drawn before the load is set, and the folder has the log after that.
    drawn = copies["kind"] == "resampled" and content.get("load", str(replicas.AS_RECORDED)) != str(
        replicas.AS_RECORDED
    )
    count = 0 if drawn else int(copies["count"])
    where = str(content.get("where", ""))
    counted = Where.parse(where) if where else None
    found = compare(
        jobs, machine, policies, window=read.read_window(content), where=counted,
        shake=count if copies["kind"] == "shaken" else 0,
        resample=count if copies["kind"] == "resampled" else 0, seed=int(copies["seed"]),
    )  # fmt: skip
    result = comparison.as_report(
        found, found.settings[0], where=where, command=str(content.get("command", ""))
    )
    with tempfile.TemporaryDirectory() as place:
        made = output or Path(place)
        write.write_folder(write.as_object(result, found.window), result, str(made))
        tables = _compared(root, content, made, read.read_content(str(made)), drawn)
    skipped = ("copies: users were drawn before the load was set",) if drawn else ()
    return Rerun(
        folder=str(root), tables=tuple(tables), changes=tuple(changes_since(root, content)),
        skipped=skipped,
    )  # fmt: skip


def _compared(
    root: Path, old: Mapping[str, Any], made: Path, new: Mapping[str, Any], drawn: bool
) -> list[Table]:
    tables = []
    for was, now in zip(old["policies"], new["policies"], strict=True):
        name = str(was["schedule"])
        before, after = ((at / one["schedule"]).read_bytes() for at, one in
                         ((root, was), (made, now)))  # fmt: skip
        tables.append(Table(name=name, equal=before == after, difference=_line(before, after)))
        wanted = [part for part in TABLE if part in was and not (drawn and part == "copies")]
        texts = [{part: write.to_json(one.get(part)) for part in wanted} for one in (was, now)]
        differing = [
            f"{part}: {key}" if key else part
            for part in wanted
            if texts[0][part] != texts[1][part]
            for key in _keys(was.get(part), now.get(part))
        ]
        tables.append(
            Table(
                name=f"metrics of {was['name']}", equal=not differing,
                difference=", ".join(differing[:5]) + (" ..." if len(differing) > 5 else ""),
            )
        )  # fmt: skip
    return tables


def _keys(was: Any, now: Any) -> list[str]:
    if not isinstance(was, dict) or not isinstance(now, dict):
        return [""]
    names = dict.fromkeys([*was, *now])
    return [name for name in names if json.dumps(was.get(name)) != json.dumps(now.get(name))]


def _line(before: bytes, after: bytes) -> str:
    if before == after:
        return ""
    pairs = zip(before.splitlines(), after.splitlines(), strict=False)
    number = next((n for n, (a, b) in enumerate(pairs, 1) if a != b), 0)
    return f"from line {number}" if number else "of different length"


def changes_since(root: Path, content: Mapping[str, Any]) -> list[str]:
    """What is not as it was when the folder was written."""
    found = []
    now = write.versions()
    for name, was in content.get("versions", {}).items():
        if now.get(name) != was:
            found.append(f"version of {name}: {was} in the folder, {now.get(name, 'none')} here")
    made = content.get("made", {})
    here = {"semantics": SEMANTICS, "machine": platform.machine()}
    for name, value in here.items():
        if made.get(name, value) != value:
            found.append(f"{name}: {made[name]} in the folder, {value} here")
    was, is_now = made.get("files", {}), write.digests(root)
    for name in sorted({*was, *is_now}):
        if was.get(name) != is_now.get(name):
            kind = "code" if name.startswith("code/") else "data"
            how = "missing" if name not in is_now else "new" if name not in was else "changed"
            found.append(f"{kind}: {name} is {how} since the folder was written")
    return found


def is_recorded(run: PolicyRun) -> bool:
    """Is it a log's own schedule, which no policy of ours made?"""
    return bool(np.isin(run.schedule.reason, (Reason.RECORDED, Reason.UNSTARTED)).all())


def policy_again(folder: read.Folder, run: PolicyRun, *, run_code: bool = False) -> Any:
    """The policy of a folder's run, to simulate it again.

    Rules
    -----
    By the folder's recipe; a folder without one (a replay) by the policy's name. A recorded
    schedule has no policy and is rejected.
    """
    if is_recorded(run):
        others = [one.name for one in folder.result.runs if not is_recorded(one)]
        how = f": choose -p {others[0]}" if others else ": simulate the log under a policy first"
        raise UsageError(
            f"{folder.root}: {run.name} is a recorded schedule, and what would have been different "
            f"needs a policy{how}"
        )
    entry = next(one for one in folder.content["policies"] if one["name"] == run.name)
    if "recipe" in entry:
        return recipe.policy_of(entry["recipe"], folder.root, run_code=run_code, name=run.name)
    named = str(run.parameters.get("policy") or run.name)
    try:
        return parse_policy(named)
    except PolicyError:
        return recipe.policy_of({}, folder.root, run_code=run_code, name=run.name)  # says why not


def otherwise_in(
    folder: read.Folder,
    run: PolicyRun,
    policy: Any,
    job: int,
    variation: Variation,
    *,
    engine: Engine,
) -> Otherwise:
    """What a folder's run would have been with a variation.

    The schedule of the folder is the run as it was, if it was made by this version and with a
    recipe; else that run is made again too and must give the folder's starts.
    """
    jobs, machine = folder.result.workload, run.cluster or folder.result.cluster
    _require_same(folder, run, policy, engine)
    return otherwise(jobs, machine, policy, run.schedule, job, variation, engine=engine)


def absences_in(
    folder: read.Folder, run: PolicyRun, policy: Any, jobs: Sequence[int], *, engine: Engine
) -> tuple[Absence, ...]:
    """What a folder's run would have been without each of these jobs."""
    workload, machine = folder.result.workload, run.cluster or folder.result.cluster
    _require_same(folder, run, policy, engine)
    return tuple(
        absence(workload, machine, policy, run.schedule, job, engine=engine) for job in jobs
    )


def _require_same(folder: read.Folder, run: PolicyRun, policy: Any, engine: Engine) -> None:
    """The policy must give the folder's starts; that is known of a folder of this version."""
    jobs, machine = folder.result.workload, run.cluster or folder.result.cluster
    known = any("recipe" in one for one in folder.content["policies"] if one["name"] == run.name)
    if known and not changes_since(folder.root, folder.content):
        return
    differ = int((engine(jobs, machine, policy).start != run.schedule.start).sum())
    if differ:
        raise UsageError(
            f"{folder.root}: {run.name} made again starts {differ:,} of {len(jobs):,} jobs at "
            "other times than in this folder (another version, or one of several runs): "
            "write the folder again with shadowtime compare or simulate -o"
        )
