"""How long nodes take to answer after an end: what is set is measured again from the result."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import shadowtime as st
from conftest import recording_path
from shadowtime.cli import run
from shadowtime.cluster.site import Node, Site
from shadowtime.policy import parse_policy
from shadowtime.schedule.places import parse_site_place
from shadowtime.slurm.latency import measure
from shadowtime.slurm.recording.check import Checker
from shadowtime.slurm.recording.folder import read_recording
from shadowtime.trace.site_folder import read_site
from shadowtime.types import Reason

SITE = Site(nodes=tuple(Node(name=f"n{k}", amounts=(4,)) for k in range(1, 5)))


def loaded(seed: int, *, jobs: int = 300) -> st.Workload:
    """More work than four nodes can do, so that jobs follow one another."""
    rng = np.random.default_rng(seed)
    return st.Workload.build(
        submit=np.sort(rng.integers(0, 20 * jobs, jobs)),
        run=rng.integers(20, 200, jobs),
        procs=rng.integers(1, 17, jobs),
        request=[300] * jobs,
    )


def as_logged(workload: st.Workload, schedule: st.Schedule) -> st.Workload:
    """The schedule as sacct would have it: starts, nodes, and which pass started the job."""
    assert schedule.place is not None
    lists = [",".join(name for name, _ in parse_site_place(one)) for one in schedule.place]
    names = tuple(dict.fromkeys(lists))
    return workload.replace(
        recorded_start=schedule.start,
        run=schedule.end - schedule.start,
        names={**workload.names, "node_list": names},
        extra={
            **workload.extra,
            "node_list": np.array([names.index(one) for one in lists]),
            "started_by": np.where(schedule.reason == Reason.HEAD, 1, 2),
        },
    )


@pytest.mark.parametrize("delay", [0, 3])
@pytest.mark.parametrize("latency", [0, 2500, 20000])
def test_what_is_set_is_measured(latency: int, delay: int) -> None:
    """The log of a simulated Slurm shows the latency it was simulated with, to half a second.

    The third of five offsets has its ticks at half seconds: like those of a real one, which drift,
    they are cut to whole seconds by half a second on average.
    """
    log = loaded(latency + delay)
    policy = f"slurm(latency={latency}, batch_sched_delay={delay}, phase=2, phases=5)"
    made = st.simulate(log, SITE, policy).schedule
    found = measure(as_logged(log, made), batch_sched_delay=delay)
    assert found is not None and found.handovers >= 10
    assert abs(found.milliseconds - latency) <= 500, found


def test_the_policy_takes_what_the_log_shows() -> None:
    """Without latency=N the measured one is used, and a line reports it; a given one is kept."""
    log = loaded(7)
    seen = as_logged(log, st.simulate(log, SITE, "slurm(latency=30000)").schedule)
    shown = measure(seen, batch_sched_delay=3)
    assert shown is not None
    given = f"slurm(latency={shown.milliseconds})"
    own, same, other = (
        st.simulate(seen, SITE, text).schedule.start
        for text in ("slurm", given, "slurm(latency=100)")
    )
    assert np.array_equal(own, same) and not np.array_equal(own, other)
    [note] = parse_policy("slurm").notes_on(SITE, seen)
    assert f"{shown.milliseconds} ms" in note and "latency=N" in note
    assert parse_policy(given).notes_on(SITE, seen) == []


@pytest.mark.parametrize("early", [0.0, 0.4, 1.0])
def test_starts_that_a_newer_slurm_records_early_are_recognised(early: float) -> None:
    """From 23.11 on passes run at whole seconds, and time() may show the second before."""
    log = loaded(0)
    policy = replace(parse_policy("slurm(version=24.11, latency=0)"), early=early)
    made = policy.simulate(log, SITE)
    assert (made.start >= log.submit).all()
    found = measure(as_logged(log, made), whole_seconds=True)
    assert found is not None and found.milliseconds <= 200
    assert found.early == pytest.approx(early, abs=0.2)
    ends = as_logged(log, made)
    again = replace(policy, early=found.early).simulate(ends, SITE)
    assert again.wait.mean() == pytest.approx(made.wait.mean(), rel=0.1)


def test_too_few_starts_measure_nothing() -> None:
    """The default is used and the line gives the reason; a log without nodes has no line."""
    log = loaded(1, jobs=5)
    seen = as_logged(log, st.simulate(log, SITE, "slurm").schedule)
    assert measure(seen) is None and measure(log) is None
    [note] = parse_policy("slurm").notes_on(SITE, seen)
    assert "100 ms" in note and "too few" in note
    assert parse_policy("slurm").notes_on(SITE, log) == []


def test_the_order_of_rows_does_not_matter() -> None:
    """A job that never started has no part in it."""
    log = loaded(3)
    seen = as_logged(log, st.simulate(log, SITE, "slurm").schedule)
    lost = seen.replace(
        recorded_start=np.where(np.arange(len(log)) % 7 == 0, -1, seen.recorded_start)
    )
    assert measure(lost) is not None


@pytest.mark.parametrize("name", ["A", "M1"])
def test_sacct_and_slurmctld_agree(name: str) -> None:
    """Whole seconds of sacct and milliseconds of the log agree within a quarter of a second."""
    folder = recording_path(name)
    site, workload = read_site(folder)
    from_sacct = measure(workload)
    from_log = Checker(read_recording(folder)).tallies.latency
    assert from_sacct is not None and from_log is not None
    assert abs(from_sacct.mean_gap - from_log.mean_gap) <= 0.25
    assert site.nodes and from_log.handovers > 100


def test_the_check_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    """``check slurm`` prints the latency of the log."""
    assert run(["check", "slurm", str(recording_path("A")), "--every", "50"]) == 0
    assert "start latency " in " ".join(capsys.readouterr().out.split())
