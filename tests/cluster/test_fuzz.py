"""Whatever text is given as a machine: a Cluster or one of our errors."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from shadowtime.cluster import Cluster
from shadowtime.cluster.slurm_site import SlurmTexts, site_from_slurm
from shadowtime.cluster.spec import nodes_of, parse_cluster
from shadowtime.cluster.toml import parse_cluster_toml
from shadowtime.errors import ClusterError
from shadowtime.slurmtext.hostlist import expand

TOML = '[cluster]\nshape = "nodes"\n[[hosts]]\nname = "a"\ncount = 2\nprocs = 4\nmemory = "1GB"\n'
CONF = "ClusterName=c\nNodeName=n[1-4] CPUs=4 RealMemory=100\nPartitionName=p Nodes=ALL MaxTime=5\n"
SHOWN = (
    "NodeName=n1 Arch=x CPUTot=4 RealMemory=100 State=IDLE\nPartitionName=p Nodes=n1 MaxTime=5\n"
)

PARSERS: list[tuple[Callable[[str], Cluster], str]] = [
    (parse_cluster, "pool:8,memory=1TB,gpus=2"),
    (parse_cluster_toml, TOML),
    (lambda text: nodes_of(site_from_slurm(SlurmTexts(slurm_conf=text))), CONF),
    (lambda text: nodes_of(site_from_slurm(SlurmTexts(nodes=text))), SHOWN),
]


def attempt(parse: Callable[[str], object], text: str) -> None:
    try:
        parse(text)
    except ClusterError as error:
        assert str(error)


@settings(deadline=None, max_examples=examples(150))
@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    for parse, _ in PARSERS:
        attempt(parse, text)
    attempt(parse_cluster, f"pool:{text}")
    attempt(expand, text)


@settings(deadline=None, max_examples=examples(150))
@given(st.text("n0123456789[]-, ", max_size=30))
def test_any_host_list(text: str) -> None:
    attempt(expand, text)


@pytest.mark.parametrize(
    ("parse", "text"), PARSERS, ids=lambda value: getattr(value, "__name__", "")
)
def test_broken_texts(parse: Callable[[str], Cluster], text: str) -> None:
    rng = random.Random(7)
    parse(text)
    for _ in range(400):
        at, length = rng.randrange(len(text)), rng.randrange(6)
        put = "".join(rng.choice("=[]\"'-,:.#\\\n 09zN\u0663") for _ in range(rng.randrange(4)))
        attempt(parse, text[:at] + put + text[at + length :])
