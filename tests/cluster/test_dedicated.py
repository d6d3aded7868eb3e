"""Dedicated limits in a machine's description, and the machine that comes with the package."""

from __future__ import annotations

import pytest

from shadowtime.cluster.spec import parse_cluster
from shadowtime.cluster.toml import parse_cluster_toml
from shadowtime.errors import ClusterError
from shadowtime.workload.o2k_draw import HOSTS, KB_PER_GB, SHARED_GB, SHARED_PROCS

HOST = "[[hosts]]\nprocs = 8\nmemory = '8GB'\n"


def test_limits_take_units() -> None:
    """Memory as text, an alias, and dedicated jobs that may share."""
    stated = parse_cluster_toml(f"{HOST}[dedicated]\ncpus = 4\nmemory = '2GB'\nexclusive = false")
    assert stated.options["dedicated"] == {"procs": 4, "memory": 2 << 20}
    assert stated.options["dedicated_exclusive"] is False


def test_exclusive_is_the_default_and_may_stand_in_the_head() -> None:
    """The switch may be in either place; the table takes precedence."""
    assert parse_cluster_toml(f"{HOST}[dedicated]\nprocs = 4").options["dedicated_exclusive"]
    head = f"[cluster]\ndedicated_exclusive = false\n{HOST}[dedicated]\nprocs = 4"
    assert parse_cluster_toml(head).options["dedicated_exclusive"] is False
    assert parse_cluster_toml(f"{head}\nexclusive = true").options["dedicated_exclusive"] is True


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"dedicated = 3\n{HOST}", "write .dedicated."),
        (f"{HOST}[dedicated]", "needs a limit"),
        (f"{HOST}[dedicated]\ngpus = 3", "does not count gpus: give some of procs, memory"),
        (f"{HOST}[dedicated]\nprocs = -3", "procs"),
        (f"{HOST}[dedicated]\nmemory = 'much'", "m.toml: dedicated: 'much' is not a memory size"),
        (f"{HOST}[dedicated]\nprocs = 3\nexclusive = 'no'", "exclusive must be true or false"),
    ],
)
def test_bad_limits_say_where(text: str, message: str) -> None:
    """Each error is one sentence that names the place."""
    with pytest.raises(ClusterError, match=message):
        parse_cluster_toml(text, path="m.toml")


def test_the_o2k_comes_with_the_package() -> None:
    """Twelve hosts, 600 GB of 1000 MB, and the paper's limits."""
    machine = parse_cluster("o2k")
    assert (machine.name, machine.shape) == ("o2k", "hosts")
    assert tuple(host.capacity for host in machine.hosts) == HOSTS
    assert machine.options["dedicated"] == {
        "procs": SHARED_PROCS,
        "memory": SHARED_GB * KB_PER_GB,
    }


def test_a_file_of_that_name_comes_first(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file in the user's folder takes precedence over the packaged one."""
    monkeypatch.chdir(str(tmp_path))
    with open("o2k", "w") as file:
        file.write("[[hosts]]\nprocs = 8\n")
    assert parse_cluster("o2k").procs == 8
