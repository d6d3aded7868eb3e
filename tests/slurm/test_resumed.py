"""A run that is killed and continues from its checkpoint ends as if nothing had happened."""

from __future__ import annotations

import contextlib
import tempfile
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from shadowtime.api.load import load
from shadowtime.cluster.site import Outage, Site
from shadowtime.engine.watch import Seen, Watch, read_checkpoint, write_checkpoint
from shadowtime.errors import InputError
from shadowtime.policy import parse_policy
from shadowtime.slurm.outcome import SlurmRun
from shadowtime.slurm.phase import Phase
from shadowtime.slurm.run import run_slurm
from shadowtime.workload import Workload
from shadowtime.workload.request import Dependency, Requests
from slurm.test_run import FOLDER
from slurm.test_shortcuts import runs

KINDS = ("after", "afterany", "afterok", "afternotok", "singleton")


class Killed(Exception):
    """The process ends here."""


class Reports:
    """Counts the reports of a run; saves it at one of them, and ends it soon after."""

    def __init__(self, save_at: int = -1, *, later: int = 1) -> None:
        self.count, self.save_at, self.end_at = 0, save_at, save_at + later
        self.now = 0.0

    def show(self, run: object, seen: Seen) -> None:
        """How far the run is."""
        assert 0 <= seen.share <= 1
        self.count += 1
        if 0 < self.save_at < self.end_at == self.count:
            raise Killed

    def clock(self) -> float:
        """A quarter of a second at a time; the minute is over when the run is to be saved."""
        due = self.count == self.save_at and self.now < 1e9
        self.now += 1e9 if due else 0.25
        return self.now

    def watch(self, checkpoint: Path | None) -> Watch:
        """What sees the run."""
        return Watch(
            show=self.show, checkpoint=checkpoint, clock=self.clock, saved_every=1e8, stride=0
        )


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Site, Workload, Requests]:
    """Those of the shortcuts, with cancellations, dependencies, an outage, fair-share and gangs."""
    site, jobs, asked = draw(runs())
    count = len(jobs)
    cancel = [draw(st.sampled_from([-1, -1, 50, 300])) for _ in range(count)]
    cancel = [max(int(when), one) if one >= 0 else -1
              for when, one in zip(jobs.submit, cancel, strict=True)]  # fmt: skip
    waits = tuple(
        Dependency(job=row, kind=draw(st.sampled_from(KINDS)), on=(int(jobs.job_id[row - 1]),))
        for row in range(1, count)
        if draw(st.integers(0, 4)) == 0 and asked.array[row] < 0
    )
    mode = draw(st.sampled_from(["REQUEUE", "CANCEL", "SUSPEND,GANG"]))
    if mode == "SUSPEND,GANG":
        site = site.replace(
            config=dict(site.config) | {"PreemptType": "preempt/partition_prio"},
        )
    elif site.config["PreemptType"] == "preempt/none":
        mode = "OFF"
    site = site.replace(
        config=dict(site.config) | {"PreemptMode": mode, "PriorityWeightFairshare": "900"},
        outages=(Outage(node=site.nodes[-1].name, begin=100, end=400),),
    )
    return site, jobs, replace(asked, cancel_at=np.array(cancel), dependencies=waits)


def columns(run: SlurmRun) -> dict[str, Any]:
    """All of a run that can be compared."""
    found = {name: getattr(run, name) for name in run.__slots__}
    found["holding"] = {row: tuple(held) for row, held in run.holding.items()}
    return found


@settings(max_examples=examples(120), deadline=None)
@given(worlds(), st.integers(0, 10_000), st.integers(1, 9), st.booleans())
def test_a_killed_run_continues_from_its_checkpoint(
    case: tuple[Site, Workload, Requests], moment: int, later: int, twice: bool
) -> None:
    """Starts, ends, nodes, cores, passes, preemptions and reasons, whenever it was killed."""
    site, jobs, asked = case
    how: dict[str, Any] = {"phase": Phase(tick=0.3), "compiled": False}
    reports = Reports()
    whole = columns(run_slurm(jobs, site, asked, watch=reports.watch(None), **how))
    assert whole == columns(run_slurm(jobs, site, asked, **how))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "key.checkpoint"
        done = 0
        for _ in range(2 if twice else 1):
            left = reports.count - done
            kill = Reports(1 + moment % max(1, left - 1), later=later)
            with contextlib.suppress(Killed):  # it may be over before
                run_slurm(jobs, site, asked, watch=kill.watch(file), **how)
            done += kill.save_at - 1
            moment //= 3
        rest = Reports()
        assert columns(run_slurm(jobs, site, asked, watch=rest.watch(file), **how)) == whole
        assert rest.count == reports.count - done


@pytest.mark.parametrize("name", ["A", "I", "N", "O"])
def test_a_recorded_site_continues(name: str, tmp_path: Path) -> None:
    """A replay of a real site, killed at a third and again later: the whole schedule is equal."""
    folder = FOLDER / name
    if not folder.is_dir():
        pytest.skip(f"there is no recording {name} here")
    jobs, site = load(str(folder), report=lambda text: None)
    policy = parse_policy("slurm")
    reports = Reports()
    whole = policy.simulate(jobs, site, watch=reports.watch(None))
    file = tmp_path / "key.checkpoint"
    for save_at in (reports.count // 3, reports.count // 3 + 7):
        with pytest.raises(Killed):
            policy.simulate(jobs, site, watch=Reports(save_at, later=20).watch(file))
    again = policy.simulate(jobs, site, watch=Reports().watch(file))
    for one in fields(again):
        mine, theirs = getattr(again, one.name), getattr(whole, one.name)
        if one.name == "attempts":
            assert all(map(np.array_equal, vars(mine).values(), vars(theirs).values()))
        else:
            assert np.array_equal(mine, theirs), one.name


@pytest.mark.parametrize(("damage", "told"), [(b"x", "damaged"), (None, "not a checkpoint")])
def test_a_file_that_is_no_checkpoint_is_refused(
    damage: bytes | None, told: str, tmp_path: Path
) -> None:
    """One sentence with the file and what to do."""
    file = tmp_path / "key.checkpoint"
    write_checkpoint(file, [b"state"], code="1")
    assert read_checkpoint(file, code="1") == b"state"
    file.write_bytes(file.read_bytes() + damage if damage else b"something else")
    with pytest.raises(InputError, match=told):
        read_checkpoint(file, code="1")
