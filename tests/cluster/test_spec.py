"""The texts that name a machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from shadowtime.cluster.spec import parse_cluster
from shadowtime.cluster.toml import parse_cluster_toml
from shadowtime.errors import ClusterError
from shadowtime.slurmtext.fields import parse_memory

HOSTS = """
[cluster]
name = "o2k"
shape = "hosts"
memory_unit = 1000
dedicated_exclusive = true

[[hosts]]
name = "small"
count = 2
procs = 64
memory = "16GB"

[[hosts]]
name = "big"
procs = 128
memory = 64_000_000
features = ["fast"]

[partitions.short]
hosts = ["big"]
"""


@pytest.mark.parametrize(
    ("text", "kb"),
    [
        ("1K", 1), ("1KB", 1), ("1KiB", 1), ("1k", 1), ("512", 512), ("1M", 1024), ("2MB", 2048),
        ("1G", 1 << 20), ("64GiB", 64 << 20), ("1TB", 1 << 30), ("1P", 1 << 40), ("1.5T", 3 << 29),
        ("2048B", 2), ("1B", 1), (" 4 GB ", 4 << 20), (".5M", 512), ("0", 0), ("1.", 1),
    ],
)  # fmt: skip
def test_memory_sizes(text: str, kb: int) -> None:
    assert parse_memory(text) == kb


@pytest.mark.parametrize("text", ["", "GB", "1X", "1GG", "-1G", "1,5G", "1e3", "nan", "1 G B"])
def test_bad_memory_sizes(text: str) -> None:
    with pytest.raises(ClusterError, match="64GB"):
        parse_memory(text)


def test_memory_beyond_reason() -> None:
    with pytest.raises(ClusterError, match="beyond"):
        parse_memory("99999999P")


def test_pools() -> None:
    assert parse_cluster("pool:430").total == {"procs": 430}
    assert parse_cluster(" pool: 8 , memory = 2GB , licences=3 ").total == {
        "procs": 8, "memory": 2 << 20, "licences": 3,
    }  # fmt: skip
    assert parse_cluster("pool:procs=8").shape == "pool"
    assert parse_cluster("pool:8,name=3").total == {"procs": 8, "name": 3}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pool", "does not name a machine"),
        ("pool:", "processors must be a whole number"),
        ("pool:0", "at least one processor"),
        ("pool:-3", "processors must be a whole number"),
        ("pool:4.5", "not '4.5'"),
        ("pool:99999999999", "up to 2147483646"),
        ("pool:8,memory", "write name=amount"),
        ("pool:8,memory=lots", "not a memory size"),
        ("pool:8,gpus=2GB", "gpus must be a whole number"),
        ("pool:8,gpus=1,gpus=2", "given twice"),
        ("pool:8,procs=2", "given twice"),
        ("pool:8,,", "not a resource"),
        ("430", "did you mean pool:430"),
        ("", "does not name a machine"),
        ("pond:3", "does not name a machine"),
        ("none.toml", "no such file"),
        ("nul\0.toml", "cannot be read"),
    ],
)
def test_bad_texts_say_what_to_write(text: str, message: str) -> None:
    with pytest.raises(ClusterError, match=message):
        parse_cluster(text)


def test_from_the_header_of_the_log() -> None:
    assert parse_cluster(None, machine={"procs": 338, "nodes": 40}).procs == 338
    assert parse_cluster(None, machine={"nodes": 40}).procs == 40
    for machine in ({}, None, {"memory": 5}):
        with pytest.raises(ClusterError, match="give it with --cluster"):
            parse_cluster(None, machine=machine)


def test_hosts_from_toml(tmp_path: Path) -> None:
    path = tmp_path / "o2k.toml"
    path.write_text(HOSTS)
    cluster = parse_cluster(str(path))
    assert (cluster.name, cluster.shape, cluster.resources) == ("o2k", "hosts", ("procs", "memory"))
    assert [(host.name, host.capacity) for host in cluster.hosts] == [
        ("small-1", (64, 16_000_000)),
        ("small-2", (64, 16_000_000)),
        ("big", (128, 64_000_000)),
    ]
    assert cluster.options["dedicated_exclusive"] is True
    assert cluster.options["partitions"] == {"short": {"hosts": ["big"]}}
    assert cluster.options["groups"]["big"] == {"features": ["fast"]}


def test_a_file_without_the_usual_ending_and_without_a_name(tmp_path: Path) -> None:
    path = tmp_path / "machine"
    path.write_bytes(b"\xef\xbb\xbf[[nodes]]\ncpus = 8\nmem = '4GB'\ngpus = 2\ncount = 3\n")
    cluster = parse_cluster(str(path))
    assert (cluster.name, cluster.shape) == ("machine", "nodes")
    assert cluster.total == {"procs": 24, "memory": 12 << 20, "gpus": 6}
    assert cluster.hosts[0].name == "host1-1"


def test_a_host_list_names_the_hosts_of_a_group() -> None:
    """``n[1-2]`` is two hosts here as in a site's file, and both spellings of the key are read."""
    text = "[[nodes]]\nname='n[1-2],login'\ncpus=4\n[[nodes]]\nnames='g[08-09]'\ncpus=8\nrack=3"
    cluster = parse_cluster_toml(text)
    assert [host.name for host in cluster.hosts] == ["n1", "n2", "login", "g08", "g09"]
    assert cluster.total == {"procs": 28}
    assert cluster.options["groups"]["g[08-09]"] == {"rack": 3}


