"""Requests that sbatch would refuse, or that would never start, are told so in one sentence."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
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
from shadowtime.eta.asking import ask_start, parse_request
from shadowtime.eta.present import LONGEST, Present, Waiting
from shadowtime.eta.starts import How
from shadowtime.policy import parse_policy
from shadowtime.workload.request import Request

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
        ("--reservation=weekly,none", "there is no reservation none: choose of weekly"),
        ("-w n9", "there is no node in service called n9"),
        ("-w g1", "-w g1: this node is not in service in partition batch"),
        ("-x n9", "there is no node called n9"),
        ("-b soon", "'soon' is no value of --begin: write it like now+2hours, 16:00"),
        ("-b now+5m", "'now+5m' is no value of --begin"),
        ("-b 4PM", "'4PM' is no value of --begin"),
        ("-b 24:00", "'24:00' is no value of --begin"),
        ("-b 13:00pm", "'13:00pm' is no value of --begin"),
        ("-b 1/1/2027", "'1/1/2027' is no value of --begin"),
        ("-b 2026-2-3", "'2026-2-3' is no value of --begin"),
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


@pytest.mark.parametrize(
    "text, begin",
    [
        ("now", "11-19T14:25:20"),
        ("now + 5", "11-19T14:25:25"),
        ("now+1week", "11-26T14:25:20"),
        ("NOON", "11-20T12:00:00"),
        ("teatime", "11-19T16:00:00"),
        ("14:00", "11-20T14:00:00"),
        ("16:00:30", "11-19T16:00:30"),
        ("4:30 pm", "11-19T16:30:00"),
        ("0:30pm", "11-20T12:30:00"),
        ("12:30am", "11-20T00:30:00"),
        ("today16:00", "11-19T16:00:00"),
        ("10:00tomorrow", "11-20T10:00:00"),
        ("tomorrow", "11-20T00:00:00"),
        ("12/25", "12-25T00:00:00"),
        ("11/19 16:00", "11-19T16:00:00"),
        ("1231", "12-31T00:00:00"),
        ("122526", "12-25T00:00:00"),
        ("12.25.26-10:00", "12-25T10:00:00"),
        ("2026-12-25T9:05", "12-25T09:05:00"),
        ("2026-11-19", "11-19T00:00:00"),
    ],
)
def test_begin_is_what_sbatch_makes_of_it(text: str, begin: str) -> None:
    """As slurmctld 24.11 has it of jobs submitted at 14:25:20; what is over is now."""
    now = int(datetime(2026, 11, 19, 14, 25, 20, tzinfo=UTC).timestamp())
    job = parse_request(f"-t 10 -b '{text}'", SITE, user="eva", now=now, zone=UTC)
    assert datetime.fromtimestamp(job.begin, UTC).isoformat() == f"2026-{begin}+00:00"


def test_a_date_that_is_over_is_next_year_s() -> None:
    now = int(datetime(2026, 11, 19, 14, 25, 20, tzinfo=UTC).timestamp())
    for text, begin in (("11/19 14:00", (11, 19, 14)), ("2/29", (3, 1, 0)), ("01/01", (1, 1, 0))):
        job = parse_request(f"-t 10 -b '{text}'", SITE, user="eva", now=now, zone=UTC)
        assert job.begin == datetime(2027, *begin, tzinfo=UTC).timestamp(), text


def test_a_job_counts_in_its_user_s_account_and_qos() -> None:
    """Without -A and -q sbatch takes the defaults, and their limits hold the job back."""

    def site(default: str = "", allowed: tuple[str, ...] = ()) -> Site:
        mine = Association(account="phys", user="eva", default_qos=default, allowed_qos=allowed)
        others = tuple(one for one in SITE.associations if one.user != "eva")
        return SITE.replace(associations=(*others, mine), enforce=SITE.enforce | {"qos"})

    asked = parse_request("-n 1 -t 10", site(), user="eva").request
    assert (asked.account, asked.qos) == ("phys", "normal")
    assert parse_request("-n 1 -t 10", site(default="tiny"), user="eva").request.qos == "tiny"
    assert parse_request("-n 1 -t 10", site(allowed=("tiny",)), user="eva").request.qos == "tiny"
    with pytest.raises(UsageError, match="a limit of its QOS or account forbids"):
        parse_request("-n 4 -t 10", site(default="tiny"), user="eva")
    with pytest.raises(UsageError, match="eva may not use the QOS tiny: choose of normal"):
        parse_request("-n 1 -t 10 -q tiny", site(allowed=("normal",)), user="eva")
    two = (*site().associations, Association(account="chem", user="eva"))
    both = site().replace(associations=two)
    assert parse_request("-n 1 -t 10", both, user="eva").request.account == ""
    assert parse_request("-n 1 -t 10", both, user="eva", account="chem").request.account == "chem"


@pytest.mark.parametrize(
    "flag, text",
    [
        ("PartitionTimeLimit", "-p short -t 2:00:00"),
        ("PartitionMaxNodes", "-p short -N 2"),
        ("PartitionMinNodes", "-p wide -N 1"),
        ("OverPartQOS", "-p thin -n 4"),
    ],
)
def test_a_qos_may_set_bounds_of_partitions_aside(flag: str, text: str) -> None:
    over = Qos(name="over", flags=frozenset({flag}))
    thin = Partition(name="thin", nodes=("n1",), qos="tiny")
    site = SITE.replace(qos=(*SITE.qos, over), partitions=(*SITE.partitions, thin))
    with pytest.raises(UsageError):
        parse_request(text, site, user="eva")
    assert parse_request(f"{text} -q over", site, user="eva").request.qos == "over"


def test_of_several_reservations_a_job_takes_the_first_that_has_room() -> None:
    """As slurmctld 24.11 starts a job of --reservation=r1,r2 on whichever is free."""
    nodes = tuple(Node(name=name, amounts=(4,)) for name in ("a", "b", "c"))
    kept = tuple(
        Reservation(name=name, nodes=(node,), begin=0, end=10**6, users=frozenset({"eva"}))
        for name, node in (("r1", "a"), ("r2", "b"))
    )
    site = Site(
        nodes=nodes,
        partitions=(Partition(name="p", nodes=("a", "b", "c"), default=True),),
        reservations=kept,
    )
    before = Waiting(id="1", user="eva", limit=3600, request=Request(tasks=4, reservation="r1"))
    present = Present(now=1000, machine=site, running=(), waiting=(before,))
    how = How(policy=parse_policy("easy"), draws=9, submissions=False)

    def wait(names: str) -> float:
        job = parse_request(f"-n 4 -t 10 --reservation={names}", site, user="eva")
        return ask_start(present, job, how).estimate.expected

    assert wait("r1") > 60 and wait("r2") < 60
    assert wait("r1,r2") < 60 and wait("r2,r1") < 60
    assert np.isfinite(wait("r1,r1"))
