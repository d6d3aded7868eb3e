"""What-ifs on a site: every kind of change, paired differences, files, and what to deploy."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from conftest import ROOT
from shadowtime.cluster.site import Association, Limits, Node, Partition, Qos, Site
from shadowtime.errors import InputError, UsageError
from shadowtime.metrics.groups import groups_of
from shadowtime.slurm.policy import SlurmPolicy
from shadowtime.study.site.changes import Change, apply_all, without_effect
from shadowtime.study.site.deploy import deployment
from shadowtime.study.site.experiment import Experiment, read_experiment
from shadowtime.study.site.keys import GLOBAL, SCOPES
from shadowtime.study.site.options import Option, check_prices, parse_prices
from shadowtime.study.site.stretches import too_short
from shadowtime.study.site.trials import Repeats
from shadowtime.study.site.whatif import WhatIf, what_if
from shadowtime.study.site.world import SiteWorld
from shadowtime.trace.site_folder import read_site
from shadowtime.workload import Workload
from shadowtime.workload.request import Request, Requests

FOLDER = Path(os.environ.get("SHADOWTIME_RECORDINGS", ROOT.parent / "shared" / "slurm-runs"))
recorded = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no recordings in {FOLDER}")
CONF = """SchedulerType=sched/backfill
SchedulerParameters=bf_interval=30,bf_continue
PartitionName=long Nodes=n[1-2] MaxTime=60 Default=YES
PartitionName=short Nodes=n[1-2] MaxTime=10
"""


def small(jobs: int = 40) -> SiteWorld:
    """Two nodes of four cpus, two partitions, two QOS, two users in two accounts."""
    site = Site(
        nodes=(
            Node(name="n1", amounts=(4, 1), features=frozenset({"fast"})),
            Node(name="n2", amounts=(4, 0)),
        ),
        resources=("cpus", "gpu"),
        partitions=(
            Partition(name="long", nodes=("n1", "n2"), max_time=3600, default=True),
            Partition(name="short", nodes=("n1", "n2"), max_time=600),
        ),
        qos=(
            Qos(name="normal"),
            Qos(name="few", limits=Limits(user_jobs=1, group_resources={"cpus": 8})),
        ),
        associations=(
            Association(account="root"),
            Association(account="a", parent="root"),
            Association(account="a", user="ann", parent="a"),
            Association(account="b", user="bob", parent="b"),
        ),
        config={
            "SchedulerType": "sched/backfill",
            "SchedulerParameters": "batch_sched_delay=0,bf_interval=5,bf_resolution=1",
        },
    )
    who = np.arange(jobs) % 2
    names = {"user": ("", "ann", "bob"), "group": ("", "a", "b"), "queue": ("", "normal")}
    accounts = ("a", "b")
    asked = [
        Request(tasks=2 + 2 * (k % 2), partitions=("long",), qos="normal", account=accounts[k % 2])
        for k in range(jobs)
    ]
    workload = Workload.build(
        submit=np.arange(jobs) * 40,
        run=100 + 17 * (np.arange(jobs) % 5),
        procs=[one.tasks for one in asked],
        request=[240 + 360 * (k % 2) for k in range(jobs)],
        user=1 + who,
        group=1 + who,
        queue=[1] * jobs,
        partition=[1] * jobs,
        names={**names, "partition": ("", "long", "short")},
        requests=Requests.of_jobs(asked),
    )
    return SiteWorld(site=site, jobs=workload, policy=SlurmPolicy(), zone=ZoneInfo("UTC"))


def changed(*sets: str) -> SiteWorld:
    """The small world with these settings."""
    return apply_all(small(), [Change("set", text) for text in sets])


def test_settings_reach_the_site_in_slurms_units() -> None:
    """Every scope: slurm.conf, SchedulerParameters, partition, QOS, account, user, node."""
    world = changed(
        "BF_MAX_JOB_TEST=2000",
        "priorityweightfairshare=20000",
        "schedulertype=builtin",
        "AccountingStorageEnforce=limits,qos",
        "partition.long.MaxTime=3-00:00:00",
        "partition.short.PriorityTier=5",
        "qos.normal.MaxTRESPU=cpu=512,gres/gpu=2",
        "qos.few.GrpTRES=cpu=-1,node=3",
        "account.a.Fairshare=7",
        "user.bob.MaxJobs=3",
        "node.n2.Weight=9",
    )
    site = world.site
    assert site.config["SchedulerParameters"].endswith("bf_resolution=1,bf_max_job_test=2000")
    assert site.setting("PriorityWeightFairShare") == "20000"
    assert site.setting("SchedulerType") == "sched/builtin"
    assert "limits" in site.enforce
    assert [one.max_time for one in site.partitions] == [3 * 86400, 600]
    assert site.partitions[1].tier == 5
    assert site.qos[0].limits.user_resources == {"cpus": 512, "gpu": 2}
    assert site.qos[1].limits.group_resources == {"nodes": 3}
    assert site.qos[1].limits.user_jobs == 1
    assert site.associations[1].shares == 7 and site.associations[3].limits.user_jobs == 3
    assert [node.weight for node in site.nodes] == [1, 9]
    assert small().site.qos[1].limits.group_resources == {"cpus": 8}  # the original is unchanged


def test_a_user_moves_to_another_qos_and_account() -> None:
    """The jobs of the user change, the others do not; an association is made."""
    world = changed("user.bob.DefaultQOS=few", "user.bob.DefaultAccount=c")
    asked = world.jobs.requests
    assert asked is not None
    mine = world.jobs.user == 2
    found = {(asked[row].qos, asked[row].account) for row in np.flatnonzero(mine).tolist()}
    assert found == {("few", "c")}
    others = {(asked[row].qos, asked[row].account) for row in np.flatnonzero(~mine).tolist()}
    assert others == {("normal", "a")}
    assert {world.jobs.name_of("queue", int(q)) for q in world.jobs.queue[mine]} == {"few"}
    assert any((one.account, one.user) == ("c", "bob") for one in world.site.associations)


def test_a_user_asks_for_fewer_nodes() -> None:
    """Wider requests are lowered with their tasks and processors; the others stay."""
    site, jobs = small().site, small(2).jobs
    asked = Requests.of_jobs([Request(nodes=2, max_nodes=2, tasks=8), Request(tasks=2)])
    wide = jobs.replace(requests=asked, demand=np.array([[8], [2]]))
    world = SiteWorld(site=site, jobs=wide, policy=SlurmPolicy(), zone=ZoneInfo("UTC"))
    found = Change("set", "user.ann.MaxNodes=1").apply(world).jobs
    assert found.requests is not None
    assert (found.requests[0].nodes, found.requests[0].tasks) == (1, 4)
    assert found.procs.tolist() == [4, 2] and found.requests[1] == asked[1]


def test_reservations_and_drains() -> None:
    world = changed(
        "reservation.m=StartTime=2026-05-04T08:00:00 Duration=30 Nodes=n2 Flags=MAINT",
        "node.n1.Drain=2026-05-04T08:00:00/2026-05-04T09:00:00",
    )
    one = world.site.reservations[0]
    assert (one.nodes, one.end - one.begin) == (("n2",), 1800)
    assert world.site.outages[0].drain and world.site.outages[0].begin == one.begin
    gone = Change("set", "reservation.m=no").apply(world)
    assert gone.site.reservations == ()


def test_nodes_come_and_go() -> None:
    """By partition, feature, GRES or name; the kind decides what the new ones are like."""
    world = small()
    for kind, gpus in (("long", 1), ("fast", 1), ("gpu", 1), ("n2", 0)):
        more = Change("add-nodes", f"{kind}=2").apply(world).site
        assert [node.name for node in more.nodes] == ["n1", "n2", "n3", "n4"]
        assert more.nodes[3].amounts == (4, gpus)
        assert all(one.nodes == ("n1", "n2", "n3", "n4") for one in more.partitions)
    fewer = Change("remove-nodes", "n[2]").apply(world).site
    assert [node.name for node in fewer.nodes] == ["n1"]
    assert fewer.partitions[0].nodes == ("n1",)


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("set", "bf_max_job_tst=3", "did you mean bf_max_job_test"),
        ("set", "bf_continue=yes", "not modelled and would change nothing"),
        ("set", "partition.lng.MaxTime=3", "did you mean long"),
        ("set", "partition.long.MaxTme=3", "did you mean MaxTime"),
        ("set", "partition.long.MaxTime=soon", "not a time limit"),
        ("set", "partition.long.QOS=fw", "there is no QOS fw"),
        ("set", "qos.few.MaxJobsPU=x", "whole number"),
        ("set", "qos.few.GrpTRES=cpuu=3", "not an amount like"),
        ("set", "qos.fw.MaxJobsPU=3", "did you mean few"),
        ("set", "user.nobody.DefaultQOS=few", "there are ann, bob"),
        ("set", "account.zz.Fairshare=3", "there is no account zz"),
        ("set", "PriorityWeightAge=-3", "whole number"),
        ("set", "SchedulerType=sched/magic", "one of sched/backfill"),
        ("set", "SchedulerParameters=max_rpc_cnt=3", "not modelled: max_rpc_cnt"),
        ("set", "bf_interval=0", "at least 1"),
        ("set", "nodes.n1.Weight=2", "did you mean node"),
        ("set", "node.n9.Weight=2", "there is no node n9"),
        ("set", "reservation.m=Nodes=n1", "no StartTime"),
        ("set", "reservation.m=StartTime=2026-05-04 Duration=5 Nodes=n9", "no node n9"),
        ("set", "node.n1.Drain=now", "not a time"),
        ("set", "bf_interval", "write KEY=VALUE"),
        ("add-nodes", "tpu=3", "no node is of kind 'tpu'"),
        ("add-nodes", "long", "write KIND=N"),
        ("remove-nodes", "n[1-2]", "no node would be left"),
        ("remove-nodes", "n7", "there is no node n7"),
        ("max-limit", "2x", "a length of time"),
        ("load", "fast", "neither a factor"),
    ],
)
def test_wrong_changes_are_rejected_with_what_was_meant(kind: str, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("[", r"\[")):
        Change(kind, text).apply(small())  # type: ignore[arg-type]


def test_every_key_is_known_by_its_own_name() -> None:
    """No key of the tables is rejected as unknown."""
    for key in GLOBAL:
        assert Change("set", f"{key}=1").key == key
    for scope, names in SCOPES.items():
        for name in names:
            assert Change("set", f"{scope}.x.{name.lower()}=1").key == f"{scope}.x.{name}"


def test_settings_that_cannot_matter_are_named() -> None:
    messages = without_effect(
        changed("PriorityWeightAge=5", "qos.few.MaxJobsPU=9"),
        [Change("set", "PriorityWeightAge=5"), Change("set", "qos.few.MaxJobsPU=9")],
    )
    assert (
        "PriorityType=priority/multifactor" in messages[0]
        and "limits are not enforced" in messages[1]
    )
    builtin = changed("SchedulerType=sched/builtin")
    assert "builtin" in without_effect(builtin, [Change("set", "bf_interval=9")])[0]


def run(*changes: Change, phases: int = 2, jobs: int = 40) -> WhatIf:
    return what_if(small(jobs), changes, repeats=Repeats(phases=phases))


def test_more_nodes_shorten_waits_and_nothing_changes_nothing() -> None:
    """Alone and together; a setting that changes no start has no clear effect."""
    found = run(Change("add-nodes", "long=2"), Change("set", "bf_window=2880"))
    nodes, window = found.alone
    assert nodes.whole.effect == "shorter" and nodes.whole.difference.high < 0
    assert window.whole.effect == "no clear effect" and window.whole.difference.mean == 0
    assert found.together.whole.difference.mean == nodes.whole.difference.mean
    rows = {(row.by, row.name): row for row in found.together.groups}
    assert rows["account", "a"].jobs + rows["account", "b"].jobs == rows["all", "all"].jobs == 40
    row = rows["all", "all"].as_dict()
    low, high = row["difference_interval_s"]
    assert low <= row["difference_s"] <= high
    change = row["changed_wait_mean_s"] - row["baseline_wait_mean_s"]
    assert change == pytest.approx(row["difference_s"])


def test_jobs_that_can_no_longer_start_are_counted_apart() -> None:
    """Half of the jobs ask for more than the partition then allows; all of them: an error."""
    found = run(Change("set", "partition.long.MaxTime=5"), jobs=6)
    assert found.together.never_started == 3 and found.together.whole.jobs == 3
    with pytest.raises(UsageError, match="no job starts both with and without"):
        run(Change("set", "partition.long.MaxTime=1"), jobs=6)


def test_a_lower_limit_stops_jobs() -> None:
    """Runs of 100 to 168 s under a limit of two minutes: those above are cut and counted."""
    found = run(Change("max-limit", "2m"), jobs=10)
    assert found.together.killed == 6
    assert found.together.never_started == 0


def test_a_policy_without_phases_is_compared_on_shaken_copies() -> None:
    """Both sides see the same copies: a policy that does as Slurm does has no effect."""

    def engine(jobs: Any, site: Any, policy: Any) -> Any:
        return SlurmPolicy().simulate(jobs, site)

    found = what_if(small(), [Change("policy", "fcfs")], repeats=Repeats(phases=2), engine=engine)
    assert found.repeats.shake and str(found.repeats) == "2 runs on shaken inputs"
    assert found.together.whole.difference.mean == 0
    submits = [trial.workload.submit.tolist() for trial in found.together.trials]
    assert submits[0] != submits[1]


def test_more_load_lengthens_waits() -> None:
    found = run(Change("load", "1.3"))
    assert found.together.whole.effect == "longer"


def test_an_experiment_is_the_same_after_its_file(tmp_path: Path) -> None:
    """Paths are relative to the file; what is wrong is named with its place."""
    (tmp_path / "site").mkdir()
    one = Experiment(
        site=str(tmp_path / "site"),
        changes=(Change("set", 'partition.a"b.MaxTime=1'), Change("policy", "easy(reserve=2)")),
        phases=3,
        shake=True,
    )
    path = tmp_path / "e.toml"
    path.write_text(one.to_toml(tmp_path))
    assert tomllib.loads(path.read_text())["site"] == "site"
    assert read_experiment(path) == one
    for text, message in (
        ("phases = 2", "the key site is missing"),
        ('site = "x"\nphase = 2', "did you mean phases"),
        ('site = "x"\nphases = "2"', "whole number"),
        ('site = "x"\n[[change]]\nsets = "a=1"', "did you mean set"),
        ('site = "x"\n[[change]]\nset = "bf_intervl=1"', "did you mean bf_interval"),
        ("site = ", "not TOML"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=message):
            read_experiment(path)


def test_deploying_is_a_difference_and_its_undo() -> None:
    """Settings and partitions in slurm.conf, limits by sacctmgr with the old values to undo."""
    changes = [
        Change("set", "bf_interval=60"),
        Change("set", "partition.long.MaxTime=90"),
        Change("set", "qos.few.GrpTRES=cpu=16,node=2"),
        Change("set", "PriorityWeightAge=100"),
        Change("policy", "easy"),
    ]
    world = small().on_site(config={"SchedulerParameters": "bf_interval=30,bf_continue"})
    made = deployment(world, changes, files={"slurm.conf": CONF})
    text = str(made)
    assert "-SchedulerParameters=bf_interval=30,bf_continue" in text
    assert "+SchedulerParameters=bf_interval=60,bf_continue" in text
    assert "+PartitionName=long Nodes=n[1-2] MaxTime=90 Default=YES" in text
    assert "+PriorityWeightAge=100" in text and "+PartitionName=short" not in text
    assert "sacctmgr -i modify qos few set GrpTRES=cpu=16,node=2" in made.commands
    assert "sacctmgr -i modify qos few set GrpTRES=cpu=8,node=-1" in made.undo
    assert made.commands[0] == "scontrol reconfigure"
    assert any("shadowtime live slurm" in note for note in made.notes)


def test_deploying_more_and_fewer_nodes_writes_their_lines() -> None:
    """NodeName, Nodes of partitions and sets, GRES and switches; addresses are left to people."""
    conf = (
        "NodeName=DEFAULT Weight=5\n"
        "NodeName=n[1-2] CPUs=4 RealMemory=1000 NodeAddr=10.0.0.[1-2] # thin\n"
        "NodeSet=ns1 Nodes=n[1-2]\n"
        "PartitionName=long Nodes=n[1-2] MaxTime=60 Default=YES\n"
        "PartitionName=short Nodes=ns1 MaxTime=10\nPartitionName=all Nodes=ALL\n"
    )
    files = {
        "slurm.conf": conf,
        "gres.conf": "NodeName=n[1-2] Name=gpu File=/dev/nvidia0\n",
        "topology.conf": "SwitchName=s1 Nodes=n1\nSwitchName=s2 Nodes=n2\n",
    }
    made = deployment(small(), [Change("add-nodes", "long=2")], files=files)
    added = {line[1:] for line in made.slurm_conf if line[:1] == "+" and line[:3] != "+++"}
    assert "NodeName=n[3-4] CPUs=4 RealMemory=1000" in added
    assert "NodeName=n[3-4] Name=gpu File=/dev/nvidia0" in added
    assert "NodeSet=ns1 Nodes=n[1-4]" in added
    assert "PartitionName=long Nodes=n[1-4] MaxTime=60 Default=YES" in added
    assert any(line.startswith("SwitchName=") and "n[3-4]" in line for line in added)
    assert not any("PartitionName=all" in line or "PartitionName=short" in line for line in added)
    assert any("their own NodeAddr" in note for note in made.notes)
    assert made.commands[0].startswith("systemctl restart slurmctld")
    made = deployment(small(), [Change("remove-nodes", "n2")], files=files)
    text = "\n".join(made.slurm_conf)
    assert any("State=RESUME" in line for line in made.undo)
    assert made.first[0].startswith("scontrol update NodeName=n2 State=DRAIN")
    assert "+PartitionName=long Nodes=n1 MaxTime=60 Default=YES" in text
    assert "+NodeName=n1 CPUs=4 RealMemory=1000 NodeAddr=10.0.0.[1-2] # thin" in text
    assert "-SwitchName=s2 Nodes=n2" in text and "+SwitchName=s2" not in text


@recorded
def test_backfill_is_predicted_from_first_come_first_served() -> None:
    """From the recording without backfill, the settings of the one with it: its waits."""
    site, jobs = read_site(FOLDER / "A")
    _, real = read_site(FOLDER / "B2")
    world = SiteWorld(site=site, jobs=jobs, policy=SlurmPolicy(), zone=ZoneInfo("UTC"))
    changes = [
        Change("set", "SchedulerType=sched/backfill"),
        Change("set", "SchedulerParameters=batch_sched_delay=0,bf_interval=3,bf_resolution=1"),
    ]
    found = what_if(world, changes, repeats=Repeats(phases=3)).together
    rows = {(row.by, row.name): row for row in found.groups}
    assert found.whole.effect == "shorter" and rows["qos", "normal"].effect == "shorter"
    was = (real.recorded_start - real.submit).astype(float)
    within = [
        rows[group.key].changed.low <= was[group.members].mean() <= rows[group.key].changed.high
        for group in groups_of(real)
    ]
    assert len(within) == 7 and sum(within) >= 6


def test_a_closed_loop_sends_more_to_a_faster_site() -> None:
    """Six users in turn on two nodes, each back 30 s after a job: with six nodes no job waits."""
    world = small(2)
    begun = np.array([[900 * k + 300 * (u // 2) for u in range(6)] for k in range(5)])
    sent = np.vstack([np.arange(6), begun[:-1] + 330])
    users = tuple(f"u{u}" for u in range(6))
    jobs = Workload.build(
        submit=sent.ravel(), run=[300] * 30, procs=[4] * 30, request=[600] * 30,
        user=np.tile(np.arange(1, 7), 5), names={"user": ("", *users)},
        recorded_start=begun.ravel(),
    )  # fmt: skip
    closed = world.replace(jobs=jobs)
    more = [Change("add-nodes", "n1=4")]
    loop = what_if(closed, more, repeats=Repeats(phases=2), feedback=True)
    before, after = loop.together.throughput
    assert after > 1.2 * before  # all thirty are done by then, not twenty-four
    last = [trial.workload.submit.max() for trial in (loop.baseline[0], loop.together.trials[0])]
    assert abs(last[0] - sent.max()) < 300 and last[1] < 0.5 * sent.max()
    assert loop.together.whole.effect == "shorter"
    with pytest.raises(UsageError, match="--feedback works on the unmodified log"):
        what_if(closed, [Change("load", "2")], repeats=Repeats(phases=2), feedback=True)


def test_every_run_has_the_latency_of_the_log_as_it_was() -> None:
    """A log under more load shows other gaps; the machine answers no faster for it."""
    rows = np.arange(12)
    jobs = Workload.build(
        submit=rows,
        run=[50] * 12,
        procs=[1] * 12,
        recorded_start=rows * 53,
        extra={"node_list": rows * 0, "started_by": rows * 0 + 1},
        names={"node_list": ("n1",)},
    )
    site = Site(nodes=(Node(name="n1", amounts=(1,)),))
    world = SiteWorld(site=site, jobs=jobs, policy=SlurmPolicy(), zone=ZoneInfo("UTC"))
    used: list[int] = []

    def engine(jobs: Workload, site: Any, policy: Any) -> Any:
        used.append(policy.latency)
        return policy.simulate(jobs, site)

    changes = [Change("set", "batch_sched_delay=30"), Change("load", "2")]
    what_if(world, changes, repeats=Repeats(phases=2), engine=engine)
    assert used == [2500] * 8


def test_options_stand_side_by_side_with_what_they_offer_and_cost() -> None:
    """Each option has the numbers of a what-if of its own; prices apply to the nodes it has."""
    texts = ("more: --add-nodes long=2", "wider: --set partition.long.MaxTime=30-0", "-p fcfs")
    options = [Option.parse(text) for text in texts]
    found = what_if(small(40), options=options[:2], prices={"": 2.0}, repeats=Repeats(phases=2))
    alone = run(Change("add-nodes", "long=2"))
    more, wider = found.arms
    assert [one.label for one in found.arms] == ["more", "wider"]
    assert more.whole.as_dict() == alone.together.whole.as_dict()
    assert wider.identical and not more.identical
    assert found.offer is not None and more.offer is not None
    nodes = len(small(40).site.nodes)
    assert more.offer.node_hours == pytest.approx(found.offer.node_hours * (nodes + 2) / nodes)
    assert more.offer.cost == pytest.approx(2 * more.offer.node_hours)
    assert more.offer.utilisation < found.offer.utilisation <= 1
    assert found.as_dict()["options"][1]["identical"] is True
    both = Experiment(site="s", options=tuple(options), prices=("2", "long=3"))
    assert Experiment.parse(tomllib.loads(both.to_toml())) == both
    with pytest.raises(UsageError, match="not both"):
        what_if(small(), [Change("load", "2")], options=options, repeats=Repeats(phases=2))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("more:", "nothing is changed"),
        ("more: --add-node gpu=1", "did you mean --add-nodes"),
        ("more: --set", "needs a value"),
        ("more: --set 'a=1", "No closing quotation"),
    ],
)
def test_an_option_that_cannot_be_read_is_one_sentence(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Option.parse(text)


def test_prices_are_checked() -> None:
    assert parse_prices(["0.4", "gpu=2"]) == {"": 0.4, "gpu": 2.0}
    for text in ("cheap", "gpu=", "-1", "nan", "inf"):
        with pytest.raises(UsageError, match="price of a node-hour"):
            parse_prices([text])
    with pytest.raises(UsageError, match=r"no partition or feature 'lng'.*long"):
        check_prices(small().site, {"lng": 1.0})


def test_a_quick_answer_takes_stretches_of_the_log() -> None:
    """Three days of low, usual and high load: the effect of the whole log lies in its interval."""
    rng = np.random.default_rng(5)
    count = 700
    submit = np.sort(rng.integers(0, 12 * 86_400, count))
    jobs = Workload.build(
        submit=submit, run=rng.integers(200, 5000, count), request=[6000] * count,
        procs=rng.integers(1, 5, count), user=[0] * count, recorded_start=submit + 60,
    )  # fmt: skip
    nodes = tuple(Node(name=f"n{k}", amounts=(4,)) for k in (1, 2))
    world = SiteWorld(site=Site(nodes=nodes), jobs=jobs, policy=SlurmPolicy(), zone=ZoneInfo("UTC"))
    wanted = Experiment(site="x", changes=(Change("add-nodes", "n1=1"),), quick=True)
    repeats = wanted.repeats_on(jobs)
    assert str(repeats) == "3 runs on 3 days of low, usual and high load"
    quick = what_if(world, wanted.changes, repeats=repeats)
    full = what_if(world, wanted.changes, repeats=Repeats(phases=2))
    spans = [trial.stretch for trial in quick.baseline]
    assert len(set(spans)) == 3 and all(one is not None for one in spans)
    for trial in quick.baseline:
        assert trial.stretch is not None and len(trial.workload) < count / 4
        inside = trial.workload.submit[trial.counted]
        assert trial.stretch.begin <= inside.min() and inside.max() < trial.stretch.end
    effect, whole = quick.together.whole, full.together.whole
    assert effect.recorded_s == whole.recorded_s == 60
    assert effect.difference.low <= whole.difference.mean <= effect.difference.high
    assert effect.difference.half > whole.difference.half
    assert not quick.notes
    waits = [np.full(9, 86_400.0)]
    assert "run the whole log" in too_short(repeats.stretches, jobs, waits)[0]
    assert Experiment.parse(tomllib.loads(wanted.to_toml())) == wanted
    with pytest.raises(UsageError, match="not with --feedback"):
        what_if(world, wanted.changes, repeats=repeats, feedback=True)