def test_a_pool_is_the_sum_of_its_groups() -> None:
    cluster = parse_cluster_toml(HOSTS.replace('"hosts"\n', '"pool"\n'))
    assert cluster.hosts[0].capacity == (256, 96_000_000)


def test_resources_by_name() -> None:
    text = "[cluster]\nresources=['memory','licences']\n[[hosts]]\nprocs=1\nlicences=4\ngpus=7\n"
    cluster = parse_cluster_toml(text)
    assert cluster.total == {"procs": 1, "memory": 0, "licences": 4}
    assert cluster.options["groups"] == {"host1": {"gpus": 7}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = = 3", "not TOML.*line 1"),
        ("", r"\[\[hosts\]\]"),
        ("cluster = 3", "must be a table"),
        ("hosts = []", "there is no host"),
        ("[hosts]\nprocs=3", "double brackets"),
        ("[[hosts]]\nprocs=1\n[[nodes]]\nprocs=1", r"\[\[hosts\]\]"),
        ("[cluster]\nshape='ring'\n[[hosts]]\nprocs=1", "shape must be one of pool, hosts, nodes"),
        ("[cluster]\nmemory_unit=7\n[[hosts]]\nprocs=1", "1024 or 1000"),
        ("[cluster]\nresources=3\n[[hosts]]\nprocs=1", "resources must be a list"),
        ("[[hosts]]\nname='a'", r"group a: procs \(processors per host\) must be"),
        ("[[hosts]]\nprocs=0", "procs"),
        ("[[hosts]]\nprocs=1.5", "procs"),
        ("[[hosts]]\nprocs=true", "procs"),
        ("[[hosts]]\nprocs=1\ncount=0", "count must be"),
        ("[[hosts]]\nprocs=1\ncount=2000000", "count must be"),
        ("[[hosts]]\nprocs=1\nmemory='much'", "group host1: 'much' is not a memory size"),
        ("[[hosts]]\nprocs=1\nmemory=-4", "memory must be"),
        ("[[hosts]]\nprocs=1\nname='a'\n[[hosts]]\nprocs=1\nname='a'", "a name of its own"),
        ("[[hosts]]\nprocs=1\nname=4", "a name of its own"),
        ("[[hosts]]\nprocs=1\nname='n[1-2]'\ncount=2", r"group n\[1-2\]: .* leave out count"),
        ("[[hosts]]\nprocs=1\nname='n[1-'", "is not a host list"),
        ("[[hosts]]\nprocs=1\nname='n[1-200000]'", "hosts in all"),
        ("[[hosts]]\nprocs=1\nname='n[1-2]'\n[[hosts]]\nprocs=2\nname='n2'", "two .* 'n2'"),
        ("[[hosts]]\nprocs=2000000000\ncount=2", "processors in all"),
        ("[[hosts]]\nprocs=1\ncount=99999\n[[hosts]]\nprocs=1\ncount=9", "hosts in all"),
    ],
)
def test_bad_files_say_where(text: str, message: str) -> None:
    with pytest.raises(ClusterError, match=message):
        parse_cluster_toml(text, path="m.toml")


def test_the_cluster_itself_checks_its_resources() -> None:
    with pytest.raises(ClusterError, match="named twice"):
        parse_cluster_toml("[cluster]\nresources=['gpus','gpus']\n[[hosts]]\nprocs=1\ngpus=1")
