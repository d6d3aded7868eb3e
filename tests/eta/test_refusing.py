"""Requests that sbatch would refuse, or that would never start, are told so in one sentence."""

from __future__ import annotations

import pytest

from shadowtime.cluster.site import (
    Association,
    Limits,
    Node,
    Partition,
    Qos,
    Reservation,
    Site,
)
from shadowtime.errors import UsageError
from shadowtime.eta.asking import parse_request
from shadowtime.eta.present import LONGEST

GB = 1 << 20
THIN = tuple(
    Node(name=f"n{k}", amounts=(4, 16 * GB, 0), features=frozenset({"ib"})) for k in range(1, 5)
)
SITE = Site(
    nodes=(*THIN, Node(name="g1", amounts=(8, 64 * GB, 2), features=frozenset({"big"}))),
    resources=("cpus", "memory", "gpu"),
    partitions=(
        Partition(name="batch", nodes=("n1", "n2", "n3", "n4"), default=True, max_time=86400),
        Partition(name="short", nodes=("n1", "n2"), max_time=3600, max_nodes=1),
        Partition(name="wide", nodes=("n1", "n2", "n3"), min_nodes=2),
        Partition(name="gpu", nodes=("g1",), max_time=7200, default_time=600),
        Partition(name="closed", nodes=("g1",), up=False),
    ),
    qos=(Qos(name="normal"), Qos(name="tiny", limits=Limits(job_resources={"cpus": 2}))),
    associations=(
        Association(account="root"),
        Association(account="phys", parent="root"),
        Association(account="phys", user="eva"),
        Association(account="chem", parent="root"),
        Association(account="chem", user="tom"),
    ),
    amounts={"license/matlab": 2},
    enforce=frozenset({"limits", "associations"}),
    reservations=(
        Reservation(name="weekly", nodes=("n1",), begin=0, end=99, users=frozenset({"tom"})),
    ),
    unusable=("n7",),
)


@pytest.mark.parametrize(
    "text, why",
    [
        ("-p gone", "there is no partition gone: choose of batch, short"),
        ("-p closed", "partition closed takes no jobs now"),
        ("-N 40", "-N 40: partition batch has 4 in service"),
        ("-N 2 -p short", "-N 2: partition short permits 1 at most"),
        ("-N 1 -p wide", "-N 1: partition wide permits 2 at least"),
        ("-p short -t 2:00:00", "-t 2:00:00: partition short permits 1:00:00 at most"),
        ("-p short,gpu -t 1-0", "-t 24:00:00: partition short permits 1:00:00 at most"),
        ("-t UNLIMITED", "-t UNLIMITED: partition batch permits 24:00:00 at most"),
        ("-t 0", "-t UNLIMITED: partition batch"),
        ("-t soon", "'soon' is no value of --time: write it like 30, 6:00:00"),
        ("-t", "'' is no value of --time"),
        ("-C gold", "-C gold: no nodes of partition batch are like this: choose of big, ib"),
        ("-C 'ib&big'", "-C ib&big: no nodes"),
        ("-C 'ib&'", "is no value of --constraint"),
        ("-c 5", "could not hold it even when idle: nodes in service: 4, the largest with 4 cpus"),
        ("--mem=32G", "could not hold it even when idle"),
        ("-n 100", "could not hold it even when idle"),
        ("-G 1", "could not hold it even when idle"),
        ("-p gpu -G 3", "could not hold it even when idle"),
        ("-a 1-3:0", "'1-3:0' is no value of --array: write it like 1-9:2%3"),
        ("-a 0-999999999", "is no value of --array"),
        ("-a 5-1", "is no value of --array"),
        ("-a 1-3%x", "is no value of --array"),
        ("-p gpu --gres=gpu:3", "could not hold it even when idle"),
        ("--gres=fpga:1", "no node has the generic resource fpga: choose of gpu"),
        ("--mem=lots", "'lots' is no value of --mem: write it like 16G"),
        ("-N foo", "'foo' is no value of --nodes: write it like 4 or 2-8"),
        ("-N 4-2", "'4-2' is no value of --nodes"),
        ("-N 0", "'0' is no value of --nodes"),
        ("-n -3", "'-3' is no value of --ntasks"),
        ("--gres=gpu:", "is no value of --gres"),
        ("-q gold", "there is no QOS gold: choose of normal, tiny"),
        ("-q tiny -n 4", "a limit of its QOS or account forbids this job for good"),
        ("-A nowhere", "there is no account nowhere: choose of chem, phys, root"),
        ("-A chem", "eva is not in the account chem: choose of phys"),
        ("-L abc", "there is no licence abc: choose of matlab"),
        ("-L matlab:3", "-L matlab:3: the site has 2 of matlab"),
        ("--reservation=none", "there is no reservation none: choose of weekly"),
        ("--reservation=weekly", "a limit of its reservation weekly forbids"),
        ("-w n9", "there is no node in service called n9"),
        ("-w g1", "-w g1: this node is not in service in partition batch"),
        ("-x n9", "there is no node called n9"),
        ("-b teatime", "'teatime' is no value of --begin: write it like now"),
        ("-H", "a held job starts when it is released: leave --hold out"),
        ("-d afterok:3", "leave --dependency out"),
        ("--tme=3 -N 1", "--tme is not an option that estimates follow"),
        ("--exclusive=mcs", "--exclusive=mcs is not an option that estimates follow"),
        ("N 4 -t 60", "'N' is no option: write options alone"),
        ("sbatch -N 4", "'sbatch' is no option"),
        ("-n 1 : -n 2", "':' is no option"),
        ("-N '2", "has a quote that does not end"),
    ],
)
def test_what_sbatch_refuses_is_refused(text: str, why: str) -> None:
    """Nothing is read as something else, or answered for a job that would never start."""
    with pytest.raises(UsageError) as refused:
        parse_request(text, SITE, user="eva")
    assert why in str(refused.value) and str(refused.value).startswith("--request: ")


@pytest.mark.parametrize(
    "text, limit",
    [
        ("", 86400),
        ("-p gpu", 600),
        ("-p wide -N 2 -t UNLIMITED", LONGEST),
        ("-p short,batch -t 2:00:00", 7200),
        ("-N 1-99 -t 10", 600),
        ("-C ib -c 4 --mem=16G -t 10", 600),
        ("-p gpu --gres=gpu:2 -t 10", 600),
        ("--gres=none -t 10", 600),
        ("-A Phys -q NORMAL -t 10", 600),
        ("-A phys -q normal -L matlab:2 -x n7 -t 10", 600),
        ("-w n1,n2 -a 1-10 -J 'a name' --no-requeue -t 10", 600),
    ],
)
def test_what_sbatch_takes_is_taken(text: str, limit: int) -> None:
    assert parse_request(text, SITE, user="eva").limit == limit


def test_gpus_of_a_job_come_from_as_many_nodes_as_it_takes() -> None:
    """-G without -n: Slurm adds nodes until it has them."""
    nodes = tuple(Node(name=name, amounts=(8, 4)) for name in ("a", "b"))
    part = Partition(name="p", nodes=("a", "b"), default=True)
    site = Site(nodes=nodes, resources=("cpus", "gpu"), partitions=(part,))
    assert parse_request("-G 8 -t 10", site, user="eva").limit == 600
    with pytest.raises(UsageError, match="could not hold it"):
        parse_request("-G 9 -t 10", site, user="eva")


def test_a_request_for_later_waits_until_then() -> None:
    assert parse_request("-t 10 --begin=now+2hours", SITE, user="eva", now=1000).begin == 8200
    assert parse_request("-t 10", SITE, user="eva", now=1000).begin == -1
