"""A real eight-node Slurm on loopback for the tests of this folder, started once."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import SLURMS, require_slurm
from hperf.test_plugin_real import installed, prepare
from shadowtime.live.slurm import setup
from shadowtime.testing.slurm import SlurmCluster, slurm_cluster


def install_hperf(cluster: SlurmCluster) -> None:
    """HPerf's plug-in as the site's own, and its epilog for jobs with a tag."""
    prepare(cluster, "Epilog")
    real = installed(cluster).folder / "hperf-epilog.sh"
    tagged = real.with_name("tagged-epilog.sh")
    tagged.write_text(f'#!/bin/sh\ncase "$SLURM_JOB_COMMENT" in *tag=*) exec {real};; esac\n')
    tagged.chmod(0o755)
    cluster.conf.write_text(cluster.conf.read_text().replace(str(real), str(tagged)))


def put_up_the_gate(cluster: SlurmCluster) -> None:
    """The configuration as `shadowtime live slurm setup` leaves it on a site with HPerf."""
    install_hperf(cluster)
    folder = cluster.conf.parent
    changes = setup.plan_setup(folder, partitions=["batch"], default=True, masters=[0])
    setup.carry_out(changes, folder)


@pytest.fixture(scope="session", params=SLURMS)
def slurm(request: pytest.FixtureRequest) -> Iterator[SlurmCluster]:
    """Eight nodes of sixteen processors, of every version; every job waits at the gate."""
    root = require_slurm(request.param, accounting=False)
    folder = Path(tempfile.mkdtemp(prefix="shadowtime-slurm-"))
    try:
        with slurm_cluster(folder, prepare=put_up_the_gate, root=root) as cluster:
            yield cluster
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def queue(slurm: SlurmCluster) -> Iterator[SlurmCluster]:
    """The cluster, without jobs before and after the test."""
    slurm.clear()
    yield slurm
    slurm.clear()
