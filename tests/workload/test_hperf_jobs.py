"""The thesis' workloads: exact counts, exact sums, one base for both."""

from __future__ import annotations

import numpy as np
import pytest

from shadowtime.errors import UsageError
from shadowtime.workload.hperf_jobs import APPLICATIONS, TAGS, hperf_workload

TABLE_3_1 = {
    (4250, 4): "synthetichigh", (4250, 8): "synthetichigh",
    (3000, 16): "cg.D.16", (3000, 32): "cg.D.32", (3000, 64): "cg.D.64",
    (1870, 4): "cg.C.4", (1870, 8): "cg.C.8", (1870, 16): "cg.C.16", (1870, 32): "cg.C.32",
    (1870, 64): "cg.C.64",
    (412, 2): "cg.B.2", (412, 4): "cg.B.4", (412, 8): "cg.B.8", (412, 16): "cg.B.16",
    (412, 32): "cg.B.32", (412, 64): "cg.B.64",
}  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(
    ("name", "classes", "total"), [("high", (84, 7, 9), 68_760), ("medium", (54, 27, 19), 68_820)]
)
def test_table_3_2_and_the_sum_of_limits(name, classes, total, seed):
    w = hperf_workload(name, seed=seed)
    band = w.extra["bandwidth"]
    counts = [int(np.isin(band, values).sum()) for values in ((4250, 3000), (1870,), (412,))]
    assert tuple(counts) == classes
    assert int(w.limit.sum()) == total
    assert (w.limit == -(-w.run // 60) * 60).all()  # very tight
    assert (w.request == w.limit).all()
    assert (w.submit[0], w.submit[-1]) == (0, 3000)
    names = [TAGS[tag] for tag in w.extra["tag"]]
    assert names == [TABLE_3_1[key] for key in zip(band.tolist(), w.procs.tolist(), strict=True)]


def test_table_3_1():
    assert {(app.bandwidth, app.procs): app.tag for app in APPLICATIONS} == TABLE_3_1
    assert len(APPLICATIONS) == 16
    assert len(TAGS) == 15


def test_both_workloads_are_one_base():
    high, medium = (hperf_workload(name, seed=5) for name in ("high", "medium"))
    assert high.submit.tolist() == medium.submit.tolist()
    assert np.abs(high.run - medium.run).max() <= 60
    rise = high.extra["bandwidth"] - medium.extra["bandwidth"]
    assert (np.isin(medium.extra["bandwidth"], (4250, 3000)) <= np.isin(
        high.extra["bandwidth"], (4250, 3000))).all()  # fmt: skip
    assert rise.min() >= 0
    assert high.procs.tolist() == medium.procs.tolist()


def test_runs_and_sizes_look_like_the_model():
    runs = np.concatenate([hperf_workload("high", seed=s).run for s in range(20)])
    assert runs.mean() == pytest.approx(687.6 - 30, abs=8)  # mean limit less half a minute
    assert runs.min() >= 60
    sizes = np.concatenate([hperf_workload("medium", seed=s).procs for s in range(20)])
    assert set(sizes.tolist()) == {4, 8, 16, 32, 64}  # 2**1.8 is nearer to 4 than to 2


def test_seeds():
    a, b, c = (hperf_workload("high", seed=s) for s in (1, 1, 2))
    assert a.run.tolist() == b.run.tolist() != c.run.tolist()
    with pytest.raises(UsageError, match="medium"):
        hperf_workload("low", seed=1)
    with pytest.raises(UsageError):
        hperf_workload("high", seed=1, cores=2)
    assert hperf_workload("high", seed=1, span=500).submit[-1] == 500
    assert hperf_workload("high", seed=1, cores=160).machine == {"procs": 160}
