"""The Lublin-Feitelson generator against the public model's own figures."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shadowtime.errors import UsageError
from shadowtime.workload.lublin import (
    BATCH,
    BUCKET,
    INTERACTIVE,
    KINDS,
    TYPELESS,
    clocks,
    day_weights,
    gamma_cdf,
    lublin_workload,
)

ACCEPTED = {
    # kind: figure: (mean of the public model at 20,000 jobs, four standard deviations)
    "batch": {
        "serial": (0.294, 0.013), "power of two": (0.968, 0.004), "mean ln run": (6.938, 0.093),
        "sd ln run": (2.752, 0.034), "mean size": (13.8, 0.7), "corr": (0.113, 0.029),
        "median gap": (150, 17), "9 to 17 h": (0.511, 0.055),
    },
    "interactive": {
        "serial": (0.154, 0.007), "power of two": (0.845, 0.009), "mean ln run": (2.877, 0.038),
        "sd ln run": (1.715, 0.040), "mean size": (8.07, 0.26), "corr": (0.149, 0.031),
        "median gap": (46, 5.4), "9 to 17 h": (0.565, 0.078),
    },
    "typeless": {
        "serial": (0.245, 0.012), "power of two": (0.870, 0.011), "mean ln run": (5.455, 0.091),
        "sd ln run": (2.967, 0.031), "mean size": (12.1, 0.6), "corr": (0.213, 0.037),
        "median gap": (116, 6.5), "9 to 17 h": (0.552, 0.042),
    },
}  # fmt: skip
WIDEST = {"batch": 128, "interactive": 45, "typeless": 128}


def figures(workload):
    log, size = np.log(workload.run), workload.procs
    hour = workload.submit % 86400 / 3600
    return {
        "serial": (size == 1).mean(),
        "power of two": ((size & (size - 1)) == 0).mean(),
        "mean ln run": log.mean(),
        "sd ln run": log.std(),
        "mean size": size.mean(),
        "corr": np.corrcoef(size, log)[0, 1],
        "median gap": np.median(np.diff(workload.submit)),
        "9 to 17 h": ((hour >= 9) & (hour < 17)).mean(),
    }


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", ACCEPTED)
def test_distributions_are_those_of_the_public_model(kind, seed):
    workload = lublin_workload(20_000, seed=seed, kind=kind)
    measured = figures(workload)
    off = {
        name: (round(float(measured[name]), 4), mean, spread)
        for name, (mean, spread) in ACCEPTED[kind].items()
        if abs(measured[name] - mean) > spread
    }
    assert not off
    assert workload.procs.max() == WIDEST[kind]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_share_of_batch_jobs_in_the_typed_mix(seed):
    mixed = lublin_workload(20_000, seed=seed, kind="typed")
    assert abs((mixed.queue == 1).mean() - 0.152) <= 0.067


@pytest.mark.parametrize("kind", KINDS)
def test_a_longer_workload_begins_with_the_shorter_one(kind):
    short, long = (lublin_workload(n, seed=5, kind=kind) for n in (700, 9000))
    for column in ("submit", "run", "procs", "queue"):
        assert getattr(short, column).tolist() == getattr(long, column)[:700].tolist()


def test_same_seed_same_workload_and_a_generator_moves_on():
    a, b = lublin_workload(50, seed=3), lublin_workload(50, seed=np.random.default_rng(3))
    assert a.run.tolist() == b.run.tolist()
    rng = np.random.default_rng(3)
    assert lublin_workload(50, seed=rng).run.tolist() != lublin_workload(50, seed=rng).run.tolist()


def test_a_tie_of_clocks_goes_to_the_interactive_type():
    one = BATCH.replace(aarr=1e-9, barr=1e-9)  # every gap is e**0 s, so both types always tie
    two = INTERACTIVE.replace(aarr=1e-9, barr=1e-9, anum=BATCH.anum, bnum=BATCH.bnum)
    mixed = lublin_workload(6, seed=1, kind=(one, two))
    assert mixed.submit[:2].tolist() == [mixed.submit[0]] * 2
    assert mixed.queue[:2].tolist() == [0, 1]


def test_the_clock_pays_bucket_by_bucket_and_cuts_to_seconds():
    weights = (0.5, 2.0) * 24
    # 0.25 points in a bucket of 0.5: half of it, 900 s. Then 1.25 more: 0.25 end the first bucket
    # (900 s), 1.0 is half of the second (900 s). A gap equal to what is left stays in the bucket.
    assert list(clocks([0.25, 1.25, 1.0], weights)) == [900, 2700, 3600]
    assert list(clocks([1 / 1800 * 1.5] * 4, (1.0,) * 48)) == [1, 2, 3, 4]  # 1.5 s cut to 1


def test_weights_of_the_day_are_differences_of_the_cdf():
    weights = day_weights(TYPELESS.anum, TYPELESS.bnum)
    mass = [
        gamma_cdf(i + 0.5, TYPELESS.anum, TYPELESS.bnum)
        - gamma_cdf(i - 0.5, TYPELESS.anum, TYPELESS.bnum)
        for i in range(11, 59)
    ]
    mean = sum(mass) / 48
    assert weights[10] == pytest.approx(mass[0] / mean)  # i = 11 is bucket 10: 5:00
    assert weights[0] == pytest.approx(mass[49 - 11] / mean)  # i = 49 wraps to midnight
    assert weights[9] == pytest.approx(mass[58 - 11] / mean)
    assert BUCKET * len(weights) == 86400


@pytest.mark.parametrize("shape", [1, 2, 5, 9])
@pytest.mark.parametrize("x", [0.01, 0.5, 3.0, 9.5, 40.0, 300.0])
def test_gamma_cdf_against_erlangs_closed_form(shape, x):
    z = x / 2.5
    erlang = 1 - sum(z**k / math.factorial(k) for k in range(shape)) * math.exp(-z)
    assert gamma_cdf(x, shape, 2.5) == pytest.approx(erlang, abs=1e-12)
    assert gamma_cdf(0.0, shape, 2.5) == 0.0


def test_runs_depend_on_size_linearly():
    # At 300 processors pa * size + pb is below 0: every run comes from the second, narrow gamma.
    wide = TYPELESS.replace(
        serial=0.0, pow2=0.0, u_low=math.log2(300), u_med=math.log2(300), u_high=math.log2(300)
    )
    log = np.log(lublin_workload(4000, seed=1, kind=(wide,)).run)
    assert log.mean() == pytest.approx(312 * 0.03, abs=0.03)
    assert log.std() == pytest.approx(math.sqrt(312) * 0.03, abs=0.03)


def test_sizes_fit_the_machine():
    small = lublin_workload(3000, seed=1, procs=100)
    assert small.procs.max() == 100
    assert small.cleaning["wider_than_machine"] > 0  # 2**6.6 rounds to 128
    assert lublin_workload(3000, seed=1, procs=64).cleaning == {}
    assert lublin_workload(10, seed=1, procs=1).procs.tolist() == [1] * 10
    assert lublin_workload(3000, seed=1, procs=1024, kind="interactive").procs.max() == 45
    assert lublin_workload(10, seed=1, procs=512).machine == {"procs": 512}


def test_bad_requests_are_refused_in_one_sentence():
    for call in (
        lambda: lublin_workload(-1, seed=1),
        lambda: lublin_workload(1, seed=-1),
        lambda: lublin_workload(1, seed=1, kind="nightly"),
        lambda: lublin_workload(1, seed=1, procs=0),
        lambda: lublin_workload(1, seed=1, overrides={"u_hi": 3}),
        lambda: lublin_workload(1, seed=1, overrides={"serial": 2}),
        lambda: lublin_workload(1, seed=1, overrides={"u_low": 9}),
        lambda: lublin_workload(1, seed=1, overrides={"aarr": 0}),
    ):
        with pytest.raises(UsageError):
            call()
    assert len(lublin_workload(0, seed=1)) == 0
